//! `notes`: what is worth remembering, found again by its words.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib_engine::{
    BoxFuture, CallContext,
    store_tools::{ActionSpec, EntryStore, ListQuery, Listing, Owner, Store, StoreFault, StoreSpec},
};

use super::{
    StoreSettings, fields,
    shelf::{Entries, Entry, bundle_actions, clear_action, no_action},
    words,
};

pub(super) const ID: &str = "notes";
const FIELDS: &str = "text, title?, tags? (list of words)";
/// Most tags of a note.
const MAX_TAGS: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

/// Notes with full-text search.
pub struct Notes {
    entries: Entries<Note>,
}

impl Notes {
    /// Notes kept in `entries`.
    pub fn new(entries: Arc<dyn EntryStore>, settings: StoreSettings) -> Self {
        Self { entries: Entries::new(ID, entries, settings, note_words) }
    }
}

fn note_words(key: &str, note: &Note) -> String {
    let title = note.title.as_deref().unwrap_or_default();
    words::kept([key, title, &note.text].into_iter().chain(note.tags.iter().map(String::as_str)))
}

fn read(fields: Map<String, Value>) -> Result<Note, StoreFault> {
    let note: Note = fields::read(fields, "a note", FIELDS)?;
    if note.text.trim().is_empty() {
        return Err(StoreFault::new("a note needs a text"));
    }
    if note.tags.len() > MAX_TAGS {
        return Err(StoreFault::new(format!("a note has at most {MAX_TAGS} tags, this one {}", note.tags.len())));
    }
    Ok(note)
}

fn short(entry: &Entry<Note>) -> Value {
    let mut short = json!({
        "key": entry.key,
        "preview": fields::preview(&entry.value.text),
        "updated": fields::time(entry.stored.updated_at_ms)
    });
    if let Some(title) = &entry.value.title {
        short["title"] = json!(title);
    }
    if !entry.value.tags.is_empty() {
        short["tags"] = json!(entry.value.tags);
    }
    short
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filter {
    tag: Option<String>,
    prefix: String,
}

impl Store for Notes {
    fn spec(&self) -> StoreSpec {
        let action = |name: &str, description: &str, params: &str| ActionSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            params: params.to_owned(),
            destructive: false,
        };
        let mut actions = vec![
            action("search", "Finds notes by words, best first.", "query, limit?"),
            action("append", "Adds a line to a note, or begins it.", "key, text"),
        ];
        actions.extend(bundle_actions());
        actions.push(clear_action("Deletes all notes."));
        StoreSpec {
            id: ID.to_owned(),
            display_name: "Notes".to_owned(),
            description: "Notes that last across conversations.".to_owned(),
            usage_hint: "Keep here what will matter later; search before asking again.".to_owned(),
            fields: FIELDS.to_owned(),
            filters: "tag, prefix (of the key)".to_owned(),
            actions,
        }
    }

    fn get<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreFault>> {
        Box::pin(async move { Ok(self.entries.get(owner, key).await?.map(|entry| json!(entry.value))) })
    }

    fn set<'a>(
        &'a self,
        owner: &'a Owner,
        key: &'a str,
        fields: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        Box::pin(async move {
            let value = read(fields)?;
            let stored = self.entries.put(owner, key, &value, None).await?;
            Ok(stored.map_or(Value::Null, |stored| short(&Entry { key: key.to_owned(), value, stored })))
        })
    }

    fn delete<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<bool, StoreFault>> {
        Box::pin(self.entries.delete(owner, key))
    }

    fn list<'a>(&'a self, owner: &'a Owner, query: ListQuery) -> BoxFuture<'a, Result<Listing, StoreFault>> {
        Box::pin(async move {
            let all = query.filter.is_empty();
            let Filter { tag, prefix } = fields::read(query.filter, "the filter of notes", "tag, prefix")?;
            let wanted = |entry: &Entry<Note>| tag.as_ref().is_none_or(|tag| entry.value.tags.contains(tag));
            let (page, next) = self.entries.page(owner, &prefix, query.after.as_deref(), query.limit, wanted).await?;
            let total = if all { Some(self.entries.count(owner).await?) } else { None };
            Ok(Listing { entries: page.iter().map(short).collect(), total, next })
        })
    }

    fn act<'a>(
        &'a self,
        owner: &'a Owner,
        action: &'a str,
        params: Map<String, Value>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        Box::pin(async move {
            match action {
                "search" => {
                    let Search { query, limit } = fields::read(params, "search", "query, limit? (1 to 50)")?;
                    let found = self.entries.search(owner, &query, limit.unwrap_or(10).clamp(1, 50)).await?;
                    Ok(json!({"found": found.iter().map(short).collect::<Vec<_>>()}))
                }
                "append" => {
                    let Append { key, text } = fields::read(params, "append", "key, text")?;
                    let begun = read(Map::from_iter([("text".to_owned(), json!(text))]))?;
                    if let Some(stored) = self.entries.put(owner, &key, &begun, Some(0)).await? {
                        return Ok(short(&Entry { key, value: begun, stored }));
                    }
                    let added = |mut note: Note| {
                        note.text = format!("{}\n{text}", note.text);
                        Ok(note)
                    };
                    Ok(short(&self.entries.change(owner, &key, added).await?))
                }
                "export" => self.entries.take_out(owner, params).await,
                "import" => self.entries.take_in(owner, params, |_, fields| read(fields)).await,
                "clear" => Ok(json!({"deleted": self.entries.clear(owner).await?})),
                _ => Err(no_action(action)),
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Append {
    key: String,
    text: String,
}
