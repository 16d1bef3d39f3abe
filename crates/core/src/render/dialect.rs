//! What each target accepts, as data: one row per construct of JSON Schema, one column per dialect (standards
//! reference §4.1, §4.9). Constructs for which there is no evidence are lowered as if they were refused.

use serde::Serialize;

use super::Target;

/// When the table was last compared with the providers' documentation.
pub const REVISED: &str = "2026-11-30";

/// A construct of JSON Schema that targets treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Construct {
    /// `anyOf`, `oneOf` or `allOf` at the root.
    RootCombinator,
    /// `enum`, `const` or `not` at the root.
    RootConstraint,
    /// `description` at the root.
    RootDescription,
    /// `anyOf` below the root.
    AnyOf,
    /// Keywords beside an `anyOf`.
    AnyOfSiblings,
    /// `oneOf` below the root.
    OneOf,
    /// `allOf` below the root.
    AllOf,
    /// `not`.
    Not,
    /// `if`, `then`, `else`.
    Conditional,
    /// `dependentRequired`, `dependentSchemas`.
    Dependent,
    /// A `$ref` to a part of the same schema.
    Reference,
    /// A `$ref` that leads back into itself.
    Recursion,
    /// A `$ref` that leads out of the schema or nowhere.
    ForeignReference,
    /// `$schema`, `$id`, `$anchor`, `$comment` and the like.
    Marks,
    /// `additionalProperties: true` or `false`.
    ClosedObject,
    /// `additionalProperties` with a schema.
    MapObject,
    /// `patternProperties`, `propertyNames`.
    PatternProperties,
    /// `unevaluatedProperties`, `unevaluatedItems`.
    Unevaluated,
    /// `minProperties`, `maxProperties`.
    PropertyCount,
    /// `const`.
    Const,
    /// `default`.
    Default,
    /// `title`.
    Title,
    /// `examples`.
    Examples,
    /// `readOnly`, `writeOnly`, `deprecated`, `contentEncoding` and the like.
    Annotation,
    /// `nullable`, `example`, `propertyOrdering`: keywords of OpenAPI.
    OpenApi,
    /// `format` outside the target's list.
    Format,
    /// `pattern`.
    Pattern,
    /// A list of types, or the type `null`.
    TypeList,
    /// No `type` and nothing else that says what it is.
    Untyped,
    /// `enum` with other values than text.
    MixedEnum,
    /// `minimum`, `maximum`.
    Bounds,
    /// `exclusiveMinimum`, `exclusiveMaximum`.
    ExclusiveBounds,
    /// `multipleOf`.
    MultipleOf,
    /// `minLength`, `maxLength`.
    TextLength,
    /// `minItems`, `maxItems`.
    ItemCount,
    /// `uniqueItems`, `contains`, `minContains`, `maxContains`.
    Contains,
    /// `prefixItems`.
    Tuple,
    /// An array without `items`.
    BareArray,
    /// An object without `properties`.
    BareObject,
    /// `required` names a property that is not declared.
    UndeclaredRequired,
    /// A boolean where a schema is expected.
    BooleanSchema,
    /// A keyword that JSON Schema does not know.
    UnknownKeyword,
    /// A keyword whose value it cannot have.
    Malformed,
    /// A property key outside `[A-Za-z0-9_.-]{1,64}`.
    PropertyKey,
    /// Schemas nested deeper than the limit.
    Nesting,
    /// A key that may be left out, where none may be.
    OptionalKey,
    /// The schema of results.
    OutputSchema,
    /// The tool's description.
    Description,
    /// The tool's name.
    Name,
}

/// How many constructs there are; the last one counts.
const CONSTRUCTS: usize = Construct::Name as usize + 1;

/// What becomes of a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It stays.
    Keep,
    /// It goes without a trace in the schema.
    Drop,
    /// It goes; what it said is added to the description.
    Describe,
    /// It is said in another way, as near as the target allows.
    Rewrite,
}

/// Where property keys must be plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    /// Nowhere.
    Nowhere,
    /// In the object of arguments itself.
    Root,
    /// In every object.
    Everywhere,
}

/// How the definitions are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// `{name, description, input_schema}`.
    Anthropic,
    /// `{type: function, function: {name, description, parameters}}`.
    Function,
    /// `{type: function, name, description, parameters, strict: false}`.
    FlatFunction,
    /// One `{functionDeclarations: […]}`, the schema under the given key.
    Declarations(&'static str),
    /// `{toolSpec: {name, description, inputSchema: {json}}}`.
    ToolSpec,
}

/// A column of the table of constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Anthropic, also behind Bedrock.
    Anthropic,
    /// OpenAI.
    OpenAi,
    /// Others with OpenAI's shape and less evidence.
    Compatible,
    /// xAI.
    Xai,
    /// Gemini, `parametersJsonSchema`.
    Gemini,
    /// Gemini, `parameters`.
    GeminiParameters,
    /// Ollama.
    Ollama,
    /// Anthropic's strict mode.
    AnthropicStrict,
    /// OpenAI's strict mode, and that of Mistral, whose own limits are not documented.
    OpenAiStrict,
    /// DeepSeek's strict mode.
    DeepSeekStrict,
}

