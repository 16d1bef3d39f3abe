//! The tools array of one turn: what the turn before showed, then what this one adds.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    announcement, discoveries, marker,
    transcript::{Discovery, How},
};
use crate::{
    ContentHash, ToolId,
    assemble::{Standing, TokenReport, ToolSet},
    bridge::{self, BRIDGE_NAMES, is_bridge_name},
    disclosure::{Form, Listing},
    search::Hit,
    shortlist::{Item, Pick, Room, Shortlist, Why},
};

/// Tools shown for a task where the request names no number.
const TASK_TOOLS: usize = 10;
/// Most tools of one turn that are shown beside those that always are.
const MOST_LOADED: usize = 512;
/// Most names of a kind in a note.
const NOTED: usize = 20;

/// What a host wants of the next turn. Everything is optional; nothing asked for gives the set as assembled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnRequest {
    /// The conversation so far, in any shape that [`super::transcript`] reads. Deferred tools that it shows to be known are
    /// appended, in the order in which they came up.
    pub transcript: Option<Value>,
    /// What the turn before showed. Kept as it was; what is new comes after it.
    pub previous: Option<Turn>,
    /// What the conversation is about: tools that answer are shown from the start.
    pub task: Option<String>,
    /// Most tools to show for the task. Default 10.
    pub most: Option<usize>,
    /// Most tokens that all definitions may take, the bridge among them. Without a task and a transcript, as many tools
    /// are shown as fit.
    pub budget: Option<usize>,
}

impl TurnRequest {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What one turn showed. The host keeps it and hands it in with the next request; it holds no secret and grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Names of the definitions in order, those of the bridge among them.
    pub shown: Vec<String>,
    /// The listing in the bridge, where there is a bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<Bridge>,
    /// Names of all tools that could be reached, sorted.
    pub reachable: Vec<String>,
}

impl Turn {
    /// The text of the listing, where there is a bridge.
    pub fn listing(&self) -> Option<&str> {
        self.bridge.as_ref().map(|bridge| bridge.listing.as_str())
    }
}

/// The listing as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// Its form.
    pub form: Form,
    /// Its text.
    pub listing: String,
}

/// A tool that is shown though it is deferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loaded {
    /// Its exposed name.
    pub name: String,
    /// The tool.
    pub id: ToolId,
    /// What it is shown for; none where the task or the turn before is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<How>,
}

/// A tool that came into question and is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its exposed name.
    pub name: String,
    /// Whether it can still be reached through the bridge.
    pub deferred: bool,
    /// Why.
    #[serde(flatten)]
    pub why: Why,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct TurnSet {
    /// Definitions in MCP shape: those of the turn before (or, at the first turn, those of the set), then the new ones.
    pub definitions: Vec<Arc<Value>>,
    /// Deferred tools among them, in order.
    pub loaded: Vec<Loaded>,
    /// Tools that came into question and are not shown, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Tools that the conversation knows and that the scope cannot reach any more, as the conversation calls them.
    pub gone: Vec<String>,
    /// What a person or a program should know of all this.
    pub notes: Vec<String>,
    /// What changed since the turn before, for a message to the model.
    pub announcement: Option<String>,
    /// Token counts; `shown` is that of this turn.
    pub tokens: TokenReport,
    /// Tokens by which what must be shown exceeds the budget; 0 within it.
    pub over: usize,
    /// What to keep for the next turn.
    pub turn: Turn,
    /// What to keep in a summary when the history is shortened; none while nothing is loaded.
    pub marker: Option<String>,
    /// Changes exactly when the definitions do.
    pub hash: ContentHash,
}

/// Assembles one turn over a set. `search` ranks the set's tools for the task, best first; it is asked only if there is
/// one.
pub fn turn(set: &ToolSet, request: &TurnRequest, search: impl Fn(&str, usize) -> Vec<Hit>) -> TurnSet {
    let discovered = request.transcript.as_ref().map(discoveries).unwrap_or_default();
    let mut build = Build::begin(set, request);
    build.task(request, search);
    build.discovered(&discovered);
    build.finish(request.previous.as_ref())
}

struct Build<'s> {
    set: &'s ToolSet,
    /// Names as they will be shown, with the position of the tool; the bridge's have none.
    shown: Vec<(String, Option<usize>)>,
    has: HashSet<usize>,
    bridge: Option<(Bridge, [Value; 3])>,
    room: Room,
    how: HashMap<usize, How>,
    ids: OnceCell<HashMap<&'s ToolId, usize>>,
    left_out: Vec<LeftOut>,
    gone: Vec<String>,
    notes: Vec<String>,
}

