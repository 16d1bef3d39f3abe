//! Tools written in Rust, through the whole path of a call, and sources that make their tools for whoever asks. Numbers are
//! cases of the oneringai reference.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Scope, Source, SourceState};
use toolcrib_engine::{
    CallContext, Engine, EngineSettings, FactoryLimits, Hub, HubLimits, Outcome, PermissionSettings, SourceOptions,
    Trust,
    authoring::{About, FactoryError, Json, NoArguments, Tool, ToolError, Toolbox, tool_fn},
};

use crate::library::{call, text};

fn me() -> Source {
    Source::Custom("me".into())
}

fn scope(user: &str) -> Scope {
    Scope { user: Some(user.into()), ..Scope::default() }
}

fn settings() -> EngineSettings {
    EngineSettings {
        permissions: PermissionSettings { trust: Trust::All, ..PermissionSettings::default() },
        ..EngineSettings::default()
    }
}

fn engine(hub: &Hub) -> Engine {
    Engine::new(hub.clone(), settings(), None, vec![])
}

/// An amount that is not what its schema says it may be: only the type knows.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct Amount(u32);

impl TryFrom<String> for Amount {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        assert!(text != "panic", "scripted");
        let number = text.strip_suffix(" EUR").ok_or("an amount ends with ' EUR'")?;
        number.parse().map(Self).map_err(|_| format!("'{number}' is no whole number"))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Payment {
    to: String,
    amount: Amount,
}

#[derive(Default)]
struct Pay {
    paid: Arc<AtomicUsize>,
}

impl Tool for Pay {
    type Arguments = Payment;
    type Output = Json<u32>;

    fn about(&self) -> About {
        About::new("pay", "Pays somebody.").destroys()
    }

    fn describe_call(&self, arguments: &Payment) -> Option<String> {
        assert!(arguments.to != "panic", "scripted");
        Some(format!("Pays {} EUR to {}", arguments.amount.0, arguments.to))
    }

