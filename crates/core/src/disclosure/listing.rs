//! The text that tells of deferred tools, in the most telling form that fits the budget.

use serde::{Deserialize, Serialize};

use super::{Entry, Options, text, topics::topics};
use crate::estimate::{TokenCounter, tokens};

/// Characters of a tool's description in a listing (hermes §1.5).
const DESCRIPTION_CHARS: usize = 60;
/// Characters of a group's label in a listing.
const LABEL_CHARS: usize = 64;
/// Characters of a configured group summary in a listing.
const SUMMARY_CHARS: usize = 100;
/// Characters of a group summary made from tool names.
const TOPIC_CHARS: usize = 60;

const TOOLS_HEADING: &str = "Tools by server:\n";
const REST_HEADING: &str = "Servers with too many tools to list here; search to see them:\n";
const GROUPS_HEADING: &str = "Servers; search to see their tools:\n";

/// How much the listing tells, from most to least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Every tool with a short description.
    Full,
    /// Every tool by name; descriptions only where the budget leaves room.
    Names,
    /// Some groups by name, some as one line.
    Mixed,
    /// One line per group.
    Groups,
    /// No group has a line of its own: one line for all of them, or nothing at all when the listing is off.
    #[default]
    None,
}

impl Form {
    /// The form's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Names => "names",
            Self::Mixed => "mixed",
            Self::Groups => "groups",
            Self::None => "none",
        }
    }
}

/// How one group appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Names with short descriptions.
    Described,
    /// Names alone.
    Named,
    /// One line.
    Summarised,
    /// No line of its own.
    Unlisted,
}

/// One group of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedGroup {
    /// Its label.
    pub label: String,
    /// How many tools it has.
    pub tools: usize,
    /// How it appears.
    pub shown: Shown,
}

/// The text on deferred tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The form chosen.
    pub form: Form,
    /// The text; empty only when the listing is off or nothing is deferred.
    pub text: String,
    /// The groups in order of their label.
    pub groups: Vec<ListedGroup>,
}

/// Writes the listing of `entries` within `budget` tokens. The one thing that may be over budget is the shortest
/// form, a line with the numbers of tools and servers: a model that is told nothing denies that there is anything.
///
/// All groups full if that fits; else all by name; else the groups with the longest list of names become one line
/// each, one after the other, until the rest fits. What is left of the budget goes to descriptions, cheapest group first.
pub(super) fn write<'a>(entries: &[&'a Entry<'a>], budget: usize, options: &Options) -> Listing {
    let mut sheet = Sheet { groups: group(entries, options), counter: options.counter };
    let form = choose(&mut sheet, budget);
    let text = if form == Form::None { sheet.one_line(budget) } else { sheet.render() };
    let groups = sheet
        .groups
        .iter()
        .map(|group| ListedGroup { label: group.key.to_owned(), tools: group.tools.len(), shown: group.shown })
        .collect();
    Listing { form, text, groups }
}

fn choose(sheet: &mut Sheet<'_>, budget: usize) -> Form {
    sheet.show_all(Shown::Named);
    if sheet.fits(budget) {
        // Descriptions only make a group longer, so there is no need for them where the names alone do not fit.
        sheet.show_all(Shown::Described);
        if sheet.fits(budget) {
            return Form::Full;
        }
        sheet.show_all(Shown::Named);
        sheet.describe_while_it_fits(budget);
        return Form::Names;
    }
    let mut largest_first: Vec<usize> = (0..sheet.groups.len()).collect();
    // Stable, and groups are in label order: ties go by label.
    largest_first.sort_by_key(|index| std::cmp::Reverse(sheet.groups[*index].units));
    for (done, largest) in largest_first.iter().enumerate() {
        sheet.show(*largest, Shown::Summarised);
        if sheet.fits(budget) {
            sheet.describe_while_it_fits(budget);
            return if done + 1 == largest_first.len() { Form::Groups } else { Form::Mixed };
        }
    }
    sheet.show_all(Shown::Unlisted);
    Form::None
}

struct Group<'a> {
    key: &'a str,
    /// The label as shown.
    label: String,
    /// By name.
    tools: Vec<&'a Entry<'a>>,
    /// Length of the prefix that stands in the heading.
    prefix: usize,
    shown: Shown,
    /// Size of the group as shown.
    units: u64,
}

fn group<'a>(entries: &[&'a Entry<'a>], options: &Options) -> Vec<Group<'a>> {
    let mut entries = entries.to_vec();
    // By everything that is shown, so that the order of the input cannot be seen even among equal names.
    entries.sort_unstable_by_key(|entry| (entry.group, entry.name, entry.description, entry.summary));
    entries
        .chunk_by(|a, b| a.group == b.group)
        .map(|tools| {
            let key = tools[0].group;
            let label = text::clip(&text::clean(key), LABEL_CHARS);
            Group {
                key,
                label: if label.is_empty() { "other".to_owned() } else { label },
                tools: tools.to_vec(),
                prefix: if options.fold_prefixes { common_prefix(tools) } else { 0 },
                shown: Shown::Unlisted,
                units: 0,
            }
        })
        .collect()
}

