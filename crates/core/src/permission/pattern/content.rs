//! The content of a pattern, held against what the call is about.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::super::{
    CommandRule, HostRule, Match, Side,
    host::is_url_name,
    path::{Place, RealPaths, is_absolute, normalise, takes_paths},
    rule::Facts,
    wildcard::wildcard,
};

#[derive(Clone, Debug)]
pub(super) struct Content {
    text: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// `domain:HOST`.
    Domain(HostRule),
    Other(Box<(CommandRule, PathGlob)>),
}

impl Content {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let form = match text.strip_prefix("domain:") {
            Some(host) => Form::Domain(host.parse().map_err(|error: super::super::HostRuleError| error.to_string())?),
            None => Form::Other(Box::new((CommandRule::parse(text), PathGlob::parse(text)))),
        };
        Ok(Self { text: text.to_owned(), form })
    }

    pub(super) fn command(&self) -> Option<&CommandRule> {
        match &self.form {
            Form::Domain(_) => None,
            Form::Other(forms) => Some(&forms.0),
        }
    }

    /// See [`super::ToolPattern::looks_at_paths`].
    pub(super) fn looks_at_paths(&self, facts: &Facts<'_>) -> Option<Vec<String>> {
        let Form::Other(forms) = &self.form else { return None };
        (facts.command().is_none() && about_paths(facts))
            .then(|| forms.1.begin(&facts.subject.place).map(|(folder, _)| folder).into_iter().collect())
    }

    pub(super) fn check(&self, facts: &Facts<'_>, side: Side) -> Match {
        let (command, path) = match &self.form {
            Form::Domain(host) => return facts.urls().matches(side, &|url| host.matches(url)),
            Form::Other(forms) => (&forms.0, &forms.1),
        };
        if let Some(parsed) = facts.command() {
            return match side {
                Side::Grant => command.match_all(parsed),
                Side::Restrict => command.match_any(parsed),
            };
        }
        let subject = facts.subject;
        if about_paths(facts) {
            return path.check(facts, side);
        }
        let ignore_case = side == Side::Restrict;
        if declared(facts).chain(given(facts)).any(is_url_name) {
            return facts.urls().matches(side, &|url| wildcard(&self.text, url.as_str(), ignore_case));
        }
        match main_text(subject.tool.input_schema(), subject.arguments) {
            Some(text) => Match::from_bool(wildcard(&self.text, text, ignore_case)),
            // The call says nothing that the content could be held against.
            None => Match::Uncertain,
        }
    }
}

fn declared<'s>(facts: &Facts<'s>) -> impl Iterator<Item = &'s str> {
    let properties = facts.subject.tool.input_schema()["properties"].as_object();
    properties.into_iter().flat_map(|map| map.keys().map(String::as_str))
}

fn given<'s>(facts: &Facts<'s>) -> impl Iterator<Item = &'s str> {
    facts.subject.arguments.as_object().into_iter().flat_map(|map| map.keys().map(String::as_str))
}

fn about_paths(facts: &Facts<'_>) -> bool {
    takes_paths(declared(facts)) || takes_paths(given(facts))
}

/// The text a call is mainly about: the first required text, else the first declared one that is given, else the only
/// text given.
fn main_text<'a>(schema: &Value, arguments: &'a Value) -> Option<&'a str> {
    let given = |name: &str| arguments.get(name).and_then(Value::as_str);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).find_map(given);
    let declared =
        || schema["properties"].as_object().into_iter().flat_map(|map| map.keys()).find_map(|name| given(name));
    let only = || {
        let mut texts = arguments.as_object()?.values().filter_map(Value::as_str);
        texts.next().filter(|_| texts.next().is_none())
    };
    required.or_else(declared).or_else(only)
}

/// A glob over paths. `/x/**` and `~/x/**` are held against the whole path, `src/*.rs` against the path below the
/// working folder, a name without a slash (`*.pem`) against names at any depth there; a rule that denies or asks takes
/// such a name anywhere.
#[derive(Clone, Debug)]
struct PathGlob {
    text: String,
    exact: Option<GlobMatcher>,
    loose: Option<GlobMatcher>,
    place: Anchor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Folder,
    Name,
}

impl PathGlob {
    fn parse(text: &str) -> Self {
        let (place, rest) = match text.strip_prefix("~/") {
            Some(rest) => (Anchor::Home, rest.to_owned()),
            None if is_absolute(text) => (Anchor::Root, normalise(text, None)),
            None if text.contains('/') => (Anchor::Folder, normalise(text, None)),
            None => (Anchor::Name, text.to_owned()),
        };
        Self::new(rest, place)
    }

    fn new(text: String, place: Anchor) -> Self {
        let compile = |ignore_case| {
            GlobBuilder::new(&text)
                .literal_separator(true)
                .case_insensitive(ignore_case)
                .backslash_escape(true)
                .build()
                .ok()
                .map(|glob| glob.compile_matcher())
        };
        Self { exact: compile(false), loose: compile(true), text, place }
    }

