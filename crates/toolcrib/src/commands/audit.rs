//! `toolcrib audit`: what ran, for whom, by whose leave, and whether the record is whole.

use std::{
    fs::File,
    io::{BufWriter, Write},
    ops::ControlFlow,
    time::Duration,
};

use anyhow::Context;
use jiff::{Timestamp, tz::TimeZone};
use tokio_util::sync::CancellationToken;
use toolcrib_engine::{
    Outcome,
    journal::{self, ExportError, JournalFilter, JournalStore, StoredRecord, verify},
};

use super::damage;
use crate::{args::AuditArgs, exit::Exit, print, stores, world};

/// How often new records are looked for.
const FOLLOW: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: AuditArgs) -> anyhow::Result<Exit> {
    let loaded = world::load(&args.config)?;
    let stores = stores::open_existing(&loaded.config)?;
    let journal = stores.journal.as_ref();
    if args.verify {
        return check(journal, args.json).await;
    }
    let filter = filter(&args)?;
    let last = JournalFilter { newest: true, limit: args.limit, ..filter.clone() };
    let exit = match &args.export {
        Some(path) => export(journal, filter, path).await?,
        None if args.follow => follow(journal, last, args.json).await?,
        None => {
            show(&journal.records(last).await?, args.json)?;
            Exit::Done
        }
    };
    damage::note(stores.damage.as_ref());
    Ok(exit)
}

fn filter(args: &AuditArgs) -> anyhow::Result<JournalFilter> {
    Ok(JournalFilter {
        since_ms: args.since.as_deref().map(since).transpose()?,
        tool: args.tool.clone(),
        outcome: args.outcome.as_deref().map(outcome).transpose()?,
        user: args.user.clone(),
        ..JournalFilter::default()
    })
}

/// A time given as an age (`90s`, `15m`, `2h`, `7d`) or as a date and time.
pub(crate) fn since(text: &str) -> anyhow::Result<u64> {
    let now = Timestamp::now();
    let seconds = |unit: char| match unit {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        'd' => Some(86_400),
        _ => None,
    };
    let age = text
        .char_indices()
        .next_back()
        .and_then(|(at, unit)| Some((text[..at].parse::<i64>().ok()?, seconds(unit)?)))
        .and_then(|(count, unit)| count.checked_mul(unit));
    let instant = match age {
        Some(age) if age >= 0 => now.as_millisecond().saturating_sub(age.saturating_mul(1_000)),
        _ => text
            .parse::<Timestamp>()
            .with_context(|| format!("'{text}' is no time; write an age such as 2h or 7d, or 2026-11-30T08:00:00Z"))?
            .as_millisecond(),
    };
    Ok(u64::try_from(instant).unwrap_or_default())
}

fn outcome(word: &str) -> anyhow::Result<Outcome> {
    serde_json::from_value(word.into()).map_err(|_| {
        anyhow::anyhow!(
            "'{word}' is no outcome; one of ok, tool_error, denied, invalid, timed_out, cancelled, unavailable, unknown"
        )
    })
}

async fn check(journal: &dyn JournalStore, json: bool) -> anyhow::Result<Exit> {
    match verify(journal).await {
        Ok(verified) => {
            if json {
                print::json(&verified)?;
            } else if verified.records == 0 {
                print::line("the journal is empty");
            } else {
                print::line(format!(
                    "{} records, {} to {}, every link holds; the last hash is {}",
                    verified.records,
                    verified.first.unwrap_or_default(),
                    verified.last.unwrap_or_default(),
                    verified.head_hash
                ));
            }
            Ok(Exit::Done)
        }
        Err(error) => {
            print::note(error.to_string());
            Ok(Exit::Failed)
        }
    }
}

async fn export(journal: &dyn JournalStore, filter: JournalFilter, path: &str) -> anyhow::Result<Exit> {
    let mut out: Box<dyn Write + Send> = if path == "-" {
        Box::new(std::io::stdout())
    } else {
        // A record of what happened is not written over.
        let file = File::create_new(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                anyhow::anyhow!("{path} exists already, and a record is not written over; choose a new name")
            }
            _ => anyhow::Error::new(error).context(format!("cannot create {path}")),
        })?;
        Box::new(BufWriter::new(file))
    };
    let exported = journal::export(journal, filter, &mut out).await;
    // Whoever reads standard output has had enough.
    if path == "-" && exported.as_ref().is_err_and(is_broken_pipe) {
        return Ok(Exit::Done);
    }
    let count = exported.with_context(|| format!("cannot export to {path}"))?;
    if path != "-" {
        print::note(format!("{count} records written to {path}"));
    }
    Ok(Exit::Done)
}

