//! What is allowed, seen from the door. The chain has its own specification; here its decisions stop and let through real
//! calls.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use toolcrib_core::permission::{Action, Condition, Rule, RuleSet, ToolPattern};
use toolcrib_engine::{
    CallRequest, Identity, Outcome, PermissionSettings, Trust,
    permission::{Policy, Question, RateRule, RoleLists, Verdict},
};

use super::rig::{ONCE, Person, Rig, SECOND, Setup, asking, paused, request, text};

fn patterns(texts: &[&str]) -> Vec<ToolPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn trusting() -> PermissionSettings {
    PermissionSettings { trust: Trust::All, ..PermissionSettings::default() }
}

fn deny(texts: &[&str]) -> PermissionSettings {
    PermissionSettings { deny: patterns(texts), ..trusting() }
}

fn condition(argument: &str, operator: &str, value: &str) -> Condition {
    serde_json::from_value(json!({"argument": argument, "op": operator, "value": value})).unwrap()
}

fn rule(tool: &str, action: Action, change: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule::new(tool.parse().unwrap(), action, "test");
    change(&mut rule);
    rule
}

fn rules(rules: Vec<Rule>) -> PermissionSettings {
    PermissionSettings { rules: RuleSet::new(rules), ..trusting() }
}

/// One call under these settings: it runs, or nothing does.
#[track_caller]
fn check(permissions: PermissionSettings, tool: &str, arguments: Value, want: Outcome) {
    paused(async {
        let rig = Setup::permitting(permissions).build().await;
        end(&rig, request(tool, &arguments), want).await;
    });
}

async fn end(rig: &Rig, request: CallRequest, want: Outcome) {
    let (name, before) = (request.name.clone(), rig.tools.entered());
    let report = rig.run(request).await;
    assert_eq!(report.outcome, want, "{name}: {} {:?}", text(&report), report.evidence.authority);
    assert_eq!(rig.tools.entered() - before, usize::from(want == Outcome::Ok), "{name}");
    if want == Outcome::Denied {
        assert!(report.evidence.authority.is_some(), "who denied is on record");
        let records = rig.records().await;
        let last = records.iter().rfind(|record| record.call == report.call_id && record.outcome.is_some()).unwrap();
        assert_eq!((last.outcome, &last.authority), (Some(want), &report.evidence.authority));
    }
}

#[test]
fn c41_to_c47_patterns_modes_and_full_access() {
    use Outcome::{Denied, Ok};
    let command = |line: &str| json!({"command": line});
    // C41
    check(deny(&["mcp__s"]), "s__write", json!({}), Denied);
    check(deny(&["mcp__s__*"]), "s__look", json!({}), Denied);
    check(deny(&["mcp__t"]), "s__write", json!({}), Ok);
    // C42: a rule on a built-in name does not mean a server's tool of that name.
    check(deny(&["Write"]), "s__Write", json!({}), Ok);
    check(deny(&["Write"]), "write_file", json!({}), Denied);
    // C43: what is built in runs a program with arguments, a server's tool a line.
    check(deny(&["Bash(rm:*)"]), "run_command", json!({"command": "rm", "args": ["-rf", "/"]}), Denied);
    check(deny(&["Bash(rm:*)"]), "run_command", command("ls"), Ok);
    for line in ["rm -rf /", "ls && rm x", "echo $(rm x)", "sh -c 'rm x'"] {
        check(deny(&["s__bash(rm:*)"]), "s__bash", command(line), Denied);
    }
    check(deny(&["s__bash(rm:*)"]), "s__bash", command("ls"), Ok);
    // C44
    for whole in ["Bash", "Bash(*)", "Bash()"] {
        check(deny(&[whole]), "run_command", command("ls"), Denied);
    }
    // C45
    check(deny(&["KillShell"]), "TaskStop", json!({}), Denied);
    // C46 and O95, ours: full access does not lift a denial.
    check(trusting(), "s__delete", json!({}), Ok);
    check(deny(&["s__delete"]), "s__delete", json!({}), Denied);
    check(rules(vec![rule("s__delete", Action::Deny, |_| {})]), "s__delete", json!({}), Denied);
    // C47
    let plan = || PermissionSettings { plan: true, ..trusting() };
    check(plan(), "s__write", json!({}), Denied);
    check(plan(), "s__look", json!({}), Ok);
}

