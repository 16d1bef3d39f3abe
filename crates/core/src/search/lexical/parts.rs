//! The ranker's parts, each of which can be left out to see what it contributes.

/// A part of the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Part {
    /// Words that can stand for one another.
    Synonyms,
    /// Abbreviations and what they are short for.
    Abbreviations,
    /// Words of other languages.
    Translations,
    /// Words one edit away from a word that no document holds.
    Repairs,
    /// Words that such a word begins.
    Completions,
    /// Clauses of a long request, each on its own.
    Clauses,
    /// How much of a tool's name the query covers.
    NameCoverage,
    /// What else the tool's server has to offer.
    ServerEvidence,
    /// Servers that the query mentions.
    ServerMentions,
    /// What the query is about as a whole.
    Dense,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 10] = [
        Self::Synonyms,
        Self::Abbreviations,
        Self::Translations,
        Self::Repairs,
        Self::Completions,
        Self::Clauses,
        Self::NameCoverage,
        Self::ServerEvidence,
        Self::ServerMentions,
        Self::Dense,
    ];

    /// Name of the part in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Synonyms => "synonyms",
            Self::Abbreviations => "abbreviations",
            Self::Translations => "translations",
            Self::Repairs => "repairs",
            Self::Completions => "completions",
            Self::Clauses => "clauses",
            Self::NameCoverage => "name coverage",
            Self::ServerEvidence => "server evidence",
            Self::ServerMentions => "server mentions",
            Self::Dense => "dense",
        }
    }
}

/// Some parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts(u16);

impl Parts {
    /// No part.
    pub const NONE: Self = Self(0);

    /// These and `part`.
    #[must_use]
    pub const fn and(self, part: Part) -> Self {
        Self(self.0 | 1 << part as u16)
    }

    /// Whether `part` is one of them.
    pub const fn has(self, part: Part) -> bool {
        self.0 & 1 << part as u16 != 0
    }
}