    async fn call(&self, arguments: Payment, _context: CallContext) -> Result<Json<u32>, ToolError> {
        self.paid.fetch_add(1, Ordering::SeqCst);
        match arguments.amount.0 {
            0 => Err(ToolError::told("0 is no amount; pay at least 1 EUR")),
            amount => Ok(Json(amount)),
        }
    }
}

fn shop(paid: &Arc<AtomicUsize>) -> Toolbox {
    Toolbox::builder().tool(Pay { paid: paid.clone() }).build().unwrap()
}

#[tokio::test]
async fn a_typed_tool_is_a_tool_like_every_other() {
    let hub = Hub::new(HubLimits::default());
    let paid = Arc::default();
    shop(&paid).publish(&hub, me(), SourceOptions::default());
    let engine = engine(&hub);
    let ok = call(&engine, &scope("a"), "me__pay", json!({"to": "ACME", "amount": "40 EUR"})).await;
    assert_eq!((ok.outcome, text(&ok).as_str()), (Outcome::Ok, r#"{"result":40}"#));
    let told = call(&engine, &scope("a"), "me__pay", json!({"to": "ACME", "amount": "0 EUR"})).await;
    assert_eq!((told.outcome, text(&told).as_str()), (Outcome::ToolError, "0 is no amount; pay at least 1 EUR"));
    assert_eq!(paid.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_the_type_refuses_is_answered_like_what_the_schema_refuses() {
    let hub = Hub::new(HubLimits::default());
    let paid = Arc::default();
    shop(&paid).publish(&hub, me(), SourceOptions::default());
    let engine = engine(&hub);
    for (arguments, says) in [
        (json!({"to": "ACME"}), "- (top level): "),
        (json!({"to": "ACME", "amount": {}}), "- /amount: "),
        (json!({"to": "ACME", "amount": "40"}), "- /amount: an amount ends with ' EUR'\n"),
        (json!({"to": "ACME", "amount": "x EUR"}), "- /amount: 'x' is no whole number\n"),
    ] {
        let report = call(&engine, &scope("a"), "me__pay", arguments.clone()).await;
        let said = text(&report);
        assert_eq!(report.outcome, Outcome::Invalid, "{arguments}: {said}");
        assert!(said.starts_with("The arguments of me__pay are not acceptable, so nothing was run:\n"), "{said}");
        assert!(said.contains(says) && said.contains("\"properties\""), "{said}");
    }
    // Code that fails while it reads them harms nothing else.
    let report = call(&engine, &scope("a"), "me__pay", json!({"to": "ACME", "amount": "panic"})).await;
    assert_eq!(report.outcome, Outcome::Invalid, "{}", text(&report));
    assert_eq!(paid.load(Ordering::SeqCst), 0, "none of them ran");
}

#[tokio::test]
async fn the_same_holds_of_tools_that_a_manager_registered() {
    use toolcrib_engine::manager::{Manager, OnConflict, Registration};
    let hub = Hub::new(HubLimits::default());
    let paid = Arc::default();
    let toolbox = Arc::new(shop(&paid));
    let manager = Manager::new(hub.clone());
    let all = toolbox.definitions().into_iter().map(|definition| Registration::new(me(), definition, toolbox.clone()));
    assert_eq!(manager.extend(all, OnConflict::Error).unwrap(), 0);
    let engine = engine(&hub);
    let wrong = call(&engine, &scope("a"), "me__pay", json!({"to": "ACME", "amount": "40"})).await;
    assert_eq!(wrong.outcome, Outcome::Invalid, "{}", text(&wrong));
    assert!(text(&wrong).contains("- /amount: an amount ends with ' EUR'"), "{}", text(&wrong));
    let right = call(&engine, &scope("a"), "me__pay", json!({"to": "ACME", "amount": "40 EUR"})).await;
    assert_eq!((right.outcome, paid.load(Ordering::SeqCst)), (Outcome::Ok, 1), "{}", text(&right));
}

#[tokio::test]
async fn a_person_reads_what_the_call_will_do() {
    use toolcrib_engine::approval::{Answer, ApprovalRequest, ApprovalSettings, Approvals, AskError, Asker, Reach};
    struct Desk(Mutex<Vec<String>>);
    impl Asker for Desk {
        fn route(&self) -> &'static str {
            "desk"
        }
        fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> toolcrib_engine::BoxFuture<'a, Result<Answer, AskError>> {
            self.0.lock().push(request.description.clone());
            Box::pin(async { Ok(Answer::Approve { reach: Reach::Once, pattern: None }) })
        }
    }
    let hub = Hub::new(HubLimits::default());
    let paid = Arc::default();
    shop(&paid).publish(&hub, me(), SourceOptions::default());
    let desk = Arc::new(Desk(Mutex::default()));
    let store = Arc::new(crate::approval::ledger::Ledger::default());
    let engine = Engine::builder(hub)
        .approvals(Arc::new(Approvals::new(store, ApprovalSettings::default())))
        .asker(desk.clone())
        .build();
    for to in ["ACME\u{202e}", "panic"] {
        let report = call(&engine, &scope("a"), "me__pay", json!({"to": to, "amount": "40 EUR"})).await;
        assert_eq!(report.outcome, Outcome::Ok, "{}", text(&report));
    }
    // Its own words come in quotes, made visible, and the arguments follow in ours; without words there are the arguments.
    let begin = "Runs me__pay of custom:me, which may destroy something";
    assert_eq!(
        *desk.0.lock(),
        [
            format!(r#"{begin}: "Pays 40 EUR to ACME\u{{202e}}". to = "ACME\u202e", amount = "40 EUR""#),
            format!(r#"{begin}. to = "panic", amount = "40 EUR""#),
        ]
    );
}

/// Tells whoever asks what they are in for.
struct Greet;

impl Tool for Greet {
    type Arguments = NoArguments;
    type Output = String;

    fn about(&self) -> About {
        About::new("greet", "Greets somebody.").reads()
    }

    fn describe(&self, scope: &Scope) -> Option<Cow<'static, str>> {
        scope.user.as_ref().map(|user| format!("Greets {user}.").into())
    }

    async fn call(&self, _: NoArguments, context: CallContext) -> Result<String, ToolError> {
        Ok(format!("hello {}", context.scope.user.unwrap_or_default()))
    }
}

#[tokio::test]
async fn descriptions_are_those_for_whoever_asks() {
    let hub = Hub::new(HubLimits::default());
    let toolbox = Toolbox::builder().tool(Greet).build().unwrap();
    hub.register_scoped(me(), SourceOptions::default(), Arc::new(toolbox));
    let engine = engine(&hub);
    for (who, description) in
        [(scope("ann"), "Greets ann."), (scope("bob"), "Greets bob."), (Scope::default(), "Greets somebody.")]
    {
        let view = engine.view(&who).unwrap();
        assert_eq!(view.set.tool("me__greet").unwrap().description(), description);
        // List, search and describe say the same.
        let found = engine.search(&who, &json!({"query": description})).await.unwrap().unwrap();
        assert!(found.to_string().contains(description), "{found}");
        let described = call(&engine, &who, "tool_describe", json!({"names": ["me__greet"]})).await;
        assert!(text(&described).contains(description), "{}", text(&described));
        let greeted = call(&engine, &who, "me__greet", json!({})).await;
        assert_eq!(text(&greeted), format!("hello {}", who.user.clone().unwrap_or_default()));
        // The same view every time.
        assert!(Arc::ptr_eq(&view, &engine.view(&who).unwrap()));
    }
}

/// Gives each user the tools that are written in their name, parted by commas.
fn by_name(calls: &Arc<AtomicUsize>) -> impl Fn(&Scope) -> Result<Toolbox, FactoryError> + Send + Sync + 'static {
    let calls = calls.clone();
    move |scope: &Scope| {
        calls.fetch_add(1, Ordering::SeqCst);
        let names = scope.user.clone().unwrap_or_default();
        let mut builder = Toolbox::builder();
        for name in names.split(',').filter(|name| !name.is_empty()).map(str::to_owned) {
            builder = match name.as_str() {
                "fails" => return Err(FactoryError::new("the directory of accounts is down")),
                "panics" => panic!("scripted"),
                "slow" => {
                    std::thread::sleep(Duration::from_millis(40));
                    builder
                }
                _ => {
                    builder.tool(tool_fn(About::new(name.clone(), "One of many.").reads(), move |_: NoArguments, _| {
                        let name = name.clone();
                        async move { Ok(format!("this is {name}")) }
                    }))
                }
            };
        }
        Ok(builder.build()?)
    }
}

struct Factory {
    engine: Engine,
    asked: Arc<AtomicUsize>,
    publisher: toolcrib_engine::ScopedPublisher,
}

impl Factory {
    fn new(limits: FactoryLimits) -> Self {
        let hub = Hub::new(HubLimits { factories: limits, ..HubLimits::default() });
        let asked = Arc::default();
        let publisher = hub.register_scoped(me(), SourceOptions::default(), Arc::new(by_name(&asked)));
        Toolbox::builder().tool(Greet).build().unwrap().publish(
            &hub,
            Source::Custom("other".into()),
            SourceOptions::default(),
        );
        Self { engine: engine(&hub), asked, publisher }
    }

    fn names(&self, scope: &Scope) -> Vec<String> {
        self.engine.view(scope).unwrap().set.names().map(str::to_owned).collect()
    }

    fn state(&self, scope: &Scope) -> SourceState {
        self.engine.hub().catalog_for(scope).sources()[&me()].state.clone()
    }
}

/// Patient: whether a factory is late is no matter of how busy the machine is.
const PATIENT: FactoryLimits =
    FactoryLimits { patience: Duration::from_secs(20), retry: Duration::from_mins(10), at_a_time: 8, remembered: 4 };

#[tokio::test]
async fn everybody_sees_and_calls_what_was_made_for_them() {
    // Case 55: a factory gives the tools of the context.
    let factory = Factory::new(PATIENT);
    let (ann, bob) = (scope("one,two"), scope("two"));
    assert_eq!(factory.names(&ann), ["me__one", "me__two", "other__greet"]);
    assert_eq!(factory.names(&bob), ["me__two", "other__greet"]);
    for (who, name, runs) in [(&ann, "me__one", true), (&bob, "me__one", false), (&bob, "me__two", true)] {
        let report = call(&factory.engine, who, name, json!({})).await;
        assert_eq!(report.outcome == Outcome::Ok, runs, "{}", text(&report));
        let explained = factory.engine.explain(who, name).unwrap();
        assert_eq!(!explained.is_empty(), runs, "{explained:?}");
    }
    assert_eq!(factory.asked.load(Ordering::SeqCst), 2, "each was asked for once");
    // Views of both stay: neither pushes the other out.
    let (a, b) = (factory.engine.view(&ann).unwrap(), factory.engine.view(&bob).unwrap());
    assert!(Arc::ptr_eq(&a, &factory.engine.view(&ann).unwrap()));
    assert!(Arc::ptr_eq(&b, &factory.engine.view(&bob).unwrap()));
}

#[tokio::test]
async fn an_agent_gets_nothing_that_the_one_above_lacks() {
    let factory = Factory::new(PATIENT);
    let parent = Arc::new(scope("one,two"));
    let child = Scope { user: Some("two,three".into()), ..parent.child(None) };
    assert_eq!(factory.names(&child), ["me__two", "other__greet"]);
    let report = call(&factory.engine, &child, "me__three", json!({})).await;
    assert_eq!(report.outcome, Outcome::Invalid);
}

#[tokio::test]
async fn a_factory_that_fails_or_panics_harms_only_its_own_source() {
    let factory = Factory::new(PATIENT);
    for (who, reason) in [
        (scope("fails"), "the directory of accounts is down"),
        (scope("panics"), "the code that makes its tools failed"),
    ] {
        assert_eq!(factory.names(&who), ["other__greet"]);
        assert_eq!(factory.state(&who), SourceState::Down { reason: reason.into() });
        let search = factory.engine.search(&who, &json!({"query": "greet"})).await.unwrap().unwrap();
        assert!(search.to_string().contains("other__greet"), "{search}");
    }
    assert_eq!(factory.asked.load(Ordering::SeqCst), 2, "a failure is remembered for a while");
    // And not for longer.
    let hasty = Factory::new(FactoryLimits { retry: Duration::ZERO, ..PATIENT });
    hasty.names(&scope("fails"));
    hasty.names(&scope("fails"));
    assert!(hasty.asked.load(Ordering::SeqCst) >= 2);
}

#[tokio::test]
async fn a_slow_factory_is_not_waited_for_and_its_tools_come_later() {
    let factory = Factory::new(FactoryLimits { patience: Duration::ZERO, ..PATIENT });
    let mut changes = factory.engine.hub().watch();
    changes.mark_unchanged();
    let who = scope("slow,one");
    assert_eq!(factory.names(&who), ["other__greet"], "the others are there at once");
    assert_eq!(factory.state(&who), SourceState::Starting);
    let early = call(&factory.engine, &who, "me__one", json!({})).await;
    assert!(text(&early).contains("still starting: me"), "{}", text(&early));
    // Whoever watches hears when it is done.
    tokio::time::timeout(Duration::from_secs(20), changes.changed()).await.unwrap().unwrap();
    assert_eq!(factory.names(&who), ["me__one", "other__greet"]);
    assert_eq!(factory.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_was_made_is_made_anew_when_its_owner_says_so() {
    let hub = Hub::new(HubLimits { factories: PATIENT, ..HubLimits::default() });
    let plan = Arc::new(Mutex::new("one"));
    let given = plan.clone();
    let factory = move |_: &Scope| -> Result<Toolbox, FactoryError> {
        let name = *given.lock();
        Ok(Toolbox::builder().tool(tool_fn(About::new(name, ""), |_: NoArguments, _| async { Ok(()) })).build()?)
    };
    let publisher = hub.register_scoped(me(), SourceOptions::default(), Arc::new(factory));
    let engine = engine(&hub);
    let names =
        |user: &str| -> Vec<String> { engine.view(&scope(user)).unwrap().set.names().map(str::to_owned).collect() };
    assert_eq!((names("ann"), names("bob")), (vec!["me__one".to_owned()], vec!["me__one".to_owned()]));
    *plan.lock() = "two";
    assert_eq!(names("ann"), ["me__one"], "what is listed stays until somebody says that it changed");
    let mut changes = hub.watch();
    changes.mark_unchanged();
    publisher.refresh_where(|scope| scope.user.as_deref() == Some("ann"));
    assert!(changes.has_changed().unwrap());
    assert_eq!((names("ann"), names("bob")), (vec!["me__two".to_owned()], vec!["me__one".to_owned()]));
    publisher.refresh();
    assert_eq!(names("bob"), ["me__two"]);
    hub.remove(&me());
    assert_eq!(names("ann"), Vec::<String>::new());
    assert!(publisher.source() == &me());
}

#[tokio::test]
async fn a_source_that_stops_to_be_scoped_is_like_others_again() {
    let factory = Factory::new(PATIENT);
    assert_eq!(factory.names(&scope("one")), ["me__one", "other__greet"]);
    let hub = factory.engine.hub();
    Toolbox::builder().tool(Greet).build().unwrap().publish(hub, me(), SourceOptions::default());
    assert_eq!(factory.names(&scope("one")), ["me__greet", "other__greet"]);
    // The one before has nothing to say any more.
    factory.publisher.refresh();
    assert_eq!(factory.names(&scope("one")), ["me__greet", "other__greet"]);
    let catalog = hub.catalog();
    assert!(Arc::ptr_eq(&catalog, &hub.catalog_for(&scope("one"))), "without scoped sources there is one snapshot");
}

#[tokio::test]
async fn what_is_remembered_is_bounded() {
    let factory = Factory::new(PATIENT);
    for n in 0..50 {
        let user = format!("t{n}");
        assert_eq!(factory.names(&scope(&user)).len(), 2);
    }
    assert_eq!(factory.asked.load(Ordering::SeqCst), 50);
    // The last are still known, the first are made again.
    factory.names(&scope("t49"));
    assert_eq!(factory.asked.load(Ordering::SeqCst), 50);
    factory.names(&scope("t0"));
    assert_eq!(factory.asked.load(Ordering::SeqCst), 51);
}
