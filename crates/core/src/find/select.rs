//! Tools by name: the exact one, else the only one that the name can mean.

use std::collections::HashMap;

use crate::{
    ToolId,
    bridge::{Directory, suggest_from},
    disclosure::{clean, clip},
    name::plain,
};

/// Most characters of a name that an answer repeats.
const SHOWN_CHARS: usize = 128;
/// Most tools that are named as what an ambiguous name may mean.
const MAX_MEANINGS: usize = 10;

/// A name that leads to no tool, or to more than one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name as it was asked for, cleaned and shortened.
    pub name: String,
    /// Exposed names that it may mean, if it means several (case 94).
    pub meanings: Vec<String>,
    /// Exposed names near to it, if it means none.
    pub suggestions: Vec<String>,
}

/// The tools that the names lead to, each once and in the order of the names (case 76), and the names that lead nowhere.
pub(super) fn resolve<D: Directory + ?Sized>(directory: &D, names: &[&str]) -> (Vec<usize>, Vec<Missing>) {
    let mut found: Vec<usize> = Vec::new();
    let mut missing: Vec<Missing> = Vec::new();
    let mut spellings: Option<HashMap<String, Vec<usize>>> = None;
    for name in names {
        let exact = directory.find(name).or_else(|| directory.find_id(&name.parse::<ToolId>().ok()?));
        let meant = match exact {
            Some(index) => vec![index],
            None => spellings
                .get_or_insert_with(|| all_spellings(directory))
                .get(folded(name).as_str())
                .cloned()
                .unwrap_or_default(),
        };
        match meant[..] {
            [index] if found.contains(&index) => {}
            [index] => found.push(index),
            _ => {
                let shown = clip(&clean(name), SHOWN_CHARS);
                if missing.iter().all(|other| other.name != shown) {
                    let mut meanings: Vec<String> =
                        meant.iter().map(|&index| directory.card(index).name.to_owned()).collect();
                    meanings.sort_unstable();
                    meanings.truncate(MAX_MEANINGS);
                    let suggestions = if meanings.is_empty() { suggest_from(directory, name) } else { Vec::new() };
                    missing.push(Missing { name: shown, meanings, suggestions });
                }
            }
        }
    }
    (found, missing)
}

/// Tools by every spelling that may stand for them: the exposed name, and the source's own with and without the server.
fn all_spellings<D: Directory + ?Sized>(directory: &D) -> HashMap<String, Vec<usize>> {
    let mut spellings: HashMap<String, Vec<usize>> = HashMap::new();
    let mut add = |spelling: String, index: usize| {
        let tools = spellings.entry(spelling).or_default();
        if tools.last() != Some(&index) {
            tools.push(index);
        }
    };
    for index in 0..directory.len() {
        let card = directory.card(index);
        add(folded(card.name), index);
        let own = folded(card.tool.map_or(card.name, crate::Tool::name));
        let server = folded(card.server);
        let short = own.strip_prefix("mcp").unwrap_or(&own);
        let short = short.strip_prefix(server.as_str()).filter(|short| !short.is_empty()).unwrap_or(&own).to_owned();
        add(format!("{server}{short}"), index);
        add(format!("mcp{server}{short}"), index);
        add(own, index);
        add(short, index);
    }
    spellings.remove("");
    spellings
}

fn folded(name: &str) -> String {
    plain(name).collect()
}
