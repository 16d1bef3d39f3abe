//! One walk over a schema: its subschemas, what refers to what, and how much it unfolds to. Never recurses on the
//! input's depth, and does work in proportion to the schema's text.

use std::{borrow::Cow, collections::HashMap, collections::hash_map::Entry};

use serde_json::Value;

use super::{
    SchemaLimits, SchemaProblem,
    keywords::{self, Form, Part},
    pattern,
};

/// What an edge from a subschema to another speaks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via<'a> {
    /// The value itself.
    Same,
    /// The property of this name.
    Property(&'a str),
    /// Every property.
    EachProperty,
    /// Every item.
    EachItem,
}

/// A subschema.
pub(super) struct Node<'a> {
    pub(super) schema: &'a Value,
    place: usize,
    pub(super) edges: Vec<(Via<'a>, usize)>,
}

/// A schema that keeps to the limits.
pub(super) struct Graph<'a> {
    /// The first is the root.
    pub(super) nodes: Vec<Node<'a>>,
    /// Subschemas after unfolding, cycles entered once.
    pub(super) paths: u64,
    /// Whether unfolding would not end.
    pub(super) cyclic: bool,
    places: Vec<(usize, Step<'a>)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

struct Reader<'a, 'l> {
    root: &'a Value,
    limits: &'l SchemaLimits,
    graph: Graph<'a>,
    /// Subschemas by the address of their value: each is read once however often it is referred to.
    known: HashMap<usize, usize>,
    anchors: Option<HashMap<&'a str, (&'a Value, usize)>>,
    patterns: usize,
}

impl<'a> Graph<'a> {
    pub(super) fn read(root: &'a Value, limits: &SchemaLimits) -> Result<Self, SchemaProblem> {
        if !root.is_object() && !root.is_boolean() {
            return Err(SchemaProblem::BadKeyword { place: "/".to_owned(), expected: "a schema (an object)" });
        }
        measure(root, limits)?;
        let mut reader = Reader {
            root,
            limits,
            graph: Graph { nodes: Vec::new(), paths: 0, cyclic: false, places: vec![(0, Step::Key(""))] },
            known: HashMap::new(),
            anchors: None,
            patterns: 0,
        };
        reader.node(root, 0);
        let mut next = 0;
        while next < reader.graph.nodes.len() {
            reader.subschema(next)?;
            next += 1;
        }
        let mut graph = reader.graph;
        graph.unfold(limits)?;
        Ok(graph)
    }

    /// The steps from the root to a subschema's value.
    pub(super) fn pointer(&self, node: usize) -> Vec<Cow<'a, str>> {
        steps(&self.places, self.nodes[node].place)
    }

    /// Counts what unfolding the references would give (an explicit stack: references can chain arbitrarily).
    fn unfold(&mut self, limits: &SchemaLimits) -> Result<(), SchemaProblem> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let count = self.nodes.len();
        let mut mark = vec![Mark::New; count];
        let mut paths = vec![1_u64; count];
        let mut height = vec![1_usize; count];
        let mut stack: Vec<(usize, usize)> = vec![(0, 0)];
        mark[0] = Mark::Open;
        while let Some(top) = stack.last_mut() {
            let (node, edge) = *top;
            let Some(&(via, to)) = self.nodes[node].edges.get(edge) else {
                mark[node] = Mark::Done;
                stack.pop();
                continue;
            };
            match mark[to] {
                Mark::New => {
                    mark[to] = Mark::Open;
                    stack.push((to, 0));
                    continue; // this edge is looked at again once its target is done
                }
                Mark::Open => {
                    self.cyclic = true;
                    paths[node] = paths[node].saturating_add(1);
                }
                Mark::Done => {
                    // Collecting what was evaluated runs through the same branches a second time.
                    let twice = via == Via::Same && collects_evaluated(self.nodes[node].schema);
                    let weight = if twice { 2 } else { 1 };
                    paths[node] = paths[node].saturating_add(paths[to].saturating_mul(weight));
                    height[node] = height[node].max(height[to] + 1);
                }
            }
            if paths[node] > limits.paths {
                return Err(SchemaProblem::TooManyPaths { limit: limits.paths });
            }
            if height[node] > limits.nesting {
                return Err(SchemaProblem::TooNested { limit: limits.nesting });
            }
            top.1 += 1;
        }
        self.paths = paths[0];
        Ok(())
    }
}

