use serde_json::value::RawValue;
use tokio::sync::watch;
use toolcrib_mcp::server::{
    Answer, BoxFuture, Caller, Framing, Server, ServerOptions, ToolCall, ToolList, ToolService,
};

use super::*;

struct Nothing;

impl ToolService for Nothing {
    fn list(&self, _: &Caller) -> ToolList {
        ToolList { tools: Arc::from(Vec::<Arc<RawValue>>::new()), hash: String::new() }
    }

    fn call<'a>(&'a self, _: &'a Caller, _: ToolCall) -> BoxFuture<'a, Result<Answer, toolcrib_mcp::wire::RpcError>> {
        Box::pin(std::future::pending())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    fn instructions(&self, _: &Caller) -> Option<String> {
        None
    }
}

fn connection() -> Arc<Connection> {
    let server = Server::new(Arc::new(Nothing), ServerOptions::default());
    Connection::open(&server, Framing::Legacy, Caller::default(), server.admission(), None)
}

fn nobody() -> Principal {
    Principal(None)
}

fn after(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

#[tokio::test]
async fn a_session_is_found_by_its_own_principal_until_it_was_idle_for_too_long() {
    let start = Instant::now();
    let sessions = Sessions::new(10, Duration::from_mins(10));
    let ann = Principal(Some("ann".into()));
    let id = sessions.insert(connection(), ann.clone(), start).unwrap();
    assert_eq!(id.len(), 43);
    assert!(sessions.get(&id, &ann, start).is_some());
    assert!(sessions.get(&id, &nobody(), start).is_none());
    assert!(sessions.get(&id, &Principal(Some("bob".into())), start).is_none());
    assert!(sessions.get(&id[1..], &ann, start).is_none());
    assert!(!sessions.remove(&id, &nobody()));
    for seconds in [590, 1180, 1770] {
        assert!(sessions.get(&id, &ann, after(start, seconds)).is_some(), "use keeps it");
    }
    let held = sessions.get(&id, &ann, after(start, 1770)).unwrap();
    sessions.sweep(after(start, 9_000));
    assert_eq!(sessions.connections().len(), 1, "an open stream keeps it");
    drop(held);
    sessions.sweep(after(start, 2_000));
    assert!(sessions.get(&id, &ann, after(start, 2_371)).is_none());
    assert_eq!(sessions.connections().len(), 1);
    sessions.sweep(after(start, 2_371));
    assert!(sessions.connections().is_empty());
}

#[tokio::test]
async fn a_full_table_makes_room_where_it_is_missed_least() {
    let start = Instant::now();
    let sessions = Sessions::new(2, Duration::from_hours(10));
    let first = sessions.insert(connection(), nobody(), start).unwrap();
    let second = sessions.insert(connection(), nobody(), after(start, 100)).unwrap();
    drop(sessions.get(&first, &nobody(), after(start, 200)));
    let third = sessions.insert(connection(), nobody(), after(start, 300)).unwrap();
    assert!(sessions.get(&second, &nobody(), after(start, 300)).is_none(), "idle longest");
    // Sessions in use stay, and then there is no room.
    let held = [&first, &third].map(|id| sessions.get(id, &nobody(), after(start, 400)).unwrap());
    assert!(sessions.insert(connection(), nobody(), after(start, 400)).is_none());
    drop(held);
    assert!(sessions.insert(connection(), nobody(), after(start, 400)).is_some());
    assert_eq!(sessions.connections().len(), 2);
    assert!(sessions.remove(&first, &nobody()) != sessions.remove(&third, &nobody()), "one of them made room");
}

#[tokio::test]
async fn names_do_not_repeat() {
    let sessions = Sessions::new(500, Duration::from_hours(1));
    let names: std::collections::HashSet<_> =
        (0..500).map(|_| sessions.insert(connection(), nobody(), Instant::now()).unwrap()).collect();
    assert_eq!(names.len(), 500);
}
