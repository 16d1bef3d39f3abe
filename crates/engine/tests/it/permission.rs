//! The policy chain: who decides, in which order, and what each built-in policy says. Numbers are cases of the
//! references: O = oneringai, C = openclaw and openclaude.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use toolcrib_core::{
    Labels,
    permission::{Action, Effect, Risk, RiskRule, Rule, RuleSet, ToolPattern},
};
use toolcrib_engine::{
    Trust,
    permission::{
        Decision, Evaluation, HostLists, PermissionSettings, Policy, PolicyChain, Question, RateRule, RoleLists,
        Verdict,
    },
};

use crate::judged::Judged;

mod paths;

/// A decision in one word.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Word {
    Allow,
    Ask,
    /// Can still be approved, in principle.
    Soft,
    Hard,
}
use Word::{Allow, Ask, Hard, Soft};

fn word(decision: &Decision) -> Word {
    match decision {
        Decision::Allow { .. } => Allow,
        Decision::Ask { .. } => Ask,
        Decision::Deny { hard: false, .. } => Soft,
        Decision::Deny { hard: true, .. } => Hard,
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(future)
}

fn decide(chain: &PolicyChain, call: &Judged) -> Decision {
    run(chain.decide(&call.question()))
}

#[track_caller]
fn check(settings: PermissionSettings, call: &Judged, want: Word) {
    let decision = decide(&PolicyChain::new(Vec::new(), settings), call);
    assert_eq!(word(&decision), want, "{} {}: {decision:?}", call.tool.id(), call.arguments);
}

fn patterns(texts: &[&str]) -> Vec<ToolPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn rule(tool: &str, action: Action) -> Rule {
    Rule::new(tool.parse().unwrap(), action, "test")
}

fn rules(rules: Vec<Rule>) -> PermissionSettings {
    PermissionSettings { rules: RuleSet::new(rules), ..PermissionSettings::default() }
}

fn trust(trust: Trust) -> PermissionSettings {
    PermissionSettings { trust, ..PermissionSettings::default() }
}

/// A policy that says the same about every call and counts how often it was asked.
struct Says {
    verdict: Option<Verdict>,
    priority: i32,
    asked: AtomicUsize,
    waits: Option<Duration>,
}

impl Says {
    fn new(priority: i32, verdict: Verdict) -> Arc<Self> {
        Arc::new(Self { verdict: Some(verdict), priority, asked: AtomicUsize::new(0), waits: None })
    }

    fn panicking(priority: i32) -> Arc<Self> {
        Arc::new(Self { verdict: None, priority, asked: AtomicUsize::new(0), waits: None })
    }

    fn waiting(verdict: Option<Verdict>, waits: Duration) -> Arc<Self> {
        Arc::new(Self { verdict, priority: 40, asked: AtomicUsize::new(0), waits: Some(waits) })
    }
}

impl Policy for Says {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    fn evaluate<'a>(&'a self, _: &'a Question<'a>) -> Evaluation<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match self.waits {
            None => Evaluation::Ready(self.verdict.clone().unwrap()),
            Some(time) => Evaluation::Waiting(Box::pin(async move {
                tokio::time::sleep(time).await;
                self.verdict.clone().unwrap()
            })),
        }
    }
}

fn allow() -> Verdict {
    Verdict::Allow { rule: "a".into() }
}
fn deny(hard: bool) -> Verdict {
    Verdict::Deny { hard, rule: "d".into(), reason: "no".into() }
}
fn ask() -> Verdict {
    Verdict::Ask { rule: "q".into(), reason: "sure?".into() }
}

fn harmless() -> Judged {
    Judged::new("mcp:s/look", json!({}))
}

