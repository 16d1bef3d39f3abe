//! `tools/list`: pages and what older clients must not see.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{Protocol, ToolList, frame::quoted, params::invalid, splice};
use crate::wire::RpcError;

/// One page, as the members of a result object.
pub(super) struct Page {
    /// `"tools":[…]` and, when there is more, `"nextCursor":…`.
    pub(super) members: String,
}

/// Renders the page `cursor` points at. A cursor is good for the list it was given for; once that changed, paging has to
/// start over, or tools would be skipped or repeated.
pub(super) fn page(list: &ToolList, cursor: Option<&str>, size: usize, protocol: Protocol) -> Result<Page, RpcError> {
    let size = size.max(1);
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let start = read_cursor(cursor, &list.hash)?;
            if start == 0 || start >= list.tools.len() || start % size != 0 {
                return Err(invalid("params.cursor was not given out by this server; list again without one"));
            }
            start
        }
    };
    let end = list.tools.len().min(start.saturating_add(size));
    let tools = &list.tools[start..end];
    let mut members = String::with_capacity(32 + tools.iter().map(|tool| tool.get().len() + 1).sum::<usize>());
    members.push_str(r#""tools":["#);
    for (index, tool) in tools.iter().enumerate() {
        if index > 0 {
            members.push(',');
        }
        if protocol.is_modern() {
            members.push_str(tool.get());
        } else {
            members.push_str(&for_legacy(tool.get()));
        }
    }
    members.push(']');
    if end < list.tools.len() {
        members.push_str(r#","nextCursor":"#);
        members.push_str(&quoted(&write_cursor(end, &list.hash)));
    }
    Ok(Page { members })
}

// Clients of the legacy revisions refuse a whole list over one `outputSchema` that is not an object's (standards §4.9).
fn for_legacy(tool: &str) -> Cow<'_, str> {
    if !tool.contains("outputSchema") && !tool.contains('\\') {
        return Cow::Borrowed(tool);
    }
    let Some(members) = splice::members(tool) else { return Cow::Borrowed(tool) };
    let Some(at) = members.iter().position(|member| member.name == "outputSchema") else { return Cow::Borrowed(tool) };
    let is_object = splice::members(members[at].value)
        .is_some_and(|schema| schema.iter().any(|member| member.name == "type" && member.value == r#""object""#));
    if is_object { Cow::Borrowed(tool) } else { Cow::Owned(splice::edit(tool, &members, &[at], "")) }
}

fn write_cursor(start: usize, hash: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{start} {hash}"))
}

fn read_cursor(cursor: &str, hash: &str) -> Result<usize, RpcError> {
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let parts = text.as_deref().and_then(|text| text.split_once(' '));
    let Some((start, given)) = parts.and_then(|(start, hash)| Some((start.parse().ok()?, hash))) else {
        return Err(invalid("params.cursor was not given out by this server; list again without one"));
    };
    if given != hash {
        return Err(invalid("params.cursor is of a list that has changed since; list again without one"));
    }
    Ok(start)
}

#[cfg(test)]
mod tests;
