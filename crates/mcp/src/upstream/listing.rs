//! `tools/list`: every page, all or nothing, as raw values.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;
use toolcrib_core::ingest::oversize;

use super::{
    header,
    link::Failure,
    mask::one_line,
    session::{Extras, Session},
    settings::UpstreamLimits,
};
use crate::wire::code;

// A listing that is parsed in one go on the async threads at most; longer ones go to a blocking thread.
const INLINE_BYTES: usize = 256 * 1024;

// What a listing may take in memory, as a multiple of the most bytes of its text. Schemas take about 7 times their text
// and `[0,0,0,…]` 37 times, so the text alone is no bound.
const SWELL: usize = 4;

/// A complete listing.
pub(super) struct Listing {
    /// The definitions as sent, in the server's order.
    pub(super) items: Vec<Value>,
    /// Tools left out, each with the reason.
    pub(super) refused: Vec<String>,
    /// How long the server says the list holds.
    pub(super) ttl: Option<Duration>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default, borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(default, rename = "nextCursor")]
    next: Option<Value>,
    #[serde(default, rename = "ttlMs")]
    ttl: Option<Value>,
}

/// Lists the tools. An error says what is wrong with the listing as a whole; single bad tools are passed on for
/// ingestion to set aside.
pub(super) async fn list(
    session: &Arc<Session>,
    limits: &UpstreamLimits,
    deadline: Instant,
) -> Result<Listing, String> {
    let mut listing = Listing { items: Vec::new(), refused: Vec::new(), ttl: None };
    let mut cursor: Option<String> = None;
    let mut seen = HashSet::new();
    let (mut bytes, mut swollen) = (0, 0);
    for page in 0.. {
        if page >= limits.pages {
            return Err(format!("its tool list has more than {} pages", limits.pages));
        }
        let text = cursor.as_ref().map(|cursor| Value::from(cursor.as_str()).to_string());
        let members: Vec<(&str, &str)> = text.iter().map(|text| ("cursor", text.as_str())).collect();
        let result = match session.request("tools/list", &members, deadline, Extras::default()).await {
            Ok(result) => result,
            // A server without tools is a server all the same.
            Err(Failure::Rpc(error)) if error.code == code::METHOD_NOT_FOUND && page == 0 => return Ok(listing),
            Err(failure) => {
                session.end_if_over(&failure);
                return Err(format!("its tool list could not be read: {}", failure.text()));
            }
        };
        bytes += result.get().len();
        if bytes > limits.listing_bytes {
            return Err(format!("its tool list has more than {} bytes, the most that is read", limits.listing_bytes));
        }
        let (items, size, next, ttl) = read_page(result, limits, (listing.items.len(), swollen)).await?;
        swollen += size;
        listing.items.extend(items);
        listing.ttl = listing.ttl.or(ttl);
        match next {
            None => break,
            Some(next) if !seen.insert(next.clone()) => {
                return Err(format!("its tool list repeats the cursor '{}'", one_line(&next, 80)));
            }
            Some(next) => cursor = Some(next),
        }
    }
    if session.repeats_arguments() {
        drop_badly_annotated(&mut listing);
    }
    Ok(listing)
}

type PageParts = (Vec<Value>, usize, Option<String>, Option<Duration>);

async fn read_page(
    result: Box<RawValue>,
    limits: &UpstreamLimits,
    before: (usize, usize),
) -> Result<PageParts, String> {
    if result.get().len() <= INLINE_BYTES {
        return parse_page(&result, limits, before);
    }
    let limits = *limits;
    let parsed = tokio::task::spawn_blocking(move || parse_page(&result, &limits, before)).await;
    parsed.unwrap_or_else(|error| Err(format!("its tool list could not be read: {error}")))
}

/// Reads a page that comes after so many tools, which take so many bytes of memory. Gives the bytes of its own, too.
fn parse_page(
    result: &RawValue,
    limits: &UpstreamLimits,
    (before, swollen): (usize, usize),
) -> Result<PageParts, String> {
    let page: Page<'_> =
        serde_json::from_str(result.get()).map_err(|error| format!("its tool list is not usable: {error}"))?;
    let tools = page.tools.ok_or("its answer to tools/list has no 'tools'")?;
    if before + tools.len() > limits.tools {
        return Err(format!("it lists more than {} tools, the most that are read", limits.tools));
    }
    let built = tools.iter().filter(|tool| tool.get().len() <= limits.definition_bytes);
    let size = built.map(|tool| memory(tool.get())).sum::<usize>();
    let most = limits.listing_bytes.saturating_mul(SWELL);
    if swollen + size > most {
        return Err(format!("its tool list would take more than {most} bytes of memory"));
    }
    let next = match page.next {
        None | Some(Value::Null) => None,
        Some(Value::String(next)) => Some(next).filter(|next| !next.is_empty()),
        Some(_) => return Err("its tool list has a cursor that is not a text".to_owned()),
    };
    let ttl = page.ttl.as_ref().and_then(Value::as_u64).map(Duration::from_millis);
    Ok((tools.iter().map(|tool| parse_tool(tool, limits.definition_bytes)).collect(), size, next, ttl))
}

