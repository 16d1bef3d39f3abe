//! The sessions of legacy clients: unguessable names, a bounded table, an end for each.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use toolcrib_mcp::server::Connection;

use crate::guard::Principal;

/// One client's session.
pub(crate) struct Session {
    pub(crate) connection: Arc<Connection>,
    principal: Principal,
    used: Mutex<Instant>,
    // Requests and streams that are open right now.
    open: AtomicUsize,
}

/// Keeps a session from being taken for idle.
pub(crate) struct InUse(Arc<Session>);

impl InUse {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.0.connection
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch(Instant::now());
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Session {
    fn is_busy(&self) -> bool {
        self.open.load(Ordering::Acquire) > 0 || self.connection.in_flight() > 0
    }

    fn touch(&self, now: Instant) {
        let mut used = self.used.lock();
        *used = now.max(*used);
    }

    fn idle(&self, now: Instant) -> Duration {
        if self.is_busy() { Duration::ZERO } else { now.saturating_duration_since(*self.used.lock()) }
    }
}

/// The table.
pub(crate) struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    max: usize,
    idle: Duration,
}

impl Sessions {
    pub(crate) fn new(max: usize, idle: Duration) -> Self {
        Self { table: Mutex::new(HashMap::new()), max: max.max(1), idle }
    }

    /// Gives a connection a session and its name; `None` when the table is full of sessions in use.
    pub(crate) fn insert(&self, connection: Arc<Connection>, principal: Principal, now: Instant) -> Option<String> {
        let mut bytes = [0_u8; 32];
        // Without randomness there can be no session that is safe to have.
        getrandom::fill(&mut bytes).ok()?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let session = Session { connection, principal, used: Mutex::new(now), open: AtomicUsize::new(0) };
        let mut table = self.table.lock();
        let evicted = if table.len() >= self.max {
            let oldest =
                table.iter().filter(|(_, session)| !session.is_busy()).max_by_key(|(_, session)| session.idle(now));
            let oldest = oldest.map(|(id, _)| id.clone())?;
            table.remove(&oldest)
        } else {
            None
        };
        table.insert(id.clone(), Arc::new(session));
        drop(table);
        if let Some(session) = evicted {
            session.connection.abandon();
        }
        Some(id)
    }

    /// A principal's session. Someone else's is as good as none.
    pub(crate) fn get(&self, id: &str, principal: &Principal, now: Instant) -> Option<InUse> {
        let table = self.table.lock();
        let session =
            table.get(id).filter(|session| session.principal == *principal && session.idle(now) < self.idle)?;
        session.touch(now);
        session.open.fetch_add(1, Ordering::AcqRel);
        Some(InUse(session.clone()))
    }

    /// Ends a principal's session; whether there was one.
    pub(crate) fn remove(&self, id: &str, principal: &Principal) -> bool {
        let mut table = self.table.lock();
        if table.get(id).is_none_or(|session| session.principal != *principal) {
            return false;
        }
        let session = table.remove(id);
        drop(table);
        if let Some(session) = session {
            session.connection.abandon();
        }
        true
    }

    /// Ends the sessions that have been idle for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut expired = Vec::new();
        self.table.lock().retain(|_, session| {
            let keep = session.idle(now) < self.idle;
            if !keep {
                expired.push(session.clone());
            }
            keep
        });
        for session in expired {
            session.connection.abandon();
        }
    }

    /// All connections.
    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        self.table.lock().values().map(|session| session.connection.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
