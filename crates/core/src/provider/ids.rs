//! Ids of calls: present, unlike each other, and such that the provider takes them (standards reference §4.1).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{read::Found, wire::Wire};
use crate::ContentHash;

/// Longest id that is passed on.
const LENGTH: usize = 64;

/// Gives every call an id that its provider takes. Replaced ids are replaced in the turn's messages as well, since an
/// answer is matched with them there.
pub(super) fn settle(wire: Wire, turn: u64, found: &mut Found) {
    let mut taken = BTreeSet::new();
    for index in 0..found.calls.len() {
        let call = &mut found.calls[index];
        let usable = call.id.as_deref().is_some_and(|id| accepted(wire, id) && !taken.contains(id));
        if !usable {
            let mut round = 0_u64;
            let made = loop {
                let seed = format!("{turn}/{index}/{round}/{:?}/{}", call.id, call.name);
                let made = made_up(wire, &ContentHash::of_bytes(seed.as_bytes()));
                if !taken.contains(&made) {
                    break made;
                }
                round += 1;
            };
            // Where the model's side gave none, Gemini matches by order, and an id would be one it does not know.
            let written = wire != Wire::Gemini || call.id.is_some();
            let (message, pointer) = &call.place;
            if let (Some(key), true) = (wire.id_key(), written)
                && let Some(node) = found.messages.get_mut(*message).and_then(|message| message.pointer_mut(pointer))
                && let Value::Object(node) = node
            {
                node.insert(key.to_owned(), made.clone().into());
            }
            call.unnamed = call.id.is_none();
            call.id = Some(made);
        }
        taken.extend(call.id.clone());
    }
}

/// Whether the provider takes the id in the history.
fn accepted(wire: Wire, id: &str) -> bool {
    let plain = |extra: &[u8]| id.bytes().all(|b| b.is_ascii_alphanumeric() || extra.contains(&b));
    if id.is_empty() {
        return false;
    }
    match wire {
        Wire::Mistral => id.len() == 9 && plain(b""),
        Wire::Anthropic => plain(b"_-"),
        Wire::Bedrock => id.len() <= LENGTH && plain(b"_.:-"),
        Wire::Chat | Wire::Responses | Wire::Gemini | Wire::Ollama => id.len() <= 256 && !id.contains(char::is_control),
    }
}

fn made_up(wire: Wire, hash: &ContentHash) -> String {
    match wire {
        Wire::Mistral => hash.base32(9),
        Wire::Anthropic => format!("toolu_{}", hash.base32(20)),
        Wire::Bedrock => format!("tooluse_{}", hash.base32(20)),
        _ => format!("call_{}", hash.base32(20)),
    }
}
