//! `fetch_url`: a web page as text, through the egress guard.
//!
//! Rules on hosts are held against the address of the call, so a redirect to another host ends it: the caller is told
//! where to, and may ask for that in a call of its own, which is judged anew.

use std::fmt::Write;

use encoding_rs::{Encoding, UTF_8};
use reqwest::{
    Method, Request,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    Shared,
    definition::{Behaviour, define},
    failure::Failure,
};
use crate::net::Fetched;

mod html;

/// Characters returned if the call does not say.
const DEFAULT_CHARS: usize = 20_000;
/// Most characters a call may ask for.
const MAX_CHARS: usize = 200_000;
/// Characters of an error page that are shown.
const ERROR_CHARS: usize = 1_000;
/// Longest address of another host that is told, in bytes.
const MAX_ADDRESS: usize = 4_096;
/// Bytes at the start of a page in which it may name its encoding (HTML standard, prescan).
const PRESCAN_BYTES: usize = 1_024;

pub(crate) fn definition() -> Value {
    define(
        "fetch_url",
        "Fetch URL",
        "Fetch a web page or text from the Internet, as plain text.",
        &json!({"url": {"type": "string"}, "max_chars": {"type": "integer", "minimum": 1}}),
        &["url"],
        Behaviour::ReadsOpenWorld,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    url: String,
    #[serde(default)]
    max_chars: Option<usize>,
}

pub(crate) async fn run(shared: &Shared, arguments: Arguments) -> Result<String, Failure> {
    let asked = Url::parse(arguments.url.trim())
        .map_err(|error| Failure::new(format!("this is not a whole address ({error}); begin with https://")))?;
    let limit = arguments.max_chars.unwrap_or(DEFAULT_CHARS).clamp(1, MAX_CHARS);
    let client = shared.client().await?;
    let mut request = Request::new(Method::GET, asked.clone());
    request.headers_mut().insert(
        ACCEPT,
        HeaderValue::from_static(
            "text/html, text/plain, application/json, application/xml;q=0.9, text/*;q=0.8, */*;q=0.1",
        ),
    );
    let fetched = client.fetch_from_host(request).await.map_err(|error| Failure::new(error.to_string()))?;
    // Parsing some megabytes takes a while; the runtime's own threads have better things to do.
    let page = tokio::task::spawn_blocking(move || render(&asked, &fetched, limit));
    page.await.map_err(|_| Failure::new("the page could not be turned into text"))?
}

fn render(asked: &Url, fetched: &Fetched, limit: usize) -> Result<String, Failure> {
    if let Some(target) = &fetched.elsewhere {
        if target.as_str().len() > MAX_ADDRESS {
            return Err(Failure::new("the server redirects to another host, by an address that is too long to show"));
        }
        return Ok(format!(
            "[redirected to {target}, which is another host and was not fetched; call fetch_url with that address if it is wanted]"
        ));
    }
    let media = Media::of(fetched);
    if !fetched.status.is_success() {
        let mut text = format!("the server answered {}", fetched.status);
        if media.is_text() {
            let page = to_text(&media, fetched, ERROR_CHARS);
            let (shown, _) = cut(page.trim(), ERROR_CHARS);
            if !shown.is_empty() {
                text = format!("{text}:\n{shown}");
            }
        }
        return Err(Failure::new(text));
    }
    if !media.is_text() {
        return Err(Failure::new(format!(
            "this is not text but '{}' of {}{} bytes",
            media.essence,
            if fetched.truncated { "more than " } else { "" },
            fetched.body.len()
        )));
    }
    let page = to_text(&media, fetched, limit);
    let (shown, more) = cut(&page, limit);
    let mut text = String::new();
    if fetched.url != *asked {
        text = format!("[redirected to {}]\n", fetched.url);
    }
    text.push_str(shown);
    if more && limit < MAX_CHARS {
        let _ = write!(text, "\n[cut at {limit} characters; ask for more with max_chars, at most {MAX_CHARS}]");
    } else if more || fetched.truncated {
        text.push_str("\n[cut: the page is longer than can be fetched]");
    }
    Ok(text)
}

fn cut(text: &str, chars: usize) -> (&str, bool) {
    match text.char_indices().nth(chars) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

fn to_text(media: &Media, fetched: &Fetched, chars: usize) -> String {
    // A mark at the start overrides what the headers say (Encoding standard, decode).
    let (text, _, _) = media.encoding.decode(&fetched.body);
    if media.is_html { html::to_text(&text, &fetched.url, chars) } else { text.into_owned() }
}

struct Media {
    /// The media type without parameters, lower case.
    essence: String,
    encoding: &'static Encoding,
    is_html: bool,
}

impl Media {
    fn of(fetched: &Fetched) -> Self {
        let header = fetched.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut parts = header.split(';').map(str::trim);
        let mut essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        });
        let start = &fetched.body[..fetched.body.len().min(PRESCAN_BYTES)];
        if essence.is_empty() {
            let guess = match (looks_like_html(start), start.contains(&0)) {
                (true, _) => "text/html",
                (false, true) => "application/octet-stream",
                (false, false) => "text/plain",
            };
            guess.clone_into(&mut essence);
        }
        let is_html = matches!(essence.as_str(), "text/html" | "application/xhtml+xml");
        let encoding = charset
            .and_then(|label| Encoding::for_label(label.as_bytes()))
            .or_else(|| if is_html { declared_in(start) } else { None })
            .unwrap_or(UTF_8);
        Self { essence, encoding, is_html }
    }

    fn is_text(&self) -> bool {
        let essence = self.essence.as_str();
        essence.starts_with("text/")
            || essence.ends_with("+json")
            || essence.ends_with("+xml")
            || matches!(
                essence,
                "application/json"
                    | "application/xml"
                    | "application/yaml"
                    | "application/x-yaml"
                    | "application/toml"
                    | "application/javascript"
                    | "application/x-javascript"
                    | "application/x-ndjson"
                    | "application/jsonl"
                    | "application/x-sh"
                    | "application/sql"
            )
    }
}

fn looks_like_html(start: &[u8]) -> bool {
    let start = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// The encoding a page names in a `meta` element, found the simple way: `charset=` near the start.
fn declared_in(start: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let (_, rest) = start.split_once("charset=")?;
    let label: String = rest
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c))
        .collect();
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A page that was read as ASCII so far cannot be UTF-16 (HTML standard, prescan).
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}
