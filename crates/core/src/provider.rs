//! Calls and results on their way between a model provider and the call path: what a model's turn asks for, under
//! exposed names and with original keys, and what its provider takes as the answers.
//!
//! Pure: a turn is read ([`calls_from`]), whoever calls runs the calls, and the answers are written
//! ([`results_into`]). Streamed turns are put together first ([`Fragments`]). What a turn holds is untrusted: names
//! that the set does not know stay as they are and are refused by the call path, arguments are not judged here.
//!
//! ```
//! # use serde_json::json;
//! # use toolcrib_core::{ToolResult, provider::{ReadOptions, WriteOptions, calls_from, results_into}, render::{Target, render}};
//! let definition = json!({"name": "weather", "inputSchema": {"type": "object", "properties": {"city name": {"type": "string"}}}});
//! let way = render(Target::Anthropic, [&definition]).way_back();
//! let response = json!({"role": "assistant", "content": [
//!     {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city_name": "Oslo"}},
//! ]});
//! let turn = calls_from(&way, &response, &ReadOptions::default())?;
//! assert_eq!(turn.calls[0].arguments.get(), r#"{"city name":"Oslo"}"#);
//!
//! let answers = results_into(&way, &turn, &[Some(ToolResult::text("rain"))], &WriteOptions::default());
//! assert_eq!(answers[0]["content"][0]["tool_use_id"], "toolu_1");
//! # Ok::<(), toolcrib_core::provider::ReadError>(())
//! ```

use serde_json::{Value, value::RawValue};

use crate::render::Target;

mod content;
mod fragments;
mod ids;
mod printed;
mod read;
mod way;
mod wire;
mod write;

pub use fragments::{FragmentError, Fragments};
pub use way::{Loadable, WayBack};
pub use write::results_into;

use self::wire::Wire;

/// Most calls in one turn. Providers' own documentation shows tens.
pub const MAX_CALLS: usize = 128;

/// How a turn is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Also take calls that the model printed as text, as local models without a tool template do. Only for names that
    /// the set knows, and only in turns without proper calls. Off by default: a model that quotes a page quotes calls
    /// in it, too.
    pub printed: bool,
    /// The number of the turn in its conversation; makes ids that had to be made up differ from turn to turn.
    pub turn: u64,
}

/// How answers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether the model looks at images. Without, and where the provider takes none in an answer, a line of text
    /// stands in their place: an image in base 64 would cost tens of thousands of tokens as text (peers §4 no. 80).
    pub images: bool,
}

/// One call that a model asks for.
#[derive(Clone, Debug)]
pub struct ProviderCall {
    /// The call's id as the answer will carry it. Made up where the provider gave none or one that it would refuse.
    pub id: String,
    /// The exposed name; the model's own word where the set does not know it.
    pub name: String,
    /// Whether the set knows the name.
    pub known: bool,
    /// The arguments with their original keys: what [`crate::args::prepare`] takes. A JSON string where the provider's
    /// text of arguments is not JSON.
    pub arguments: Box<RawValue>,
    /// Whether the call was printed as text.
    pub printed: bool,
    /// The provider gave no id and matches answers in another way.
    unnamed: bool,
    own: String,
    kind: CallKind,
    caller: Option<Value>,
}

/// What kind of call it is to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    Function,
    /// A search for tools in the provider's own form (`tool_search_call` of OpenAI).
    Search,
}

/// A model's turn.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The calls, in the order in which they were asked for.
    pub calls: Vec<ProviderCall>,
    /// The turn as it goes into the conversation, before the answers: one message, or the items of a response.
    /// Everything that the provider wants back unchanged (signatures, reasoning) is in it.
    pub messages: Vec<Value>,
    /// What the model said beside its calls.
    pub text: String,
}

/// Why a turn cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// MCP has no turns.
    #[error("{0} has no responses of models; name the provider the tools were rendered for")]
    NoProvider(Target),
    /// The value is not what the provider answers.
    #[error("this is no response of {target}: {expected} is missing; pass the response body as the provider sent it")]
    NotAResponse {
        /// Whose response it should be.
        target: Target,
        /// What was looked for.
        expected: &'static str,
    },
    /// The provider answered with an error.
    #[error("the provider answered with an error, not with a turn: {0}")]
    ProviderError(String),
    /// More calls than a turn may have.
    #[error("the turn has {0} calls, more than {MAX_CALLS}; ask the model for fewer at once")]
    TooManyCalls(usize),
    /// A call without a name.
    #[error("call {0} of the turn has no name; the turn cannot be answered")]
    Nameless(usize),
}

/// Reads a model's turn: a response body as the provider sent it, or the assistant's message in it.
///
/// Names and keys come back under the set's own map, arguments given as text and as an object are read alike. Ids that
/// are missing, repeated or that the provider would refuse are replaced, in [`Turn::messages`] as well.
pub fn calls_from(way: &WayBack, response: &Value, options: &ReadOptions) -> Result<Turn, ReadError> {
    let wire = Wire::of(way.target()).ok_or(ReadError::NoProvider(way.target()))?;
    let mut found = read::read(wire, way.target(), response)?;
    if options.printed && found.calls.is_empty() {
        printed::find(wire, way, &mut found);
    }
    if found.calls.len() > MAX_CALLS {
        return Err(ReadError::TooManyCalls(found.calls.len()));
    }
    ids::settle(wire, options.turn, &mut found);
    let mut calls = Vec::with_capacity(found.calls.len());
    for (index, call) in found.calls.into_iter().enumerate() {
        if call.name.trim().is_empty() {
            return Err(ReadError::Nameless(index));
        }
        let (name, known) = way.exposed(call.name.trim());
        let arguments = way.arguments(&name, call.arguments);
        calls.push(ProviderCall {
            id: call.id.unwrap_or_default(),
            name,
            known,
            arguments,
            printed: call.printed,
            unnamed: call.unnamed,
            own: call.name,
            kind: call.kind,
            caller: call.caller,
        });
    }
    Ok(Turn { calls, messages: found.messages, text: found.text })
}

#[cfg(test)]
mod tests;
