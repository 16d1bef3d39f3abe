//! More grants than memory holds: what a person refused stays refused (the bound costs time, never a refusal).

use serde_json::json;
use toolcrib_engine::{
    Principal,
    approval::{Answer, Covered, Grant, GrantPattern, MOST_GRANTS, Reach},
};

use super::{Desk, ONCE};
use crate::judged::{Judged, NOW};

fn delete() -> Judged {
    Judged::new("mcp:fs/delete", json!({"path": "/x"}))
}

fn given(id: String, tool: &str, allow: bool, user: &str) -> Grant {
    Grant {
        id,
        request: String::new(),
        principal: Principal { user: Some(user.to_owned()), ..Principal::default() },
        tool: tool.to_owned(),
        definition: String::new(),
        pattern: GrantPattern::Any,
        reach: Reach::Always,
        allow,
        uses_left: None,
        created_at_ms: NOW,
        expires_at_ms: None,
        by: "terminal".to_owned(),
    }
}

/// Whether the call is forbidden, looked at in every way that lets a call through.
async fn forbidden(desk: &Desk, call: &Judged) -> bool {
    desk.approvals.refresh(NOW).await.unwrap();
    let in_time = desk.approvals.forbidden(&call.question(), &call.principal()).await.unwrap().is_some();
    let covered = matches!(desk.covered(call).await, Covered::Forbidden(_));
    assert_eq!(in_time, covered, "both say the same");
    covered
}

#[tokio::test]
async fn a_never_holds_however_many_approvals_come_after_it() {
    let desk = Desk::new();
    let never = desk.settle(&delete(), &Answer::Deny { reach: Reach::Always }).await.grant.unwrap();
    desk.ledger.give((0..=MOST_GRANTS).map(|n| given(format!("a{n}"), "mcp:fs/other", true, "bob")));
    assert!(forbidden(&desk, &delete()).await);
    assert!(!forbidden(&desk, &Judged::new("mcp:fs/other", json!({}))).await);
    // An approval of its own is found beyond the bound too.
    let move_ = Judged::new("mcp:fs/move", json!({"path": "/x"}));
    desk.settle(&move_, &ONCE).await;
    desk.ledger.give((0..=MOST_GRANTS).map(|n| given(format!("b{n}"), "mcp:fs/other", true, "bob")));
    assert!(matches!(desk.covered(&move_).await, Covered::Yes(_)));
    assert!(desk.approvals.grant(&never.id, None, NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn a_never_holds_however_many_others_there_are() {
    let desk = Desk::new();
    desk.settle(&delete(), &Answer::Deny { reach: Reach::Always }).await;
    desk.ledger.give((0..=MOST_GRANTS).map(|n| given(format!("n{n}"), "mcp:fs/other", false, "bob")));
    assert!(forbidden(&desk, &delete()).await);
    assert!(!forbidden(&desk, &Judged::new("mcp:fs/move", json!({}))).await);
    // Where memory cannot say and the store neither, nothing is let through.
    desk.ledger.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    let call = Judged::new("mcp:fs/move", json!({}));
    assert!(desk.approvals.forbidden(&call.question(), &call.principal()).await.is_err());
}

#[tokio::test]
async fn a_refusal_that_cannot_be_read_forbids_what_it_may_have_been() {
    let desk = Desk::new();
    let call = delete();
    let tenant = |tenant: &str| Principal { tenant: tenant.to_owned(), ..Principal::default() };
    let own = Principal { session: None, agent: None, ..call.principal() };
    let cases = [
        (own.clone(), Some("mcp:fs/delete"), true),
        (own.clone(), Some("mcp:fs/other"), false),
        (Principal { user: Some("zoe".to_owned()), ..own.clone() }, Some("mcp:fs/delete"), false),
        (Principal { session: Some("another".to_owned()), ..own.clone() }, Some("mcp:fs/delete"), false),
        // Of which nothing is known but the tenant.
        (tenant(&own.tenant), None, true),
        (tenant("elsewhere"), None, false),
    ];
    for (number, (principal, tool, expected)) in cases.into_iter().enumerate() {
        let id = format!("g{number}");
        let what = format!("{principal:?} {tool:?}");
        desk.ledger.give([Grant::unreadable(id.clone(), principal, tool.map(str::to_owned), NOW, None)]);
        assert_eq!(forbidden(&desk, &call).await, expected, "{what}");
        desk.approvals.revoke(&id, &toolcrib_engine::approval::Responder::owner("terminal"), NOW).await.unwrap();
        assert!(!forbidden(&desk, &call).await, "{what}: taken away");
    }
}
