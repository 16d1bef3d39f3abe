//! What is offered beyond exactly these arguments, and what each pattern then covers.

use serde_json::{Value, json};
use toolcrib_core::permission::{Effect, Risk};
use toolcrib_engine::approval::{
    Answer, AnswerError, ApprovalSettings, Asked, Covered, GrantPattern, Reach, Responder,
};

use super::Desk;
use crate::judged::{Judged, NOW};

async fn offered(desk: &Desk, call: &Judged) -> (String, Vec<Reach>, Vec<GrantPattern>) {
    let Asked::Parked { id, .. } = desk.ask(call, None).await else { panic!("not parked") };
    let request = desk.approvals.request(&id, None, call.now_ms).await.unwrap().unwrap().request;
    (id, request.offers, request.patterns)
}

#[tokio::test]
async fn reaches_are_offered_by_risk() {
    use Reach::{Always, Once, Session};
    let call = |risk, effect| Judged::new("mcp:s/t", json!({})).risk(risk, effect);
    for (call, offers) in [
        (call(Risk::Low, Effect::ReadOnly), vec![Once, Session, Always]),
        (call(Risk::High, Effect::Mutating), vec![Once, Session, Always]),
        // T21: no "always" for what may destroy something.
        (call(Risk::High, Effect::Destructive), vec![Once, Session]),
        (call(Risk::Critical, Effect::Mutating), vec![Once]),
        // Nothing to hold a session's approval on to.
        (call(Risk::Low, Effect::Mutating).with(|call| call.identity.session = None), vec![Once, Always]),
    ] {
        let desk = Desk::new();
        let (id, found, _) = offered(&desk, &call).await;
        assert_eq!(found, offers);
        for reach in [Once, Session, Always] {
            let answer = Answer::Approve { reach, pattern: None };
            let answered = desk.approvals.answer(&id, &answer, &Responder::owner("terminal"), NOW).await;
            assert_eq!(
                matches!(answered, Err(AnswerError::ReachNotOffered { .. })),
                !offers.contains(&reach),
                "{offers:?}, {reach:?}"
            );
            if offers.contains(&reach) {
                break;
            }
        }
    }
    let desk = Desk::with(ApprovalSettings { always_for_destructive: true, ..ApprovalSettings::default() });
    assert_eq!(offered(&desk, &call(Risk::High, Effect::Destructive)).await.1, [Once, Session, Always]);
}

fn within(root: &str) -> GrantPattern {
    GrantPattern::Within { root: root.into() }
}
fn host(host: &str) -> GrantPattern {
    GrantPattern::Host { host: host.into() }
}
fn command(rule: &str) -> GrantPattern {
    GrantPattern::Command { rule: rule.into() }
}

#[tokio::test]
async fn patterns_are_offered_by_arguments() {
    async fn check(tool: &str, arguments: Value, want: &[GrantPattern]) {
        let call = Judged::new(tool, arguments);
        assert_eq!(offered(&Desk::new(), &call).await.2, want, "{tool} {}", call.arguments);
    }
    let any = [GrantPattern::Any];
    check("mcp:s/t", json!({"n": 1}), &any).await;
    // Folders that are not there: what is there is looked at.
    check("mcp:s/t", json!({"path": "/none-here/b/c"}), &[within("/none-here/b"), GrantPattern::Any]).await;
    check("mcp:s/t", json!({"path": "/none-here/b/../c/d"}), &[within("/none-here/c"), GrantPattern::Any]).await;
    check(
        "mcp:s/t",
        json!({"source": "/none-here/b/c", "destination": "/none-here/x/y"}),
        &[within("/none-here"), GrantPattern::Any],
    )
    .await;
    // Never the root of the file system, and nothing where a path's start is not known.
    check("mcp:s/t", json!({"path": "/a"}), &any).await;
    check("mcp:s/t", json!({"paths": ["/a/x", "/b/x"]}), &any).await;
    check("mcp:s/t", json!({"path": "a/b"}), &any).await;
    check("mcp:s/t", json!({"url": "https://x.example/a"}), &[host("x.example"), GrantPattern::Any]).await;
    check("mcp:s/t", json!({"urls": ["https://x.example/a", "https://y.example/"]}), &any).await;
    check("mcp:s/t", json!({"url": "https://ann@x.example/a"}), &any).await;
    // A tool that runs commands is never let loose as a whole.
    check("builtin/run_command", json!({"command": ["git", "push"]}), &[command("git:*")]).await;
    check("mcp:s/sh", json!({"command": "git add . && git push"}), &[command("git:*")]).await;
    check("mcp:s/sh", json!({"command": "git push; rm -rf x"}), &[]).await;
    check("mcp:s/sh", json!({"command": "$GIT push"}), &[]).await;
    // Critical: only these arguments.
    let call = Judged::new("mcp:s/t", json!({"path": "/a/b"})).risk(Risk::Critical, Effect::Mutating);
    assert_eq!(offered(&Desk::new(), &call).await.2, []);
}