/// What one target accepts.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The target.
    pub target: Target,
    /// Its column in [`TABLE`].
    pub column: Column,
    /// How definitions are wrapped.
    pub wrapper: Wrapper,
    /// Most tools in one request, where a number is known.
    pub tools: Option<usize>,
    /// Longest name in characters; none where names are free.
    pub name: Option<usize>,
    /// Whether names must begin with a letter or `_`.
    pub name_letter_first: bool,
    /// Whether a description is required.
    pub description_required: bool,
    /// Longest description in characters, where a number is known.
    pub description: Option<usize>,
    /// Formats that are accepted; none for all.
    pub formats: Option<&'static [&'static str]>,
    /// Where property keys must be plain.
    pub keys: KeyScope,
    /// Whether this is the target's strict mode.
    pub strict: bool,
}

impl Wrapper {
    /// Whether there is a place for the schema of results.
    pub fn takes_output(self) -> bool {
        matches!(self, Self::FlatFunction | Self::Declarations(_))
    }
}

impl Dialect {
    /// The same target, with schemas as another one takes them.
    #[must_use]
    pub fn lowering_as(&self, other: Option<Target>) -> Self {
        match other.filter(|other| *other != self.target).and_then(Target::dialect) {
            // The endpoint reads descriptions before the model does.
            Some(other) => Self {
                target: self.target,
                wrapper: self.wrapper,
                description: self.description.or(other.description),
                ..*other
            },
            None => *self,
        }
    }

    /// The target's strict mode, where it has one; not for schemas that go by another target's rules.
    pub fn strict(&self) -> Option<Self> {
        let (column, formats) = match (self.column, self.target) {
            (Column::Anthropic, _) => (Column::AnthropicStrict, SHORT),
            (Column::OpenAi, _) | (Column::Compatible, Target::Mistral) => (Column::OpenAiStrict, SHORT_WITHOUT_URI),
            (Column::Compatible, Target::DeepSeek) => (Column::DeepSeekStrict, DEEPSEEK_STRICT),
            _ => return None,
        };
        Some(Self { column, formats: Some(formats), keys: KeyScope::Everywhere, strict: true, ..*self })
    }

    /// What becomes of a construct.
    pub fn rule(&self, construct: Construct) -> Rule {
        RULES[construct as usize][self.column as usize]
    }
}

const K: Rule = Rule::Keep;
const D: Rule = Rule::Drop;
const N: Rule = Rule::Describe;
const W: Rule = Rule::Rewrite;

/// Columns: Anthropic, OpenAI, compatible, xAI, Gemini JSON Schema, Gemini parameters, Ollama, Anthropic strict,
/// OpenAI strict, DeepSeek strict.
#[rustfmt::skip]
pub static TABLE: &[(Construct, [Rule; 10])] = &[
    (Construct::RootCombinator,     [W, W, W, W, W, W, W, W, W, W]),
    (Construct::RootConstraint,     [K, N, N, N, N, N, N, N, N, N]),
    (Construct::RootDescription,    [K, K, K, K, K, K, N, K, K, K]),
    (Construct::AnyOf,              [K, K, K, K, K, K, K, K, K, K]),
    (Construct::AnyOfSiblings,      [K, K, K, K, K, W, K, K, K, K]),
    (Construct::OneOf,              [K, K, W, W, W, W, W, W, W, W]),
    (Construct::AllOf,              [K, K, W, W, W, W, W, W, W, W]),
    (Construct::Not,                [K, K, N, N, N, N, N, N, N, N]),
    (Construct::Conditional,        [K, K, N, N, N, N, N, N, N, N]),
    (Construct::Dependent,          [K, K, N, N, N, N, N, N, N, N]),
    (Construct::Reference,          [W, W, W, W, W, W, W, W, W, W]),
    (Construct::Recursion,          [W, W, W, W, W, W, W, W, W, W]),
    (Construct::ForeignReference,   [W, W, W, W, W, W, W, W, W, W]),
    (Construct::Marks,              [D, D, D, D, D, D, D, D, D, D]),
    (Construct::ClosedObject,       [K, K, K, K, K, D, D, K, K, K]),
    (Construct::MapObject,          [K, K, K, K, N, N, N, N, N, N]),
    (Construct::PatternProperties,  [K, K, N, N, N, N, N, N, N, N]),
    (Construct::Unevaluated,        [K, K, D, D, D, D, D, D, D, D]),
    (Construct::PropertyCount,      [K, K, K, K, N, K, N, N, N, N]),
    (Construct::Const,              [K, K, W, W, W, W, W, K, K, K]),
    (Construct::Default,            [K, K, K, K, K, K, N, K, N, K]),
    (Construct::Title,              [K, K, K, K, K, K, D, K, K, K]),
    (Construct::Examples,           [K, K, K, K, N, N, N, N, N, N]),
    (Construct::Annotation,         [K, K, K, K, D, D, D, D, D, D]),
    (Construct::OpenApi,            [K, K, W, W, W, K, W, W, W, W]),
    (Construct::Format,             [K, K, N, N, N, N, N, N, N, N]),
    (Construct::Pattern,            [K, K, K, K, N, K, N, K, K, K]),
    (Construct::TypeList,           [K, K, K, K, K, W, K, K, K, K]),
    (Construct::Untyped,            [K, K, K, K, K, W, K, K, K, K]),
    (Construct::MixedEnum,          [K, K, K, K, N, N, K, K, K, K]),
    (Construct::Bounds,             [K, K, K, K, K, K, N, N, K, K]),
    (Construct::ExclusiveBounds,    [K, K, K, K, W, W, N, N, K, K]),
    (Construct::MultipleOf,         [K, K, K, K, N, N, N, N, K, K]),
    (Construct::TextLength,         [K, K, K, N, N, K, N, N, N, N]),
    (Construct::ItemCount,          [K, K, K, N, K, K, N, N, K, N]),
    (Construct::Contains,           [K, K, N, N, N, N, N, N, N, N]),
    (Construct::Tuple,              [K, K, W, W, K, W, W, W, W, W]),
    (Construct::BareArray,          [K, W, W, W, W, W, W, W, W, W]),
    (Construct::BareObject,         [K, W, W, W, W, W, W, W, W, W]),
    (Construct::UndeclaredRequired, [K, K, W, W, W, W, W, W, W, W]),
    (Construct::BooleanSchema,      [K, W, W, W, W, W, W, W, W, W]),
    (Construct::UnknownKeyword,     [K, K, D, D, D, D, D, D, D, D]),
    (Construct::Malformed,          [D, D, D, D, D, D, D, D, D, D]),
    (Construct::Nesting,            [W, W, W, W, W, W, W, W, W, W]),
];

