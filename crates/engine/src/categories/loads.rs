//! What conversations have loaded, and when they last used it.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use toolcrib_core::{
    Scope, ToolId,
    categories::{Book, CategoryId, Loaded},
    rate::{Idle, Keyed},
};

use super::{Item, LoadError};

/// Most names remembered of one load; the latest.
const MAX_NAMES: usize = 8;
/// Most conversations remembered; the one unused for longest makes room, one that has only what it began with before others.
const MAX_CONVERSATIONS: usize = 4_096;

/// Whose loads these are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Conversation {
    tenant: String,
    user: Option<String>,
    session: Option<String>,
}

impl Conversation {
    pub(crate) fn of(scope: &Scope, session: Option<&str>) -> Self {
        Self { tenant: scope.tenant.clone(), user: scope.user.clone(), session: session.map(str::to_owned) }
    }
}

#[derive(Default)]
pub(crate) struct Loads {
    known: Mutex<Known>,
}

struct Known {
    conversations: Keyed<Conversation, Has>,
    clock: u64,
}

impl Default for Known {
    fn default() -> Self {
        Self { conversations: Keyed::new(MAX_CONVERSATIONS), clock: 0 }
    }
}

struct Held {
    item: Item,
    /// When it was last used; 0 = never.
    used: u64,
    /// What it was called by whoever loaded it, and what it was exposed as: it can be unloaded by these when it is not there
    /// any more. Of tools only.
    names: Vec<String>,
}

impl Held {
    fn new(item: Item) -> Self {
        Self { item, used: 0, names: Vec::new() }
    }

    fn went_by(&mut self, names: &[&str]) {
        for name in names {
            if !self.names.iter().any(|known| known == name) {
                self.names.push((*name).to_owned());
            }
        }
        self.names.drain(..self.names.len().saturating_sub(MAX_NAMES));
    }
}

struct Has {
    items: Vec<Held>,
    // The same as views are made for, under the book for which it was made.
    loaded: Arc<Loaded>,
    book: Arc<Book>,
    /// Whether it is as it began.
    fresh: bool,
}

impl Idle for Has {
    fn is_idle(&self, _: u64) -> bool {
        self.fresh
    }
}

impl Has {
    fn new(book: &Arc<Book>) -> Self {
        let initial = book.initial();
        let begun = initial.categories.iter().filter(|id| !book.is_pinned(id));
        let items = begun.map(|id| Held::new(Item::Category(id.clone()))).collect();
        Self { items, loaded: Arc::new(initial), book: book.clone(), fresh: true }
    }

    /// Made anew after a change, of the items or of what is configured.
    fn settle(&mut self, book: &Arc<Book>) {
        let mut categories: BTreeSet<CategoryId> = BTreeSet::new();
        let mut tools: BTreeSet<ToolId> = BTreeSet::new();
        for held in &self.items {
            match &held.item {
                // What is not offered any more is not loaded any more, and is again when it is offered again.
                Item::Category(id) if book.offers(id) => drop(categories.insert(id.clone())),
                Item::Category(_) => {}
                Item::Tool(id) => drop(tools.insert(id.clone())),
            }
        }
        self.loaded = Arc::new(book.with_pins(categories, tools));
        self.fresh = *self.loaded == book.initial();
        self.book = book.clone();
    }
}

impl Loads {
    /// What a conversation has loaded. One that has not loaded anything yet is not remembered for asking.
    pub(crate) fn loaded(&self, conversation: &Conversation, book: &Arc<Book>) -> Arc<Loaded> {
        let mut known = self.known.lock();
        if known.conversations.get_mut(conversation).is_none() {
            return Arc::new(book.initial());
        }
        let has = known.conversations.entry(conversation, 0, || Has::new(book));
        if !Arc::ptr_eq(&has.book, book) {
            has.settle(book);
        }
        has.loaded.clone()
    }