#[test]
fn o88_to_o112_lists_rules_and_roles() {
    use Outcome::{Denied, Ok};
    let configured = PermissionSettings::default;
    // O88 and O94, ours: nobody to ask is no.
    check(configured(), "s__delete", json!({}), Denied);
    check(PermissionSettings { trust: Trust::None, ..configured() }, "s__look", json!({}), Denied);
    // O89 and O112, ours: deny wins over an allow list and over a user's rule.
    let both = || patterns(&["s__write"]);
    check(PermissionSettings { allow: both(), deny: both(), ..configured() }, "s__write", json!({}), Denied);
    check(PermissionSettings { allow: both(), trust: Trust::None, ..configured() }, "s__write", json!({}), Ok);
    let allowed = RuleSet::new(vec![rule("s__write", Action::Allow, |rule| rule.unconditional = true)]);
    check(PermissionSettings { rules: allowed, deny: both(), ..configured() }, "s__write", json!({}), Denied);
    // O96: both conditions or none.
    let two = |path: &str, n: &str| {
        rules(vec![rule("s__write", Action::Deny, |rule| {
            rule.when = vec![condition("path", "starts_with", path), condition("n", "equals", n)];
        })])
    };
    check(two("/etc", "1"), "s__write", json!({"path": "/etc/x", "n": 1}), Denied);
    check(two("/etc", "2"), "s__write", json!({"path": "/etc/x", "n": 1}), Ok);
    // O97: an unconditional allowance beats a more specific denial among rules.
    check(
        rules(vec![
            rule("s__write", Action::Allow, |rule| rule.unconditional = true),
            rule("s__write", Action::Deny, |rule| rule.when = vec![condition("n", "equals", "1")]),
        ]),
        "s__write",
        json!({"n": 1}),
        Ok,
    );
    // O99: of equally specific rules the newer one.
    for (allow, deny, want) in [(1, 2, Denied), (2, 1, Ok)] {
        check(
            rules(vec![
                rule("s__write", Action::Allow, |rule| rule.updated_at_ms = allow),
                rule("s__write", Action::Deny, |rule| rule.updated_at_ms = deny),
            ]),
            "s__write",
            json!({}),
            want,
        );
    }
    // O100: expired or switched off.
    check(rules(vec![rule("s__write", Action::Deny, |rule| rule.expires_at_ms = Some(1))]), "s__write", json!({}), Ok);
    check(rules(vec![rule("s__write", Action::Deny, |rule| rule.enabled = false)]), "s__write", json!({}), Ok);
    // O101
    let source = |name: &str| {
        rules(vec![rule("*", Action::Deny, |rule| rule.when = vec![condition("$source", "equals", name)])])
    };
    check(source("mcp:s"), "s__write", json!({}), Denied);
    check(source("mcp:t"), "s__write", json!({}), Ok);
    // O102
    let roots = || PermissionSettings { path_roots: Some(vec!["/workspace".into()]), ..trusting() };
    check(roots(), "s__write", json!({"path": "/workspace/src/../../etc/passwd"}), Denied);
    check(roots(), "s__write", json!({"path": "/workspace/src/../a"}), Ok);
}

#[test]
fn o104_the_third_call_is_over_the_limit_and_refused_calls_do_not_count() {
    paused(async {
        let rates = vec![RateRule { tools: "s__write".parse().unwrap(), calls: 2, per: 60 * SECOND }];
        let deny = rule("s__write", Action::Deny, |rule| rule.when = vec![condition("path", "starts_with", "/etc")]);
        let rig = Setup::permitting(PermissionSettings { rates, ..rules(vec![deny]) }).build().await;
        end(&rig, request("s__write", &json!({"path": "/etc/a"})), Outcome::Denied).await;
        end(&rig, request("s__write", &json!({"n": "x"})), Outcome::Invalid).await;
        end(&rig, request("s__write", &json!({"n": 1})), Outcome::Ok).await;
        end(&rig, request("s__write", &json!({"n": 2})), Outcome::Ok).await;
        end(&rig, request("s__write", &json!({"n": 3})), Outcome::Denied).await;
        end(&rig, request("s__look", &json!({})), Outcome::Ok).await;
        // Another user has a count of their own.
        let mut other = request("s__write", &json!({}));
        other.scope.user = Some("bob".into());
        end(&rig, other, Outcome::Ok).await;
    });
}

