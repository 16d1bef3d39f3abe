//! The keywords of JSON Schema: which construct each belongs to and what its value must look like.

use serde_json::Value;

use super::dialect::Construct;

/// The form of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One schema.
    Schema,
    /// A list of schemas with at least one entry.
    Schemas,
    /// Schemas by key.
    SchemaMap,
    /// Text.
    Text,
    /// A number.
    Number,
    /// A whole number from 0.
    Count,
    /// True or false.
    Flag,
    /// A list of any values.
    List,
    /// Lists of names by key.
    NamesMap,
    /// Anything; never read as a schema.
    Any,
}

impl Form {
    /// Whether a value has the form.
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Schema | Self::Any => true,
            Self::Schemas => value.as_array().is_some_and(|list| !list.is_empty()),
            Self::SchemaMap => value.is_object(),
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Count => value.as_u64().is_some() || value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0),
            Self::Flag => value.is_boolean(),
            Self::List => value.is_array(),
            Self::NamesMap => value.as_object().is_some_and(|map| {
                map.values().all(|names| names.as_array().is_some_and(|names| names.iter().all(Value::is_string)))
            }),
        }
    }
}

/// One keyword.
pub(super) struct Keyword {
    /// Its name.
    pub(super) name: &'static str,
    /// The construct that it is part of; none if it is handled by itself and stays.
    pub(super) construct: Option<Construct>,
    /// The form of its value.
    pub(super) form: Form,
    /// The JSON type that it constrains, if one.
    pub(super) applies: Option<&'static str>,
}

macro_rules! keywords {
    ($($name:literal $construct:ident $form:ident $($applies:literal)?;)*) => {
        &[$(Keyword { name: $name, construct: keywords!(@construct $construct), form: Form::$form, applies: keywords!(@applies $($applies)?) }),*]
    };
    (@construct Plain) => { None };
    (@construct $construct:ident) => { Some(Construct::$construct) };
    (@applies) => { None };
    (@applies $applies:literal) => { Some($applies) };
}

/// In the order in which they are written.
static KEYWORDS: &[Keyword] = keywords! {
    "type" Plain Any;
    "title" Title Text;
    "description" Plain Text;
    "nullable" OpenApi Flag;
    "format" Format Text;
    "enum" Plain List;
    "const" Const Any;
    "default" Default Any;
    "example" OpenApi Any;
    "examples" Examples Any;
    "minimum" Bounds Number "number";
    "maximum" Bounds Number "number";
    "exclusiveMinimum" ExclusiveBounds Number "number";
    "exclusiveMaximum" ExclusiveBounds Number "number";
    "multipleOf" MultipleOf Number "number";
    "minLength" TextLength Count "string";
    "maxLength" TextLength Count "string";
    "pattern" Pattern Text "string";
    "properties" Plain SchemaMap "object";
    "required" Plain List "object";
    "propertyOrdering" OpenApi List "object";
    "additionalProperties" Plain Schema "object";
    "patternProperties" PatternProperties SchemaMap "object";
    "propertyNames" PatternProperties Schema "object";
    "unevaluatedProperties" Unevaluated Schema "object";
    "minProperties" PropertyCount Count "object";
    "maxProperties" PropertyCount Count "object";
    "dependentRequired" Dependent NamesMap "object";
    "dependentSchemas" Dependent SchemaMap "object";
    "items" Plain Schema "array";
    "prefixItems" Tuple Schemas "array";
    "minItems" ItemCount Count "array";
    "maxItems" ItemCount Count "array";
    "uniqueItems" Contains Flag "array";
    "contains" Contains Schema "array";
    "minContains" Contains Count "array";
    "maxContains" Contains Count "array";
    "unevaluatedItems" Unevaluated Schema "array";
    "anyOf" AnyOf Schemas;
    "oneOf" OneOf Schemas;
    "allOf" AllOf Schemas;
    "not" Not Schema;
    "if" Conditional Schema;
    "then" Conditional Schema;
    "else" Conditional Schema;
    "readOnly" Annotation Flag;
    "writeOnly" Annotation Flag;
    "deprecated" Annotation Flag;
    "contentEncoding" Annotation Text;
    "contentMediaType" Annotation Text;
    "contentSchema" Annotation Schema;
    "$schema" Marks Any;
    "$id" Marks Any;
    "id" Marks Text;
    "$anchor" Marks Any;
    "$dynamicAnchor" Marks Any;
    "$dynamicRef" ForeignReference Any;
    "$recursiveRef" ForeignReference Any;
    "$recursiveAnchor" Marks Any;
    "$vocabulary" Marks Any;
    "$comment" Marks Any;
    "$defs" Marks Any;
    "definitions" Marks Any;
};

/// The names of types.
pub(super) const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Places of [`SLOTS`]: a few times as many as there are keywords, so that most stand where they are looked for first.
const PLACES: usize = 256;
const EMPTY: u8 = u8::MAX;

/// The keywords by [`slot`], each at the first free place from there on. Every schema of every tool is looked through by
/// keyword, several times.
static SLOTS: [u8; PLACES] = {
    let mut slots = [EMPTY; PLACES];
    let mut rank = 0;
    while rank < KEYWORDS.len() {
        let mut at = slot(KEYWORDS[rank].name.as_bytes());
        while slots[at] != EMPTY {
            at = (at + 1) % PLACES;
        }
        slots[at] = rank as u8;
        rank += 1;
    }
    slots
};

const fn slot(name: &[u8]) -> usize {
    let [first, .., last] = name else { return name.len() };
    (name.len() * 31 + *first as usize * 7 + *last as usize * 13 + name[name.len() / 2] as usize * 3) % PLACES
}

/// Looks a keyword up.
pub(super) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.get(rank(name))
}

/// Where a keyword is written; unknown ones come last, in the order of the source.
pub(super) fn rank(name: &str) -> usize {
    let mut at = slot(name.as_bytes());
    // There are more places than keywords, so one is empty.
    while SLOTS[at] != EMPTY {
        let rank = usize::from(SLOTS[at]);
        if KEYWORDS[rank].name == name {
            return rank;
        }
        at = (at + 1) % PLACES;
    }
    KEYWORDS.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_and_nothing_else() {
        for (place, keyword) in KEYWORDS.iter().enumerate() {
            assert_eq!(rank(keyword.name), place);
            assert_eq!(find(keyword.name).map(|found| found.name), Some(keyword.name));
        }
        for name in ["", "t", "typ", "types", "Type", "x-order", "$schemas", "épée"] {
            assert_eq!((rank(name), find(name).is_none()), (KEYWORDS.len(), true), "{name}");
        }
    }
}
