//! An engine with everything it can have, over stores in memory, a scripted backend, a scripted person and hooks that do as
//! they are told.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{Scope, Source, SourceState, ToolResult};
use toolcrib_engine::{
    Backend, BoxFuture, CallReply, CallReport, CallRequest, Door, Engine, EngineSettings, EventSink, Hub, HubLimits,
    Identity, Invocation, InvokeError, Outcome, PermissionSettings, ResultStore, SourceOptions, StoreError, Trust,
    approval::{
        Answer, ApprovalRequest, ApprovalSettings, Approvals, AskError, Asker, Grant, Reach, RequestFilter,
        RequestState, Responder,
    },
    intercept::{After, Before, Failure, HookError, Intercepted, Interceptor, OnError, Stage},
    journal::{Journal, JournalRecord, JournalSettings, Kind},
    pending::{PendingSettings, PendingWork, Suspension},
    permission::{Evaluation, Policy, Question, Verdict},
    results::{self, ResultReader},
};

use crate::{approval::ledger::Ledger, faults::Shelf, pending::kept::Kept, script::Events};

/// Time stands still but for timers, which fire as soon as nothing else can be done.
pub(super) fn paused<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(test)
}

/// Lets the wall clock go on, which circuits, rates and grants go by.
pub(super) fn really(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Looks like what it must not be seen as.
pub(super) const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What happened, in order.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

/// What a tool does when it is run. Without orders it says its arguments back.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Say(&'static str),
    /// A whole result as it comes over the wire.
    Give(Value),
    Fail,
    Refuse,
    Down,
    Lost,
    Bad,
    /// Breaks off with [`SECRET`] in what it says.
    LeaksAndFails,
    Panics,
    /// Goes on for ever, whoever cancels.
    Hangs,
    /// Waits, whoever cancels, and then acts.
    After(Duration, Box<Act>),
    /// Waits for something outside.
    Suspends(&'static str),
    /// The same, and goes on for a while.
    SuspendsFor(&'static str, Duration),
}

/// One entry into the backend.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) tool: String,
    pub(super) call: u64,
    pub(super) arguments: Value,
    pub(super) user: Option<String>,
    pub(super) session: Option<String>,
    /// The time the tool had.
    pub(super) left: Duration,
    /// Whether the intent was durable when it was entered.
    pub(super) intent: bool,
}

/// The tools of all sources.
pub(super) struct Tools {
    orders: Mutex<HashMap<String, VecDeque<Act>>>,
    pub(super) seen: Mutex<Vec<Seen>>,
    pub(super) left: AtomicUsize,
    running: AtomicUsize,
    pub(super) most: AtomicUsize,
    shelf: Arc<Shelf>,
    reader: ResultReader,
    log: Log,
}

/// Counts a run that ends, however it ends.
struct Running<'t>(&'t Tools);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

impl Tools {
    /// What the tool does next time, and the times after that.
    pub(super) fn order(&self, tool: &str, acts: impl IntoIterator<Item = Act>) {
        self.orders.lock().entry(tool.to_owned()).or_default().extend(acts);
    }

    pub(super) fn entered(&self) -> usize {
        self.seen.lock().len()
    }

