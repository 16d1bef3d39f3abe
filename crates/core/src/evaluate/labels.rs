//! Reading labelled data: a tool or a query a line.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
};

use serde_json::{Map, Value};

use crate::{
    bridge::{Card, Directory, suggest},
    search::{Document, Parameter},
};

/// Most tools of one evaluation.
const MAX_TOOLS: usize = 1_000_000;
/// Most queries of one evaluation.
const MAX_QUERIES: usize = 1_000_000;
/// Highest grade. Gain is exponential; real labels stay in single digits.
const MAX_GRADE: f64 = 30.0;
/// Most characters of a value that an error repeats.
const MAX_SHOWN: usize = 80;

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{unit} {number}: {problem}")]
pub struct LabelError {
    /// What is counted: `line`, or `tool` where the file is one document.
    pub unit: &'static str,
    /// Which one, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// The tools that are searched, and how labels name them.
#[derive(Debug, Default)]
pub struct LabelledTools {
    documents: Vec<Document>,
    ids: Vec<String>,
    places: HashMap<String, usize>,
    // By name; `None` where several tools have it.
    names: HashMap<String, Option<usize>>,
    repeated: usize,
}

/// A query and which tools answer it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelledQuery {
    /// What is searched for.
    pub text: String,
    /// Positions of the tools that answer it, ascending, each once. Empty if none does.
    pub gold: Vec<usize>,
    /// Tools with how well they answer, where labels tell (for NDCG instead of `gold`).
    pub grades: Option<Vec<(usize, f64)>>,
    /// What kind of query it is; empty if labels do not tell.
    pub style: String,
    /// What was said beside it of the server that the tool is on; empty if nothing was.
    pub hint: String,
}

/// Tools of an evaluation as what a search goes through. They have no definitions, only texts.
impl Directory for LabelledTools {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn card(&self, index: usize) -> Card<'_> {
        let document = &self.documents[index];
        Card { name: &document.name, server: &document.server, definition: &Value::Null, tool: None }
    }

    fn identity(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(self.id(index).into())
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied().flatten()
    }
}

impl LabelledTools {
    /// Adds the tools of one file: a JSON object a line (`id`, `name`, `title`, `description`, `parameters` or `inputSchema`
    /// as a JSON Schema or a list of names, `server`, `server_description`, `tags`), or one document that is a list of
    /// such objects or has one under `tools`.
    ///
    /// A tool goes by its `id`, else by `server:name`, else by `name`. One whose id is there already is left out and
    /// counted by [`Self::repeated`].
    ///
    /// # Errors
    ///
    /// The first line that is not a tool.
    pub fn add(&mut self, text: &str) -> Result<(), LabelError> {
        let text = text.trim_start_matches('\u{feff}');
        match serde_json::from_str::<Value>(text) {
            // A saved JSON-RPC reply to tools/list holds the list one level down.
            Ok(mut document) if document["result"]["tools"].is_array() => self.add_list(&document["result"].take()),
            Ok(document) if document.is_array() || document["tools"].is_array() => self.add_list(&document),
            _ => for_each_line(text, |value| self.add_tool(value, "")),
        }
    }

    /// Adds one tool under an id of its own. One whose id is there already is left out and counted.
    pub fn push(&mut self, id: String, document: Document) {
        match self.places.entry(id) {
            Entry::Occupied(_) => self.repeated += 1,
            Entry::Vacant(place) => {
                let index = self.documents.len();
                self.ids.push(place.key().clone());
                place.insert(index);
                let known = self.names.entry(document.name.clone());
                known.and_modify(|other| *other = None).or_insert(Some(index));
                self.documents.push(document);
            }
        }
    }

    /// The id of the tool at a position.
    pub fn id(&self, index: usize) -> &str {
        &self.ids[index]
    }

    /// The position of the tool with this id.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// The documents, in the order in which they were read.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// How many tools were left out because an earlier one has the same id.
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// Reads queries, a JSON object a line: `query`, `gold` (ids of tools; an empty list says that none answers), and
    /// optionally `grades` (id to grade), `style` or else `kind`, `server_hint`.
    ///
    /// # Errors
    ///
    /// The first line that is not a query, or that names a tool which is not here.
    pub fn read_queries(&self, text: &str) -> Result<Vec<LabelledQuery>, LabelError> {
        let mut queries = Vec::new();
        for_each_line(text.trim_start_matches('\u{feff}'), |value| {
            if queries.len() == MAX_QUERIES {
                return Err(format!("more than {MAX_QUERIES} queries; split the file"));
            }
            queries.push(self.read_query(value)?);
            Ok(())
        })?;
        Ok(queries)
    }

    fn add_list(&mut self, document: &Value) -> Result<(), LabelError> {
        let server = document["server"].as_str().unwrap_or_default();
        let list = document.as_array().or_else(|| document["tools"].as_array());
        for (index, value) in list.into_iter().flatten().enumerate() {
            self.add_tool(value, server).map_err(|problem| LabelError { unit: "tool", number: index + 1, problem })?;
        }
        Ok(())
    }

