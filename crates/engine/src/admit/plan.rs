//! What the settings mean for one tool, worked out once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::RwLock;
use toolcrib_core::{ContentHash, Labels, Source, Tool, ToolId, breaker::BreakerPolicy, selector::Selector};

use super::{
    charge::Rate,
    circuits::Path,
    report::{BreakerKey, Guarded},
    settings::{AdmissionSettings, RepeatSettings},
};

/// Tools whose plan is kept.
const MAX_PLANS: usize = 4_096;

pub(super) struct Plan {
    /// What it was worked out for; anything else needs another one.
    exposed: String,
    hash: ContentHash,
    labels: Arc<Labels>,

    pub(super) tool: Arc<ToolId>,
    pub(super) source: Arc<Source>,
    pub(super) rates: Vec<Arc<Rate>>,
    path: Arc<Path>,
    pub(super) tool_limit: Option<u32>,
    pub(super) source_limit: Option<u32>,
    pub(super) user_limit: Option<u32>,
    pub(super) tenant_limit: Option<u32>,
    /// Not to run beside others of its source.
    pub(super) exclusive: bool,
    /// Whether any tool may be exclusive, so that calls of a source must be told apart.
    pub(super) apart: bool,
    pub(super) queue: u32,
    pub(super) wait: Duration,
    pub(super) repeat: Arc<RepeatSettings>,
}

impl Plan {
    /// The circuits on the way, for calls with these credentials.
    pub(super) fn path(&self, credentials: Option<&str>) -> Arc<Path> {
        let Some(class) = credentials else { return self.path.clone() };
        let of_class = |circuit: &Option<(BreakerKey, BreakerPolicy)>| {
            circuit.as_ref().map(|(key, policy)| {
                let key = BreakerKey { guarded: key.guarded.clone(), credentials: Some(class.to_owned()) };
                (key, *policy)
            })
        };
        Arc::new(Path { source: of_class(&self.path.source), tool: of_class(&self.path.tool) })
    }
}

/// Settings with the plans made from them.
pub(super) struct Plans {
    settings: AdmissionSettings,
    repeat: Arc<RepeatSettings>,
    rates: Vec<Arc<Rate>>,
    made: RwLock<HashMap<ToolId, Arc<Plan>>>,
}

impl Plans {
    /// Rates that were there before keep what they have counted.
    pub(super) fn new(settings: AdmissionSettings, before: Option<&Self>) -> Self {
        let known = before.map_or(&[][..], |before| &before.rates);
        let rates = settings
            .rates
            .iter()
            .map(|rule| {
                let kept = known.iter().find(|rate| rate.rule.same(rule));
                kept.cloned().unwrap_or_else(|| Arc::new(Rate::new(rule.clone())))
            })
            .collect();
        Self { repeat: Arc::new(settings.repeat.clone()), settings, rates, made: RwLock::default() }
    }

    pub(super) fn settings(&self) -> &AdmissionSettings {
        &self.settings
    }

    pub(super) fn plan(&self, tool: &Tool, exposed: &str) -> Arc<Plan> {
        if let Some(plan) = self.made.read().get(tool.id())
            && plan.exposed == exposed
            && plan.hash == tool.hash()
            && plan.labels == *tool.labels()
        {
            return plan.clone();
        }
        let plan = Arc::new(self.make(tool, exposed));
        let mut made = self.made.write();
        if made.len() >= MAX_PLANS {
            made.clear();
        }
        made.insert(tool.id().clone(), plan.clone());
        plan
    }

    fn make(&self, tool: &Tool, exposed: &str) -> Plan {
        let AdmissionSettings { breakers, source_breakers, concurrency, groups, .. } = &self.settings;
        let named = |pattern: &[Selector]| pattern.iter().any(|selector| selector.matches(tool, exposed, groups));
        let granted = |pattern: &[Selector]| pattern.iter().any(|selector| selector.grants(tool, exposed, groups));
        let policy = breakers.iter().find(|rule| granted(&rule.pattern));
        let policy = policy.map_or(self.settings.breaker, |rule| rule.policy);
        let source_policy = of_source(source_breakers, tool.source(), self.settings.source_breaker);
        let limit = concurrency.tools.iter().find(|rule| granted(&rule.pattern));
        let circuit = |guarded, policy: Option<BreakerPolicy>| {
            policy.map(|policy| (BreakerKey { guarded, credentials: None }, policy))
        };
        Plan {
            exposed: exposed.to_owned(),
            hash: tool.hash(),
            labels: tool.labels().clone(),
            tool: Arc::new(tool.id().clone()),
            source: Arc::new(tool.source().clone()),
            rates: self.rates.iter().filter(|rate| named(&rate.rule.pattern)).cloned().collect(),
            path: Arc::new(Path {
                source: circuit(Guarded::Source(tool.source().clone()), source_policy),
                tool: circuit(Guarded::Tool(tool.id().clone()), policy),
            }),
            tool_limit: limit.map_or(concurrency.tool, |rule| rule.limit),
            source_limit: of_source(&concurrency.sources, tool.source(), concurrency.source),
            user_limit: concurrency.user,
            tenant_limit: concurrency.tenant,
            exclusive: named(&self.settings.exclusive),
            apart: !self.settings.exclusive.is_empty(),
            queue: concurrency.queue,
            wait: concurrency.wait,
            repeat: self.repeat.clone(),
        }
    }
}

fn of_source<T: Copy>(rules: &BTreeMap<Source, Option<T>>, source: &Source, otherwise: Option<T>) -> Option<T> {
    rules.get(source).copied().unwrap_or(otherwise)
}
