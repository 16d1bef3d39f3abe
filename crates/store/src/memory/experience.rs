//! What was learnt from use, in memory.

use std::collections::BTreeMap;

use toolcrib_core::usage::{Pair, decayed};
use toolcrib_engine::{BoxFuture, ExperienceStore, Learnt, StoreError};

use super::{MemoryStore, ready};
use crate::bounds;

/// Pairs by tenant, word and tool: weight, and when it was as large.
pub(super) type Experience = BTreeMap<String, BTreeMap<(String, String), (f64, u64)>>;

impl ExperienceStore for MemoryStore {
    fn learn<'a>(
        &'a self,
        tenant: &'a str,
        learnt: Vec<Learnt>,
        half_life_ms: u64,
        max_pairs: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut tenants = self.experience.lock();
        let pairs = tenants.entry(tenant.to_owned()).or_default();
        for Learnt { words, tool, at_ms } in learnt {
            for word in words {
                let known = pairs.entry((word, tool.clone())).or_insert((0.0, at_ms));
                *known = bounds::seen_again(*known, at_ms, half_life_ms);
            }
        }
        if pairs.len() > max_pairs {
            let now = pairs.values().map(|(_, at_ms)| *at_ms).max().unwrap_or_default();
            let strength = |(weight, at_ms): &(f64, u64)| decayed(*weight, now - at_ms, half_life_ms);
            let mut all: Vec<_> = std::mem::take(pairs).into_iter().collect();
            all.sort_by(|(_, one), (_, other)| strength(other).total_cmp(&strength(one)));
            all.truncate(bounds::kept_pairs(max_pairs));
            pairs.extend(all);
        }
        ready(Ok(()))
    }

    fn experience<'a>(&'a self, tenant: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        let tenants = self.experience.lock();
        let pairs = tenants.get(tenant).into_iter().flatten();
        let pair = |((word, tool), (weight, at_ms)): (&(String, String), &(f64, u64))| Pair {
            word: word.clone(),
            tool: tool.clone(),
            weight: *weight,
            at_ms: *at_ms,
        };
        let mut pairs: Vec<Pair> = pairs.map(pair).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.at_ms));
        pairs.truncate(limit);
        ready(Ok(pairs))
    }

    fn experienced(&self) -> BoxFuture<'_, Result<Vec<(String, u64)>, StoreError>> {
        let tenants = self.experience.lock();
        let some = tenants.iter().filter(|(_, pairs)| !pairs.is_empty());
        ready(Ok(some.take(bounds::TENANTS).map(|(tenant, pairs)| (tenant.clone(), pairs.len() as u64)).collect()))
    }

    fn forget_experience<'a>(&'a self, tenant: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        ready(Ok(self.experience.lock().remove(tenant).map_or(0, |pairs| pairs.len() as u64)))
    }
}
