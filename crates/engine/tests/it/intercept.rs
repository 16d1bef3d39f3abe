//! Interceptors: what each stage may do, in which order, and what a failing hook does to a call.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{IngestLimits, Scope, Source, Tool, ToolResult, ingest::ingest};
use toolcrib_engine::{
    BoxFuture, Door, Identity, Outcome,
    intercept::{
        After, Before, Failure, HookError, Intercepted, Interceptor, Interceptors, OnError, Recovery, ResultNormaliser,
        Stage, Transformed,
    },
};

/// What happened, in order: "name.before", "name.after(text)", …
type Log = Arc<Mutex<Vec<String>>>;

/// An interceptor that logs and then does what its fields say.
struct Hook {
    name: String,
    stage: Stage,
    priority: i32,
    log: Log,
    before: fn(&Intercepted<'_>) -> Act<Before>,
    after: fn(&Intercepted<'_>, &ToolResult) -> Act<After>,
    on_error: fn(&Failure) -> Act<OnError>,
    applies: fn(&Tool) -> bool,
}

enum Act<T> {
    Answer(T),
    Fail,
    Panic,
    Hang,
}

impl<T: Send + 'static> Act<T> {
    fn run<'a>(self) -> BoxFuture<'a, Result<T, HookError>> {
        Box::pin(async move {
            match self {
                Self::Answer(answer) => Ok(answer),
                Self::Fail => Err("disk on fire".into()),
                Self::Panic => panic!("scripted"),
                Self::Hang => std::future::pending().await,
            }
        })
    }
}

fn hook(name: &str, stage: Stage, priority: i32, log: &Log) -> Hook {
    Hook {
        name: name.into(),
        stage,
        priority,
        log: log.clone(),
        before: |_| Act::Answer(Before::Continue),
        after: |_, _| Act::Answer(After::Keep),
        on_error: |_| Act::Answer(OnError::Pass),
        applies: |_| true,
    }
}

impl Interceptor for Hook {
    fn name(&self) -> &str {
        &self.name
    }
    fn stage(&self) -> Stage {
        self.stage
    }
    fn priority(&self) -> i32 {
        self.priority
    }
    fn time_limit(&self) -> Duration {
        Duration::from_millis(20)
    }
    fn applies(&self, tool: &Tool) -> bool {
        (self.applies)(tool)
    }
    fn before<'a>(&'a self, call: &'a Intercepted<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        self.log.lock().push(format!("{}.before", self.name));
        (self.before)(call).run()
    }
    fn after<'a>(
        &'a self,
        call: &'a Intercepted<'a>,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<After, HookError>> {
        self.log.lock().push(format!("{}.after({})", self.name, result.to_text()));
        (self.after)(call, result).run()
    }
    fn on_error<'a>(
        &'a self,
        _: &'a Intercepted<'a>,
        failure: &'a Failure,
    ) -> BoxFuture<'a, Result<OnError, HookError>> {
        self.log.lock().push(format!("{}.on_error({})", self.name, failure.text));
        (self.on_error)(failure).run()
    }
    fn attached(&self) {
        self.log.lock().push(format!("{}.attached", self.name));
    }
    fn detached(&self) {
        self.log.lock().push(format!("{}.detached", self.name));
    }
}

fn tool(name: &str) -> Tool {
    let limits = IngestLimits::default();
    ingest(&Source::Mcp("s".into()), vec![json!({"name": name})], &limits, 1, &|_| Ok(())).0.remove(0)
}

fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

/// What came of a call that took every step as the call path does.
#[derive(Debug)]
enum End {
    Result(String),
    Failed(Failure),
    Denied { hook: String, reason: String, fault: bool },
}

/// A registry with its log, and a tool that either answers with its arguments or fails.
#[derive(Default)]
struct World {
    registry: Interceptors,
    log: Log,
    tool_fails: bool,
}

impl World {
    fn with(self, name: &str, stage: Stage, priority: i32, change: impl FnOnce(&mut Hook)) -> Self {
        let mut hook = hook(name, stage, priority, &self.log);
        change(&mut hook);
        self.registry.attach(Arc::new(hook));
        self.log.lock().clear();
        self
    }

    fn failing(mut self) -> Self {
        self.tool_fails = true;
        self
    }

