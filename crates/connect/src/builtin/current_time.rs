//! `current_time`: now, in UTC and in a time zone.

use jiff::{Timestamp, tz::TimeZone};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    definition::{Behaviour, define},
    failure::Failure,
};

pub(crate) fn definition() -> Value {
    define(
        "current_time",
        "Current time",
        "Current date and time.",
        &json!({"timezone": {"type": "string", "description": "IANA name; default local"}}),
        &[],
        Behaviour::Reads,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default)]
    timezone: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<String, Failure> {
    render(Timestamp::now(), arguments.timezone.as_deref().filter(|name| !name.is_empty()))
}

fn render(now: Timestamp, timezone: Option<&str>) -> Result<String, Failure> {
    let zone = match timezone {
        // Names come from the database inside the program; no file is read for one.
        Some(name) => TimeZone::get(name).map_err(|_| {
            let shown: String = name.chars().take(60).collect();
            Failure::new(format!("'{shown}' is not a time zone; use an IANA name such as Europe/Berlin"))
        })?,
        None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
    };
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let local = now.to_zoned_datetime(zone);
    let name = local.time_zone().iana_name().unwrap_or("local");
    Ok(format!("UTC: {now}\n{name}: {}", local.strftime("%Y-%m-%dT%H:%M:%S%:z (%A)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(timezone: Option<&str>, expected: &str) {
        let now: Timestamp = "2025-07-01T22:30:05.123Z".parse().unwrap();
        assert_eq!(render(now, timezone).unwrap_or_else(|failure| failure.0), expected);
    }

    #[test]
    fn the_time_is_given_in_utc_and_in_the_zone() {
        check(Some("UTC"), "UTC: 2025-07-01T22:30:05Z\nUTC: 2025-07-01T22:30:05+00:00 (Tuesday)");
        check(Some("europe/berlin"), "UTC: 2025-07-01T22:30:05Z\nEurope/Berlin: 2025-07-02T00:30:05+02:00 (Wednesday)");
        check(
            Some("Asia/Kathmandu"),
            "UTC: 2025-07-01T22:30:05Z\nAsia/Kathmandu: 2025-07-02T04:15:05+05:45 (Wednesday)",
        );
    }

    #[test]
    fn an_unknown_zone_is_an_error_with_an_example() {
        check(Some("Mars/Base"), "'Mars/Base' is not a time zone; use an IANA name such as Europe/Berlin");
        check(
            Some("../../etc/passwd"),
            "'../../etc/passwd' is not a time zone; use an IANA name such as Europe/Berlin",
        );
    }
}
