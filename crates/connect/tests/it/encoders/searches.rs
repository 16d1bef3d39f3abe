//! A whole engine with an endpoint, and with a store that outlives it.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolcrib_connect::encoders::{HttpEncoder, HttpEncoderSettings};
use toolcrib_core::{
    Scope, Source, SourceState, ToolResult,
    select::{Layer, Lists},
};
use toolcrib_engine::{
    Backend, BoxFuture, Engine, EngineSettings, Hub, HubLimits, Invocation, InvokeError, SourceOptions, VectorStore,
    encoder::Encoding,
};
use toolcrib_store::{MemoryStore, SqliteStore};

use super::endpoint::{Endpoint, Mode};

struct Nothing;

impl Backend for Nothing {
    fn invoke<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async { Ok(ToolResult::text("")) })
    }
}

pub(super) const DESK: [(&str, &str); 6] = [
    ("create_note", "Makes a note."),
    ("delete_note", "Drops a note."),
    ("share_note", "Shares a note."),
    ("list_colours", "Names of colours."),
    ("list_fonts", "Names of fonts."),
    ("memo_pad", "Keeps what is said."),
];
const SECRET_DESK: [(&str, &str); 2] =
    [("write_novel", "Writes a long story."), ("write_note", "Writes a secret note.")];
pub(super) const QUERY: &str = "write a note";
/// Long enough for any request on loopback.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn engine(encoding: Option<Encoding>, settings: EngineSettings, with_secrets: bool) -> Engine {
    let hub = Hub::new(HubLimits::default());
    let mut builder = Engine::builder(hub.clone()).settings(settings);
    if let Some(encoding) = encoding {
        builder = builder.encoding(encoding);
    }
    let engine = builder.build();
    publish(&hub, "desk", &DESK);
    if with_secrets {
        publish(&hub, "vault", &SECRET_DESK);
    }
    engine
}

pub(super) fn publish(hub: &Hub, server: &str, tools: &[(&str, &str)]) {
    let publisher = hub.register(Source::Mcp(server.into()), SourceOptions::default(), Arc::new(Nothing));
    let tools = tools.iter().map(|(name, description)| json!({"name": name, "description": description}));
    publisher.tools(SourceState::Ready, tools.collect(), None, false);
}

fn encoding(url: &str, wait: Duration, store: Arc<dyn VectorStore>) -> Encoding {
    let settings = HttpEncoderSettings { query_wait: wait, ..HttpEncoderSettings::new(url, "toy") };
    Encoding::start(Arc::new(HttpEncoder::new(settings).unwrap()), store)
}

pub(super) async fn search(engine: &Engine, query: &str) -> Value {
    search_as(engine, &Scope::default(), query).await
}

async fn search_as(engine: &Engine, scope: &Scope, query: &str) -> Value {
    engine.search(scope, &json!({"query": query, "explain": true})).await.unwrap().unwrap()
}

fn found(reply: &Value) -> Vec<(&str, f64)> {
    let matches = reply["results"][0]["matches"].as_array().unwrap();
    matches.iter().map(|hit| (hit["name"].as_str().unwrap(), hit["score"].as_f64().unwrap())).collect()
}

/// Who said how near the first tool is.
pub(super) fn by(reply: &Value) -> &str {
    reply["results"][0]["matches"][0]["why"]["similarity_by"].as_str().unwrap()
}

pub(super) fn notes(reply: &Value) -> Vec<&str> {
    reply["notes"].as_array().into_iter().flatten().map(|note| note.as_str().unwrap()).collect()
}

/// The answer without an encoder.
pub(super) async fn plain(query: &str) -> Value {
    search(&engine(None, EngineSettings::default(), false), query).await
}

/// The built-in answer, to the letter, with one note that says so.
#[track_caller]
pub(super) fn is_plain(reply: &Value, plain: &Value, note: &str) {
    assert_eq!(reply["results"], plain["results"]);
    assert_eq!(notes(reply), [format!("{note}; ranked by the built-in table")]);
}

pub(super) async fn ready(engine: &Engine, scope: &Scope) -> bool {
    let view = engine.view(scope).unwrap();
    engine.encoding().unwrap().ready(&view, PATIENCE).await
}