fn collects_evaluated(schema: &Value) -> bool {
    schema.get("unevaluatedProperties").is_some() || schema.get("unevaluatedItems").is_some()
}

/// Depth, containers and entries of the whole text, keywords or not.
fn measure(root: &Value, limits: &SchemaLimits) -> Result<(), SchemaProblem> {
    let mut places: Vec<(usize, Step<'_>)> = vec![(0, Step::Key(""))];
    let mut stack: Vec<(&Value, usize, usize)> = vec![(root, 1, 0)];
    while let Some((value, depth, place)) = stack.pop() {
        let count = match value {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
        };
        if depth > limits.depth {
            return Err(SchemaProblem::TooDeep { place: show(&places, place), limit: limits.depth });
        }
        if count > limits.entries {
            return Err(SchemaProblem::TooManyEntries { place: show(&places, place), count, limit: limits.entries });
        }
        let mut push = |value, step| {
            places.push((place, step));
            stack.push((value, depth + 1, places.len() - 1));
        };
        match value {
            Value::Array(items) => {
                let inner = items.iter().enumerate().filter(|(_, item)| is_container(item));
                inner.for_each(|(index, item)| push(item, Step::Index(index)));
            }
            Value::Object(map) => {
                let inner = map.iter().filter(|(_, item)| is_container(item));
                inner.for_each(|(key, item)| push(item, Step::Key(key)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        if places.len() > limits.nodes {
            return Err(SchemaProblem::TooManyNodes { limit: limits.nodes });
        }
    }
    Ok(())
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

impl<'a> Reader<'a, '_> {
    fn node(&mut self, schema: &'a Value, place: usize) -> usize {
        let next = self.graph.nodes.len();
        match self.known.entry(std::ptr::from_ref(schema) as usize) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                free.insert(next);
                self.graph.nodes.push(Node { schema, place, edges: Vec::new() });
                next
            }
        }
    }

    fn step(&mut self, place: usize, step: Step<'a>) -> usize {
        self.graph.places.push((place, step));
        self.graph.places.len() - 1
    }

    fn bad(&self, place: usize, expected: &'static str) -> SchemaProblem {
        SchemaProblem::BadKeyword { place: show(&self.graph.places, place), expected }
    }

    fn child(
        &mut self,
        from: usize,
        via: Option<Via<'a>>,
        schema: &'a Value,
        place: usize,
    ) -> Result<(), SchemaProblem> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err(self.bad(place, "a schema (an object, true or false)"));
        }
        let to = self.node(schema, place);
        if let Some(via) = via {
            self.graph.nodes[from].edges.push((via, to));
        }
        Ok(())
    }

    fn subschema(&mut self, node: usize) -> Result<(), SchemaProblem> {
        let Node { schema, place, .. } = self.graph.nodes[node];
        let Value::Object(keywords) = schema else { return Ok(()) };
        for (key, value) in keywords {
            let Some(form) = keywords::form(key) else { continue };
            let here = self.step(place, Step::Key(key));
            keywords::fits(form, value).map_err(|expected| self.bad(here, expected))?;
            match form {
                Form::Schema(part) => self.child(node, via(part), value, here)?,
                Form::SchemaOrList(part) if !value.is_array() => self.child(node, via(part), value, here)?,
                Form::List(part) | Form::SchemaOrList(part) => {
                    let Value::Array(items) = value else { return Err(self.bad(here, "a list of schemas")) };
                    for (index, item) in items.iter().enumerate() {
                        let place = self.step(here, Step::Index(index));
                        self.child(node, via(part), item, place)?;
                    }
                }
                Form::Map(_) | Form::Properties | Form::PatternProperties | Form::Dependencies => {
                    self.map(node, form, value, here)?;
                }
                Form::Pattern => self.pattern(value.as_str().unwrap_or_default(), here)?,
                Form::Reference => {
                    let (target, place) = self.resolve(value.as_str().unwrap_or_default(), here)?;
                    self.child(node, Some(Via::Same), target, place)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn map(&mut self, node: usize, form: Form, value: &'a Value, here: usize) -> Result<(), SchemaProblem> {
        let Value::Object(map) = value else { return Err(self.bad(here, "an object of schemas")) };
        for (name, schema) in map {
            let place = self.step(here, Step::Key(name));
            let via = match form {
                Form::Properties => Some(Via::Property(name)),
                Form::PatternProperties => {
                    self.pattern(name, place)?;
                    Some(Via::EachProperty)
                }
                // Lists of names stand beside schemas here.
                Form::Dependencies if schema.is_array() => continue,
                Form::Dependencies => Some(Via::Same),
                Form::Map(part) => via(part),
                _ => None,
            };
            self.child(node, via, schema, place)?;
        }
        Ok(())
    }

    fn pattern(&mut self, text: &str, place: usize) -> Result<(), SchemaProblem> {
        self.patterns += 1;
        if self.patterns > self.limits.patterns {
            return Err(SchemaProblem::TooManyPatterns { limit: self.limits.patterns });
        }
        pattern::inspect(text, self.limits.pattern_chars)
            .map_err(|reason| SchemaProblem::Pattern { place: show(&self.graph.places, place), reason })
    }

    /// Follows a local reference: `#`, `#/a/pointer` or `#anchor`.
    fn resolve(&mut self, reference: &'a str, here: usize) -> Result<(&'a Value, usize), SchemaProblem> {
        let target = || reference.chars().take(120).collect();
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SchemaProblem::ForeignRef { place: show(&self.graph.places, here), target: target() });
        };
        let found = if fragment.is_empty() {
            Some((self.root, 0))
        } else if fragment.starts_with('/') {
            self.follow(fragment)
        } else {
            let root = self.root;
            let places = &mut self.graph.places;
            self.anchors.get_or_insert_with(|| anchors(root, places)).get(fragment).copied()
        };
        found.ok_or_else(|| SchemaProblem::DanglingRef { place: show(&self.graph.places, here), target: target() })
    }

    fn follow(&mut self, pointer: &str) -> Option<(&'a Value, usize)> {
        let (mut value, mut place) = (self.root, 0);
        for token in pointer.split('/').skip(1) {
            let token = percent_decoded(token)?.replace("~1", "/").replace("~0", "~");
            let (inner, step) = match value {
                Value::Object(map) => map.get_key_value(&token).map(|(key, value)| (value, Step::Key(key)))?,
                Value::Array(items) => {
                    let index: usize = token.parse().ok()?;
                    (items.get(index)?, Step::Index(index))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
            place = self.step(place, step);
            value = inner;
        }
        Some((value, place))
    }
}

fn via<'a>(part: Part) -> Option<Via<'a>> {
    match part {
        Part::Same => Some(Via::Same),
        Part::EachProperty => Some(Via::EachProperty),
        Part::EachItem => Some(Via::EachItem),
        Part::Nothing => None,
    }
}

/// All named places of the schema; the first of a name counts.
fn anchors<'a>(root: &'a Value, places: &mut Vec<(usize, Step<'a>)>) -> HashMap<&'a str, (&'a Value, usize)> {
    let mut found = HashMap::new();
    let mut stack = vec![(root, 0)];
    while let Some((value, place)) = stack.pop() {
        let mut push = |value, step| {
            places.push((place, step));
            stack.push((value, places.len() - 1));
        };
        match value {
            Value::Object(map) => {
                let text = |key: &str| map.get(key).and_then(Value::as_str);
                let names = [text("$anchor"), text("$dynamicAnchor"), text("$id").and_then(|id| id.strip_prefix('#'))];
                for name in names.into_iter().flatten() {
                    found.entry(name).or_insert((value, place));
                }
                map.iter().filter(|(_, item)| is_container(item)).for_each(|(key, item)| push(item, Step::Key(key)));
            }
            Value::Array(items) => {
                let inner = items.iter().enumerate().filter(|(_, item)| is_container(item));
                inner.for_each(|(index, item)| push(item, Step::Index(index)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn steps<'a>(places: &[(usize, Step<'a>)], mut place: usize) -> Vec<Cow<'a, str>> {
    let mut steps = Vec::new();
    while place != 0 {
        let (parent, step) = places[place];
        steps.push(match step {
            Step::Key(key) => Cow::Borrowed(key),
            Step::Index(index) => Cow::Owned(index.to_string()),
        });
        place = parent;
    }
    steps.reverse();
    steps
}

/// A place as a JSON Pointer, at most 200 characters of it.
fn show(places: &[(usize, Step<'_>)], place: usize) -> String {
    let steps = steps(places, place);
    if steps.is_empty() {
        return "/".to_owned();
    }
    let mut text = String::new();
    for step in steps {
        text.push('/');
        text.push_str(&step.replace('~', "~0").replace('/', "~1"));
        if text.len() > 200 {
            text = text.chars().take(200).collect();
            text.push('…');
            break;
        }
    }
    crate::shape::sanitize_text(&text)
}
