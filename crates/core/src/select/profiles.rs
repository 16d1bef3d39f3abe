//! The profiles that always exist. A configuration may replace them or add to them.

use std::collections::BTreeMap;

use super::{Allow, Lists, Origins};

/// A name, and what it allows; `None` = everything. `minimal` looks and changes nothing, `coding` works on this machine
/// and through servers, `messaging` only through servers (openclaw §1.4).
const DEFINED: &[(&str, Option<&[&str]>)] = &[
    ("minimal", Some(&["builtin/current_time", "builtin/tool_result_read"])),
    (
        "coding",
        Some(&[
            "builtin/current_time",
            "builtin/tool_result_read",
            "group:fs",
            "group:runtime",
            "group:web",
            "group:memory",
            "group:mcp",
        ]),
    ),
    (
        "messaging",
        Some(&["builtin/current_time", "builtin/tool_result_read", "group:memory", "group:mcp", "group:connectors"]),
    ),
    ("full", None),
];

pub(crate) fn built_in() -> BTreeMap<String, Lists> {
    let profile = |&(name, allow): &(&str, Option<&[&str]>)| {
        let parse = |texts: &[&str]| texts.iter().filter_map(|text| text.parse().ok()).collect();
        let place = format!("built-in profile '{name}'");
        let home = format!("profiles.{name}");
        let origins = Origins { home, ..Origins::from(place.as_str()) };
        (name.to_owned(), Lists { allow: Allow::from_list(allow.map(parse)), origins, ..Lists::default() })
    };
    DEFINED.iter().map(profile).collect()
}
