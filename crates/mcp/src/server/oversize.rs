//! The id of a request that was too long to keep, so that its sender need not wait for ever.

use super::splice;
use crate::wire::Id;

/// Looks at the two ends of a line: the id is among the members before the long one, or the last member.
pub(super) fn id_of(head: &[u8], tail: &[u8]) -> Option<Id> {
    in_head(head).or_else(|| in_tail(tail))
}

// The whole members at the beginning, as an object of their own: cut behind each comma in turn, from the back.
fn in_head(head: &[u8]) -> Option<Id> {
    let head = String::from_utf8_lossy(head);
    let commas = head.char_indices().rev().filter(|(_, character)| *character == ',').map(|(at, _)| at);
    commas.take(16).find_map(|comma| {
        let object = format!("{}}}", &head[..comma]);
        // A comma inside a text or a deeper value leaves something that is no object.
        serde_json::from_str::<serde::de::IgnoredAny>(&object).ok()?;
        let members = splice::members(&object)?;
        members.iter().find(|member| member.name == "id").and_then(|member| Id::from_json(member.value))
    })
}

// The line's last brace closes the message, so a member right before it is the message's own.
fn in_tail(tail: &[u8]) -> Option<Id> {
    let tail = String::from_utf8_lossy(tail);
    let rest = tail.trim_end().strip_suffix('}')?;
    let at = rest.rfind("\"id\"")?;
    let value = rest[at + 4..].trim_start().strip_prefix(':')?;
    // Nothing but the id may follow.
    Id::from_json(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(head: &str, tail: &str, wants: Option<&str>) {
        assert_eq!(id_of(head.as_bytes(), tail.as_bytes()), wants.and_then(Id::from_json), "{head} … {tail}");
    }

    #[test]
    fn the_id_stands_at_one_of_the_ends() {
        let seven = Some("7");
        finds(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"aaa"#, r#"aaa"}}"#, seven);
        finds(r#"{"id":7,"params":{"x":"a,a"#, r#"aaa"}}"#, seven);
        finds(r#"{"id" : "a,b","params":[1,{"#, r#"aaa"}}"#, Some(r#""a,b""#));
        finds(r#"{"method":"tools/call","params":{"x":"aaa"#, r#"a"},"jsonrpc":"2.0","id":7}"#, seven);
        finds(r#"{"method":"tools/call","params":{"x":"aaa"#, r#"a"}, "id" : "x" } "#, Some(r#""x""#));
    }

    #[test]
    fn what_only_looks_like_the_id_is_not_taken() {
        finds(r#"{"jsonrpc":"2.0","method":"n","params":{"id":7,"x":"aaa"#, r#"a","id":7}}"#, None);
        finds(r#"{"x":"\"id\":7,"#, r#"aaa"}"#, None);
        finds("aaaa", "aaaa", None);
        finds("", "", None);
    }
}
