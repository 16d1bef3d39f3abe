//! The three formats, each read into the same tree.

use std::fmt;

use jsonc_parser::{CollectOptions, ParseOptions, ast, common::Ranged};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::{
    MAX_DEPTH,
    tree::{Kind, Node, Place, number},
};

/// What the parser had to say, and where.
pub(super) struct Broken {
    pub(super) place: Option<Place>,
    pub(super) message: String,
}

/// Finds lines and columns of byte offsets.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1];
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Place { line, column }
    }
}

pub(super) fn toml(text: &str) -> Result<Node, Broken> {
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|error| Broken {
        place: error.span().map(|span| lines.place(span.start)),
        message: error.message().to_owned(),
    })?;
    let place = lines.place(table.span().start);
    Ok(toml_table(table.into_inner(), &lines).at(place))
}

fn toml_table(table: DeTable<'_>, lines: &Lines<'_>) -> Node {
    let pairs = table
        .into_iter()
        .map(|(key, value)| {
            let place = lines.place(key.span().start);
            (key.into_inner().into_owned(), toml_value(value.into_inner(), lines).at(place))
        })
        .collect();
    Node { place: Place::default(), kind: Kind::Map(pairs) }
}

fn toml_value(value: DeValue<'_>, lines: &Lines<'_>) -> Node {
    match value {
        DeValue::String(text) => Node::scalar(text.into_owned()),
        DeValue::Boolean(value) => Node::scalar(value),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(value) => Node::scalar(value),
            Err(_) => Node::scalar(integer.as_str()),
        },
        DeValue::Float(float) => match float.as_str().parse() {
            Ok(value) => Node::scalar(number(value)),
            Err(_) => Node::scalar(float.as_str()),
        },
        DeValue::Datetime(time) => Node::scalar(time.to_string()),
        DeValue::Array(items) => {
            let items = items
                .into_iter()
                .map(|item| {
                    let place = lines.place(item.span().start);
                    toml_value(item.into_inner(), lines).at(place)
                })
                .collect();
            Node { place: Place::default(), kind: Kind::List(items) }
        }
        DeValue::Table(table) => toml_table(table, lines),
    }
}

/// JSON with comments and trailing commas, as editors write it; nothing looser.
pub(super) fn json(text: &str) -> Result<Node, Broken> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let lines = Lines::new(text);
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| Broken { place: Some(lines.place(error.range().start)), message: error.kind().to_string() })?;
    // Only comments: as good as empty.
    let empty = Node { place: Place::default(), kind: Kind::Map(Vec::new()) };
    Ok(parsed.value.map_or(empty, |value| json_value(value, &lines)))
}

fn json_value(value: ast::Value<'_>, lines: &Lines<'_>) -> Node {
    let place = lines.place(value.range().start);
    let node = match value {
        ast::Value::StringLit(text) => Node::scalar(text.value.into_owned()),
        ast::Value::BooleanLit(value) => Node::scalar(value.value),
        ast::Value::NullKeyword(_) => Node::scalar(Value::Null),
        ast::Value::NumberLit(digits) => match serde_json::from_str::<serde_json::Number>(digits.value) {
            Ok(value) => Node::scalar(Value::Number(value)),
            Err(_) => Node::scalar(digits.value),
        },
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| json_value(item, lines)).collect();
            Node { place, kind: Kind::List(items) }
        }
        ast::Value::Object(object) => {
            let pairs = object
                .properties
                .into_iter()
                .map(|property| {
                    let place = lines.place(property.range.start);
                    (property.name.into_string(), json_value(property.value, lines).at(place))
                })
                .collect();
            Node { place, kind: Kind::Map(pairs) }
        }
    };
    node.at(place)
}

pub(super) fn yaml(text: &str) -> Result<Node, Broken> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH + 1,
            max_documents: 1,
            max_nodes: 500_000,
        },
        // Anchors save a few lines in a configuration; ones that grow into thousands are an attack.
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
        },
        with_snippet: false,
        // Of YAML 1.2 only `true` and `false` are booleans: a country `no` and a command `y` are texts.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options::<serde_saphyr::Spanned<Node>>(text, options).map(spanned).map_err(|error| {
        let place = error.location().map(place).filter(|place| place.line > 0);
        // The first line says it all; what follows quotes the file, which may hold secrets. Place and advice to
        // programmers at its end are not for the reader of the finding.
        let text = error.to_string();
        let mut message = text.lines().next().unwrap_or_default();
        for tail in [" at line ", ", set "] {
            message = message.split(tail).next().unwrap_or_default();
        }
        Broken { place, message: message.to_owned() }
    })
}

fn place(location: serde_saphyr::Location) -> Place {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    Place { line: number(location.line()), column: number(location.column()) }
}

fn spanned(node: serde_saphyr::Spanned<Node>) -> Node {
    let place = place(node.referenced);
    node.value.at(place)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::scalar(Value::Null))
            }
            fn visit_none<E>(self) -> Result<Node, E> {
                Ok(Node::scalar(Value::Null))
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
                Node::deserialize(deserializer)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
                Ok(Node::scalar(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Node::scalar(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                Ok(Node::scalar(value))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
                Ok(Node::scalar(number(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::scalar(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element::<serde_saphyr::Spanned<Node>>()? {
                    list.push(spanned(item));
                }
                Ok(Node { place: Place::default(), kind: Kind::List(list) })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
                let mut map = Vec::new();
                while let Some(key) = entries.next_key::<serde_saphyr::Spanned<String>>()? {
                    let place = place(key.referenced);
                    map.push((key.value, entries.next_value::<Node>()?.at(place)));
                }
                Ok(Node { place: Place::default(), kind: Kind::Map(map) })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