#[test]
fn o105_one_role_that_denies_denies() {
    paused(async {
        let lists = |allow: &[&str], deny: &[&str]| RoleLists { allow: patterns(allow), deny: patterns(deny) };
        let roles = BTreeMap::from([
            ("developer".to_owned(), lists(&["*"], &[])),
            ("restricted".to_owned(), lists(&[], &["s__write"])),
        ]);
        let rig = Setup::permitting(PermissionSettings { roles, ..trusting() }).build().await;
        for (roles, want) in [
            (vec!["developer"], Outcome::Ok),
            (vec!["restricted"], Outcome::Denied),
            (vec!["developer", "restricted"], Outcome::Denied),
        ] {
            let mut call = request("s__write", &json!({}));
            let roles = roles.into_iter().map(str::to_owned).collect();
            call.identity = Arc::new(Identity { roles, ..Identity::default() });
            end(&rig, call, want).await;
        }
    });
}

struct Parent(Verdict);

impl Policy for Parent {
    fn name(&self) -> &'static str {
        "parent"
    }
    fn evaluate<'a>(&'a self, _: &'a Question<'a>) -> toolcrib_engine::permission::Evaluation<'a> {
        toolcrib_engine::permission::Evaluation::Ready(self.0.clone())
    }
}

fn allows() -> Verdict {
    Verdict::Allow { rule: "x".into() }
}

fn denies() -> Verdict {
    Verdict::Deny { hard: true, rule: "x".into(), reason: "because".into() }
}

#[test]
fn o95_o106_parent_and_child_must_both_allow() {
    for (parent, deny, want) in [
        (allows(), &[][..], Outcome::Ok),
        (denies(), &[], Outcome::Denied),
        (allows(), &["s__write"], Outcome::Denied),
        (Verdict::Ask { rule: "x".into(), reason: "because".into() }, &[], Outcome::Denied),
    ] {
        paused(async {
            let rig = Setup::permitting(PermissionSettings { deny: patterns(deny), ..trusting() }).build().await;
            let mut call = request("s__write", &json!({}));
            call.identity = Arc::new(Identity { parent: Some(Arc::new(Parent(parent))), ..Identity::default() });
            end(&rig, call, want).await;
        });
    }
}

#[test]
fn o92_o93_the_chain_denies_whoever_denies_first_or_last() {
    use Outcome::{Denied, Ok};
    type Says = fn(&Question<'_>) -> Verdict;
    let (yes, no, nothing): (Says, Says, Says) = (|_| allows(), |_| denies(), |_| Verdict::Abstain);
    for (trust, first, second, want, asked) in [
        (Trust::All, no, yes, Denied, 1),
        (Trust::All, yes, no, Denied, 2),
        (Trust::All, nothing, nothing, Ok, 2),
        (Trust::None, nothing, nothing, Denied, 2),
        (Trust::None, nothing, yes, Ok, 2),
    ] {
        paused(async {
            let rig = Setup::default()
                .with(|settings| settings.permissions.trust = trust)
                .judge(110, first)
                .judge(120, second)
                .build()
                .await;
            end(&rig, request("s__look", &json!({})), want).await;
            let judged = rig.log.lock().iter().filter(|line| line.starts_with("judge")).count();
            assert_eq!(judged, asked);
        });
    }
}

/// C118: one asks, a later one denies: denied, and nobody is asked.
#[test]
fn c118_a_denial_comes_before_a_question() {
    paused(async {
        let rig = Setup::default()
            .judge(20, |_| Verdict::Ask { rule: "x".into(), reason: "because".into() })
            .judge(200, |_| denies())
            .build()
            .await;
        let person = Person::saying(ONCE);
        end(&rig, asking("s__write", &json!({}), &person), Outcome::Denied).await;
        assert_eq!(person.questions(), 0);
    });
}

/// C116: a policy that panics judges nothing harmless.
#[test]
fn c116_a_policy_that_fails_denies() {
    paused(async {
        let rig = Setup::trusting().judge(60, |_| panic!("scripted")).build().await;
        end(&rig, request("s__look", &json!({})), Outcome::Denied).await;
    });
}
