//! The fields of a document: what each weighs, and how long it usually is.

use super::super::Document;

/// Most words that are read of one field; the rest is ignored.
const MAX_FIELD_WORDS: usize = 1_000;

/// A part of a document that words are found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Field {
    /// Exposed name.
    Name,
    /// Display title.
    Title,
    /// Description.
    Description,
    /// Names of top-level parameters.
    ParameterName,
    /// Descriptions and allowed values of parameters, names of nested ones.
    ParameterText,
    /// Label of the server.
    Server,
    /// What the server says of itself.
    ServerSummary,
    /// Tags.
    Tag,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 8] = [
        Self::Name,
        Self::Title,
        Self::Description,
        Self::ParameterName,
        Self::ParameterText,
        Self::Server,
        Self::ServerSummary,
        Self::Tag,
    ];

    /// Weight of an occurrence (`retrieval.md` §6).
    pub(super) const fn weight(self) -> f32 {
        match self {
            Self::Name => 3.0,
            Self::Title => 1.5,
            Self::Description | Self::Server => 1.0,
            Self::ParameterText => 0.4,
            Self::ParameterName => 0.25,
            Self::ServerSummary => 0.3,
            Self::Tag => 0.5,
        }
    }

    /// Share of the field in what a document is about.
    pub(super) const fn about(self) -> f32 {
        match self {
            Self::Description => 1.0,
            Self::Name => 0.8,
            Self::Title => 0.4,
            Self::ParameterName | Self::Server => 0.3,
            Self::ParameterText | Self::ServerSummary | Self::Tag => 0.0,
        }
    }

    /// Words in a usual field of this kind. Constants instead of the catalog's own means, so that what a word is worth in
    /// a document depends on that document alone: a changed source leaves all other documents as they are.
    pub(super) const fn usual_length(self) -> f32 {
        match self {
            Self::Name | Self::Title | Self::Tag => 3.0,
            Self::Description | Self::ServerSummary => 14.0,
            Self::ParameterName => 5.0,
            Self::ParameterText => 40.0,
            Self::Server => 1.5,
        }
    }

    pub(super) const fn bit(self) -> u16 {
        1 << self as u8
    }

    /// Name of the field in explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Description => "description",
            Self::ParameterName => "parameter names",
            Self::ParameterText => "parameter descriptions",
            Self::Server => "server",
            Self::ServerSummary => "server's summary",
            Self::Tag => "tags",
        }
    }
}

/// Calls `f` with the texts of the field, in order.
pub(super) fn each_text<'a>(document: &'a Document, field: Field, mut f: impl FnMut(&'a str)) {
    match field {
        Field::Name => f(&document.name),
        Field::Title => f(&document.title),
        Field::Description => f(&document.description),
        Field::Server => f(&document.server),
        Field::ServerSummary => f(&document.server_summary),
        Field::Tag => document.tags.iter().for_each(|tag| f(tag)),
        Field::ParameterName => {
            document.parameters.iter().filter(|parameter| !parameter.nested).for_each(|parameter| f(&parameter.name));
        }
        Field::ParameterText => {
            for parameter in &document.parameters {
                if parameter.nested {
                    f(&parameter.name);
                }
                f(&parameter.description);
                parameter.enum_values.iter().for_each(|value| f(value));
            }
        }
    }
}

/// Counts the words of one field up to the cap.
#[derive(Debug, Default)]
pub(super) struct FieldLength(usize);

impl FieldLength {
    /// Whether one more word is still read.
    pub(super) fn take(&mut self) -> bool {
        self.0 += 1;
        self.0 <= MAX_FIELD_WORDS
    }

    pub(super) fn is_full(&self) -> bool {
        self.0 >= MAX_FIELD_WORDS
    }

    pub(super) fn words(&self) -> f32 {
        self.0.min(MAX_FIELD_WORDS) as f32
    }
}