fn is_broken_pipe(error: &ExportError) -> bool {
    matches!(error, ExportError::Write(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Prints the last records and then those that come, until the user has enough.
async fn follow(journal: &dyn JournalStore, filter: JournalFilter, json: bool) -> anyhow::Result<Exit> {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let listening = tokio::spawn(async move {
        // Where there are no signals to wait for, the process is ended from outside.
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    if !json {
        print::line(follow_line(&HEADINGS.map(str::to_owned)));
    }
    let mut failure = None;
    let take = |stored: StoredRecord| {
        if json {
            match serde_json::to_string(&stored) {
                Ok(text) if print::goes_on(&text) => {}
                Ok(_) => return ControlFlow::Break(()),
                Err(error) => {
                    failure = Some(error);
                    return ControlFlow::Break(());
                }
            }
        } else if !print::goes_on(follow_line(&row(&stored))) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let followed = journal::follow(journal, filter, FOLLOW, &cancel, take).await;
    listening.abort();
    followed?;
    failure.map_or(Ok(Exit::Done), |error| Err(error.into()))
}

const HEADINGS: [&str; 8] = ["no", "time", "what", "tool", "outcome", "who", "ms", "by / why"];

/// A row of a table whose later rows are not known yet: columns of a fixed width, more where a cell needs more.
fn follow_line(cells: &[String; 8]) -> String {
    const WIDTHS: [usize; 8] = [6, 19, 9, 32, 11, 12, 9, 0];
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(WIDTHS) {
        let cell = print::clean(cell);
        line.push_str(&format!("{cell:width$}  "));
    }
    line.truncate(line.trim_end().len());
    line
}

fn show(records: &[StoredRecord], json: bool) -> anyhow::Result<()> {
    if json {
        for record in records {
            print::line(serde_json::to_string(record)?);
        }
        return Ok(());
    }
    let rows = records.iter().map(|stored| row(stored).to_vec()).collect();
    print::table(&HEADINGS, rows);
    Ok(())
}

fn row(stored: &StoredRecord) -> [String; 8] {
    let record = &stored.record;
    let time = Timestamp::from_millisecond(i64::try_from(record.at_ms).unwrap_or(i64::MAX))
        .map(|time| TimeZone::system().to_datetime(time).strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default();
    let why = [record.authority.as_deref(), record.reason.as_deref(), record.detail.as_deref()];
    let why: Vec<&str> = why.into_iter().flatten().collect();
    [
        stored.seq.to_string(),
        time,
        record.kind.word().to_owned(),
        record.tool.clone().unwrap_or_else(|| record.name.clone()),
        record.outcome.map(Outcome::word).unwrap_or_default().to_owned(),
        record.principal.user.clone().unwrap_or_else(|| "-".to_owned()),
        if record.total_us == 0 { String::new() } else { format!("{:.1}", record.total_us as f64 / 1_000.0) },
        why.join("; ").chars().take(160).collect(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_followed_stays_one_line_under_its_headings() {
        let cells = ["7", "2026-11-30 08:00:00", "outcome", "mcp:files/read", "ok", "ann", "1.5", "rule\u{1b}[2J 3"];
        let line = follow_line(&cells.map(str::to_owned));
        let headings = follow_line(&HEADINGS.map(str::to_owned));
        for (heading, cell) in [("time", "2026"), ("tool", "mcp:"), ("ms", "1.5"), ("by / why", "rule")] {
            assert_eq!(headings.find(heading), line.find(cell), "{headings}\n{line}");
        }
        assert!(!line.contains('\u{1b}') && line.lines().count() == 1, "{line}");
    }

    #[test]
    fn times_are_ages_or_dates() {
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap();
        for (text, age) in [("90s", 90), ("15m", 900), ("2h", 7_200), ("7d", 604_800), ("0s", 0)] {
            let found = since(text).unwrap();
            assert!(now - age * 1_000 <= found + 1 && found <= now - age * 1_000 + 5_000, "{text}");
        }
        assert_eq!(since("1970-01-01T00:00:01Z").unwrap(), 1_000);
        for text in ["", "h", "2w", "-1h", "é", "yesterday", "99999999999999999999d"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