    async fn call(&self) -> End {
        let (tool, scope, identity, arguments) =
            (tool("t"), Scope::default(), Identity::default(), raw(&json!({"n": 1})));
        let pipeline = self.registry.snapshot();
        let mut call = Intercepted::new(7, Door::Direct, &tool, "t", &arguments, &scope, &identity);
        if let Err(denied) = pipeline.guards(&call).await {
            return End::Denied { hook: denied.hook, reason: denied.reason, fault: denied.fault };
        }
        match pipeline.transforms(&mut call).await {
            Ok(Transformed::Unchanged | Transformed::Changed) => {}
            Ok(Transformed::ShortCircuit(result)) => return End::Result(pipeline.after(&call, result).await.to_text()),
            Ok(Transformed::Denied(denied)) => {
                return End::Denied { hook: denied.hook, reason: denied.reason, fault: denied.fault };
            }
            Err(failure) => return self.failed(&pipeline, &call, failure.failure(Outcome::Invalid)).await,
        }
        pipeline.observe_before(&call).await;
        self.log.lock().push(format!("tool({})", call.arguments().get()));
        if self.tool_fails {
            return self.failed(&pipeline, &call, Failure::new(Outcome::Unknown, "broken pipe")).await;
        }
        let result = ToolResult::text("r");
        End::Result(pipeline.after(&call, result).await.to_text())
    }

    async fn failed(
        &self,
        pipeline: &toolcrib_engine::intercept::Pipeline,
        call: &Intercepted<'_>,
        failure: Failure,
    ) -> End {
        match pipeline.on_error(call, failure).await {
            Recovery::None(failure) | Recovery::Replaced(failure) => End::Failed(failure),
            Recovery::Recovered { result, .. } => End::Result(result.to_text()),
        }
    }

    #[track_caller]
    fn logged(&self, expected: &[&str]) {
        assert_eq!(*self.log.lock(), expected);
    }
}

fn suffixed(result: &ToolResult, suffix: &str) -> Act<After> {
    Act::Answer(After::Replace(ToolResult::text(format!("{}{suffix}", result.to_text()))))
}

#[tokio::test]
async fn nothing_attached_changes_nothing() {
    let world = World::default();
    assert!(world.registry.snapshot().is_empty());
    // No step of it waits.
    assert!(world.call().now_or_never().is_some());
    assert!(matches!(world.call().await, End::Result(text) if text == "r"));
    assert!(matches!(World::default().failing().call().await, End::Failed(failure) if failure.text == "broken pipe"));
}

/// oneringai case 27: 10, default (100), 200 before; the reverse after.
#[tokio::test]
async fn case_27_priorities_before_and_in_reverse_after() {
    let world = World::default()
        .with("late", Stage::Transform, 200, |_| {})
        .with("default", Stage::Transform, 100, |_| {})
        .with("early", Stage::Transform, 10, |_| {});
    world.call().await;
    world.logged(&[
        "early.before",
        "default.before",
        "late.before",
        r#"tool({"n":1})"#,
        "late.after(r)",
        "default.after(r)",
        "early.after(r)",
    ]);
}

/// Cases 24 and 26: a transform replaces arguments and adds to results; observers see the final ones, whatever their
/// priority.
#[tokio::test]
async fn cases_24_26_transforms_change_and_observers_see_what_is_final() {
    let world = World::default()
        .with("watch", Stage::Observe, -1000, |_| {})
        .with("form", Stage::Normalise, 0, |hook| hook.after = |_, result| suffixed(result, "+form"))
        .with("inner", Stage::Transform, 20, |hook| hook.after = |_, result| suffixed(result, "+inner"))
        .with("outer", Stage::Transform, 10, |hook| {
            hook.before = |_| Act::Answer(Before::Replace(raw(&json!({"n": 2}))));
            hook.after = |_, result| suffixed(result, "+outer");
        });
    assert!(matches!(world.call().await, End::Result(text) if text == "r+inner+outer+form"));
    world.logged(&[
        "outer.before",
        "inner.before",
        "watch.before",
        r#"tool({"n":2})"#,
        "inner.after(r)",
        "outer.after(r+inner)",
        "form.after(r+inner+outer)",
        "watch.after(r+inner+outer+form)",
    ]);
}