    async fn run(&self, invocation: Invocation<'_>) -> Result<ToolResult, InvokeError> {
        let tool = invocation.tool.name();
        let context = invocation.context;
        self.log.lock().push(format!("tool {}", invocation.arguments.get()));
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let _running = Running(self);
        self.seen.lock().push(Seen {
            tool: tool.to_owned(),
            call: context.call_id,
            arguments: serde_json::from_str(invocation.arguments.get()).unwrap(),
            user: context.scope.user.clone(),
            session: context.identity.session.clone(),
            left: context.remaining(),
            intent: self.shelf.holds(Kind::Intent, context.call_id),
        });
        if tool == results::READ_TOOL {
            return Ok(self.reader.read(&invocation).await);
        }
        tokio::task::yield_now().await;
        let order = self.orders.lock().get_mut(tool).and_then(VecDeque::pop_front);
        let mut act = order.unwrap_or_else(|| Act::Give(ToolResult::text(invocation.arguments.get()).to_value()));
        loop {
            act = match act {
                Act::After(time, next) => {
                    tokio::time::sleep(time).await;
                    *next
                }
                Act::Say(text) => return Ok(ToolResult::text(text)),
                Act::Give(value) => return Ok(ToolResult::from_value(&value)),
                Act::Fail => return Ok(ToolResult::error("disk on fire")),
                Act::Refuse => {
                    return Err(InvokeError::Refused { code: -32000, message: "no".into(), data: None });
                }
                Act::Down => return Err(InvokeError::Unavailable("connection refused".into())),
                Act::Lost => return Err(InvokeError::Unknown("broken pipe".into())),
                Act::Bad => return Err(InvokeError::BadAnswer("not an object".into())),
                Act::LeaksAndFails => return Err(InvokeError::Unknown(format!("token={SECRET}"))),
                Act::Panics => panic!("scripted"),
                Act::Hangs => std::future::pending().await,
                Act::SuspendsFor(correlation, time) => {
                    assert_eq!(context.suspender.suspend(Suspension::new(correlation)), Ok(true));
                    tokio::time::sleep(time).await;
                    Act::Say("waits")
                }
                Act::Suspends(correlation) => {
                    let first = context.suspender.suspend(Suspension::new(correlation));
                    return Ok(ToolResult::text(format!("waits: {first:?}")));
                }
            };
        }
    }
}

impl Backend for Tools {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(self.run(invocation))
    }
}

/// A scripted person.
#[derive(Default)]
pub(super) struct Person {
    pub(super) says: Option<Answer>,
    pub(super) takes: Duration,
    pub(super) asked: Mutex<Vec<ApprovalRequest>>,
}

pub(super) const ONCE: Answer = Answer::Approve { reach: Reach::Once, pattern: None };

impl Person {
    pub(super) fn saying(answer: Answer) -> Arc<Self> {
        Arc::new(Self { says: Some(answer), takes: Duration::from_secs(90), ..Self::default() })
    }

    pub(super) fn silent() -> Arc<Self> {
        Arc::default()
    }

    pub(super) fn questions(&self) -> usize {
        self.asked.lock().len()
    }
}

impl Asker for Person {
    fn route(&self) -> &'static str {
        "client"
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(async move {
            self.asked.lock().push(request.clone());
            match &self.says {
                Some(answer) => {
                    tokio::time::sleep(self.takes).await;
                    Ok(answer.clone())
                }
                None => std::future::pending().await,
            }
        })
    }
}

/// An answer of a hook, or none.
pub(super) enum Said<T> {
    Is(T),
    Fails,
    Panics,
    Hangs,
}

impl<T: Send + 'static> Said<T> {
    fn run<'a>(self) -> BoxFuture<'a, Result<T, HookError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            match self {
                Self::Is(answer) => Ok(answer),
                Self::Fails => Err("broken".into()),
                Self::Panics => panic!("scripted"),
                Self::Hangs => std::future::pending().await,
            }
        })
    }
}

type BeforeFn = fn(&Intercepted<'_>) -> Said<Before>;
type AfterFn = fn(&Intercepted<'_>, &ToolResult) -> Said<After>;
type ErrorFn = fn(&Failure) -> Said<OnError>;

/// A hook that logs and does what its fields say.
pub(super) struct Hook {
    pub(super) name: &'static str,
    pub(super) stage: Stage,
    pub(super) priority: i32,
    pub(super) before: BeforeFn,
    pub(super) after: AfterFn,
    pub(super) on_error: ErrorFn,
    log: Log,
}

impl Interceptor for Hook {
    fn name(&self) -> &str {
        self.name
    }
    fn stage(&self) -> Stage {
        self.stage
    }
    fn priority(&self) -> i32 {
        self.priority
    }
    fn before<'a>(&'a self, call: &'a Intercepted<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        self.log.lock().push(format!("{} {}", self.name, call.arguments().get()));
        (self.before)(call).run()
    }
    fn after<'a>(
        &'a self,
        call: &'a Intercepted<'a>,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<After, HookError>> {
        self.log.lock().push(format!("{} after", self.name));
        (self.after)(call, result).run()
    }
    fn on_error<'a>(
        &'a self,
        _: &'a Intercepted<'a>,
        failure: &'a Failure,
    ) -> BoxFuture<'a, Result<OnError, HookError>> {
        self.log.lock().push(format!("{} on_error {}", self.name, failure.outcome.word()));
        (self.on_error)(failure).run()
    }
}