impl Group<'_> {
    fn render(&self, out: &mut String) {
        match self.shown {
            Shown::Described => self.render_tools(true, out),
            Shown::Named => self.render_tools(false, out),
            Shown::Summarised => {
                out.extend(["- ", &self.label, " (", &counted(self.tools.len(), "tool"), ")"]);
                let summary = self.summary();
                if !summary.is_empty() {
                    out.extend([": ", &summary]);
                }
                out.push('\n');
            }
            Shown::Unlisted => {}
        }
    }

    fn render_tools(&self, described: bool, out: &mut String) {
        out.push_str(&self.label);
        if self.prefix > 0 {
            out.extend([" (", &self.tools[0].name[..self.prefix], "…)"]);
        }
        out.push(':');
        for (index, tool) in self.tools.iter().enumerate() {
            out.push_str(match index {
                _ if described => "\n- ",
                0 => " ",
                _ => ", ",
            });
            out.push_str(&tool.name[self.prefix..]);
            if described {
                let description = shorten(tool.description);
                if !description.is_empty() {
                    out.extend([": ", &description]);
                }
            }
        }
        out.push('\n');
    }

    /// The configured summary, else what the tools' names have in common.
    fn summary(&self) -> String {
        let configured = self.tools.iter().filter_map(|tool| tool.summary.map(text::clean));
        match configured.into_iter().find(|summary| !summary.is_empty()) {
            Some(summary) => text::clip(&summary, SUMMARY_CHARS),
            None => topics(self.tools.iter().map(|tool| tool.name), self.key, TOPIC_CHARS),
        }
    }

    fn lists_tools(&self) -> bool {
        matches!(self.shown, Shown::Described | Shown::Named)
    }
}

/// A tool's description as listed. Only the start is looked at: the rest of a long one cannot matter.
fn shorten(description: &str) -> String {
    const LOOKED_AT: usize = 8 * DESCRIPTION_CHARS;
    let end = description.char_indices().nth(LOOKED_AT).map_or(description.len(), |(end, _)| end);
    text::short_description(&text::clean(&description[..end]), DESCRIPTION_CHARS)
}

/// Length of the longest prefix ending in `__` that all names share with something left after it. One name alone has none.
fn common_prefix(tools: &[&Entry<'_>]) -> usize {
    let [first, .., last] = tools else { return 0 };
    // Names are sorted: what the first and the last share, all share.
    let shared = first.name.bytes().zip(last.name.bytes()).take_while(|(a, b)| a == b).count();
    // A shorter prefix must leave something of the shortest name, which may stand anywhere.
    let longest = tools.iter().map(|tool| tool.name.len().saturating_sub(1)).min().unwrap_or(0).min(shared);
    first.name.as_bytes()[..longest].windows(2).rposition(|pair| pair == b"__").map_or(0, |at| at + 2)
}

fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

struct Sheet<'a> {
    groups: Vec<Group<'a>>,
    counter: TokenCounter,
}

impl Sheet<'_> {
    fn show_all(&mut self, shown: Shown) {
        for index in 0..self.groups.len() {
            self.show(index, shown);
        }
    }

    fn show(&mut self, index: usize, shown: Shown) {
        let group = &mut self.groups[index];
        group.shown = shown;
        let mut text = String::new();
        group.render(&mut text);
        group.units = self.counter.units(&text);
    }

    fn fits(&self, budget: usize) -> bool {
        let headings = self.counter.units(&self.heading()) + self.counter.units(self.rest_heading());
        tokens(headings + self.groups.iter().map(|group| group.units).sum::<u64>()) <= budget
    }

    /// The first heading, with a word on prefixes if there are any, by the example of the first one.
    fn heading(&self) -> String {
        if !self.groups.iter().any(Group::lists_tools) {
            return GROUPS_HEADING.to_owned();
        }
        let folded = self.groups.iter().find(|group| group.lists_tools() && group.prefix > 0);
        let Some(group) = folded else { return TOOLS_HEADING.to_owned() };
        let (prefix, rest) = group.tools[0].name.split_at(group.prefix);
        format!(
            "Tools by server. A prefix in brackets belongs in front of every name of that server: {prefix}… with {rest} is called {prefix}{rest}.\n"
        )
    }

    fn rest_heading(&self) -> &'static str {
        let named = self.groups.iter().any(Group::lists_tools);
        let summarised = self.groups.iter().any(|group| group.shown == Shown::Summarised);
        if named && summarised { REST_HEADING } else { "" }
    }

    fn describe_while_it_fits(&mut self, budget: usize) {
        let mut prices = Vec::new();
        for index in 0..self.groups.len() {
            if self.groups[index].shown == Shown::Named {
                let named = self.groups[index].units;
                self.show(index, Shown::Described);
                prices.push((self.groups[index].units.saturating_sub(named), index));
                self.show(index, Shown::Named);
            }
        }
        prices.sort_unstable();
        for (_, index) in prices {
            self.show(index, Shown::Described);
            if !self.fits(budget) {
                self.show(index, Shown::Named);
                break;
            }
        }
    }

    fn render(&self) -> String {
        let mut text = self.heading();
        for group in self.groups.iter().filter(|group| group.lists_tools()) {
            group.render(&mut text);
        }
        text.push_str(self.rest_heading());
        for group in self.groups.iter().filter(|group| group.shown == Shown::Summarised) {
            group.render(&mut text);
        }
        text
    }

    /// One line: numbers of tools and servers, then as many labels as fit.
    fn one_line(&self, budget: usize) -> String {
        let tools: usize = self.groups.iter().map(|group| group.tools.len()).sum();
        let numbers = format!("{} on {}", counted(tools, "tool"), counted(self.groups.len(), "server"));
        let mut best = format!("{numbers}.\n");
        let mut labels = String::new();
        for (index, group) in self.groups.iter().enumerate() {
            labels.push_str(if index == 0 { ": " } else { ", " });
            labels.push_str(&group.label);
            let more = if index + 1 < self.groups.len() { ", …" } else { "." };
            let line = format!("{numbers}{labels}{more}\n");
            if self.counter.text(&line) > budget {
                break;
            }
            best = line;
        }
        best
    }
}

#[cfg(test)]
mod tests;