/// A guard's answer → whether the call is denied, and whether that is the guard's fault (openclaw case 117).
#[tokio::test]
async fn case_117_a_guard_that_does_not_answer_denies() {
    async fn check(before: fn(&Intercepted<'_>) -> Act<Before>, expected: Option<(&str, bool)>) {
        let world = World::default()
            .failing()
            .with("second", Stage::Guard, 200, |_| {})
            .with("g", Stage::Guard, 100, |hook| hook.before = before)
            .with("fixer", Stage::Transform, 0, |hook| {
                hook.on_error = |_| Act::Answer(OnError::Recover(ToolResult::text("fixed")));
            })
            .with("watch", Stage::Observe, 0, |_| {});
        match (world.call().await, expected) {
            (End::Denied { hook, reason, fault }, Some((part, expected))) => {
                assert_eq!((hook.as_str(), fault), ("g", expected));
                assert!(reason.contains(part), "{reason}");
                // Nobody behind the guard hears of it, and nobody recovers it.
                world.logged(&["g.before"]);
            }
            (End::Result(text), None) => assert_eq!(text, "fixed"),
            (end, _) => panic!("{end:?}"),
        }
    }
    check(|_| Act::Answer(Before::Continue), None).await;
    check(|_| Act::Answer(Before::Deny("no writing on Fridays".into())), Some(("Fridays", false))).await;
    check(|_| Act::Answer(Before::Replace(raw(&json!({})))), Some(("may not give", true))).await;
    check(|_| Act::Answer(Before::ShortCircuit(ToolResult::text("x"))), Some(("may not give", true))).await;
    check(|_| Act::Fail, Some(("disk on fire", true))).await;
    check(|_| Act::Panic, Some(("panicked", true))).await;
    check(|_| Act::Hang, Some(("within 20 ms", true))).await;
}

#[tokio::test]
async fn a_guard_whose_applicability_panics_denies() {
    let world = World::default().with("g", Stage::Guard, 0, |hook| hook.applies = |_| panic!("scripted"));
    assert!(matches!(world.call().await, End::Denied { fault: true, .. }));
}

#[tokio::test]
async fn hooks_of_other_tools_stay_out() {
    let world = World::default().with("g", Stage::Guard, 0, |hook| {
        hook.applies = |tool| tool.name() == "other";
        hook.before = |_| Act::Answer(Before::Deny("no".into()));
    });
    assert!(matches!(world.call().await, End::Result(_)));
}

#[tokio::test]
async fn no_priority_brings_anything_before_a_guard() {
    let world =
        World::default()
            .with("t", Stage::Transform, i32::MIN, |_| {})
            .with("g", Stage::Guard, i32::MAX, |hook| hook.before = |_| Act::Answer(Before::Deny("no".into())));
    world.call().await;
    world.logged(&["g.before"]);
}

/// Whatever an observer answers or does, the call goes on as if it were not there.
#[tokio::test]
async fn an_observer_changes_nothing_and_breaks_nothing() {
    type Change = fn(&mut Hook);
    let changes: [Change; 9] = [
        |hook| hook.before = |_| Act::Fail,
        |hook| hook.before = |_| Act::Panic,
        |hook| hook.before = |_| Act::Hang,
        |hook| hook.before = |_| Act::Answer(Before::Deny("no".into())),
        |hook| hook.before = |_| Act::Answer(Before::ShortCircuit(ToolResult::text("x"))),
        |hook| hook.after = |_, _| Act::Answer(After::Replace(ToolResult::text("x"))),
        |hook| hook.after = |_, _| Act::Panic,
        |hook| hook.after = |_, _| Act::Hang,
        |hook| hook.applies = |_| panic!("scripted"),
    ];
    for change in changes {
        let world = World::default().with("w", Stage::Observe, 0, change).with("w2", Stage::Observe, 1, |_| {});
        assert!(matches!(world.call().await, End::Result(text) if text == "r"));
        assert!(world.log.lock().contains(&"w2.after(r)".to_owned()));
    }
    let world = World::default()
        .failing()
        .with("w", Stage::Observe, 0, |hook| hook.on_error = |_| Act::Answer(OnError::Recover(ToolResult::text("x"))));
    assert!(matches!(world.call().await, End::Failed(failure) if failure.text == "broken pipe"));
}

/// Case 31: that error, no tool call.
#[tokio::test]
async fn case_31_a_transform_that_fails_ends_the_call() {
    async fn check(before: fn(&Intercepted<'_>) -> Act<Before>, part: &str) {
        let world = World::default().with("t", Stage::Transform, 0, |hook| hook.before = before);
        let End::Failed(failure) = world.call().await else { panic!("not failed") };
        assert!(failure.text.contains(part) && failure.text.contains("nothing was run"), "{}", failure.text);
        assert!(!world.log.lock().iter().any(|line| line.starts_with("tool(")));
    }
    check(|_| Act::Fail, "disk on fire").await;
    check(|_| Act::Panic, "panicked").await;
    check(|_| Act::Hang, "within 20 ms").await;
    check(|_| Act::Answer(Before::Replace(raw(&json!([1])))), "not a JSON object").await;
}

#[tokio::test]
async fn a_transform_may_deny() {
    let world = World::default()
        .with("t", Stage::Transform, 0, |hook| hook.before = |_| Act::Answer(Before::Deny("no".into())));
    assert!(matches!(world.call().await, End::Denied { hook, fault: false, .. } if hook == "t"));
}

/// A result that a failing transform or normaliser may have had to clean is withheld.
#[tokio::test]
async fn a_result_is_not_shown_past_a_failing_transform() {
    for stage in [Stage::Transform, Stage::Normalise] {
        let world = World::default().with("t", stage, 0, |hook| hook.after = |_, _| Act::Panic);
        let End::Result(text) = world.call().await else { panic!("no result") };
        assert!(text.contains("cannot be shown") && text.contains("may have taken effect"), "{text}");
    }
}

/// **Ours**: a short-circuited result is still normalised and observed; transforms and the tool are skipped.
#[tokio::test]
async fn a_short_circuited_result_is_normalised_and_observed() {
    let world = World::default()
        .with("cache", Stage::Transform, 10, |hook| {
            hook.before = |_| Act::Answer(Before::ShortCircuit(ToolResult::text("cached")));
        })
        .with("later", Stage::Transform, 20, |_| {})
        .with("form", Stage::Normalise, 0, |hook| hook.after = |_, result| suffixed(result, "+form"))
        .with("watch", Stage::Observe, 0, |hook| {
            hook.after = |call, _| {
                assert_eq!(call.short_circuited_by(), Some("cache"));
                Act::Answer(After::Keep)
            };
        });
    assert!(matches!(world.call().await, End::Result(text) if text == "cached+form"));
    world.logged(&["cache.before", "form.after(cached)", "watch.after(cached+form)"]);
}

/// Case 29: the lower number wins, the other is not called; observers hear of it all the same.
#[tokio::test]
async fn case_29_the_first_to_recover_wins() {
    let world = World::default()
        .failing()
        .with("b", Stage::Transform, 2, |hook| hook.on_error = |_| Act::Answer(OnError::Recover(ToolResult::text("b"))))
        .with("a", Stage::Transform, 1, |hook| hook.on_error = |_| Act::Answer(OnError::Recover(ToolResult::text("a"))))
        .with("broken", Stage::Transform, 0, |hook| hook.on_error = |_| Act::Panic)
        .with("form", Stage::Normalise, -5, |hook| hook.after = |_, result| suffixed(result, "+form"))
        .with("watch", Stage::Observe, 50, |_| {});
    assert!(matches!(world.call().await, End::Result(text) if text == "a+form"));
    let log =
        world.log.lock().iter().skip_while(|line| !line.starts_with("tool(")).skip(1).cloned().collect::<Vec<_>>();
    assert_eq!(
        log,
        ["watch.on_error(broken pipe)", "broken.on_error(broken pipe)", "a.on_error(broken pipe)", "form.after(a)"]
    );
}

/// Case 30, **ours**: the failure may be replaced; the original is kept as its source, and the outcome stays.
#[tokio::test]
async fn case_30_a_replaced_failure_keeps_the_original_as_its_source() {
    let world = World::default().failing().with("t", Stage::Transform, 0, |hook| {
        hook.on_error = |_| Act::Answer(OnError::Replace("try tomorrow".into()));
    });
    let End::Failed(failure) = world.call().await else { panic!("not failed") };
    assert_eq!((failure.text.as_str(), failure.outcome), ("try tomorrow", Outcome::Unknown));
    assert_eq!(std::error::Error::source(&failure).unwrap().to_string(), "broken pipe");
}

#[tokio::test]
async fn a_denial_is_never_recovered() {
    let world = World::default().with("fixer", Stage::Transform, 0, |hook| {
        hook.on_error = |_| Act::Answer(OnError::Recover(ToolResult::text("fixed")));
    });
    let (tool, scope, identity, arguments) = (tool("t"), Scope::default(), Identity::default(), raw(&json!({})));
    let call = Intercepted::new(1, Door::Direct, &tool, "t", &arguments, &scope, &identity);
    let recovery = world.registry.snapshot().on_error(&call, Failure::new(Outcome::Denied, "no")).await;
    assert!(matches!(recovery, Recovery::None(_)));
    world.logged(&[]);
}

/// Case 32: metadata set before is visible after, in the same call only.
#[tokio::test]
async fn case_32_metadata_lives_as_long_as_its_call() {
    let world = World::default().with("m", Stage::Transform, 0, |hook| {
        hook.before = |call| {
            assert_eq!(call.metadata.get("begun"), None);
            call.metadata.set("begun", 42);
            Act::Answer(Before::Continue)
        };
        hook.after = |call, _| {
            let text = call.metadata.get("begun").unwrap_or_default().to_string();
            Act::Answer(After::Replace(ToolResult::text(text)))
        };
    });
    for _ in 0..2 {
        assert!(matches!(world.call().await, End::Result(text) if text == "42"));
    }
}

#[test]
fn metadata_is_bounded() {
    let metadata = toolcrib_engine::intercept::Metadata::default();
    assert!((0..64).all(|number| metadata.set(number.to_string(), number)));
    assert!(!metadata.set("one more", 1));
    assert!(metadata.set("0", "again"));
}

#[test]
fn a_taken_name_is_replaced() {
    let log = Log::default();
    let registry = Interceptors::new();
    assert!(!registry.attach(Arc::new(hook("x", Stage::Guard, 1, &log))));
    assert!(registry.attach(Arc::new(hook("x", Stage::Observe, 2, &log))));
    let listed = registry.list();
    assert_eq!((listed.len(), listed[0].stage, listed[0].priority), (1, Stage::Observe, 2));
    assert!(registry.detach("x") && !registry.detach("x"));
    assert!(registry.list().is_empty());
    assert_eq!(*log.lock(), ["x.attached", "x.detached", "x.attached", "x.detached"]);
}

#[tokio::test]
async fn a_call_under_way_keeps_its_interceptors() {
    let world =
        World::default().with("g", Stage::Guard, 0, |hook| hook.before = |_| Act::Answer(Before::Deny("no".into())));
    let under_way = world.registry.snapshot();
    world.registry.detach("g");
    let (tool, scope, identity, arguments) = (tool("t"), Scope::default(), Identity::default(), raw(&json!({})));
    let call = Intercepted::new(1, Door::Direct, &tool, "t", &arguments, &scope, &identity);
    assert!(under_way.guards(&call).await.is_err());
    assert!(world.registry.snapshot().guards(&call).await.is_ok());
}

/// Case 23: nothing becomes an error that names the tool.
#[tokio::test]
async fn case_23_nothing_becomes_an_error() {
    let registry = Interceptors::new();
    registry.attach(Arc::new(ResultNormaliser::default()));
    let (tool, scope, identity, arguments) = (tool("t"), Scope::default(), Identity::default(), raw(&json!({})));
    let call = Intercepted::new(1, Door::Direct, &tool, "s__t", &arguments, &scope, &identity);
    let result = registry.snapshot().after(&call, ToolResult::from_value(&json!({"content": null}))).await;
    assert!(result.is_error() && result.to_text().contains("s__t returned no result"), "{}", result.to_text());
}

fn stages() -> impl Strategy<Value = Stage> {
    prop_oneof![Just(Stage::Guard), Just(Stage::Transform), Just(Stage::Observe), Just(Stage::Normalise)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// Before: by stage, then priority, then registration. After: within each stage exactly the reverse.
    #[test]
    fn order_is_by_stage_then_priority_then_registration(set in prop::collection::vec((stages(), -3..3_i32), 0..12)) {
        let world = World::default();
        for (at, (stage, priority)) in set.iter().enumerate() {
            world.registry.attach(Arc::new(hook(&at.to_string(), *stage, *priority, &world.log)));
        }
        world.log.lock().clear();
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(world.call());

        let of = |stage| {
            let mut chosen: Vec<usize> = (0..set.len()).filter(|at| set[*at].0 == stage).collect();
            chosen.sort_by_key(|at| (set[*at].1, *at));
            chosen
        };
        let named = |when: &str, order: Vec<usize>| order.into_iter().map(|at| format!("{at}.{when}")).collect::<Vec<_>>();
        let reversed = |stage| of(stage).into_iter().rev().collect::<Vec<_>>();
        let mut expected = named("before", [of(Stage::Guard), of(Stage::Transform), of(Stage::Observe)].concat());
        expected.push(r#"tool({"n":1})"#.to_owned());
        let after = [reversed(Stage::Transform), reversed(Stage::Normalise), reversed(Stage::Observe)].concat();
        expected.extend(named("after(r)", after));
        prop_assert_eq!(&*world.log.lock(), &expected);
    }
}