/// A policy that logs, waits a moment and says what it was made to say.
pub(super) struct Judge {
    pub(super) priority: i32,
    pub(super) says: fn(&Question<'_>) -> Verdict,
    log: Log,
}

impl Policy for Judge {
    fn name(&self) -> &'static str {
        "judge"
    }
    fn priority(&self) -> i32 {
        self.priority
    }
    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        self.log.lock().push(format!("judge{} {}", self.priority, question.raw.get()));
        Evaluation::Waiting(Box::pin(async {
            tokio::task::yield_now().await;
            (self.says)(question)
        }))
    }
}

/// Whole results in memory.
#[derive(Default)]
pub(super) struct Cellar {
    pub(super) kept: Mutex<Vec<(String, String)>>,
    pub(super) panics: bool,
}

impl ResultStore for Cellar {
    fn put<'a>(&'a self, scope: &'a str, text: String, _: u64) -> BoxFuture<'a, Result<String, StoreError>> {
        assert!(!self.panics, "scripted");
        Box::pin(async move {
            let mut kept = self.kept.lock();
            kept.push((scope.to_owned(), text));
            Ok(format!("whole-{}", kept.len()))
        })
    }

    fn get<'a>(&'a self, scope: &'a str, handle: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            let kept = self.kept.lock();
            let number = handle.strip_prefix("whole-").and_then(|number| number.parse::<usize>().ok());
            let found = number.and_then(|number| kept.get(number - 1));
            Ok(found.filter(|(owner, _)| owner == scope).map(|(_, text)| text.clone()))
        })
    }
}

/// What a [`Rig`] is made of.
pub(super) struct Setup {
    pub(super) settings: EngineSettings,
    pub(super) approvals: Option<ApprovalSettings>,
    pub(super) journal: bool,
    pub(super) cellar: Cellar,
    pub(super) ledger: Ledger,
    pub(super) log: Log,
    pub(super) hooks: Vec<Hook>,
    pub(super) judges: Vec<Judge>,
    pub(super) sinks: Vec<Arc<dyn EventSink>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: EngineSettings::default(),
            approvals: Some(ApprovalSettings::default()),
            journal: true,
            cellar: Cellar::default(),
            ledger: Ledger::pausing(|| Box::pin(tokio::task::yield_now())),
            log: Log::default(),
            hooks: Vec::new(),
            judges: Vec::new(),
            sinks: Vec::new(),
        }
    }
}

impl Setup {
    /// Everything runs that no rule denies.
    pub(super) fn trusting() -> Self {
        Self::default().with(|settings| settings.permissions.trust = Trust::All)
    }

