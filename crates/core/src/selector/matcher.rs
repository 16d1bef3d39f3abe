//! Lists of selectors made ready for being held against many tools.
//!
//! Everything that does not depend on the tool is done once: groups are laid open, names go into a map, and on entering
//! a source all that is said of sources is decided. What is left for each tool is one or two look-ups and the globs.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use super::{
    Form, Groups, Selector, alias,
    groups::{MAX_DEPTH, Risks},
    pattern::Pattern,
    source_matches,
};
use crate::{Source, Tool};

/// What a list does with the tools it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Lets them through ([`Selector::grants`]).
    Grant,
    /// Takes them away ([`Selector::matches`]).
    Restrict,
}

/// No selector.
const NONE: u32 = u32::MAX;

/// A tool and its names.
pub(crate) struct Subject<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) exposed: &'a str,
    exposed_lower: Cow<'a, str>,
    own_lower: Cow<'a, str>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(tool: &'a Tool, exposed: &'a str) -> Self {
        Self {
            tool,
            exposed,
            exposed_lower: super::pattern::lower(exposed),
            own_lower: super::pattern::lower(tool.name()),
        }
    }
}

/// A list of selectors, ready. Numbers are positions in the list it was made from.
#[derive(Debug)]
pub(crate) struct Matcher {
    side: Side,
    all: u32,
    readonly: u32,
    // Names in lower case.
    names: HashMap<Box<str>, u32>,
    globs: Vec<(u32, Pattern)>,
    labels: Vec<(u32, Form)>,
    risks: Option<Arc<Risks>>,
    sourced: Vec<(u32, Form)>,
}

impl Matcher {
    pub(crate) fn new(selectors: &[Selector], groups: &Groups, side: Side) -> Self {
        let mut matcher = Self {
            side,
            all: NONE,
            readonly: NONE,
            names: HashMap::new(),
            globs: Vec::new(),
            labels: Vec::new(),
            risks: groups.risks().cloned(),
            sourced: Vec::new(),
        };
        for (index, selector) in (0..).zip(selectors) {
            matcher.add(index, selector, groups, 0);
        }
        matcher
    }

    fn add(&mut self, index: u32, selector: &Selector, groups: &Groups, depth: usize) {
        match &selector.form {
            Form::All => self.all = self.all.min(index),
            Form::ReadOnly => self.readonly = self.readonly.min(index),
            form @ (Form::Tag(_) | Form::Category(_) | Form::Namespace(_) | Form::Risk(_)) => {
                self.labels.push((index, form.clone()));
                let Form::Category(id) = form else { return };
                for member in groups.category(id).iter().filter(|_| depth < MAX_DEPTH) {
                    self.add(index, member, groups, depth + 1);
                }
            }
            Form::Group(name) => {
                for member in groups.members(name).into_iter().flatten().filter(|_| depth < MAX_DEPTH) {
                    self.add(index, member, groups, depth + 1);
                }
            }
            Form::Name(Pattern::Exact(name)) => {
                let name = name.to_ascii_lowercase();
                if let Some(builtin) = alias::builtin(&name) {
                    self.sourced.push((index, Form::InSource(Source::Builtin, Pattern::Exact(builtin.into()))));
                }
                if let Some(id) = groups.aliased(&name) {
                    let named = Pattern::Exact(id.name.as_str().into());
                    self.sourced.push((index, Form::InSource(id.source.clone(), named)));
                }
                self.names.entry(name.into()).or_insert(index);
            }
            Form::Name(glob) => self.globs.push((index, glob.clone())),
            form @ (Form::Source(_) | Form::InSource(..) | Form::Connector(..)) => {
                self.sourced.push((index, form.clone()));
            }
        }
    }

    /// Whether nothing can match.
    pub(crate) fn is_empty(&self) -> bool {
        self.all == NONE
            && self.readonly == NONE
            && self.names.is_empty()
            && self.globs.is_empty()
            && self.labels.is_empty()
            && self.sourced.is_empty()
    }

    /// What is left to be asked of each tool of a source.
    pub(crate) fn enter(&self, source: &Source) -> Within<'_> {
        let mut within = Within { matcher: self, always: self.all, own: HashMap::new(), own_globs: Vec::new() };
        if let Source::Plugin(id) = source
            && let Some(&index) = self.names.get(&*super::pattern::lower(id))
        {
            within.always = within.always.min(index);
        }
        for (index, form) in &self.sourced {
            match form {
                Form::Source(pattern) if source_matches(pattern, source) => within.always = within.always.min(*index),
                Form::Connector(name, account) if super::connector_matches(name, account.as_deref(), source) => {
                    within.always = within.always.min(*index);
                }
                Form::InSource(pattern, name) if source_matches(pattern, source) => match name {
                    Pattern::Exact(name) => {
                        let name = match self.side {
                            Side::Grant => Cow::Borrowed(&**name),
                            Side::Restrict => super::pattern::lower(name),
                        };
                        within.own.entry(name).or_insert(*index);
                    }
                    glob => within.own_globs.push((*index, glob)),
                },
                _ => {}
            }
        }
        within
    }
}

/// A [`Matcher`] within one source.
pub(crate) struct Within<'m> {
    matcher: &'m Matcher,
    always: u32,
    // Own names; in lower case where the list restricts.
    own: HashMap<Cow<'m, str>, u32>,
    own_globs: Vec<(u32, &'m Pattern)>,
}

impl Within<'_> {
    /// The first selector of the list that names the tool.
    pub(crate) fn first(&self, subject: &Subject<'_>) -> Option<u32> {
        let Matcher { side, readonly, names, globs, labels, risks, .. } = self.matcher;
        let restrict = *side == Side::Restrict;
        let mut found = self.always;
        if !names.is_empty() {
            let by_name = |name: &str| names.get(name).copied().unwrap_or(NONE);
            found = found.min(by_name(&subject.exposed_lower));
            if restrict {
                found = found.min(by_name(&subject.own_lower));
            }
        }
        if !self.own.is_empty() {
            let own = if restrict { &*subject.own_lower } else { subject.tool.name() };
            found = found.min(self.own.get(own).copied().unwrap_or(NONE));
        }
        let own_glob = self.own_globs.iter().find(|(_, glob)| glob.is_match_lower(&subject.own_lower));
        found = found.min(own_glob.map_or(NONE, |(index, _)| *index));
        let by_glob = globs.iter().take_while(|(index, _)| *index < found).find(|(_, glob)| {
            glob.is_match_lower(&subject.exposed_lower) || restrict && glob.is_match_lower(&subject.own_lower)
        });
        found = found.min(by_glob.map_or(NONE, |(index, _)| *index));
        if *readonly < found
            && subject.tool.annotations().read_only_hint == Some(true)
            && (restrict || subject.tool.hints_trusted())
        {
            found = *readonly;
        }
        let mut earlier = labels.iter().take_while(|(index, _)| *index < found);
        let by_label =
            earlier.find(|(_, form)| form.holds_of_labels(subject.tool, subject.exposed, risks.as_deref(), *side));
        found = by_label.map_or(found, |(index, _)| *index);
        (found != NONE).then_some(found)
    }
}
