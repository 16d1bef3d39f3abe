//! Encoders: what says how near tools are to a query, in place of the table in the binary. An embedding program brings one as
//! an [`Encoder`] and hands it over as an [`Encoding`].
//!
//! An encoder is never in the way. Tools are read by one task in the background, after an index was built, and what it
//! read is kept in a [`crate::VectorStore`]; an index goes by the encoder once all of its tools are read, and by the table
//! until then. A query's vector is computed at once where the encoder can do so, or else waited for for
//! [`Encoder::query_wait`]; after repeated failures nothing is waited for for a while. Wherever the table answers in the
//! encoder's place, the answer says so.

mod ask;
mod queries;
mod reading;
mod search;
mod width;

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use toolcrib_core::search::{Index, RankerKind, Vector};

pub(crate) use self::search::search_reply;
use self::{queries::Queries, width::Width};
use crate::{
    backend::BoxFuture,
    store::VectorStore,
    view::{MAX_VIEWS, View},
};

/// Longest time that a search may be made to wait for an encoder.
pub const MAX_QUERY_WAIT: Duration = Duration::from_secs(2);
/// Longest time that an encoder may take for a request; what takes longer has failed.
pub const MAX_ANSWER: Duration = Duration::from_mins(1);
/// Why no encoder could do what was asked. Holds no secret and nothing of the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncoderError(String);

impl EncoderError {
    /// `cause`: what is wrong, where, and what to do, in lower case.
    pub fn new(cause: impl Into<String>) -> Self {
        Self(cause.into())
    }
}

/// Turns texts into vectors whose directions say what they are about.
///
/// All vectors of one encoder have the same number of numbers. An encoder need not be quick or reliable: what does not answer
/// within [`MAX_ANSWER`], or panics, has failed. A text that is refused costs nothing but itself.
pub trait Encoder: Send + Sync + 'static {
    /// Tells its vectors from those of every other encoder, and of this one with another model or other settings; at most
    /// 200 bytes, without secrets. Kept vectors are found by it.
    fn id(&self) -> &str;

    /// What people are told that it is, as `the model 'X' at HOST`.
    fn name(&self) -> &str;

    /// Whether texts leave the machine, or might. Queries are masked as in the journal then. Default yes.
    fn is_remote(&self) -> bool {
        true
    }

    /// Most texts that it is given at a time. Default 64.
    fn batch(&self) -> usize {
        64
    }

    /// How long a search waits for its query's vector, at most [`MAX_QUERY_WAIT`]. Default 200 ms. With zero a search never
    /// waits, and a query counts once it is asked for again.
    fn query_wait(&self) -> Duration {
        Duration::from_millis(200)
    }

    /// What tools say of themselves, as vectors, one a text and in their order.
    fn encode_documents(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>>;

    /// The same for queries.
    fn encode_queries(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>>;

    /// A query's vector where it costs microseconds and nothing is waited for; `None` (the default) sends the query the way
    /// of [`Encoder::encode_queries`].
    fn encode_at_once(&self, query: &str) -> Option<Vector> {
        let _ = query;
        None
    }
}

/// How far an encoder is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodingState {
    /// Tools of the view it is reading, or read last, that it has vectors of.
    pub read: usize,
    /// How many tools that view has.
    pub tools: usize,
    /// Why it went no further the last time, until it does.
    pub problem: Option<String>,
}

/// An encoder at work: its task, and what it knows of queries. Cheap to clone; the task ends with the last clone.
#[derive(Clone)]
pub struct Encoding {
    shared: Arc<Shared>,
    views: mpsc::Sender<Weak<View>>,
}

struct Shared {
    encoder: Arc<dyn Encoder>,
    store: Arc<dyn VectorStore>,
    queries: Queries,
    width: Width,
    state: Mutex<EncodingState>,
    // Counts the views that were read to their end, and the failures on the way.
    done: watch::Sender<u64>,
}

/// Whether a view is in the encoder's queue, or was.
#[derive(Default)]
pub(crate) struct Asked(AtomicBool);

impl Asked {
    pub(crate) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Encoding {
    /// Starts the task. Needs a tokio runtime. What is read is kept in `store`.
    pub fn start(encoder: Arc<dyn Encoder>, store: Arc<dyn VectorStore>) -> Self {
        let shared = Arc::new(Shared {
            encoder,
            store,
            queries: Queries::default(),
            width: Width::default(),
            state: Mutex::default(),
            done: watch::Sender::new(0),
        });
        // More views are never held at a time; what finds no place is asked for again by its next search.
        let (views, waiting) = mpsc::channel(MAX_VIEWS);
        tokio::spawn(reading::run(shared.clone(), waiting));
        Self { shared, views }
    }

    /// Who encodes.
    pub fn encoder(&self) -> &Arc<dyn Encoder> {
        &self.shared.encoder
    }

    /// The vector of a text that is looked for, past everything that is kept: to see whether the encoder works.
    ///
    /// # Errors
    /// What keeps it from answering; a panic of it and a minute without an answer too.
    pub async fn try_query(&self, text: &str) -> Result<Vector, EncoderError> {
        let mut vectors = ask::ask(self.encoder(), ask::Kind::Queries, vec![text.to_owned()]).await?;
        vectors.pop().ok_or_else(|| EncoderError::new("no vector came".to_owned()))
    }

    /// How far it is.
    pub fn state(&self) -> EncodingState {
        self.shared.state.lock().clone()
    }

    /// Waits until the encoder has read all tools of a view or fails, at most `patience`; whether it has. Waits for nothing
    /// where there is nothing to read: in a view without tools, or one whose ranker goes by words alone. For a process that
    /// lives for one search.
    pub async fn ready(&self, view: &Arc<View>, patience: Duration) -> bool {
        let indexed = view.clone();
        let kind = tokio::task::spawn_blocking(move || indexed.index().kind()).await;
        if view.set.tools().is_empty() || !kind.is_ok_and(is_dense) {
            return view.set.tools().is_empty();
        }
        let mut done = self.shared.done.subscribe();
        let all = async {
            while view.encoded().is_none() && self.state().problem.is_none() && done.changed().await.is_ok() {}
        };
        let _ = tokio::time::timeout(patience, all).await;
        view.encoded().is_some()
    }

    /// Has a view's tools read, unless that was asked for already or the view's ranker goes by words alone.
    pub(crate) fn read_tools(&self, view: &Weak<View>, asked: &Asked, index: &Index) {
        if !is_dense(index.kind()) || asked.0.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.views.try_send(view.clone()).is_err() {
            asked.forget();
        }
    }
}

pub(crate) fn is_dense(kind: RankerKind) -> bool {
    !matches!(kind, RankerKind::Bm25 | RankerKind::Lexical)
}
