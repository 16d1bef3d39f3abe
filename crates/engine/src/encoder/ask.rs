//! One request to an encoder: how it may fail, and that nothing but the request does.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use tokio::{task::JoinSet, time::timeout};
use toolcrib_core::search::Vector;

use super::{Encoder, EncoderError, MAX_ANSWER};

/// What texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Documents,
    Queries,
}

/// The vectors of some texts, one a text and all of one width.
pub(super) async fn ask(
    encoder: &Arc<dyn Encoder>,
    kind: Kind,
    texts: Vec<String>,
) -> Result<Vec<Vector>, EncoderError> {
    let (own, count) = (encoder.clone(), texts.len());
    // In a task of its own: a panic ends nothing else, others get their turn between two requests, and what is late ends
    // with the set.
    let mut request = JoinSet::new();
    request.spawn(async move {
        match kind {
            Kind::Documents => own.encode_documents(texts).await,
            Kind::Queries => own.encode_queries(texts).await,
        }
    });
    let vectors = match timeout(MAX_ANSWER, request.join_next()).await {
        Ok(Some(Ok(answer))) => answer?,
        Ok(_) => return Err(EncoderError::new("it broke down")),
        Err(_) => return Err(EncoderError::new(format!("no answer within {} s", MAX_ANSWER.as_secs()))),
    };
    if vectors.len() != count {
        return Err(EncoderError::new(format!("{} vectors came for {count} texts", vectors.len())));
    }
    let mut widths = vectors.iter().map(Vector::dimensions);
    if let Some(first) = widths.next()
        && let Some(other) = widths.find(|width| *width != first)
    {
        return Err(EncoderError::new(format!("vectors of {first} and of {other} numbers came at once")));
    }
    Ok(vectors)
}

/// [`Encoder::encode_at_once`], where a panic is no vector.
pub(super) fn ask_at_once(encoder: &dyn Encoder, query: &str) -> Option<Vector> {
    catch_unwind(AssertUnwindSafe(|| encoder.encode_at_once(query))).unwrap_or_else(|_| {
        tracing::warn!(encoder = encoder.name(), "the encoder broke down over a query");
        None
    })
}