    pub(super) fn permitting(permissions: PermissionSettings) -> Self {
        Self::default().with(|settings| settings.permissions = permissions)
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut EngineSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(super) fn hook(mut self, name: &'static str, stage: Stage, change: impl FnOnce(&mut Hook)) -> Self {
        let mut hook = Hook {
            name,
            stage,
            priority: 100,
            before: |_| Said::Is(Before::Continue),
            after: |_, _| Said::Is(After::Keep),
            on_error: |_| Said::Is(OnError::Pass),
            log: self.log.clone(),
        };
        change(&mut hook);
        self.hooks.push(hook);
        self
    }

    pub(super) fn judge(mut self, priority: i32, says: fn(&Question<'_>) -> Verdict) -> Self {
        self.judges.push(Judge { priority, says, log: self.log.clone() });
        self
    }

    pub(super) async fn build(self) -> Rig {
        let (shelf, kept, events) =
            (Arc::new(Shelf::default()), Arc::new(Kept::default()), Arc::new(Events::default()));
        let (ledger, cellar) = (Arc::new(self.ledger), Arc::new(self.cellar));
        let pending = PendingWork::new(kept.clone(), PendingSettings::default());
        let tools = Arc::new(Tools {
            orders: Mutex::default(),
            seen: Mutex::default(),
            left: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            shelf: shelf.clone(),
            reader: ResultReader::new(cellar.clone()).with_pending(pending.clone()),
            log: self.log.clone(),
        });
        let hub = Hub::new(HubLimits::default());
        publish(&hub, &tools);
        let mut builder =
            Engine::builder(hub).settings(self.settings).results(cellar).pending(pending).sink(events.clone());
        for sink in self.sinks {
            builder = builder.sink(sink);
        }
        for judge in self.judges {
            builder = builder.policy(Arc::new(judge));
        }
        for hook in self.hooks {
            builder = builder.interceptor(Arc::new(hook));
        }
        if self.journal {
            let settings = JournalSettings { retry_every: 5 * MS, keep: None, ..JournalSettings::default() };
            builder = builder.journal(Journal::open(shelf.clone(), settings).await.unwrap());
        }
        if let Some(approvals) = self.approvals {
            builder = builder.approvals(Arc::new(Approvals::new(ledger.clone(), approvals)));
        }
        Rig { engine: builder.build(), tools, shelf, ledger, kept, events, log: self.log }
    }
}

/// `s`, a server whose hints are believed, and what is built in.
fn publish(hub: &Hub, tools: &Arc<Tools>) {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}, "password": {"type": "string"}},
        "additionalProperties": false,
    });
    let tool = |name: &str, more: Value| {
        let mut definition = json!({"name": name, "inputSchema": schema});
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        definition
    };
    let command = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let server = vec![
        json!({"name": "bash", "inputSchema": command}),
        tool("look", json!({"annotations": {"readOnlyHint": true}})),
        tool("write", json!({})),
        tool("again", json!({"annotations": {"idempotentHint": true}})),
        tool("delete", json!({"annotations": {"destructiveHint": true}})),
        tool("Write", json!({})),
        tool(
            "typed",
            json!({"annotations": {"readOnlyHint": true}, "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}),
        ),
    ];
    let options = SourceOptions { trust_hints: true, ..SourceOptions::default() };
    hub.register(Source::Mcp("s".into()), options, tools.clone()).tools(SourceState::Ready, server, None, false);
    let built_in = vec![
        results::definition(),
        json!({"name": "run_command", "inputSchema": command}),
        tool("write_file", json!({})),
        tool("read_file", json!({"annotations": {"readOnlyHint": true}})),
        tool("TaskStop", json!({})),
        tool("later", json!({"blocking": false})),
    ];
    hub.register(Source::Builtin, SourceOptions::default(), tools.clone()).tools(
        SourceState::Ready,
        built_in,
        None,
        false,
    );
}

/// The engine under test with everything around it.
pub(super) struct Rig {
    pub(super) engine: Engine,
    pub(super) tools: Arc<Tools>,
    pub(super) shelf: Arc<Shelf>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) kept: Arc<Kept>,
    pub(super) events: Arc<Events>,
    pub(super) log: Log,
}

pub(super) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// A call by ann in the session s1.
pub(super) fn request(name: &str, arguments: &Value) -> CallRequest {
    let scope = Scope { user: Some("ann".into()), ..Scope::default() };
    let mut request = CallRequest::new(name, Some(raw(&arguments.to_string())), scope, Door::Library);
    request.identity = Arc::new(Identity { session: Some("s1".into()), ..Identity::default() });
    request
}