impl<'s> Build<'s> {
    /// What is shown before anything is added.
    fn begin(set: &'s ToolSet, request: &TurnRequest) -> Self {
        let mut build = Self {
            set,
            shown: Vec::new(),
            has: HashSet::new(),
            bridge: None,
            room: Room::new(request.budget),
            how: HashMap::new(),
            ids: OnceCell::new(),
            left_out: Vec::new(),
            gone: Vec::new(),
            notes: Vec::new(),
        };
        let previous = request.previous.as_ref();
        let kept = previous.and_then(|turn| turn.bridge.clone()).or_else(|| {
            let listing = &set.disclosure.listing;
            set.disclosure.active.then(|| Bridge { form: listing.form, listing: listing.text.clone() })
        });
        build.bridge = kept.map(|bridge| {
            let listing = Listing { form: bridge.form, text: bridge.listing.clone(), ..Listing::default() };
            let definitions = bridge::definitions(&listing, set.disclosure_settings());
            (bridge, definitions)
        });
        for name in previous.into_iter().flat_map(|turn| &turn.shown) {
            if is_bridge_name(name) {
                build.show_bridge(name);
            } else if let Some(position) = set.name_map().position(name) {
                build.show(position);
            } else {
                build.gone.push(name.clone());
            }
        }
        // A first turn without a bridge narrows only if it is asked to.
        let narrow = request.task.is_some() || request.budget.is_some();
        for &position in &set.disclosure.direct {
            if set.is_pinned(position) || !narrow {
                build.show(position);
            }
        }
        if build.bridge.is_some() {
            for name in BRIDGE_NAMES {
                build.show_bridge(name);
            }
        }
        build
    }

    fn show(&mut self, position: usize) {
        if self.has.insert(position) {
            self.room.force(self.set.tokens_of(position));
            self.shown.push((self.set.name_map().name(position).to_owned(), Some(position)));
        }
    }

    fn show_bridge(&mut self, name: &str) {
        let Some(at) = BRIDGE_NAMES.iter().position(|other| *other == name) else { return };
        let Some((_, definitions)) = &self.bridge else { return };
        if self.shown.iter().all(|(shown, _)| shown != name) {
            self.room.force(self.set.counter().json(&definitions[at]));
            self.shown.push((name.to_owned(), None));
        }
    }

    /// Adds a tool at the end if it fits.
    fn add(&mut self, position: usize, how: Option<How>) {
        if self.has.contains(&position) {
            return;
        }
        if let Some(how) = how {
            self.how.insert(position, how);
        }
        let places = self.has.len() < MOST_LOADED.saturating_add(self.set.disclosure.direct.len());
        let fits =
            if places { self.room.take(self.set.tokens_of(position)) } else { Err(Why::Rank { most: MOST_LOADED }) };
        match fits {
            Ok(()) => {
                self.has.insert(position);
                self.shown.push((self.set.name_map().name(position).to_owned(), Some(position)));
            }
            Err(why) => self.leave_out(position, why),
        }
    }

    fn leave_out(&mut self, position: usize, why: Why) {
        let name = self.set.name_map().name(position).to_owned();
        let deferred = self.bridge.is_some();
        self.left_out.push(LeftOut { name, deferred, why });
    }

    /// What the task calls for or, without one and without a conversation, what fits.
    fn task(&mut self, request: &TurnRequest, search: impl Fn(&str, usize) -> Vec<Hit>) {
        let everything = request.budget.is_some() && request.transcript.is_none() && request.previous.is_none();
        if request.task.is_none() && !everything {
            return;
        }
        let set = self.set;
        // What the turn before showed for the task takes its places again, and is paid for.
        let items: Vec<Item<'_>> = (0..set.tools().len())
            .filter(|position| !set.is_pinned(*position))
            .map(|position| Item {
                position,
                name: set.name_map().name(position),
                tokens: if self.has.contains(&position) { 0 } else { set.tokens_of(position) },
                priority: set.tools()[position].labels().priority,
                // Of a situation a turn says nothing.
                conditions: &[],
                keep: false,
            })
            .collect();
        let mut list = Shortlist::of(&items);
        if let Some(task) = &request.task {
            list =
                list.matching(task, |text, _| search(text, set.tools().len())).most(request.most.unwrap_or(TASK_TOOLS));
        }
        if let Some(budget) = request.budget {
            list = list.within(budget.saturating_sub(self.room.used));
        }
        let Pick { mut kept, left_out, .. } = list.pick();
        if request.task.is_none() {
            // No order among them means anything, so it is that of their names.
            kept.sort_unstable();
        }
        for position in kept {
            self.add(position, None);
        }
        for (position, why) in left_out {
            // What is behind the bridge and has nothing to do with the task was never in question.
            if self.bridge.is_none() || why != Why::NoMatch {
                self.leave_out(position, why);
            }
        }
    }