#[test]
fn opinions_are_combined() {
    #[track_caller]
    fn check(level: Trust, opinions: &[(i32, Verdict)], want: Word) {
        let policies: Vec<Arc<dyn Policy>> =
            opinions.iter().map(|(priority, verdict)| Says::new(*priority, verdict.clone()) as _).collect();
        let decision = decide(&PolicyChain::new(policies, trust(level)), &harmless());
        assert_eq!(word(&decision), want, "{level:?} {opinions:?}: {decision:?}");
    }
    let (none, configured, all) = (Trust::None, Trust::Configured, Trust::All);
    // Nobody has an opinion (O93).
    check(none, &[], Ask);
    check(none, &[(10, Verdict::Abstain)], Ask);
    check(configured, &[], Allow);
    check(all, &[], Allow);
    // A denial beats an allowance, on either side of it (O92).
    check(configured, &[(10, deny(true)), (20, allow())], Hard);
    check(configured, &[(10, allow()), (20, deny(true))], Hard);
    check(all, &[(10, allow()), (20, deny(true))], Hard);
    // One that can be approved is a question where questions are asked, and else a denial.
    check(configured, &[(100, deny(false))], Ask);
    check(none, &[(10, allow()), (100, deny(false))], Ask);
    check(all, &[(100, deny(false))], Soft);
    // It does not hide a hard one.
    check(configured, &[(10, deny(false)), (20, deny(true))], Hard);
    // A question of high priority does not stop a block of low priority (C118).
    check(configured, &[(1, ask()), (100, deny(true))], Hard);
    check(all, &[(1, ask()), (100, deny(true))], Hard);
    // Among policies allowances beat questions; those of lists and rules come first, in their order.
    check(none, &[(20, ask()), (50, allow())], Allow);
    check(none, &[(50, allow()), (60, ask())], Allow);
    check(none, &[(10, ask()), (50, allow())], Ask);
    check(none, &[(10, allow()), (15, ask())], Allow);
    check(none, &[(10, ask()), (15, allow())], Ask);
    // Full access skips questions.
    check(all, &[(10, ask())], Allow);
    check(all, &[(50, ask())], Allow);
}

/// Every two opinions at every two places and every trust level.
#[test]
fn no_denial_is_ever_lost() {
    let verdicts = [Verdict::Abstain, allow(), ask(), deny(false), deny(true)];
    let opinions: Vec<(i32, &Verdict)> = [5, 10, 15, 50, 100]
        .into_iter()
        .flat_map(|place| verdicts.iter().map(move |verdict| (place, verdict)))
        .collect();
    for level in [Trust::None, Trust::Configured, Trust::All] {
        for first in &opinions {
            for second in &opinions {
                let policies = [first, second].map(|(place, verdict)| Says::new(*place, (*verdict).clone()) as _);
                let found = word(&decide(&PolicyChain::new(policies.to_vec(), trust(level)), &harmless()));
                let any = |verdict: &Verdict| first.1 == verdict || second.1 == verdict;
                let told = format!("{level:?} {first:?} {second:?}: {found:?}");
                assert_eq!(found == Hard, any(&deny(true)), "{told}");
                let soft = any(&deny(false)) && !any(&deny(true));
                assert!(!soft || found == if level == Trust::All { Soft } else { Ask }, "{told}");
                let unopposed = !soft && !any(&deny(true));
                assert!(!unopposed || found == Allow || level != Trust::All, "{told}");
                assert!(!(unopposed && level == Trust::None && !any(&allow())) || found == Ask, "{told}");
                assert!(!(unopposed && !any(&ask()) && any(&allow())) || found == Allow, "{told}");
            }
        }
    }
}

#[test]
fn a_hard_denial_ends_it() {
    let (first, second) = (Says::new(10, deny(true)), Says::new(20, allow()));
    // Registration order does not matter, priority does (O92).
    let chain = PolicyChain::new(vec![second.clone(), first.clone()], trust(Trust::All));
    assert_eq!(word(&decide(&chain, &harmless())), Hard);
    assert_eq!((first.asked.load(Ordering::SeqCst), second.asked.load(Ordering::SeqCst)), (1, 0));
}

#[test]
fn a_policy_without_an_answer_denies() {
    // C117: throws, throws while waiting, takes too long.
    let late = Says::waiting(Some(allow()), Duration::from_secs(16));
    for policy in [Says::panicking(40), Says::waiting(None, Duration::ZERO), late] {
        let chain = PolicyChain::new(vec![policy], trust(Trust::All));
        assert_eq!(word(&decide(&chain, &harmless())), Hard);
    }
    let soon = Says::waiting(Some(allow()), Duration::from_secs(14));
    assert_eq!(word(&decide(&PolicyChain::new(vec![soon], trust(Trust::None)), &harmless())), Allow);
    let settings = PermissionSettings { policy_timeout: Duration::from_millis(5), ..trust(Trust::All) };
    let slow = Says::waiting(Some(allow()), Duration::from_millis(6));
    assert_eq!(word(&decide(&PolicyChain::new(vec![slow], settings), &harmless())), Hard);
}