#[tokio::test]
async fn a_pattern_covers_what_it_says() {
    async fn check(tool: &str, shown: Value, pattern: GrantPattern, others: &[(Value, bool)]) {
        let desk = Desk::new();
        let call = Judged::new(tool, shown);
        let answer = Answer::Approve { reach: Reach::Session, pattern: Some(pattern.clone()) };
        desk.settle(&call, &answer).await;
        assert!(matches!(desk.covered(&call).await, Covered::Yes(_)), "{pattern:?}: the call itself");
        for (arguments, want) in others {
            let other = Judged::new(tool, arguments.clone());
            let covered = match desk.covered(&other).await {
                Covered::Yes(used) => {
                    assert!(!used.must_take);
                    true
                }
                _ => false,
            };
            assert_eq!(covered, *want, "{pattern:?} on {arguments}");
            // And only in that session.
            let elsewhere = other.with(|call| call.identity.session = Some("s2".into()));
            assert_eq!(desk.covered(&elsewhere).await, Covered::No);
        }
    }
    check("mcp:s/t", json!({"n": 1}), GrantPattern::Any, &[(json!({"n": 2}), true), (json!({"path": "/"}), true)])
        .await;
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap().to_str().unwrap().to_owned();
    std::fs::create_dir(format!("{base}/in")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", format!("{base}/in/link")).unwrap();
    let at = |rest: &str| json!({"path": format!("{base}/in/{rest}")});
    check(
        "mcp:s/t",
        at("file"),
        within(&format!("{base}/in")),
        &[
            (at("other"), true),
            (at("sub/../new"), true),
            (at("../file"), false),
            (at("link/passwd"), false),
            (json!({"path": format!("{base}/in-too/file")}), false),
            (json!({"path": "/etc/passwd"}), false),
            (json!({"path": "file"}), false),
            (json!({"n": 1}), false),
            (json!({"paths": [format!("{base}/in/a"), "/etc/passwd"]}), false),
        ],
    )
    .await;
    check(
        "mcp:s/t",
        json!({"url": "https://x.example/a"}),
        host("x.example"),
        &[
            (json!({"url": "http://x.example:8080/b"}), true),
            (json!({"url": "https://sub.x.example/"}), false),
            (json!({"url": "https://x.example.evil.net/"}), false),
            (json!({"url": "https://x.example@evil.net/"}), false),
            (json!({"urls": ["https://x.example/", "https://evil.net/"]}), false),
            (json!({"n": 1}), false),
        ],
    )
    .await;
    check(
        "mcp:s/sh",
        json!({"command": "git push"}),
        command("git:*"),
        &[
            (json!({"command": "git status && git add ."}), true),
            (json!({"command": "git status; rm x"}), false),
            (json!({"command": "git status $(rm x)"}), false),
            (json!({"command": "gitx"}), false),
            (json!({"command": "git log > /etc/passwd"}), false),
        ],
    )
    .await;
}

/// O109, where theirs asked again for the same path and then let every other path through.
#[tokio::test]
async fn approving_one_path_is_for_that_path() {
    let desk = Desk::new();
    let read = |path: &str| Judged::new("mcp:fs/read", json!({"path": path}));
    desk.settle(&read("/a/b"), &Answer::Approve { reach: Reach::Session, pattern: None }).await;
    for _ in 0..3 {
        assert!(desk.runs(&read("/a/b")).await);
    }
    assert!(!desk.runs(&read("/a/c")).await);
}

/// Somebody agreed to a folder, not to what it may be made to mean.
#[cfg(unix)]
#[tokio::test]
async fn a_folder_is_the_one_that_was_there() {
    use std::{fs, os::unix::fs::symlink};
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap().to_str().unwrap().to_owned();
    let at = |rest: &str| format!("{base}/{rest}");
    for name in ["work", "private"] {
        fs::create_dir(at(name)).unwrap();
    }
    symlink(at("work"), at("link")).unwrap();
    symlink(at("private/key"), at("work/file")).unwrap();
    fs::write(at("private/key"), "x").unwrap();
    let call = |path: &str| Judged::new("mcp:s/t", json!({"path": at(path)}));
    // Offered under its real name, and not for a file that is a link to somewhere else.
    assert_eq!(offered(&Desk::new(), &call("link/new")).await.2, [within(&at("work")), GrantPattern::Any]);
    assert_eq!(offered(&Desk::new(), &call("work/file")).await.2, [GrantPattern::Any]);

    let desk = Desk::new();
    let answer = Answer::Approve { reach: Reach::Session, pattern: Some(within(&at("work"))) };
    desk.settle(&call("link/new"), &answer).await;
    for (path, want) in [("work/other", true), ("link/other", true), ("work/file", false), ("private/key", false)] {
        assert_eq!(matches!(desk.covered(&call(path)).await, Covered::Yes(_)), want, "{path}");
    }
    fs::rename(at("work"), at("old")).unwrap();
    symlink(at("private"), at("work")).unwrap();
    for path in ["work/other", "work/key", "private/key", "link/other"] {
        assert_eq!(desk.covered(&call(path)).await, Covered::No, "{path}");
    }
}
