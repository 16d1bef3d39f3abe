//! The families of response shapes.

use crate::render::Target;

/// How calls and answers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Content blocks `tool_use` and `tool_result`.
    Anthropic,
    /// `tool_calls` of a message, and messages of the role `tool`: OpenAI, DeepSeek, xAI, Groq.
    Chat,
    /// The same, with ids of nine letters and digits.
    Mistral,
    /// The same without ids, arguments as objects.
    Ollama,
    /// Items `function_call` and `function_call_output`.
    Responses,
    /// Parts `functionCall` and `functionResponse`.
    Gemini,
    /// Content blocks `toolUse` and `toolResult`.
    Bedrock,
}

impl Wire {
    /// The wire of a target; none for MCP.
    pub(super) fn of(target: Target) -> Option<Self> {
        Some(match target {
            Target::Mcp => return None,
            Target::Anthropic => Self::Anthropic,
            Target::OpenAiChat | Target::DeepSeek | Target::Xai | Target::Groq => Self::Chat,
            Target::OpenAiResponses => Self::Responses,
            Target::Gemini | Target::GeminiParameters => Self::Gemini,
            Target::Bedrock => Self::Bedrock,
            Target::Mistral => Self::Mistral,
            Target::Ollama => Self::Ollama,
        })
    }

    /// Where the call's id stands in the call; none where the wire has no ids.
    pub(super) fn id_key(self) -> Option<&'static str> {
        match self {
            Self::Anthropic | Self::Chat | Self::Mistral | Self::Gemini => Some("id"),
            Self::Responses => Some("call_id"),
            Self::Bedrock => Some("toolUseId"),
            Self::Ollama => None,
        }
    }
}
