//! `tasks`: what is to be done, in which order.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use jiff::{civil::Date, tz::Offset};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib_engine::{
    BoxFuture, CallContext,
    store_tools::{ActionSpec, EntryStore, ListQuery, Listing, Owner, Store, StoreFault, StoreSpec},
};

use super::{
    StoreSettings, fields,
    shelf::{Entries, Entry, bundle_actions, no_action},
    words,
};

pub(super) const ID: &str = "tasks";
const FIELDS: &str = "title, status? (open, doing, done, cancelled), notes?, due? (date or time, RFC 3339), priority? (low, normal, high), after? (keys of tasks to be done before)";
/// Most tasks that another may wait for.
const MAX_AFTER: usize = 64;

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Open,
    Doing,
    Done,
    Cancelled,
}

impl Status {
    fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    title: String,
    #[serde(default)]
    status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    #[serde(default)]
    priority: Priority,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

/// Tasks with states, dates and order.
pub struct Tasks {
    entries: Entries<Task>,
}

impl Tasks {
    /// Tasks kept in `entries`.
    pub fn new(entries: Arc<dyn EntryStore>, settings: StoreSettings) -> Self {
        let task_words =
            |key: &str, task: &Task| words::kept([key, &task.title, task.notes.as_deref().unwrap_or_default()]);
        Self { entries: Entries::new(ID, entries, settings, task_words) }
    }

    async fn all(&self, owner: &Owner) -> Result<Vec<Entry<Task>>, StoreFault> {
        Ok(self.entries.page(owner, "", None, usize::MAX, |_| true).await?.0)
    }

    /// Unsettled tasks that wait for none: first those under way, then by date, priority and key.
    async fn next(&self, owner: &Owner, limit: usize) -> Result<Vec<Value>, StoreFault> {
        let all = self.all(owner).await?;
        let unsettled: HashSet<&str> =
            all.iter().filter(|entry| !entry.value.status.is_settled()).map(|entry| entry.key.as_str()).collect();
        let mut ready: Vec<&Entry<Task>> = all
            .iter()
            .filter(|entry| unsettled.contains(entry.key.as_str()))
            // A task that waits for one that was deleted does not wait for ever.
            .filter(|entry| !entry.value.after.iter().any(|key| unsettled.contains(key.as_str())))
            .collect();
        ready.sort_by_key(|entry| {
            let task = &entry.value;
            // Without a date comes last.
            let due = task.due.as_deref().and_then(instant);
            (task.status != Status::Doing, due.is_none(), due, task.priority)
        });
        Ok(ready.into_iter().take(limit).map(short).collect())
    }

    /// Whether `key` waiting for `after` would make tasks wait for each other in a ring.
    async fn check_order(&self, owner: &Owner, key: &str, after: &[String]) -> Result<(), StoreFault> {
        if after.is_empty() {
            return Ok(());
        }
        let all = self.all(owner).await?;
        Self::check_waits(&all.iter().map(waits_of).collect(), key, after)
    }

    /// The same for tasks of an import, which may wait for each other and for those that are there.
    async fn check_orders(&self, owner: &Owner, read_in: &[(String, Task)]) -> Result<(), StoreFault> {
        let all = self.all(owner).await?;
        let mut waits: Waits<'_> = read_in.iter().map(|(key, task)| (key.as_str(), task.after.as_slice())).collect();
        // Those that are there stay as they are.
        waits.extend(all.iter().map(waits_of));
        read_in.iter().try_for_each(|(key, task)| {
            let stays = all.iter().any(|entry| entry.key == *key);
            if stays { Ok(()) } else { Self::check_waits(&waits, key, &task.after) }
        })
    }