pub(super) fn keyed(name: &str, arguments: &Value, key: &str) -> CallRequest {
    let mut request = request(name, arguments);
    request.idempotency_key = Some(key.to_owned());
    request
}

pub(super) fn asking(name: &str, arguments: &Value, person: &Arc<Person>) -> CallRequest {
    let mut request = request(name, arguments);
    request.asker = Some(person.clone());
    request
}

pub(super) fn text(report: &CallReport) -> String {
    match &report.reply {
        CallReply::Result(result) => result.to_text(),
        CallReply::Protocol { code, message, .. } => format!("{code} {message}"),
        CallReply::Question(request) => request.description.clone(),
    }
}

pub(super) fn value(report: &CallReport) -> Value {
    match &report.reply {
        CallReply::Result(result) => result.to_value(),
        _ => Value::Null,
    }
}

impl Rig {
    pub(super) async fn call(&self, name: &str, arguments: Value) -> CallReport {
        self.run(request(name, &arguments)).await
    }

    pub(super) async fn run(&self, request: CallRequest) -> CallReport {
        self.engine.call_report(request).await
    }

    /// All records once everything accepted is written.
    pub(super) async fn records(&self) -> Vec<JournalRecord> {
        // Outcomes nobody waits for are written by tasks of their own.
        tokio::time::sleep(MS).await;
        self.engine.journal().unwrap().flush().await.unwrap();
        self.shelf.all()
    }

    /// How the calls ended, as the journal has it, in the order in which they began.
    pub(super) async fn outcomes(&self) -> Vec<Outcome> {
        let mut records = self.records().await;
        records.sort_by_key(|record| record.call);
        records.iter().filter(|record| record.kind == Kind::Outcome).filter_map(|record| record.outcome).collect()
    }

    /// Every intent has exactly one outcome, and nothing is held or waited for.
    #[track_caller]
    pub(super) fn check_settled(&self, records: &[JournalRecord]) {
        let mut ends: HashMap<u64, Vec<_>> = HashMap::new();
        for record in records.iter().filter(|record| record.kind == Kind::Outcome) {
            ends.entry(record.call).or_default().push(record.outcome);
        }
        for (call, ends) in &ends {
            assert_eq!(ends.len(), 1, "call {call} ended as {ends:?}");
        }
        for intent in records.iter().filter(|record| record.kind == Kind::Intent) {
            assert!(ends.contains_key(&intent.call), "call {} did not end", intent.call);
        }
        assert_eq!(self.engine.admission().occupancy(), (0, 0));
        assert_eq!(self.tools.left.load(Ordering::SeqCst), self.tools.entered());
        for seen in self
            .tools
            .seen
            .lock()
            .iter()
            .filter(|seen| !["look", "typed", "read_file", "tool_result_read"].contains(&seen.tool.as_str()))
        {
            assert!(seen.intent, "entered before its intent was durable: {seen:?}");
        }
    }

    fn now() -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    }

    pub(super) fn approvals(&self) -> &Approvals {
        self.engine.approvals().unwrap()
    }

    /// The owner answers the newest open question at the terminal; what that grants or forbids.
    pub(super) async fn answer(&self, answer: &Answer) -> Option<Grant> {
        let filter = RequestFilter { state: Some(RequestState::Pending), limit: 1, ..RequestFilter::default() };
        let open = self.approvals().list(filter, Self::now()).await.unwrap();
        let by = Responder::owner("terminal");
        self.approvals().answer(&open[0].request.id, answer, &by, Self::now()).await.unwrap().grant
    }

    /// Grants in force.
    pub(super) async fn grants(&self) -> Vec<Grant> {
        self.approvals().grants(None, 100, Self::now()).await.unwrap()
    }

    /// Parks the call and has the owner approve it once.
    pub(super) async fn approve(&self, name: &str, arguments: Value) {
        let parked = self.call(name, arguments).await;
        assert_eq!(parked.outcome, Outcome::Denied, "{}", text(&parked));
        self.answer(&ONCE).await;
    }
}
