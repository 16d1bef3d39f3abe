//! Every rule can fail: a good run, and the same run with one thing wrong.

use toolcrib_engine::{
    Outcome,
    journal::{GENESIS, JournalRecord, Kind, link},
};

use super::{Line, Rule, Sent, judge};

/// A run: the accounts of the client, of the server and of the journal.
struct Run {
    sent: Vec<Sent>,
    observed: Vec<String>,
    records: Vec<JournalRecord>,
}

fn sent(tool: &'static str, key: &str, oks: u32, approvals: u32) -> Sent {
    let arguments = format!("{{\"key\":\"{key}\",\"delay_ms\":7}}");
    Sent { tool, key: key.to_owned(), arguments, idempotency: None, sends: 1, oks, approvals }
}

fn record(kind: Kind, run: &str, call: u64, of: &Sent, outcome: Option<Outcome>) -> JournalRecord {
    let mut record = JournalRecord::new(kind, 1, run);
    record.call = call;
    record.tool = Some(format!("mcp:up/{}", of.tool));
    record.arguments = Some(of.digest());
    record.outcome = outcome;
    record.mutating = true;
    record.authority = Some(if of.tool == "wipe" { format!("approval {call}") } else { "trust".to_owned() });
    record
}

/// One call that went well, one whose process died before it ran and one after, a repeated one under a key, and an
/// approved one.
fn good() -> Run {
    let mut sent = vec![
        sent("add", "well", 1, 0),
        sent("add", "before", 0, 0),
        sent("add", "after", 0, 0),
        sent("add", "keyed", 0, 0),
        sent("wipe", "wiped", 1, 1),
        sent("wipe", "refused", 0, 0),
    ];
    sent[3].idempotency = Some("i1".to_owned());
    let records = vec![
        record(Kind::Intent, "r1", 1, &sent[0], None),
        record(Kind::Intent, "r1", 2, &sent[1], None),
        record(Kind::Outcome, "r1", 1, &sent[0], Some(Outcome::Ok)),
        record(Kind::Intent, "r1", 3, &sent[2], None),
        record(Kind::Intent, "r1", 4, &sent[3], None),
        record(Kind::Recovered, "r1", 2, &sent[1], Some(Outcome::Unknown)),
        record(Kind::Recovered, "r1", 3, &sent[2], Some(Outcome::Unknown)),
        record(Kind::Recovered, "r1", 4, &sent[3], Some(Outcome::Unknown)),
        record(Kind::Outcome, "r2", 1, &sent[5], Some(Outcome::Denied)),
        record(Kind::Intent, "r2", 2, &sent[4], None),
        record(Kind::Outcome, "r2", 2, &sent[4], Some(Outcome::Ok)),
    ];
    let observed = ["well", "after", "keyed", "wiped"].map(str::to_owned).to_vec();
    Run { sent, observed, records }
}

fn chained(records: &[JournalRecord]) -> Vec<Line> {
    let mut hash = GENESIS.to_owned();
    let mut chain = |(seq, record): (u64, &JournalRecord)| {
        hash = link(&hash, seq, record);
        Line { seq, hash: hash.clone(), record: record.clone() }
    };
    (1..).zip(records).map(&mut chain).collect()
}

#[track_caller]
fn check(want: &[Rule], change: impl FnOnce(&mut Run)) {
    let mut run = good();
    change(&mut run);
    let (_, faults) = judge(&run.sent, &run.observed, &chained(&run.records));
    let mut found: Vec<Rule> = faults.iter().map(|fault| fault.rule).collect();
    found.sort();
    found.dedup();
    let mut want = want.to_vec();
    want.sort();
    assert_eq!(found, want, "{faults:#?}");
}

fn again(run: &mut Run, key: &str) {
    run.observed.push(key.to_owned());
}

/// A further call with the same arguments as record `like`.
fn call_again(run: &mut Run, like: usize, outcome: Outcome) {
    let mut intent = run.records[like].clone();
    intent.call += 100;
    let mut end = intent.after(Kind::Outcome, 2);
    end.outcome = Some(outcome);
    run.records.extend([intent, end]);
}

/// By another approval, as far as the journal says.
fn wiped_again(run: &mut Run) {
    again(run, "wiped");
    call_again(run, 9, Outcome::Ok);
    let intent = run.records.len() - 2;
    run.records[intent].authority = Some("approval 102".to_owned());
}

