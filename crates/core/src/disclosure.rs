//! Progressive disclosure: which tools a model sees with their schema, which stand behind the bridge, and the listing
//! that tells of the latter (hermes §1, bettered where §6 and §8 of that reference say how).
//!
//! All of it is a pure function of entries, settings and options: same input, same bytes. Nothing volatile (states of
//! servers, counts that change without a change of the tools) gets into the listing, so that a provider's prompt cache
//! survives from turn to turn.

mod listing;
mod settings;
mod text;
mod topics;

use serde::Serialize;

use crate::{bridge::is_bridge_name, estimate::TokenCounter};

pub use listing::{Form, ListedGroup, Listing, Shown};
pub(crate) use settings::whole_number;
pub use settings::{Settings, SettingsProblem, Switch, resolve};
pub(crate) use text::is_invisible;
pub use text::{clean, clean_lines, clip, short_description};

/// What decides where a tool stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Never deferred: core, pinned, or marked `always`.
    Direct,
    /// Deferred when disclosure is active.
    #[default]
    Deferrable,
}

/// One tool as disclosure sees it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The exposed name.
    pub name: &'a str,
    /// Label of the group it is listed under, usually the server.
    pub group: &'a str,
    /// One line from local configuration on what the group is for. The first entry of a group (by name) that has one decides.
    pub summary: Option<&'a str>,
    /// The tool's description. Untrusted.
    pub description: &'a str,
    /// Tokens of its whole definition, by [`Options::counter`].
    pub eager_tokens: usize,
    /// Whether it may be deferred.
    pub placement: Placement,
}

/// Limits of the listing on top of [`Settings::listing_budget`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cap {
    /// Largest share of the tokens it hides that the listing may cost. Default 0.008, so that bridge and listing stay
    /// under 2 % of a large catalog.
    pub max_share: f64,
    /// The share never asks for less than this many tokens. Default 600.
    pub floor_tokens: usize,
}

impl Default for Cap {
    fn default() -> Self {
        Self { max_share: 0.008, floor_tokens: 600 }
    }
}

/// How the listing is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The cap; none leaves the budget of the settings alone. Default [`Cap::default`].
    pub cap: Option<Cap>,
    /// Whether a prefix that all names of a group share stands once in its heading (hermes §6 case 11). Default true.
    pub fold_prefixes: bool,
    /// How sizes are measured. Default `chars4`.
    pub counter: TokenCounter,
}

impl Default for Options {
    fn default() -> Self {
        Self { cap: Some(Cap::default()), fold_prefixes: true, counter: TokenCounter::Chars4 }
    }
}

impl Options {
    /// Sizes and decisions of the reference: no cap, names in full, `chars4`.
    pub fn reference() -> Self {
        Self { cap: None, fold_prefixes: false, counter: TokenCounter::Chars4 }
    }

    /// The budget of a listing that hides `deferred_tokens`.
    pub fn budget(&self, settings: &Settings, context_length: Option<i64>, deferred_tokens: usize) -> usize {
        let budget = settings.listing_budget(context_length);
        match self.cap {
            None => budget,
            Some(cap) => budget.min(cap.floor_tokens.max((deferred_tokens as f64 * cap.max_share) as usize)),
        }
    }
}

/// Sizes, all by the same counter. Eager size = `direct` + `deferred`; shown = `direct` + `listing` + the bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Definitions that are shown whole.
    pub direct: usize,
    /// Definitions behind the bridge.
    pub deferred: usize,
    /// The listing.
    pub listing: usize,
    /// What the listing was allowed; always the effective budget, also when nothing is deferred.
    pub budget: usize,
    /// How all of these were measured.
    pub counter: TokenCounter,
}

/// The result. Indices point into the entries that were given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disclosure {
    /// Whether the bridge is in use. When not, every tool is direct.
    pub active: bool,
    /// 0: everything direct. 1: some deferred tool is listed by name. 2: deferred tools are found by searching only.
    pub tier: u8,
    /// Tools shown with their definition, in the order given.
    pub direct: Vec<usize>,
    /// Tools behind the bridge, in the order given.
    pub deferred: Vec<usize>,
    /// Entries under a reserved bridge name, which are not served: leftovers of an earlier assembly, or tools whose
    /// name should have been changed on the way.
    pub reserved: Vec<usize>,
    /// How many entries may be deferred, whether or not they are.
    pub deferrable: usize,
    /// The text on the deferred tools for the search tool's description, and how it came about.
    pub listing: Listing,
    /// Sizes.
    pub tokens: Tokens,
}

impl Disclosure {
    /// The form of the listing.
    pub fn form(&self) -> Form {
        self.listing.form
    }
}

/// Decides where every tool stands and writes the listing.
///
/// Active unless switched off or nothing may be deferred; the size of the context window plays no part in that. The
/// bridge is always direct, so at least one tool is.
pub fn disclose(
    entries: &[Entry<'_>],
    settings: &Settings,
    context_length: Option<i64>,
    options: &Options,
) -> Disclosure {
    let mut direct = Vec::new();
    let mut deferred = Vec::new();
    let mut reserved = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if is_bridge_name(entry.name) {
            reserved.push(index);
        } else if entry.placement == Placement::Deferrable && !entry.name.is_empty() {
            deferred.push(index);
        } else {
            direct.push(index);
        }
    }
    let deferrable = deferred.len();
    let active = settings.enabled.is_on() && deferrable > 0;
    let deferrable_tokens = sum_tokens(entries, &deferred);
    if !active {
        direct.append(&mut deferred);
        direct.sort_unstable();
    }
    let budget = options.budget(settings, context_length, deferrable_tokens);
    let listing = if active && settings.listing.is_on() {
        let hidden: Vec<_> = deferred.iter().map(|index| &entries[*index]).collect();
        listing::write(&hidden, budget, options)
    } else {
        Listing::default()
    };
    Disclosure {
        active,
        tier: match listing.form {
            _ if !active => 0,
            Form::Full | Form::Names | Form::Mixed => 1,
            Form::Groups | Form::None => 2,
        },
        tokens: Tokens {
            direct: sum_tokens(entries, &direct),
            deferred: sum_tokens(entries, &deferred),
            listing: options.counter.text(&listing.text),
            budget,
            counter: options.counter,
        },
        direct,
        deferred,
        reserved,
        deferrable,
        listing,
    }
}

fn sum_tokens(entries: &[Entry<'_>], indices: &[usize]) -> usize {
    indices.iter().map(|index| entries[*index].eager_tokens).sum()
}

#[cfg(test)]
mod tests;
