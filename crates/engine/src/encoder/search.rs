//! A search with an encoder, and what is said where the built-in table answers in its place.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_core::{
    bridge::{BridgeError, SearchReply},
    find::{EncodedIndex, Searcher},
    search::{Encoding as CoreEncoding, Explanation, Hit, Index, Options},
};

use super::{
    Encoding, MAX_QUERY_WAIT,
    queries::{Absent, Lookup, fetch},
};
use crate::{engine::InForce, view::View};

/// How often a search may find that it needs further vectors: what did not fit in one server is looked for in all.
const ROUNDS: usize = 3;

/// Answers a search. `answer` is called where it may block, with what ranks the tools.
pub(crate) async fn search_reply(
    encoding: Option<&Encoding>,
    view: &Arc<View>,
    in_force: &Arc<InForce>,
    answer: impl Fn(&dyn Searcher) -> Result<SearchReply, BridgeError> + Send + Sync + 'static,
) -> Result<SearchReply, BridgeError> {
    let answer = Arc::new(answer);
    let index = view.clone();
    let answered = answer.clone();
    let plain = move || {
        let built_in = BuiltIn { index: index.index(), ranked: AtomicBool::new(false) };
        let reply = answered(&built_in);
        (reply, built_in.ranked.into_inner())
    };
    let Some(encoding) = encoding else { return blocking(plain).await?.0 };
    let deadline = Instant::now() + encoding.encoder().query_wait().min(MAX_QUERY_WAIT);
    let mut why = None;
    for _ in 0..ROUNDS {
        let Some(encoded) = view.encoded() else { break };
        let width = encoded.dimensions();
        let lookup = Lookup::new(encoding.shared.clone(), in_force.clone(), width);
        let (index, answered) = (view.clone(), answer.clone());
        let (reply, lookup) = blocking(move || {
            let documents = CoreEncoding { documents: &encoded, queries: &lookup };
            let reply = answered(&EncodedIndex { index: index.index(), encoding: documents });
            (reply, lookup)
        })
        .await?;
        let missing = lookup.into_missing();
        if missing.is_empty() {
            return reply;
        }
        match fetch(&encoding.shared, missing, width, deadline).await {
            Ok(()) => why = Some(Absent::Insatiable),
            Err(absent) => {
                why = Some(absent);
                if encoding.shared.width.now().is_some_and(|now| now != width) {
                    // Its model was exchanged: what it said of the tools is of no use any more.
                    view.read_again(width);
                }
                break;
            }
        }
    }
    let (reply, ranked) = blocking(plain).await?;
    let mut reply = reply?;
    // Of a ranker that never asks the encoder there is nothing to say, nor where no words were ranked, or no tools.
    if ranked && !view.set.tools().is_empty() && super::is_dense(view.index().kind()) {
        note(&mut reply.value, encoding, why);
    }
    Ok(reply)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, BridgeError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "the search failed");
        BridgeError::Broken
    })
}

/// The index as it is, and whether it ranked anything.
struct BuiltIn<'a> {
    index: &'a Index,
    ranked: AtomicBool,
}

impl Searcher for BuiltIn<'_> {
    fn hits(&self, text: &str, options: &Options<'_>) -> Vec<Hit> {
        self.ranked.store(true, Ordering::Relaxed);
        self.index.hits(text, options)
    }

    fn explain(&self, text: &str, index: usize) -> Option<Explanation> {
        Searcher::explain(self.index, text, index)
    }
}

/// Says once that the table answered.
fn note(reply: &mut Value, encoding: &Encoding, why: Option<Absent>) {
    let cause = match why {
        None => {
            let state = encoding.state();
            if state.problem.is_some() {
                format!("the encoder has read {} of {} tools and fails now", state.read, state.tools)
            } else {
                "the encoder has not read all tools yet".to_owned()
            }
        }
        Some(Absent::Late) => "the encoder did not answer in time".to_owned(),
        Some(Absent::Failed) => "the encoder failed".to_owned(),
        Some(Absent::Resting) => "the encoder failed lately".to_owned(),
        Some(Absent::Busy) => "the encoder is busy".to_owned(),
        Some(Absent::Insatiable) => "the search needed more of the encoder than it may ask for".to_owned(),
    };
    let text = json!(format!("{cause}; ranked by the built-in table"));
    match reply.get_mut("notes").and_then(Value::as_array_mut) {
        Some(notes) => notes.push(text),
        None => reply["notes"] = json!([text]),
    }
}
