//! Reading what was sent: bodies, queries, headers and path parts, with the place of whatever is wrong.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, Uri, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};

use super::{Api, Code, Problem};
use crate::guard::single;

/// Longest value of a header that is taken over, characters.
const MAX_WORD: usize = 256;

impl Api {
    /// The body's bytes, if it is said to be JSON, within the limits of size and time.
    pub(super) async fn bytes(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
        let json = single(headers, &header::CONTENT_TYPE).ok().flatten().is_some_and(|kind| {
            kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
        });
        if !json {
            return Err(Problem::new(Code::NotJson, "send JSON, with Content-Type: application/json"));
        }
        let limit = self.settings.max_body;
        let too_large = || Problem::new(Code::TooLarge, format!("the body is larger than {limit} bytes"));
        let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        match tokio::time::timeout(self.settings.body_timeout, Limited::new(body, limit).collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(Problem::new(Code::NotRead, "the body broke off")),
            Err(_) => Err(Problem::new(Code::TooSlow, "the body did not arrive in time")),
        }
    }
}

/// Reads a value from JSON. The problem names the place as a JSON Pointer.
pub(super) fn json<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let at = pointer(error.path());
        let detail = error.inner().to_string();
        let place = if at.is_empty() { String::new() } else { format!(" at {at}") };
        Problem::new(Code::NotRead, format!("the body cannot be read{place}: {detail}")).at(at, detail)
    })?;
    deserializer.end().map_err(|error| Problem::new(Code::NotRead, format!("the body cannot be read: {error}")))?;
    Ok(value)
}

/// The body as it was written.
pub(super) fn raw(bytes: &[u8]) -> Result<Box<RawValue>, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|error| Problem::new(Code::NotRead, format!("the body cannot be read: {error}")))
}

/// Reads the query string.
pub(super) fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    axum::extract::Query::try_from_uri(uri).map(|query| query.0).map_err(|rejection| {
        let text = rejection.body_text();
        let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text).to_owned();
        let at = text.split_once(": ").map_or("query", |(name, _)| name).to_owned();
        Problem::new(Code::NotRead, format!("the query cannot be read: {text}")).at(at, text)
    })
}

/// A query that must be empty: what is not known is not passed over.
pub(super) fn no_query(uri: &Uri) -> Result<(), Problem> {
    match uri.query() {
        None | Some("") => Ok(()),
        Some(_) => Err(Problem::new(Code::NotRead, "this route takes no query").at("query", "not known here")),
    }
}

/// A header of 1 to 256 visible ASCII characters.
pub(super) fn word(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    match single(headers, name) {
        Ok(None) => Ok(None),
        Ok(Some(text)) if (1..=MAX_WORD).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Some(text.to_owned()))
        }
        Ok(Some(_)) | Err(()) => {
            let text = format!("give it once, as 1 to {MAX_WORD} visible ASCII characters without spaces");
            Err(Problem::new(Code::NotRead, format!("the header {name} cannot be used: {text}"))
                .at(name.as_str(), text))
        }
    }
}

/// `calls[3].name` as `/calls/3/name` (RFC 6901).
fn pointer(path: &Path) -> String {
    let mut text = String::new();
    for segment in path {
        text.push('/');
        match segment {
            Segment::Seq { index } => text.push_str(&index.to_string()),
            Segment::Map { key } => text.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => text.push_str(variant),
            Segment::Unknown => text.push('?'),
        }
    }
    text
}

#[cfg(test)]
mod tests;
