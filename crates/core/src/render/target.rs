//! The targets by name.

use std::{fmt, str::FromStr};

use super::dialect::{self, Dialect};

/// Whom a set of tools is rendered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// MCP itself: definitions as they are.
    Mcp,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Gemini with `parametersJsonSchema`.
    Gemini,
    /// Gemini with `parameters`, a subset of an OpenAPI 3.0 schema.
    GeminiParameters,
    /// Bedrock Converse.
    Bedrock,
    /// Mistral.
    Mistral,
    /// Ollama.
    Ollama,
    /// DeepSeek.
    DeepSeek,
    /// xAI.
    Xai,
    /// Groq.
    Groq,
}

impl Target {
    /// All targets, in the order of the reference.
    pub const ALL: [Self; 12] = [
        Self::Mcp,
        Self::Anthropic,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Gemini,
        Self::GeminiParameters,
        Self::Bedrock,
        Self::Mistral,
        Self::Ollama,
        Self::DeepSeek,
        Self::Xai,
        Self::Groq,
    ];

    /// The target's name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::GeminiParameters => "gemini-parameters",
            Self::Bedrock => "bedrock",
            Self::Mistral => "mistral",
            Self::Ollama => "ollama",
            Self::DeepSeek => "deepseek",
            Self::Xai => "xai",
            Self::Groq => "groq",
        }
    }

    /// What the target accepts; none for MCP, which takes definitions as they are.
    pub fn dialect(self) -> Option<&'static Dialect> {
        dialect::DIALECTS.iter().find(|dialect| dialect.target == self)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No such target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a target; targets are {names}", names = Target::ALL.map(Target::name).join(", "))]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        Self::ALL.into_iter().find(|target| target.name() == text).ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}