    fn check_waits(waits: &Waits<'_>, key: &str, after: &[String]) -> Result<(), StoreFault> {
        let mut seen = HashSet::new();
        let mut open: Vec<&str> = after.iter().map(String::as_str).collect();
        while let Some(one) = open.pop() {
            if one == key {
                return Err(StoreFault::new(format!(
                    "task '{key}' would wait for itself, by way of 'after'; leave out one of the tasks"
                )));
            }
            if seen.insert(one) {
                open.extend(waits.get(one).copied().unwrap_or_default().iter().map(String::as_str));
            }
        }
        let missing: Vec<&str> = after.iter().map(String::as_str).filter(|one| !waits.contains_key(one)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(StoreFault::new(format!("'after' names tasks that are not there: {}", missing.join(", "))))
    }
}

/// What tasks wait for, by key.
type Waits<'a> = BTreeMap<&'a str, &'a [String]>;

fn waits_of(entry: &Entry<Task>) -> (&str, &[String]) {
    (&entry.key, &entry.value.after)
}

fn instant(due: &str) -> Option<jiff::Timestamp> {
    // A day begins at midnight, UTC.
    let day = || Offset::UTC.to_timestamp(due.parse::<Date>().ok()?.at(0, 0, 0, 0)).ok();
    due.parse().ok().or_else(day)
}

fn read(fields: Map<String, Value>) -> Result<Task, StoreFault> {
    check(fields::read(fields, "a task", FIELDS)?)
}

fn check(task: Task) -> Result<Task, StoreFault> {
    if task.title.trim().is_empty() {
        return Err(StoreFault::new("a task needs a title"));
    }
    if let Some(due) = &task.due
        && instant(due).is_none()
    {
        return Err(StoreFault::new(format!(
            "'due' is a date like 2027-01-31 or a time like 2027-01-31T09:00:00Z, not '{due}'"
        )));
    }
    if task.after.len() > MAX_AFTER {
        return Err(StoreFault::new(format!("a task waits for at most {MAX_AFTER} others")));
    }
    Ok(task)
}

fn short(entry: &Entry<Task>) -> Value {
    let task = &entry.value;
    let mut short = json!({"key": entry.key, "title": fields::preview(&task.title), "status": task.status});
    if let Some(due) = &task.due {
        short["due"] = json!(due);
    }
    if task.priority != Priority::Normal {
        short["priority"] = json!(task.priority);
    }
    if !task.after.is_empty() {
        short["after"] = json!(task.after);
    }
    short
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filter {
    status: Option<Status>,
    priority: Option<Priority>,
    due_before: Option<String>,
    prefix: String,
}

impl Store for Tasks {
    fn spec(&self) -> StoreSpec {
        let action = |name: &str, description: &str, params: &str, destructive| ActionSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            params: params.to_owned(),
            destructive,
        };
        let mut actions = vec![
            action("next", "Says what to do next.", "limit?", false),
            action("update", "Changes some fields of a task.", "key, and fields as of store_set", false),
            action("complete", "Marks a task as done.", "key", false),
            action("search", "Finds tasks by words, best first.", "query, limit?", false),
        ];
        actions.extend(bundle_actions());
        actions.push(action("clear_done", "Deletes the tasks that are done or cancelled.", "", true));
        StoreSpec {
            id: ID.to_owned(),
            display_name: "Tasks".to_owned(),
            description: "Things to do, with states, dates and order.".to_owned(),
            usage_hint: "Plan longer work here and keep the states true.".to_owned(),
            fields: FIELDS.to_owned(),
            filters: "status, priority, due_before, prefix (of the key)".to_owned(),
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
            self.check_order(owner, key, &value.after).await?;
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
            let filter: Filter =
                fields::read(query.filter, "the filter of tasks", "status, priority, due_before, prefix")?;
            let before =
                match &filter.due_before {
                    None => None,
                    Some(text) => Some(instant(text).ok_or_else(|| {
                        StoreFault::new(format!("'due_before' is a date like 2027-01-31, not '{text}'"))
                    })?),
                };
            let wanted = |entry: &Entry<Task>| {
                let task = &entry.value;
                filter.status.is_none_or(|status| status == task.status)
                    && filter.priority.is_none_or(|priority| priority == task.priority)
                    && before.is_none_or(|before| task.due.as_deref().and_then(instant).is_some_and(|due| due < before))
            };
            let after = query.after.as_deref();
            let (page, next) = self.entries.page(owner, &filter.prefix, after, query.limit, wanted).await?;
            let total = if all { Some(self.entries.count(owner).await?) } else { None };
            Ok(Listing { entries: page.iter().map(short).collect(), total, next })
        })
    }

    fn act<'a>(
        &'a self,
        owner: &'a Owner,
        action: &'a str,
        mut params: Map<String, Value>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        Box::pin(async move {
            match action {
                "next" => {
                    let Next { limit } = fields::read(params, "next", "limit? (1 to 50)")?;
                    Ok(json!({"next": self.next(owner, limit.unwrap_or(1).clamp(1, 50)).await?}))
                }
                "update" => {
                    let Some(Value::String(key)) = params.remove("key") else {
                        return Err(StoreFault::new("update takes a key and the fields to change; 'key' is missing"));
                    };
                    // Read over a task that has only what must be there, so that a field that is wrong is told first.
                    let mut asked = params.clone();
                    asked.entry("title").or_insert_with(|| json!("-"));
                    self.check_order(owner, &key, &read(asked)?.after).await?;
                    let changed = |task: Task| {
                        let Value::Object(mut fields) = json!(task) else { return Ok(task) };
                        fields.extend(params.clone());
                        read(fields)
                    };
                    Ok(short(&self.entries.change(owner, &key, changed).await?))
                }
                "complete" => {
                    let Complete { key } = fields::read(params, "complete", "key")?;
                    let done = |task: Task| Ok(Task { status: Status::Done, ..task });
                    let entry = self.entries.change(owner, &key, done).await?;
                    Ok(json!({"completed": entry.key, "next": self.next(owner, 1).await?}))
                }
                "search" => {
                    let Search { query, limit } = fields::read(params, "search", "query, limit? (1 to 50)")?;
                    let found = self.entries.search(owner, &query, limit.unwrap_or(10).clamp(1, 50)).await?;
                    Ok(json!({"found": found.iter().map(short).collect::<Vec<_>>()}))
                }
                "export" => self.entries.take_out(owner, params).await,
                "import" => {
                    let read_in = self.entries.read_in(params, |_, fields| read(fields))?;
                    self.check_orders(owner, &read_in).await?;
                    self.entries.add(owner, read_in).await
                }
                "clear_done" => {
                    let mut deleted = 0;
                    for entry in self.all(owner).await?.iter().filter(|entry| entry.value.status.is_settled()) {
                        deleted += u64::from(self.entries.delete_as_read(owner, entry).await?);
                    }
                    Ok(json!({"deleted": deleted}))
                }
                _ => Err(no_action(action)),
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Next {
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Complete {
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}