    /// What the conversation knows, in its order.
    fn discovered(&mut self, discovered: &[Discovery]) {
        for Discovery { name, how } in discovered {
            match self.resolve(name) {
                Some(position) => self.add(position, Some(*how)),
                // Models call what never was; only what was shown to be there can be gone.
                None if *how == How::Called => {}
                None => self.gone.push(name.clone()),
            }
        }
    }

    fn resolve(&self, name: &str) -> Option<usize> {
        let map = self.set.name_map();
        map.position(name).or_else(|| {
            let id: ToolId = name.parse().ok()?;
            let ids = self.ids.get_or_init(|| map.iter().enumerate().map(|(at, (_, id))| (id, at)).collect());
            ids.get(&id).copied()
        })
    }

    fn finish(mut self, previous: Option<&Turn>) -> TurnSet {
        let set = self.set;
        let mut seen = BTreeSet::new();
        self.gone.retain(|name| seen.insert(name.clone()));
        if !self.gone.is_empty() {
            self.notes.push(format!(
                "this conversation knows tools that cannot be reached any more ({}): their server or the permission for them is gone",
                some(self.gone.iter().map(|name| crate::disclosure::clip(&crate::disclosure::clean(name), 128)))
            ));
        }
        if self.room.over() > 0 {
            self.notes.push(format!(
                "what must be shown takes {} tokens, {} more than the budget; raise it, pin fewer tools, or shorten the listing",
                self.room.used,
                self.room.over()
            ));
        }
        let over_budget = self.left_out.iter().filter(|left| matches!(left.why, Why::Budget { .. }));
        let over_budget: Vec<String> = over_budget.map(|left| left.name.clone()).collect();
        if !over_budget.is_empty() {
            self.notes.push(format!("{} tools do not fit into the budget: {}", over_budget.len(), some(over_budget)));
        }
        let definitions: Vec<Arc<Value>> = self
            .shown
            .iter()
            .filter_map(|(name, position)| match (position, &self.bridge) {
                (Some(position), _) => Some(set.definition(*position)),
                (None, Some((_, bridge))) => {
                    let at = BRIDGE_NAMES.iter().position(|other| other == name)?;
                    Some(Arc::new(bridge[at].clone()))
                }
                (None, None) => None,
            })
            .collect();
        let loaded: Vec<Loaded> = self
            .shown
            .iter()
            .filter_map(|(name, position)| {
                let position = (*position)?;
                let deferred = set.standing(position) == Standing::Deferred;
                let id = set.tools()[position].id().clone();
                deferred.then(|| Loaded { name: name.clone(), id, how: self.how.get(&position).copied() })
            })
            .collect();
        let announcement = previous.and_then(|turn| {
            announcement(
                &turn.reachable,
                set.names().zip(set.tools()).map(|(name, tool)| (tool.source().group(), name)),
            )
        });
        let texts = definitions.iter().map(|definition| ContentHash::of_bytes(definition.to_string().as_bytes()));
        let listing = self.bridge.as_ref().map_or(0, |(bridge, _)| set.counter().text(&bridge.listing));
        TurnSet {
            hash: ContentHash::of_hashes(texts),
            definitions,
            marker: (!loaded.is_empty()).then(|| marker(loaded.iter().map(|loaded| &loaded.id))),
            loaded,
            left_out: self.left_out,
            gone: self.gone,
            notes: self.notes,
            announcement,
            tokens: TokenReport { shown: self.room.used, listing, ..set.tokens },
            over: self.room.over(),
            turn: Turn {
                shown: self.shown.into_iter().map(|(name, _)| name).collect(),
                bridge: self.bridge.map(|(bridge, _)| bridge),
                reachable: set.names().map(str::to_owned).collect(),
            },
        }
    }
}

fn some(names: impl IntoIterator<Item = String>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(NOTED).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