    /// Loads something that goes by these names; whether it was loaded before.
    pub(crate) fn load(
        &self,
        conversation: &Conversation,
        item: Item,
        names: &[&str],
        book: &Arc<Book>,
    ) -> Result<bool, LoadError> {
        self.change(conversation, book, |has| {
            if let Some(held) = has.items.iter_mut().find(|held| held.item == item) {
                held.went_by(names);
                return Ok(true);
            }
            let is_tool = matches!(item, Item::Tool(_));
            // Pins are not among the items, whether they can be loaded or not: they neither raise nor fill the limit
            // (theirs: every pin that fails raises it, oneringai §2.5).
            let alike = |held: &&Held| match &held.item {
                Item::Tool(_) => is_tool,
                Item::Category(id) => !is_tool && !book.is_pinned(id),
            };
            let limit = if is_tool { book.max_tools } else { book.max_loaded };
            if has.items.iter().filter(alike).count() >= limit {
                let loaded = has.items.iter().filter(alike).map(|held| held.item.clone()).collect();
                return Err(LoadError::Limit { limit, loaded });
            }
            let mut held = Held::new(item);
            held.went_by(names);
            has.items.push(held);
            Ok(false)
        })
    }

    /// Unloads something; whether it was loaded.
    pub(crate) fn unload(&self, conversation: &Conversation, item: &Item, book: &Arc<Book>) -> bool {
        self.change(conversation, book, |has| {
            let before = has.items.len();
            has.items.retain(|held| held.item != *item);
            has.items.len() < before
        })
    }

    fn change<T>(&self, conversation: &Conversation, book: &Arc<Book>, change: impl FnOnce(&mut Has) -> T) -> T {
        let mut known = self.known.lock();
        let has = known.conversations.entry(conversation, 0, || Has::new(book));
        let changed = change(has);
        has.settle(book);
        changed
    }

    /// Notes that a tool was used, by itself or as one of these categories.
    pub(crate) fn used(&self, conversation: &Conversation, tool: &ToolId, owners: &BTreeSet<CategoryId>) {
        let mut known = self.known.lock();
        known.clock += 1;
        let now = known.clock;
        let Some(has) = known.conversations.get_mut(conversation) else { return };
        for held in &mut has.items {
            let was = match &held.item {
                Item::Category(id) => owners.contains(id),
                Item::Tool(id) => id == tool,
            };
            if was {
                held.used = now;
            }
        }
    }

    /// What was used least recently of all that can be unloaded; of those never used, what was loaded first.
    pub(crate) fn oldest(&self, conversation: &Conversation, book: &Arc<Book>) -> Option<Item> {
        self.look(conversation, book, |has| {
            let free = has.items.iter().filter(|held| !matches!(&held.item, Item::Category(id) if book.is_pinned(id)));
            free.min_by_key(|held| held.used).map(|held| held.item.clone())
        })
    }

    /// What a conversation has loaded by itself, in the order in which it did.
    pub(crate) fn items(&self, conversation: &Conversation, book: &Arc<Book>) -> Vec<Item> {
        self.look(conversation, book, |has| has.items.iter().map(|held| held.item.clone()).collect())
    }

    /// The tools that a conversation has loaded by themselves, with the names that they went by.
    pub(crate) fn tools(&self, conversation: &Conversation, book: &Arc<Book>) -> Vec<(ToolId, Vec<String>)> {
        self.look(conversation, book, |has| {
            let tools = has.items.iter().filter_map(|held| match &held.item {
                Item::Tool(id) => Some((id.clone(), held.names.clone())),
                Item::Category(_) => None,
            });
            tools.collect()
        })
    }

    fn look<T>(&self, conversation: &Conversation, book: &Arc<Book>, look: impl FnOnce(&Has) -> T) -> T {
        let mut known = self.known.lock();
        match known.conversations.get_mut(conversation) {
            Some(has) => look(has),
            None => look(&Has::new(book)),
        }
    }

    /// Forgets a conversation; whether there was one.
    pub(crate) fn forget(&self, conversation: &Conversation) -> bool {
        self.known.lock().conversations.remove(conversation).is_some()
    }
}

impl Item {
    /// The id of what it is, as text.
    pub fn text(&self) -> String {
        match self {
            Self::Category(id) => id.to_string(),
            Self::Tool(id) => id.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