    fn add_tool(&mut self, value: &Value, default_server: &str) -> Result<(), String> {
        let map = object(value)?;
        let name = text(map, "name")?;
        if name.is_empty() {
            return Err("there is no `name`".to_owned());
        }
        let server = match text(map, "server")? {
            "" => default_server,
            server => server,
        };
        let id = match (text(map, "id")?, server) {
            ("", "") => name.to_owned(),
            ("", server) => format!("{server}:{name}"),
            (id, _) => id.to_owned(),
        };
        let document = Document {
            name: name.to_owned(),
            title: text(map, "title")?.to_owned(),
            server: server.to_owned(),
            server_summary: text(map, "server_description")?.to_owned(),
            description: text(map, "description")?.to_owned(),
            parameters: parameters(map)?,
            tags: texts(map, "tags")?.into_iter().map(str::to_owned).collect(),
        };
        if self.documents.len() == MAX_TOOLS {
            return Err(format!("more than {MAX_TOOLS} tools; leave some out"));
        }
        self.push(id, document);
        Ok(())
    }

    fn read_query(&self, value: &Value) -> Result<LabelledQuery, String> {
        let map = object(value)?;
        if !map.contains_key("query") {
            return Err("there is no `query`".to_owned());
        }
        if !map.contains_key("gold") {
            return Err("there is no `gold`; an empty list says that no tool answers".to_owned());
        }
        let place = |key: &str, id: &str| self.place(id).map_err(|problem| format!("`{key}` {problem}"));
        let gold = texts(map, "gold")?.into_iter().map(|id| place("gold", id));
        let mut gold = gold.collect::<Result<Vec<_>, _>>()?;
        gold.sort_unstable();
        gold.dedup();
        let grades = match map.get("grades") {
            None | Some(Value::Null) => None,
            Some(Value::Object(grades)) => {
                let grade = |(id, grade): (&String, &Value)| {
                    let value = grade.as_f64().filter(|grade| (0.0..=MAX_GRADE).contains(grade));
                    let value = value.ok_or_else(|| {
                        format!("`grades` of {} is {}, not a number from 0 to {MAX_GRADE}", shown(id), shown(grade))
                    })?;
                    Ok::<_, String>((place("grades", id)?, value))
                };
                Some(grades.iter().map(grade).collect::<Result<Vec<_>, _>>()?)
            }
            Some(other) => return Err(format!("`grades` is {}, not an object of ids and numbers", shown(other))),
        };
        let style = match text(map, "style")? {
            "" => text(map, "kind")?,
            style => style,
        };
        let hint = text(map, "server_hint")?.to_owned();
        Ok(LabelledQuery { text: text(map, "query")?.to_owned(), gold, grades, style: style.to_owned(), hint })
    }

    fn place(&self, id: &str) -> Result<usize, String> {
        self.places.get(id).copied().ok_or_else(|| {
            let near = suggest(id, self.places.keys().map(String::as_str));
            let near = if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) };
            format!("names {}, which is the id of no tool{near}", shown(id))
        })
    }
}

/// Reads every line that is not blank.
fn for_each_line(text: &str, mut read: impl FnMut(&Value) -> Result<(), String>) -> Result<(), LabelError> {
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"));
        let read = value.and_then(|value| read(&value));
        read.map_err(|problem| LabelError { unit: "line", number: index + 1, problem })?;
    }
    Ok(())
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("expected an object, found {}", shown(value)))
}

/// The text under `key`, empty if there is none.
fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("`{key}` is {}, not a string", shown(other))),
    }
}

/// The list of texts under `key`, empty if there is none.
fn texts<'a>(map: &'a Map<String, Value>, key: &str) -> Result<Vec<&'a str>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let item = |item: &'a Value| {
                item.as_str().ok_or_else(|| format!("`{key}` holds {}, not only strings", shown(item)))
            };
            items.iter().map(item).collect()
        }
        Some(other) => Err(format!("`{key}` is {}, not a list of strings", shown(other))),
    }
}

fn parameters(map: &Map<String, Value>) -> Result<Vec<Parameter>, String> {
    let keys = ["parameters", "inputSchema", "input_schema"];
    let Some(key) = keys.into_iter().find(|key| map.get(*key).is_some_and(|value| !value.is_null())) else {
        return Ok(Vec::new());
    };
    match &map[key] {
        schema @ Value::Object(_) => Ok(Parameter::from_schema(schema)),
        Value::Array(_) => {
            let named = |name: &str| Parameter { name: name.to_owned(), ..Parameter::default() };
            Ok(texts(map, key)?.into_iter().map(named).collect())
        }
        other => Err(format!("`{key}` is {}, neither a JSON Schema nor a list of names", shown(other))),
    }
}

/// A value as an error shows it, cut.
fn shown(value: impl serde::Serialize) -> String {
    let text = serde_json::to_string(&value).unwrap_or_default();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
