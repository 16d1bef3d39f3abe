//! Names that differ and yet are taken for one another: by a reader, or by a program that does not look at case.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use crate::{ToolId, disclosure::is_invisible};

/// Tools whose names are easily taken for one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lookalikes {
    /// The tools, each with its exposed name, by identity. At least two.
    pub tools: Vec<(ToolId, String)>,
    /// How they are alike.
    pub alike: Alike,
}

/// How names are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alike {
    /// They differ only in case, in separators, or in what nobody sees.
    Case,
    /// They are written with characters that look alike (Unicode TS 39).
    Shape,
}

/// A name without case, blanks around it and the difference between `-` and `_`: what tells names apart wherever two of
/// them must not be taken for one (openclaw §1.1, §1.3, case 75).
pub fn folded(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

/// A name without case, separators, compatibility forms and characters that nobody sees.
pub(crate) fn loose(name: &str) -> String {
    seen(name).filter(|c| !matches!(c, '_' | '-' | '.' | ' ' | '/' | ':')).flat_map(char::to_lowercase).collect()
}

/// What a name looks like, whatever its case. Case is left until then: `I` looks like `l`, `i` does not.
fn shape(name: &str) -> String {
    unicode_security::skeleton(&seen(name).collect::<String>()).collect::<String>().to_lowercase()
}

fn seen(name: &str) -> impl Iterator<Item = char> + '_ {
    name.nfkc().filter(|c| !is_invisible(*c))
}

/// Groups of tools whose names are alike, each tool at most in one. `tools` with their exposed names, in any order. Own
/// names count with the label of their source: that is what a listing shows (threat T4).
pub fn lookalikes<'a>(tools: impl Iterator<Item = (&'a ToolId, &'a str)>) -> Vec<Lookalikes> {
    type Groups<'a> = BTreeMap<String, BTreeSet<(&'a ToolId, &'a str)>>;
    let (mut by_exposed, mut by_case, mut by_shape) = (Groups::new(), Groups::new(), Groups::new());
    for (id, exposed) in tools {
        let (group, own) = (id.source.group(), id.name.as_str());
        for (groups, key) in [
            (&mut by_exposed, folded(exposed)),
            (&mut by_case, format!("{}/{}", loose(group), loose(own))),
            (&mut by_shape, format!("{}/{}", shape(group), shape(own))),
        ] {
            groups.entry(key).or_default().insert((id, exposed));
        }
    }
    let mut told: BTreeSet<&ToolId> = BTreeSet::new();
    let mut found = Vec::new();
    for (groups, alike) in [(by_exposed, Alike::Case), (by_case, Alike::Case), (by_shape, Alike::Shape)] {
        for group in groups.into_values().filter(|group| group.len() > 1) {
            if group.iter().all(|(id, _)| told.contains(id)) {
                continue;
            }
            told.extend(group.iter().map(|(id, _)| *id));
            let tools = group.into_iter().map(|(id, name)| (id.clone(), name.to_owned())).collect();
            found.push(Lookalikes { tools, alike });
        }
    }
    found
}

/// Names that a client brings for tools of its own and that are taken, by one of `taken` or by another of them: pairs of
/// the client's name and the one that has it. Compared without case and blanks, so that ` Exec ` is `exec` (openclaw
/// case 75); whoever takes client tools refuses a request with any.
pub fn clashes<'a>(brought: &[&'a str], taken: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let mut known: BTreeMap<String, &str> = taken.map(|name| (folded(name), name)).collect();
    let mut found = Vec::new();
    for name in brought {
        match known.get(&folded(name)) {
            Some(holder) => found.push(((*name).to_owned(), (*holder).to_owned())),
            None => {
                known.insert(folded(name), name);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