/// About how many bytes a JSON text takes as a value.
fn memory(text: &str) -> usize {
    let (mut quoted, mut escaped, mut values) = (false, false, 1);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            // An element comes after a comma or a bracket; a member is a name as well.
            b',' | b':' | b'[' | b'{' if !quoted => values += 1,
            _ => {}
        }
    }
    text.len() + values * size_of::<Value>()
}

/// A definition as a value. One too large to be built, which takes many times its text, or nested too deeply becomes a
/// stub that ingestion refuses under its name, so that its siblings are served.
fn parse_tool(raw: &RawValue, max: usize) -> Value {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let name = || serde_json::from_str::<Named>(raw.get()).map(|named| named.name).unwrap_or_default();
    let bytes = raw.get().len();
    if bytes > max {
        return oversize(&name(), bytes);
    }
    serde_json::from_str(raw.get())
        .unwrap_or_else(|error| json!({"name": name(), "inputSchema": format!("unreadable: {error}")}))
}

/// 2026-07-28 over HTTP: tools whose header annotations break the rules must not be served.
fn drop_badly_annotated(listing: &mut Listing) {
    let refused = &mut listing.refused;
    listing.items.retain(|item| match header::bindings(&item["inputSchema"]) {
        Ok(_) => true,
        Err(reason) => {
            let name = one_line(item["name"].as_str().unwrap_or_default(), 80);
            tracing::warn!(tool = %name, %reason, "tool left out");
            refused.push(format!("{name}: {}", one_line(&reason, 200)));
            false
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(tools: usize) -> UpstreamLimits {
        UpstreamLimits { tools, ..UpstreamLimits::default() }
    }

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn one_unreadable_tool_leaves_its_siblings_alone() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let text =
            format!(r#"{{"tools":[{{"name":"a","x":1.0}},{{"name":"b","y":{deep}}},7],"nextCursor":"n","ttlMs":5}}"#);
        let (items, _, next, ttl) = parse_page(&raw(&text), &most(10), (0, 0)).unwrap();
        assert_eq!(items[0], json!({"name": "a", "x": 1.0}));
        assert_eq!(items[1]["name"], "b");
        assert!(items[1]["inputSchema"].is_string());
        assert_eq!(items[2], 7);
        assert_eq!((next.as_deref(), ttl), (Some("n"), Some(Duration::from_millis(5))));
    }

    #[test]
    fn a_definition_over_the_limit_is_not_built() {
        let limits = UpstreamLimits { definition_bytes: 60, ..UpstreamLimits::default() };
        let long = "x".repeat(60);
        let text = format!(r#"{{"tools":[{{"x":"{long}","name":"big"}},"{long}",{{"name":"small"}}]}}"#);
        let (items, ..) = parse_page(&raw(&text), &limits, (0, 0)).unwrap();
        assert_eq!(items, [oversize("big", 81), oversize("", 62), json!({"name": "small"})]);
    }

    #[test]
    fn a_listing_that_would_fill_memory_is_not_built() {
        let limits = UpstreamLimits { listing_bytes: 100_000, ..UpstreamLimits::default() };
        let page = |value: String| raw(&format!(r#"{{"tools":[{{"name":"a","x":{value}}}]}}"#));
        let zeros = page(format!("[{}0]", "0,".repeat(4_000)));
        let text = page(format!("\"{}\"", "\\\",".repeat(4_000)));
        let size = parse_page(&zeros, &limits, (0, 0)).unwrap().1;
        assert!((8_000 + 4_000 * 72..300_000).contains(&size), "{size}");
        assert!(parse_page(&zeros, &limits, (0, size)).unwrap_err().contains("400000 bytes of memory"));
        assert!(parse_page(&text, &limits, (0, size)).unwrap().1 < 13_000);
    }

    #[test]
    fn a_page_that_is_no_page_fails_whole() {
        for text in
            ["[]", "{}", r#"{"tools":null}"#, r#"{"tools":{}}"#, r#"{"tools":[],"nextCursor":5}"#, r#"{"tools":[1,2]}"#]
        {
            assert!(parse_page(&raw(text), &most(1), (0, 0)).is_err(), "{text}");
        }
        for text in [r#"{"tools":[]}"#, r#"{"tools":[],"nextCursor":null}"#, r#"{"tools":[],"nextCursor":""}"#] {
            assert_eq!(parse_page(&raw(text), &most(1), (1, 0)).unwrap().2, None, "{text}");
        }
    }
}