#[tokio::test]
async fn an_endpoint_says_what_is_near_once_it_has_read_all_tools() {
    let endpoint = Endpoint::start().await;
    let engine =
        engine(Some(encoding(&endpoint.url, PATIENCE, Arc::new(MemoryStore::new()))), EngineSettings::default(), false);
    assert!(ready(&engine, &Scope::default()).await);
    let reply = search(&engine, QUERY).await;
    assert_eq!(notes(&reply), [""; 0]);
    assert!(by(&reply).starts_with("the model 'toy' at 127.0.0.1:"), "{reply}");
    let names: Vec<&str> = found(&reply).into_iter().map(|(name, _)| name).collect();
    assert!(names[..2].iter().any(|name| name.ends_with("memo_pad")), "{names:?}");
    let before = plain(QUERY).await;
    assert!(
        !found(&before)[..2].iter().any(|(name, _)| name.ends_with("memo_pad")) && by(&before) == "the built-in table"
    );
    let asked = endpoint.texts().len();
    assert_eq!(search(&engine, QUERY).await, reply, "the same again");
    assert_eq!(endpoint.texts().len(), asked, "and nothing asked for it");
    let several = search(&engine, "keep a long memo for me. then list all of the fonts").await;
    assert_eq!(notes(&several), [""; 0], "of its parts too");
    assert!(endpoint.texts()[asked..].len() >= 3, "{:?}", &endpoint.texts()[asked..]);
}

#[tokio::test]
async fn what_was_read_outlives_the_process() {
    let endpoint = Endpoint::start().await;
    let folder = tempfile::tempdir().unwrap();
    let start = |path: &Path| {
        let store = Arc::new(SqliteStore::open(path.join("state.db")).unwrap().0);
        engine(Some(encoding(&endpoint.url, PATIENCE, store)), EngineSettings::default(), false)
    };
    let first = start(folder.path());
    assert!(ready(&first, &Scope::default()).await);
    assert_eq!(endpoint.texts().len(), DESK.len(), "each tool once");
    drop(first);
    let second = start(folder.path());
    assert!(ready(&second, &Scope::default()).await);
    assert_eq!(endpoint.texts().len(), DESK.len(), "the endpoint was not asked again");
    publish(second.hub(), "other", &[("say_memo", "Speaks.")]);
    assert!(ready(&second, &Scope::default()).await);
    assert_eq!(endpoint.texts()[DESK.len()..], ["other: say memo: Speaks."], "what is new alone");
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_holds_nothing_up() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/embeddings", gone.local_addr().unwrap());
    drop(gone);
    // It would be waited for without end, were it waited for.
    let engine = engine(Some(encoding(&url, PATIENCE, Arc::new(MemoryStore::new()))), EngineSettings::default(), false);
    let before = plain(QUERY).await;
    for _ in 0..5 {
        let reply = search(&engine, QUERY).await;
        assert_eq!(reply["results"], before["results"]);
        assert_eq!(notes(&reply).len(), 1, "{reply}");
    }
    let named = search(&engine, "select:desk__memo_pad").await;
    assert_eq!(notes(&named), [""; 0], "where no words are ranked there is nothing to say");
}