#[test]
fn the_parent_decides_as_well() {
    #[track_caller]
    fn check(parent: Verdict, own: PermissionSettings, want: Word) {
        let call = harmless().with(|call| call.identity.parent = Some(Says::new(0, parent)));
        super::permission::check(own, &call, want);
    }
    // O106, in both directions; what the parent would ask about is denied too.
    check(deny(true), trust(Trust::All), Hard);
    check(deny(false), trust(Trust::All), Hard);
    check(ask(), trust(Trust::All), Hard);
    check(allow(), trust(Trust::All), Allow);
    check(Verdict::Abstain, trust(Trust::Configured), Allow);
    check(allow(), trust(Trust::None), Ask);
    check(allow(), rules(vec![rule("mcp:s", Action::Deny)]), Hard);
    check(deny(true), rules(vec![rule("*", Action::Allow)]), Hard);
}

#[test]
fn the_trust_level_decides_last() {
    #[track_caller]
    fn check(level: Trust, call: &Judged, want: Word) {
        super::permission::check(trust(level), call, want);
    }
    let hints = |hints: Value| Judged::defined("mcp:s/t", json!({"annotations": hints}), json!({}));
    for (call, none, configured) in [
        (Judged::new("mcp:s/look", json!({})), Ask, Allow),
        (Judged::new("plugin:p/look", json!({})), Ask, Allow),
        (Judged::new("connector:c/look", json!({})), Ask, Allow),
        (Judged::new("builtin/read_file", json!({"path": "/x"})), Ask, Allow),
        // Not written by the user into the configuration.
        (Judged::new("custom:ann/look", json!({})), Ask, Ask),
        (Judged::new("remote:g/look", json!({})), Ask, Ask),
        // Dangerous by the built-in list, by hint, by a local rule.
        (Judged::new("builtin/run_command", json!({"command": "ls"})), Ask, Ask),
        (Judged::new("builtin/write_file", json!({"path": "/x"})), Ask, Ask),
        (Judged::new("builtin/edit_file", json!({"path": "/x"})), Ask, Ask),
        (Judged::new("builtin/kv_set", json!({"key": "a"})), Ask, Allow),
        (hints(json!({"destructiveHint": true})), Ask, Ask),
        (hints(json!({"destructiveHint": true, "readOnlyHint": true})), Ask, Ask),
        (hints(json!({"destructiveHint": false})), Ask, Allow),
        (harmless().risk(Risk::High, Effect::Mutating), Ask, Ask),
        (harmless().risk(Risk::Critical, Effect::Mutating), Ask, Ask),
    ] {
        check(Trust::None, &call, none);
        check(Trust::Configured, &call, configured);
        // Full access skips questions and checks for danger (C46).
        check(Trust::All, &call, Allow);
    }
}

#[test]
fn an_allowance_answers_the_question_of_danger() {
    let run = Judged::new("builtin/run_command", json!({"command": ["git", "status"]}));
    let allowed = |texts: &[&str]| PermissionSettings { allow: patterns(texts), ..trust(Trust::None) };
    check(allowed(&["run_command"]), &run, Allow);
    check(allowed(&["Bash(git:*)"]), &run, Allow);
    check(allowed(&["Bash(rm:*)"]), &run, Ask);
    check(allowed(&["mcp:s"]), &harmless(), Allow);
    check(allowed(&["mcp:other"]), &harmless(), Ask);
}