/// [`TABLE`] by construct; what has no row is kept.
static RULES: [[Rule; 10]; CONSTRUCTS] = {
    let mut rules = [[Rule::Keep; 10]; CONSTRUCTS];
    let mut row = 0;
    while row < TABLE.len() {
        rules[TABLE[row].0 as usize] = TABLE[row].1;
        row += 1;
    }
    rules
};

/// Formats that providers name in their documentation of structured arguments.
const SHORT_WITHOUT_URI: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Those of DeepSeek's strict mode (standards reference §4.6).
const DEEPSEEK_STRICT: &[&str] = &["email", "hostname", "ipv4", "ipv6", "uuid"];

/// The same, with `uri`.
const SHORT: &[&str] = &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

const OPENAI: Dialect = Dialect {
    target: Target::OpenAiChat,
    column: Column::OpenAi,
    wrapper: Wrapper::Function,
    tools: Some(128),
    name: Some(64),
    name_letter_first: false,
    description_required: false,
    description: Some(1024),
    formats: None,
    keys: KeyScope::Everywhere,
    strict: false,
};

const COMPATIBLE: Dialect = Dialect { column: Column::Compatible, description: None, formats: Some(SHORT), ..OPENAI };

const GEMINI: Dialect = Dialect {
    target: Target::Gemini,
    column: Column::Gemini,
    wrapper: Wrapper::Declarations("parametersJsonSchema"),
    tools: Some(512),
    name: Some(64),
    name_letter_first: true,
    description_required: true,
    description: None,
    formats: Some(&["date-time", "date", "time"]),
    keys: KeyScope::Everywhere,
    strict: false,
};

const ANTHROPIC: Dialect = Dialect {
    target: Target::Anthropic,
    column: Column::Anthropic,
    wrapper: Wrapper::Anthropic,
    tools: None,
    name: Some(64),
    name_letter_first: false,
    description_required: false,
    description: None,
    formats: None,
    keys: KeyScope::Root,
    strict: false,
};

/// One row per target that needs lowering.
pub static DIALECTS: &[Dialect] = &[
    ANTHROPIC,
    OPENAI,
    Dialect { target: Target::OpenAiResponses, wrapper: Wrapper::FlatFunction, description: None, ..OPENAI },
    GEMINI,
    Dialect {
        target: Target::GeminiParameters,
        column: Column::GeminiParameters,
        wrapper: Wrapper::Declarations("parameters"),
        formats: Some(&["date-time", "enum", "float", "double", "int32", "int64"]),
        ..GEMINI
    },
    Dialect { target: Target::Bedrock, wrapper: Wrapper::ToolSpec, description_required: true, ..ANTHROPIC },
    Dialect { target: Target::Mistral, tools: None, ..COMPATIBLE },
    Dialect {
        target: Target::Ollama,
        column: Column::Ollama,
        tools: None,
        name: None,
        formats: Some(&[]),
        keys: KeyScope::Nowhere,
        ..COMPATIBLE
    },
    Dialect { target: Target::DeepSeek, ..COMPATIBLE },
    Dialect { target: Target::Xai, column: Column::Xai, tools: Some(200), ..COMPATIBLE },
    Dialect { target: Target::Groq, ..COMPATIBLE },
];
