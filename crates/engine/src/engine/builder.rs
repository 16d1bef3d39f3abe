//! Putting an engine together.

use std::sync::{Arc, atomic::AtomicU64};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::{Engine, InForce, Inner};
use crate::{
    admit::Admission,
    approval::{Approvals, Asker},
    categories::Loads,
    encoder::Encoding,
    event::EventSink,
    hub::Hub,
    index_cache::{IndexCache, Indexer},
    intercept::{Interceptor, Interceptors},
    journal::{EvidenceSink, Journal},
    pending::PendingWork,
    permission::Policy,
    settings::EngineSettings,
    store::ResultStore,
    turns::Turns,
    usage::Learner,
    view::ViewCache,
};

/// Collects the parts of an [`Engine`]. Whatever is left out is not there: without approvals, what must be asked about is
/// refused; without a journal nothing is recorded.
#[must_use]
pub struct EngineBuilder {
    hub: Hub,
    settings: EngineSettings,
    policies: Vec<Arc<dyn Policy>>,
    results: Option<Arc<dyn ResultStore>>,
    sinks: Vec<Arc<dyn EventSink>>,
    interceptors: Interceptors,
    approvals: Option<Arc<Approvals>>,
    asker: Option<Arc<dyn Asker>>,
    journal: Option<Journal>,
    pending: Option<PendingWork>,
    evidence: Vec<Arc<dyn EvidenceSink>>,
    learner: Option<Learner>,
    index_cache: Option<Arc<dyn IndexCache>>,
    encoding: Option<Encoding>,
}

impl EngineBuilder {
    pub(super) fn new(hub: Hub) -> Self {
        Self {
            hub,
            settings: EngineSettings::default(),
            policies: Vec::new(),
            results: None,
            sinks: Vec::new(),
            interceptors: Interceptors::new(),
            approvals: None,
            asker: None,
            journal: None,
            pending: None,
            evidence: Vec::new(),
            learner: None,
            index_cache: None,
            encoding: None,
        }
    }

    /// What the engine goes by. Default: [`EngineSettings::default`].
    pub fn settings(mut self, settings: EngineSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Where results over their budget are kept.
    pub fn results(mut self, results: Arc<dyn ResultStore>) -> Self {
        self.results = Some(results);
        self
    }

    /// Somebody who hears of every call.
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// A policy beside the built-in ones.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policies.push(policy);
        self
    }

    /// Code around calls; more can be attached later.
    pub fn interceptor(self, interceptor: Arc<dyn Interceptor>) -> Self {
        self.interceptors.attach(interceptor);
        self
    }

    /// Asking people.
    pub fn approvals(mut self, approvals: Arc<Approvals>) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// The way to a person where a call brings none of its own.
    pub fn asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// The record of calls.
    pub fn journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Somebody who gets every journal record; at most 16. Without a journal nobody gets anything.
    pub fn evidence(mut self, sink: Arc<dyn EvidenceSink>) -> Self {
        self.evidence.push(sink);
        self
    }

    /// Work that outlives its call.
    pub fn pending(mut self, pending: PendingWork) -> Self {
        self.pending = Some(pending);
        self
    }

    /// Learning from use. Without it nothing is learnt.
    pub fn learner(mut self, learner: Learner) -> Self {
        self.learner = Some(learner);
        self
    }

    /// Where what was read for the search index is kept for the next start. Without it all tools are read again then.
    pub fn index_cache(mut self, cache: Arc<dyn IndexCache>) -> Self {
        self.index_cache = Some(cache);
        self
    }

    /// What says how near tools are to a query, in place of the built-in table. Default: the table.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// The engine.
    pub fn build(self) -> Engine {
        if let Some(journal) = &self.journal {
            for sink in self.evidence {
                journal.attach(sink);
            }
        }
        let admission = Admission::new(self.settings.admission.clone());
        let in_force = InForce::new(self.settings, &self.policies, None);
        Engine {
            inner: Arc::new(Inner {
                hub: self.hub,
                in_force: ArcSwap::from_pointee(in_force),
                settings_epoch: AtomicU64::new(0),
                policies: self.policies,
                views: ViewCache::new(Indexer::new(self.index_cache, self.encoding.clone())),
                validators: Mutex::default(),
                output_validators: Mutex::default(),
                results: self.results,
                sinks: self.sinks.into(),
                interceptors: self.interceptors,
                admission,
                approvals: self.approvals,
                asker: self.asker,
                journal: self.journal,
                pending: self.pending,
                learner: self.learner,
                encoding: self.encoding,
                turns: Turns::default(),
                loads: Loads::default(),
                next_call: AtomicU64::new(1),
            }),
        }
    }
}