#[tokio::test]
async fn tools_are_read_once_the_endpoint_is_back() {
    let endpoint = Endpoint::start().await;
    endpoint.set(Mode::Status(503));
    let encoding = encoding(&endpoint.url, PATIENCE, Arc::new(MemoryStore::new()));
    let engine = engine(Some(encoding.clone()), EngineSettings::default(), false);
    let first = search(&engine, QUERY).await;
    assert_eq!((&first["results"], notes(&first).len()), (&plain(QUERY).await["results"], 1));
    while encoding.state().problem.is_none() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let state = encoding.state();
    assert_eq!((state.read, state.tools), (0, DESK.len()));
    assert!(state.problem.unwrap().contains("503"));
    let reply = search(&engine, QUERY).await;
    is_plain(&reply, &plain(QUERY).await, "the encoder has read 0 of 6 tools and fails now");
    endpoint.set(Mode::Well);
    while !ready(&engine, &Scope::default()).await {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(encoding.state().problem, None);
    assert!(by(&search(&engine, QUERY).await).contains("toy"));
}

#[tokio::test]
async fn a_query_that_is_not_encoded_is_answered_all_the_same() {
    for mode in [
        Mode::Status(401),
        Mode::Status(500),
        Mode::OneTooFew,
        Mode::NoNumber,
        Mode::Empty,
        Mode::Garbage,
        Mode::Elsewhere,
    ] {
        let endpoint = Endpoint::start().await;
        let store = Arc::new(MemoryStore::new());
        let engine = engine(Some(encoding(&endpoint.url, PATIENCE, store)), EngineSettings::default(), false);
        assert!(ready(&engine, &Scope::default()).await);
        endpoint.set(mode);
        let before = plain(QUERY).await;
        for _ in 0..3 {
            is_plain(&search(&engine, QUERY).await, &before, "the encoder failed");
        }
        let asked = endpoint.texts().len();
        is_plain(&search(&engine, QUERY).await, &before, "the encoder failed lately");
        assert_eq!(endpoint.texts().len(), asked, "{mode:?}: it is left alone for a while");
    }
}

#[tokio::test]
async fn a_vector_of_another_width_is_not_used() {
    let endpoint = Endpoint::start().await;
    let store = Arc::new(MemoryStore::new());
    let engine = engine(Some(encoding(&endpoint.url, PATIENCE, store)), EngineSettings::default(), false);
    assert!(ready(&engine, &Scope::default()).await);
    endpoint.set(Mode::OtherWidth);
    is_plain(&search(&engine, QUERY).await, &plain(QUERY).await, "the encoder failed");
}

#[tokio::test]
async fn an_endpoint_that_goes_away_is_left_alone_even_where_nobody_waits() {
    let endpoint = Endpoint::start().await;
    let store = Arc::new(MemoryStore::new());
    let engine = engine(Some(encoding(&endpoint.url, Duration::ZERO, store)), EngineSettings::default(), false);
    assert!(ready(&engine, &Scope::default()).await);
    endpoint.set(Mode::Status(500));
    let mut said = String::new();
    for _ in 0..2_000 {
        let reply = search(&engine, QUERY).await;
        notes(&reply)[0].clone_into(&mut said);
        if said.contains("lately") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(said, "the encoder failed lately; ranked by the built-in table");
}

#[tokio::test]
async fn a_slow_endpoint_is_waited_for_no_longer_than_wanted_and_counts_later() {
    let endpoint = Endpoint::start().await;
    for wait in [Duration::ZERO, Duration::from_millis(1)] {
        endpoint.set(Mode::Well);
        let store = Arc::new(MemoryStore::new());
        let engine = engine(Some(encoding(&endpoint.url, wait, store)), EngineSettings::default(), false);
        assert!(ready(&engine, &Scope::default()).await);
        endpoint.set(Mode::Slowly(Duration::from_millis(50)));
        is_plain(&search(&engine, QUERY).await, &plain(QUERY).await, "the encoder did not answer in time");
        // What came too late is there for whoever asks again; nobody asks so often that the circuit opens.
        let mut reply = Value::Null;
        for _ in 0..2_000 {
            tokio::time::sleep(Duration::from_millis(40)).await;
            reply = search(&engine, QUERY).await;
            if notes(&reply).is_empty() {
                break;
            }
        }
        assert!(by(&reply).contains("toy"), "{reply}");
    }
}

#[tokio::test]
async fn secrets_in_queries_stay_here() {
    let endpoint = Endpoint::start().await;
    let store = Arc::new(MemoryStore::new());
    let engine = engine(Some(encoding(&endpoint.url, PATIENCE, store)), EngineSettings::default(), false);
    assert!(ready(&engine, &Scope::default()).await);
    let token = format!("ghp_{}", "aB3dE5fG7h".repeat(4));
    search(&engine, &format!("write a note with {token}")).await;
    let texts = endpoint.texts();
    assert!(texts.last().unwrap().starts_with("write a note with"), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("aB3dE5")), "{texts:?}");
}

#[tokio::test]
async fn a_view_goes_by_its_own_tools() {
    let endpoint = Endpoint::start().await;
    let mut settings = EngineSettings::default();
    let lists = Lists { deny: vec!["mcp:vault".parse().unwrap()], origins: "test".into(), ..Lists::default() };
    settings.assemble.policy.agents.insert("small".into(), Layer { lists, ..Layer::default() });
    settings.assemble.policy.agents.insert("big".into(), Layer::default());
    let agent = |name: &str| Scope { agent: Some(name.into()), ..Scope::default() };
    let store = Arc::new(MemoryStore::new());
    let both = engine(Some(encoding(&endpoint.url, PATIENCE, store.clone())), settings, true);
    for name in ["big", "small"] {
        assert!(ready(&both, &agent(name)).await);
    }
    let documents = DESK.len() + SECRET_DESK.len();
    assert_eq!(endpoint.texts().len(), documents, "what both see is read once");
    let alone = engine(Some(encoding(&endpoint.url, PATIENCE, store)), EngineSettings::default(), false);
    assert!(ready(&alone, &Scope::default()).await);
    let (small, alone) = (search_as(&both, &agent("small"), QUERY).await, search(&alone, QUERY).await);
    assert_eq!(small, alone, "scores tell nothing of tools that are hidden");
    let big = search_as(&both, &agent("big"), QUERY).await;
    assert!(found(&big).iter().any(|(name, _)| name.contains("vault")));
    assert!(!found(&small).iter().any(|(name, _)| name.contains("vault")));
}
