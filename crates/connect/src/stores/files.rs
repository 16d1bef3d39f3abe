//! `files`: a scratch workspace, texts and bytes under paths. They are kept in the store, never on the disk: no path leads
//! out of it.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
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

pub(super) const ID: &str = "files";
const FIELDS: &str = "content, encoding? (utf8, base64), media_type?";
/// Lines of `read` if the call does not say.
const LINES: usize = 200;

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    content: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
}

impl File {
    fn bytes(&self) -> usize {
        match self.encoding {
            Encoding::Utf8 => self.content.len(),
            Encoding::Base64 => STANDARD.decode(&self.content).map_or(0, |bytes| bytes.len()),
        }
    }

    fn text(&mut self) -> Result<&mut String, StoreFault> {
        match self.encoding {
            Encoding::Utf8 => Ok(&mut self.content),
            Encoding::Base64 => Err(StoreFault::new("this file is not a text; write it whole with store_set")),
        }
    }
}

/// A scratch workspace.
pub struct Files {
    entries: Entries<File>,
}

impl Files {
    /// Files kept in `entries`.
    pub fn new(entries: Arc<dyn EntryStore>, settings: StoreSettings) -> Self {
        let file_words = |key: &str, file: &File| match file.encoding {
            Encoding::Utf8 => words::kept([key, &file.content]),
            Encoding::Base64 => words::kept([key]),
        };
        Self { entries: Entries::new(ID, entries, settings, file_words) }
    }
}

/// One spelling of each path: relative, parts apart by one `/`, none of them `.` or `..`.
fn path(key: &str) -> Result<&str, StoreFault> {
    let bad = key.contains('\\')
        || key.split('/').any(|part| part.is_empty() || part == "." || part == ".." || part != part.trim());
    if bad {
        return Err(StoreFault::new(format!(
            "'{key}' is not a path of this store: use a relative one like reports/june.md, without '.', '..' or empty parts"
        )));
    }
    Ok(key)
}

fn read(key: &str, fields: Map<String, Value>) -> Result<File, StoreFault> {
    path(key)?;
    let file: File = fields::read(fields, "a file", FIELDS)?;
    if file.encoding == Encoding::Base64
        && let Err(error) = STANDARD.decode(&file.content)
    {
        return Err(StoreFault::new(format!("'content' is not base64: {error}")));
    }
    Ok(file)
}

fn short(entry: &Entry<File>) -> Value {
    let mut short = json!({
        "key": entry.key,
        "bytes": entry.value.bytes(),
        "updated": fields::time(entry.stored.updated_at_ms)
    });
    if entry.value.encoding == Encoding::Base64 {
        short["encoding"] = json!(Encoding::Base64);
    }
    if let Some(media_type) = &entry.value.media_type {
        short["media_type"] = json!(media_type);
    }
    short
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filter {
    prefix: String,
}

impl Store for Files {
    fn spec(&self) -> StoreSpec {
        let action = |name: &str, description: &str, params: &str| ActionSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            params: params.to_owned(),
            destructive: false,
        };
        let mut actions = vec![
            action("read", "Reads lines of a text file.", "key, offset? (first line, from 1), limit? (lines)"),
            action("append", "Adds text to the end of a file, or begins it.", "key, content"),
            action("replace", "Replaces a passage that is there exactly once.", "key, old, new"),
            action("rename", "Moves a file to a path where there is none.", "from, to"),
            action("search", "Finds files by words, best first.", "query, limit?"),
        ];
        actions.extend(bundle_actions());
        actions.push(clear_action("Deletes all files of the workspace."));
        StoreSpec {
            id: ID.to_owned(),
            display_name: "Workspace files".to_owned(),
            description: "A scratch workspace: files under paths, apart from the disk.".to_owned(),
            usage_hint: "Keep drafts and intermediate results here.".to_owned(),
            fields: FIELDS.to_owned(),
            filters: "prefix (of the path)".to_owned(),
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
            let value = read(key, fields)?;
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
            let Filter { prefix } = fields::read(query.filter, "the filter of files", "prefix")?;
            let after = query.after.as_deref();
            let (page, next) = self.entries.page(owner, &prefix, after, query.limit, |_| true).await?;
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
                "read" => self.lines(owner, params).await,
                "append" => {
                    let Append { key, content } = fields::read(params, "append", "key, content")?;
                    path(&key)?;
                    let begun = File { content: content.clone(), encoding: Encoding::Utf8, media_type: None };
                    if let Some(stored) = self.entries.put(owner, &key, &begun, Some(0)).await? {
                        return Ok(short(&Entry { key, value: begun, stored }));
                    }
                    let added = |mut file: File| {
                        file.text()?.push_str(&content);
                        Ok(file)
                    };
                    Ok(short(&self.entries.change(owner, &key, added).await?))
                }
                "replace" => {
                    let Replace { key, old, new } = fields::read(params, "replace", "key, old, new")?;
                    let replaced = |mut file: File| {
                        let text = file.text()?;
                        match if old.is_empty() { 0 } else { text.matches(&old).count() } {
                            1 => *text = text.replacen(&old, &new, 1),
                            0 => return Err(StoreFault::new("'old' is not in the file; read it again")),
                            times => {
                                return Err(StoreFault::new(format!(
                                    "'old' is in the file {times} times; give more of its surroundings"
                                )));
                            }
                        }
                        Ok(file)
                    };
                    Ok(short(&self.entries.change(owner, &key, replaced).await?))
                }
                "rename" => {
                    let Rename { from, to } = fields::read(params, "rename", "from, to")?;
                    path(&to)?;
                    Ok(short(&self.entries.rename(owner, &from, &to).await?))
                }
                "search" => {
                    let Search { query, limit } = fields::read(params, "search", "query, limit? (1 to 50)")?;
                    let found = self.entries.search(owner, &query, limit.unwrap_or(10).clamp(1, 50)).await?;
                    Ok(json!({"found": found.iter().map(short).collect::<Vec<_>>()}))
                }
                "export" => self.entries.take_out(owner, params).await,
                "import" => self.entries.take_in(owner, params, read).await,
                "clear" => Ok(json!({"deleted": self.entries.clear(owner).await?})),
                _ => Err(no_action(action)),
            }
        })
    }
}

impl Files {
    async fn lines(&self, owner: &Owner, params: Map<String, Value>) -> Result<Value, StoreFault> {
        let Read { key, offset, limit } = fields::read(params, "read", "key, offset?, limit?")?;
        let mut entry = self.entries.existing(owner, &key).await?;
        let (offset, limit) = (offset.unwrap_or(1).max(1), limit.unwrap_or(LINES).clamp(1, 2_000));
        let lines: Vec<&str> = entry.value.text()?.lines().collect();
        let shown: Vec<&str> = lines.iter().skip(offset - 1).take(limit).copied().collect();
        let mut answer = json!({"key": key, "lines": lines.len(), "offset": offset, "content": shown.join("\n")});
        if offset - 1 + shown.len() < lines.len() {
            answer["next_offset"] = json!(offset + shown.len());
        }
        Ok(answer)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    key: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Append {
    key: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    key: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    from: String,
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}