#[test]
fn what_is_critical_asks_unless_an_unconditional_rule_allows_it() {
    let call = harmless().risk(Risk::Critical, Effect::Mutating);
    check(PermissionSettings { allow: patterns(&["mcp:s"]), ..trust(Trust::None) }, &call, Ask);
    check(rules(vec![rule("mcp:s", Action::Allow)]), &call, Ask);
    check(rules(vec![Rule { unconditional: true, ..rule("mcp:s", Action::Allow) }]), &call, Allow);
    check(PermissionSettings { trust: Trust::All, ..rules(vec![rule("mcp:s", Action::Allow)]) }, &call, Allow);
    // And no rule makes up for a denial.
    let settings = PermissionSettings {
        deny: patterns(&["mcp:s"]),
        ..rules(vec![Rule { unconditional: true, ..rule("mcp:s", Action::Allow) }])
    };
    check(settings, &call, Hard);
}

#[test]
fn lists() {
    let lists = |deny: &[&str], ask: &[&str], allow: &[&str], level| PermissionSettings {
        deny: patterns(deny),
        ask: patterns(ask),
        allow: patterns(allow),
        ..trust(level)
    };
    let call = Judged::new("mcp:srv/write", json!({}));
    // O89 and O112: no order of adding, the block list wins. O95 and C46: also over full access.
    check(lists(&["mcp:srv/write"], &[], &["mcp:srv/write"], Trust::None), &call, Hard);
    check(lists(&["mcp:srv/write"], &[], &["*"], Trust::All), &call, Hard);
    let blocked = PermissionSettings { deny: patterns(&["mcp:srv"]), ..rules(vec![rule("*", Action::Allow)]) };
    check(blocked, &call, Hard);
    // Questions before allowances, whoever allows.
    check(lists(&[], &["mcp:srv"], &["mcp:srv/write"], Trust::Configured), &call, Ask);
    check(PermissionSettings { ask: patterns(&["mcp:srv"]), ..rules(vec![rule("*", Action::Allow)]) }, &call, Ask);
    // C41: a server by either form.
    check(lists(&["mcp__srv"], &[], &[], Trust::All), &call, Hard);
    check(lists(&["mcp__srv__*"], &[], &[], Trust::All), &call, Hard);
    // C42: a rule on `Write` does not mean a server's tool that is shown as `Write`.
    let shown = Judged::new("mcp:srv/Write", json!({})).with(|call| call.exposed = "Write".into());
    check(lists(&["Write"], &[], &[], Trust::All), &shown, Allow);
    // C43: a content denies matching calls alone. C44: `*` and nothing are the whole tool.
    let run = |line: &str| Judged::new("builtin/run_command", json!({"command": line.split(' ').collect::<Vec<_>>()}));
    check(lists(&["Bash(rm:*)"], &[], &[], Trust::All), &run("rm -rf x"), Hard);
    check(lists(&["Bash(rm:*)"], &[], &[], Trust::All), &run("ls -l x"), Allow);
    for whole in ["Bash(*)", "Bash()", "Bash"] {
        check(lists(&[whole], &[], &[], Trust::All), &run("ls"), Hard);
    }
    // What cannot be told apart leaves room for a person, and none for full access.
    let shell = Judged::defined(
        "mcp:srv/sh",
        json!({"inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}}}),
        json!({"command": "$X -rf /"}),
    );
    check(lists(&["mcp:srv/sh(rm:*)"], &[], &[], Trust::Configured), &shell, Ask);
    check(lists(&["mcp:srv/sh(rm:*)"], &[], &[], Trust::All), &shell, Soft);
}

#[test]
fn user_rules() {
    let call = Judged::new("mcp:fs/read", json!({"path": "/data/x", "mode": "fast"}));
    let when = |conditions: Value, action| -> Rule {
        serde_json::from_value(json!({"tool": "mcp:fs", "action": action, "when": conditions})).unwrap()
    };
    let data = json!({"argument": "path", "op": "starts_with", "value": "/data"});
    let slow = json!({"argument": "mode", "op": "equals", "value": "slow"});
    // O96: all conditions have to hold.
    check(rules(vec![when(json!([data, slow]), Action::Deny)]), &call, Allow);
    check(rules(vec![when(json!([data]), Action::Deny)]), &call, Hard);
    check(rules(vec![when(json!([data]), Action::Ask)]), &call, Ask);
    // O97: an unconditional allowance beats a specific denial.
    let unconditional = Rule { unconditional: true, ..rule("mcp:fs", Action::Allow) };
    check(rules(vec![when(json!([data]), Action::Deny), unconditional]), &call, Allow);
    // O99: of equals the newer.
    let at = |action, updated_at_ms| Rule { updated_at_ms, ..rule("mcp:fs", action) };
    check(rules(vec![at(Action::Deny, 1), at(Action::Allow, 2)]), &call, Allow);
    check(rules(vec![at(Action::Deny, 2), at(Action::Allow, 1)]), &call, Hard);
    // O100: ended and switched off.
    check(rules(vec![Rule { expires_at_ms: Some(call.now_ms), ..rule("*", Action::Deny) }]), &call, Allow);
    check(rules(vec![Rule { expires_at_ms: Some(call.now_ms + 1), ..rule("*", Action::Deny) }]), &call, Hard);
    check(rules(vec![Rule { enabled: false, ..rule("*", Action::Deny) }]), &call, Allow);
    // Of one user's rules nothing reaches another.
    check(rules(vec![Rule { user: Some("bob".into()), ..rule("*", Action::Deny) }]), &call, Allow);
    check(rules(vec![Rule { user: Some("ann".into()), ..rule("*", Action::Deny) }]), &call, Hard);
    // O95, ours: full access does not get past them.
    check(PermissionSettings { trust: Trust::All, ..rules(vec![rule("*", Action::Deny)]) }, &call, Hard);
}

#[test]
fn roles() {
    #[track_caller]
    fn check(settings: PermissionSettings, roles: &[&str], tool: &str, want: Word) {
        let call = Judged::new(tool, json!({}))
            .with(|call| call.identity.roles = roles.iter().map(|role| (*role).to_owned()).collect());
        super::permission::check(settings, &call, want);
    }
    let lists = |allow: &[&str], deny: &[&str]| RoleLists { allow: patterns(allow), deny: patterns(deny) };
    let settings = || PermissionSettings {
        roles: BTreeMap::from([
            ("developer".into(), lists(&["*"], &[])),
            ("restricted".into(), lists(&[], &["mcp:s/drop"])),
            ("reader".into(), lists(&["mcp:s/look"], &[])),
        ]),
        ..trust(Trust::None)
    };
    check(settings(), &["developer"], "mcp:s/drop", Allow);
    // O105: one role's denial beats another's allowance, in either order.
    check(settings(), &["developer", "restricted"], "mcp:s/drop", Hard);
    check(settings(), &["restricted", "developer"], "mcp:s/drop", Hard);
    check(settings(), &["developer", "restricted"], "mcp:s/look", Allow);
    check(settings(), &["reader"], "mcp:s/look", Allow);
    check(settings(), &["reader"], "mcp:s/drop", Hard);
    check(settings(), &["restricted"], "mcp:s/look", Ask);
    check(settings(), &["unheard of"], "mcp:s/look", Ask);
    check(settings(), &[], "mcp:s/look", Ask);
}

#[test]
fn hosts() {
    let lists = |allow: Option<&[&str]>, deny: &[&str], level| {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        PermissionSettings { hosts: HostLists { allow: allow.map(rules), deny: rules(deny) }, ..trust(level) }
    };
    let call = |url: &str| Judged::new("mcp:web/get", json!({"url": url}));
    let only = |url: &str, want| check(lists(Some(&["example.com"]), &[], Trust::All), &call(url), want);
    only("https://example.com/x", Allow);
    only("https://api.example.com/x", Allow);
    only("https://example.com.evil.net/x", Hard);
    only("https://evil.net/?example.com", Hard);
    only("ftp://example.com/x", Hard);
    only("https://ann@example.com/", Soft);
    let denied = |url: &str, want| check(lists(None, &["evil.net"], Trust::All), &call(url), want);
    denied("https://evil.net/", Hard);
    denied("https://EVIL.net./", Hard);
    denied("https://x.evil.net:8443/", Hard);
    denied("https://example.com/", Allow);
    check(lists(Some(&[]), &[], Trust::All), &Judged::new("mcp:web/get", json!({"n": 1})), Allow);
}

#[test]
fn plan_mode_only_looks() {
    let settings = || PermissionSettings { plan: true, allow: patterns(&["*"]), ..trust(Trust::All) };
    check(settings(), &Judged::new("builtin/read_file", json!({"path": "/x"})), Allow);
    check(settings(), &Judged::new("builtin/write_file", json!({"path": "/x"})), Hard);
    // C47: no hint. C48: a hint counts where it is trusted.
    check(settings(), &harmless(), Hard);
    let hinted = Judged::defined("mcp:s/look", json!({"annotations": {"readOnlyHint": true}}), json!({}));
    check(settings(), &hinted, Hard);
    check(settings(), &hinted.risk(Risk::Low, Effect::ReadOnly), Allow);
}

#[test]
fn rate_limits_count_what_is_let_through() {
    let limit = |tools: &str, calls| RateRule { tools: tools.parse().unwrap(), calls, per: Duration::from_secs(1) };
    let settings = PermissionSettings { rates: vec![limit("mcp:s", 2), limit("*", 3)], ..trust(Trust::All) };
    let chain = PolicyChain::new(Vec::new(), settings);
    let call = harmless();
    // Asking about a call uses nothing up.
    for _ in 0..5 {
        assert_eq!(word(&decide(&chain, &call)), Allow);
    }
    assert_eq!(chain.admit(&call.question()), None);
    assert_eq!(chain.admit(&call.question()), None);
    // O104: the third.
    assert_eq!(word(&decide(&chain, &call)), Hard);
    assert!(matches!(chain.admit(&call.question()), Some(Decision::Deny { hard: true, .. })));
    // Others have room of their own: another tool, user, tenant.
    let others = [
        Judged::new("mcp:s/other", json!({})),
        harmless().with(|call| call.scope.user = Some("bob".into())),
        harmless().with(|call| call.scope.tenant = "other".into()),
    ];
    for other in &others {
        assert_eq!(word(&decide(&chain, other)), Allow);
        assert_eq!(chain.admit(&other.question()), None);
    }
    // The window slides.
    let later = harmless().with(|call| call.now_ms += 1_000);
    assert_eq!(word(&decide(&chain, &later)), Allow);
    assert_eq!(chain.admit(&later.question()), None);
}

#[test]
fn a_reload_does_not_forgive_calls() {
    let limited = |calls| PermissionSettings {
        rates: vec![RateRule { tools: "*".parse().unwrap(), calls, per: Duration::from_secs(1) }],
        ..trust(Trust::All)
    };
    let chain = PolicyChain::new(Vec::new(), limited(1));
    assert_eq!(chain.admit(&harmless().question()), None);
    let same = PolicyChain::succeeding(Some(&chain), Vec::new(), limited(1));
    assert!(same.admit(&harmless().question()).is_some());
    // Another limit starts anew.
    let other = PolicyChain::succeeding(Some(&same), Vec::new(), limited(2));
    assert_eq!(other.admit(&harmless().question()), None);
}

#[test]
fn racing_calls_do_not_get_past_a_rate_limit() {
    let rates = vec![RateRule { tools: "*".parse().unwrap(), calls: 5, per: Duration::from_mins(1) }];
    let chain = PolicyChain::new(Vec::new(), PermissionSettings { rates, ..trust(Trust::All) });
    let through = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    if chain.admit(&harmless().question()).is_none() {
                        through.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(through.into_inner(), 5);
}

#[test]
fn tools_are_assessed_once_and_by_local_rules() {
    let risks = vec![RiskRule { selector: "s__look".parse().unwrap(), risk: Some(Risk::High), effect: None }];
    let chain = PolicyChain::new(Vec::new(), PermissionSettings { risks, ..PermissionSettings::default() });
    let call = harmless();
    let first = chain.assess(&call.tool, &call.exposed);
    assert_eq!(first.risk, Risk::High);
    assert!(Arc::ptr_eq(&first, &chain.assess(&call.tool, &call.exposed)));
    assert_eq!(chain.assess(&call.tool, "under_another_name").risk, Risk::Medium);
    assert_eq!(chain.assess(&call.tool.clone().with_trusted_hints(true), &call.exposed).risk, Risk::High);
}

#[test]
fn everybody_is_heard_in_an_explanation() {
    let settings = PermissionSettings {
        deny: patterns(&["mcp:s"]),
        allow: patterns(&["mcp:s/look"]),
        ..rules(vec![rule("mcp:other", Action::Ask)])
    };
    let told = run(PolicyChain::new(Vec::new(), settings).explain(&harmless().question()));
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["block list", "allow list", "rules", "trust"]);
    assert!(
        matches!(&told[0].1, Verdict::Deny { hard: true, reason, .. } if reason.contains("permissions.deny")),
        "{told:?}"
    );
    assert!(matches!(&told[1].1, Verdict::Allow { .. }), "{told:?}");
    assert_eq!(told[2].1, Verdict::Abstain);
    assert!(matches!(&told[3].1, Verdict::Allow { rule } if rule == "trust configured"), "{told:?}");
}

#[test]
fn the_authority_is_named() {
    #[track_caller]
    fn check(settings: PermissionSettings, want: &str) {
        let decision = decide(&PolicyChain::new(Vec::new(), settings), &harmless());
        let (Decision::Allow { authority } | Decision::Ask { authority, .. }) = &decision else {
            panic!("{decision:?}")
        };
        assert_eq!(authority, want);
    }
    check(PermissionSettings::default(), "trust configured");
    check(trust(Trust::None), "trust none");
    check(PermissionSettings { allow: patterns(&["mcp:s"]), ..trust(Trust::None) }, "allow list: allow mcp:s");
    check(rules(vec![rule("mcp:s/*", Action::Ask)]), "rules: ask mcp:s/*");
}

#[test]
fn what_is_said_of_the_tool_itself_comes_after_lists_and_rules() {
    #[track_caller]
    fn with(permission: Action, mut settings: PermissionSettings, level: Trust, want: Word) {
        settings.trust = level;
        let labels = Arc::new(Labels { permission: Some(permission), ..Labels::default() });
        check(settings, &harmless().with(|call| call.tool = call.tool.clone().with_labels(labels)), want);
    }
    let none = PermissionSettings::default;
    let allowing = || PermissionSettings { allow: patterns(&["s__look"]), ..none() };
    with(Action::Allow, none(), Trust::None, Allow);
    with(Action::Ask, none(), Trust::Configured, Ask);
    with(Action::Deny, none(), Trust::All, Hard);
    with(Action::Ask, allowing(), Trust::Configured, Allow);
    with(Action::Deny, allowing(), Trust::Configured, Hard);
    with(Action::Allow, PermissionSettings { ask: patterns(&["s__look"]), ..none() }, Trust::Configured, Ask);
    with(Action::Allow, PermissionSettings { deny: patterns(&["s__look"]), ..none() }, Trust::All, Hard);
    with(Action::Allow, rules(vec![rule("s__look", Action::Ask)]), Trust::Configured, Ask);
}

#[test]
fn what_people_are_asked_is_not_answered_by_a_command() {
    #[track_caller]
    fn with(command: Value, want: Word) {
        check(trust(Trust::All), &Judged::new("builtin/run_command", command), want);
    }
    for words in [
        json!(["toolcrib", "approvals", "approve", "abcd"]),
        json!(["/usr/local/bin/toolcrib", "approvals"]),
        json!(["toolcrib", "--config", "x.toml", "approvals", "approve", "abcd"]),
        json!(["sh", "-c", "cd /tmp && toolcrib approvals approve abcd --for always"]),
        json!(["env", "A=b", "nohup", "toolcrib", "approvals", "grants"]),
        json!(["bash", "-c", "tool'crib' ap\\provals approve abcd"]),
        json!(["bash", "-c", "$X toolcrib approvals"]),
    ] {
        with(json!({"command": words}), Hard);
    }
    with(json!({"command": "toolcrib", "args": ["approvals", "approve", "abcd"]}), Hard);
    // Neither allow lists nor rules lift it; looking at tools and reading about it are fine.
    let allowing = PermissionSettings { allow: patterns(&["run_command"]), ..trust(Trust::All) };
    check(allowing, &Judged::new("builtin/run_command", json!({"command": ["toolcrib", "approvals"]})), Hard);
    with(json!({"command": ["toolcrib", "tools"]}), Allow);
    with(json!({"command": ["grep", "toolcrib approvals", "README.md"]}), Allow);
}
