//! The content of a pattern, held against what the call is about.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::super::{
    CommandRule, HostRule, Match, Side,
    host::is_url_name,
    path::{Place, is_absolute, normalise, takes_paths},
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
        let properties = subject.tool.input_schema()["properties"].as_object();
        let declared = || properties.into_iter().flat_map(|map| map.keys().map(String::as_str));
        let given = || subject.arguments.as_object().into_iter().flat_map(|map| map.keys().map(String::as_str));
        if takes_paths(declared()) || takes_paths(given()) {
            return path.check(facts, side);
        }
        let ignore_case = side == Side::Restrict;
        if declared().chain(given()).any(is_url_name) {
            return facts.urls().matches(side, &|url| wildcard(&self.text, url.as_str(), ignore_case));
        }
        match main_text(subject.tool.input_schema(), subject.arguments) {
            Some(text) => Match::from_bool(wildcard(&self.text, text, ignore_case)),
            // The call says nothing that the content could be held against.
            None => Match::Uncertain,
        }
    }
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
        let compile = |ignore_case| {
            GlobBuilder::new(&rest)
                .literal_separator(true)
                .case_insensitive(ignore_case)
                .backslash_escape(true)
                .build()
                .ok()
                .map(|glob| glob.compile_matcher())
        };
        Self { exact: compile(false), loose: compile(true), text: rest, place }
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
        let each = found.paths.iter().map(|path| self.check_one(path, &facts.subject.place, side));
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