    /// The folder (or file) that the glob begins with, absolute and without wildcards, and what follows it. `None` for a
    /// mere name, and where the folder it starts from is unknown.
    fn begin(&self, place: &Place<'_>) -> Option<(String, String)> {
        let base = match self.place {
            Anchor::Root => None,
            Anchor::Home => Some(place.home?),
            Anchor::Folder => Some(place.cwd?),
            Anchor::Name => return None,
        };
        let parts: Vec<&str> = self.text.split('/').collect();
        let literal = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).count();
        let (folder, rest) = parts.split_at(literal);
        let folder = folder.join("/");
        let folder = match base {
            Some(base) => format!("{base}/{folder}"),
            None if folder.is_empty() => "/".to_owned(),
            None => folder,
        };
        Some((normalise(&folder, None), rest.join("/")))
    }

    /// The same glob with the real place of the folder it begins with, where that is another.
    fn really(&self, place: &Place<'_>, real: &RealPaths) -> Option<Self> {
        let (folder, rest) = self.begin(place)?;
        let there = real.get(&folder)??;
        if there == folder {
            return None;
        }
        let mut text = globset::escape(there);
        if !rest.is_empty() {
            text = format!("{}/{rest}", text.trim_end_matches('/'));
        }
        Some(Self::new(text, Anchor::Root))
    }

    fn hits(&self, path: &str, side: Side) -> bool {
        let glob = if side == Side::Grant { &self.exact } else { &self.loose };
        let folder = self.text.strip_suffix("/**").is_some_and(|folder| match side {
            Side::Grant => folder == path,
            Side::Restrict => folder.to_lowercase() == path.to_lowercase(),
        });
        folder || glob.as_ref().map_or_else(|| self.text == path, |glob| glob.is_match(path))
    }

    fn check(&self, facts: &Facts<'_>, side: Side) -> Match {
        let found = facts.paths();
        let place = &facts.subject.place;
        let links = facts.subject.real.map(|real| (real, self.really(place, real)));
        let each = found.paths.iter().map(|path| match &links {
            None => self.check_one(path, place, side),
            Some((real, really)) => self.check_both(path, place, side, real, really.as_ref()),
        });
        match side {
            Side::Grant if !found.complete || found.paths.is_empty() => Match::Uncertain,
            Side::Grant => each.min().unwrap_or(Match::No),
            // Without a path the tool chooses one.
            Side::Restrict if !found.complete || found.paths.is_empty() => {
                each.max().unwrap_or(Match::No).max(Match::Uncertain)
            }
            Side::Restrict => each.max().unwrap_or(Match::No),
        }
    }

    /// Holds the path as written and where it really leads against the glob and where that really begins. One hit
    /// suffices to take away; to let through, every spelling of the path has to be meant.
    fn check_both(&self, path: &str, place: &Place<'_>, side: Side, real: &RealPaths, really: Option<&Self>) -> Match {
        let one = |path: &str, place: &Place<'_>| {
            let there = really.map_or(Match::No, |glob| glob.check_one(path, place, side));
            self.check_one(path, place, side).max(there)
        };
        let folder =
            |folder: Option<&str>| folder.and_then(|folder| real.get(&normalise(folder, None))?).map(str::to_owned);
        let (cwd, home) = (folder(place.cwd), folder(place.home));
        // A bare name counts below the working folder, wherever that is.
        let real_place = Place { cwd: cwd.as_deref().or(place.cwd), home: home.as_deref().or(place.home) };
        let mut all = vec![one(path, place)];
        for spelling in place.spellings(path) {
            match real.get(&spelling) {
                Some(Some(there)) => all.push(one(there, &real_place)),
                Some(None) | None => all.push(Match::Uncertain),
            }
        }
        let found = match side {
            Side::Grant => all.into_iter().min(),
            Side::Restrict => all.into_iter().max(),
        };
        found.unwrap_or(Match::Uncertain)
    }

    fn check_one(&self, path: &str, place: &Place<'_>, side: Side) -> Match {
        // Whether a tool expands `~` is its own affair: two readings.
        let tilde = path.starts_with('~');
        if tilde && side == Side::Grant {
            return Match::Uncertain;
        }
        let full = place.expand(path);
        let below = |folder: Option<&str>| {
            let folder = normalise(folder?, None);
            let rest = full.as_deref()?.strip_prefix(folder.as_str())?;
            Some(if folder == "/" { rest.to_owned() } else { rest.strip_prefix('/')?.to_owned() })
        };
        let unknown = if tilde || full.is_none() { Match::Uncertain } else { Match::No };
        match self.place {
            Anchor::Root => full
                .as_deref()
                .map_or(unknown, |full| Match::from_bool(self.hits(full, side)))
                .max(if tilde && side == Side::Restrict { Match::Uncertain } else { Match::No }),
            Anchor::Home if place.home.is_none() => {
                // Only a path written in the same way can be told.
                let same = path.strip_prefix("~/").is_some_and(|rest| self.hits(&normalise(rest, None), side));
                if same { Match::Yes } else { Match::Uncertain }
            }
            Anchor::Home => below(place.home).map_or(unknown, |rest| Match::from_bool(self.hits(&rest, side))),
            Anchor::Folder => {
                // Without a folder a relative path counts as below it, unless it climbs out.
                let relative = || {
                    (!is_absolute(path) && !tilde).then(|| normalise(path, None)).filter(|path| !path.starts_with(".."))
                };
                match below(place.cwd).or_else(|| if place.cwd.is_none() { relative() } else { None }) {
                    Some(rest) => Match::from_bool(self.hits(&rest, side)),
                    None if place.cwd.is_none() => Match::Uncertain,
                    None => unknown,
                }
            }
            Anchor::Name => {
                let plain = full.unwrap_or_else(|| normalise(path, None));
                let name = plain.rsplit('/').next().unwrap_or_default();
                let hit = self.hits(name, side);
                match side {
                    Side::Restrict => Match::from_bool(hit),
                    Side::Grant if !hit => Match::No,
                    Side::Grant => match place.cwd {
                        Some(cwd) => Match::from_bool(super::super::is_within(&plain, cwd)),
                        None => Match::from_bool(super::super::is_within(&plain, ".")),
                    },
                }
            }
        }
    }
}
