//! What an encoder brings: the default ranker without and with it. A query's vector is part of what is timed where it is
//! computed at once; those of others are made before, so the times are those of a search whose query is known.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use toolcrib_core::{
    find::EncodedIndex,
    search::{Encoding, Index, QueryVectors, RankerKind, Vector},
};
use toolcrib_engine::encoder::Encoder;

use super::{
    Labelled, Measured,
    measure::{answers, measure, measure_searcher},
};
use crate::{args::EvalArgs, encoders, world};

/// How often a pass over the queries may find that further texts are needed.
const ROUNDS: usize = 4;

/// The encoder that is to be measured, if one is.
pub(super) fn encoder(args: &EvalArgs) -> anyhow::Result<Option<Arc<dyn Encoder>>> {
    if let Some(folder) = &args.encoder_folder {
        return Ok(Some(encoders::in_folder(Path::new(folder))?));
    }
    if !args.encoder {
        return Ok(None);
    }
    let loaded = world::load(&args.look.sources.config)?;
    let found = encoders::of(&loaded.config);
    let problem = loaded.diagnostics.iter().find(|finding| finding.key.starts_with("search"));
    let why = problem.map_or_else(|| "the configuration names no search.encoder".to_owned(), ToString::to_string);
    Ok(Some(found.with_context(|| why)?.context("search.encoder")?))
}

/// What is known of queries, and what is not.
struct Known {
    encoder: Arc<dyn Encoder>,
    vectors: HashMap<String, Arc<Vector>>,
    missing: Mutex<BTreeSet<String>>,
}

impl QueryVectors for Known {
    fn vector(&self, text: &str) -> Option<Arc<Vector>> {
        if let Some(vector) = self.encoder.encode_at_once(text) {
            return Some(Arc::new(vector));
        }
        let found = self.vectors.get(text).cloned();
        if found.is_none() {
            self.missing.lock().insert(text.to_owned());
        }
        found
    }
}

/// The default ranker on a set, without and with the encoder.
pub(super) async fn without_and_with(
    encoder: &Arc<dyn Encoder>,
    set: &Labelled,
    hints: bool,
) -> anyhow::Result<(Measured, Measured)> {
    let kind = RankerKind::default();
    let index = Index::build(kind, set.tools.documents());
    let passages: Vec<String> = set.tools.documents().iter().map(toolcrib_core::search::Document::passage).collect();
    let vectors = encode(encoder, passages, true).await?;
    let documents = index
        .encode(encoder.name().into(), |at| vectors.get(at))
        .context("the encoder's vectors cannot be used with this ranker")?;
    let mut known = Known { encoder: encoder.clone(), vectors: HashMap::new(), missing: Mutex::default() };
    for _ in 0..ROUNDS {
        let searcher = EncodedIndex { index: &index, encoding: Encoding { documents: &documents, queries: &known } };
        answers(&searcher, set, hints);
        let missing: Vec<String> = std::mem::take(&mut *known.missing.lock()).into_iter().collect();
        if missing.is_empty() {
            break;
        }
        let vectors = encode(encoder, missing.clone(), false).await?;
        known.vectors.extend(missing.into_iter().zip(vectors.into_iter().map(Arc::new)));
    }
    let searcher = EncodedIndex { index: &index, encoding: Encoding { documents: &documents, queries: &known } };
    let label = format!("{kind} + {}", encoder.name());
    let with = measure_searcher(label, &searcher, set, hints);
    ensure!(known.missing.lock().is_empty(), "{}: the encoder lacks some queries", set.name);
    Ok((measure(kind, set, hints), with))
}

async fn encode(encoder: &Arc<dyn Encoder>, texts: Vec<String>, documents: bool) -> anyhow::Result<Vec<Vector>> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(encoder.batch().max(1)) {
        let encoded = if documents {
            encoder.encode_documents(batch.to_vec()).await?
        } else {
            encoder.encode_queries(batch.to_vec()).await?
        };
        ensure!(encoded.len() == batch.len(), "{} vectors came for {} texts", encoded.len(), batch.len());
        vectors.extend(encoded);
    }
    Ok(vectors)
}