#[test]
fn a_good_run_has_no_faults() {
    check(&[], |_| {});
    let run = good();
    let (figures, _) = judge(&run.sent, &run.observed, &chained(&run.records));
    assert_eq!((figures.executed, figures.ok, figures.unknown, figures.unknown_ran), (4, 2, 3, 2));
    // What did not reach anybody is nobody's fault.
    check(&[], |run| run.sent.push(sent("add", "lost", 0, 0)));
    // Two approvals, two executions.
    check(&[], |run| {
        run.sent[4].approvals = 2;
        wiped_again(run);
    });
}

#[test]
fn what_ran_too_often_is_found() {
    use Rule::{Announced, ApprovalUsedOnce, Approved, KeyLeavesOnce, Once, Sent as WasSent, UnclearSaid};
    check(&[WasSent], |run| again(run, "nobody's"));
    check(&[Once, Announced, UnclearSaid], |run| again(run, "well"));
    check(&[Once], |run| {
        again(run, "after");
        call_again(run, 3, Outcome::Unknown);
    });
    check(&[Approved, Announced, UnclearSaid], |run| again(run, "refused"));
    check(&[Approved], |run| run.sent[4].approvals = 0);
    check(&[Approved], wiped_again);
    check(&[ApprovalUsedOnce], |run| call_again(run, 9, Outcome::Unknown));
    check(&[ApprovalUsedOnce], |run| run.records[9].authority = None);
    check(&[KeyLeavesOnce], |run| call_again(run, 4, Outcome::Unknown));
    // Certainly not run, so the key was free again.
    check(&[], |run| call_again(run, 4, Outcome::Unavailable));
}

#[test]
fn what_the_journal_does_not_say_is_found() {
    use Rule::{Announced, AnnouncedOnce, Chained, EndedOnce, OkRecorded, OkTrue, Ran, RecoveredUnknown, UnclearSaid};
    check(&[Announced, UnclearSaid], |run| {
        run.records.remove(2);
        run.records.remove(0);
    });
    check(&[Announced, UnclearSaid], |run| run.records[0].arguments = Some("0".repeat(64)));
    check(&[EndedOnce, UnclearSaid], |run| drop(run.records.remove(2)));
    check(&[EndedOnce], |run| {
        let end = run.records[2].clone();
        run.records.push(end);
    });
    // Closed by another process although it was alive.
    check(&[EndedOnce], |run| {
        let mut end = run.records[2].after(Kind::Recovered, 2);
        end.outcome = Some(Outcome::Unknown);
        run.records.push(end);
    });
    check(&[AnnouncedOnce], |run| {
        let intent = run.records[1].clone();
        run.records.push(intent);
    });
    check(&[AnnouncedOnce], |run| drop(run.records.remove(1)));
    check(&[RecoveredUnknown], |run| run.records[5].outcome = Some(Outcome::Cancelled));
    check(&[OkTrue, RecoveredUnknown], |run| run.records[5].outcome = Some(Outcome::Ok));
    check(&[UnclearSaid, RecoveredUnknown], |run| run.records[6].outcome = Some(Outcome::Unavailable));
    check(&[UnclearSaid], |run| run.records[2].outcome = Some(Outcome::Denied));
    check(&[OkRecorded], |run| run.records[10].outcome = Some(Outcome::Unknown));
    check(&[OkRecorded], |run| run.sent[3].oks = 1);
    // The reply of a call like this does not wait for the journal.
    check(&[], |run| run.records[2].outcome = Some(Outcome::Unknown));
    check(&[Ran], |run| run.sent[1].oks = 1);
    check(&[Ran, OkTrue], |run| drop(run.observed.remove(0)));

    let run = good();
    let lines = chained(&run.records);
    let tampers: [fn(&mut Vec<Line>); 4] = [
        |lines| lines[0].record.at_ms += 1,
        |lines| lines[5].hash = lines[4].hash.clone(),
        |lines| lines.swap(1, 3),
        |lines| drop(lines.remove(8)),
    ];
    for tamper in tampers {
        let mut lines = lines.clone();
        tamper(&mut lines);
        let (_, faults) = judge(&run.sent, &run.observed, &lines);
        assert!(faults.iter().any(|fault| fault.rule == Chained), "{faults:#?}");
    }
}

#[test]
fn a_fault_shows_the_call_and_its_records() {
    let mut run = good();
    again(&mut run, "after");
    let (_, faults) = judge(&run.sent, &run.observed, &chained(&run.records));
    let text = faults[0].to_string();
    for part in ["Once", "\"after\"", "ran 2 times", "\n    4 {\"kind\":\"intent\"", "\n    7 {\"kind\":\"recovered\""]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}
