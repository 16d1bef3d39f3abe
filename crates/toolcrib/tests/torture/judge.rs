//! Holds three accounts against each other: what the client sent and was told, what really ran, what the journal says.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolcrib_core::args::canonical;
use toolcrib_engine::{
    Outcome,
    journal::{GENESIS, JournalRecord, Kind, link},
};

/// A line of `toolcrib audit --export`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    #[serde(flatten)]
    pub(crate) record: JournalRecord,
}

/// One call as the client knows it; sent again, it is still the same call.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// `add`, or `wipe`, which needs an approval for every execution.
    pub(crate) tool: &'static str,
    /// What the server writes down.
    pub(crate) key: String,
    /// JSON text, different for every call.
    pub(crate) arguments: String,
    pub(crate) idempotency: Option<String>,
    /// Times it was sent.
    pub(crate) sends: u32,
    /// Answers that said that it ran.
    pub(crate) oks: u32,
    /// Approvals that a person gave for it.
    pub(crate) approvals: u32,
}

impl Sent {
    pub(crate) fn digest(&self) -> String {
        canonical::digest(&RawValue::from_string(self.arguments.clone()).unwrap()).to_string()
    }
}

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// Nothing runs that nobody sent.
    Sent,
    /// Nothing runs twice.
    Once,
    /// Nothing runs more often than it was approved.
    Approved,
    /// An approval lets one call through.
    ApprovalUsedOnce,
    /// Whatever runs was announced in the journal.
    Announced,
    /// A call announced in the journal has exactly one end there.
    EndedOnce,
    /// Whatever has an end that implies an announcement was announced, once.
    AnnouncedOnce,
    /// What the client was told to have run did run.
    Ran,
    /// What the client was told to have run is `ok` in the journal, where the reply waits for that: with an idempotency
    /// key, and by approval. For others [`Rule::UnclearSaid`] holds.
    OkRecorded,
    /// What is `ok` in the journal did run.
    OkTrue,
    /// What ran without a recorded success is recorded as unclear.
    UnclearSaid,
    /// A call of a dead process is `unknown`.
    RecoveredUnknown,
    /// Under one idempotency key one call at most leaves.
    KeyLeavesOnce,
    /// Records are chained.
    Chained,
}

/// Faults that are shown with their records.
pub(crate) const SHOWN: usize = 10;

/// A rule that does not hold, with everything there is about it.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    about: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.about)
    }
}

/// Counts of a judged run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) executed: usize,
    pub(crate) wiped: usize,
    pub(crate) records: usize,
    pub(crate) intents: usize,
    pub(crate) ok: usize,
    pub(crate) unknown: usize,
    /// Calls recorded as unknown that did run.
    pub(crate) unknown_ran: usize,
    /// Approved calls recorded as unknown.
    pub(crate) wipes_unknown: usize,
    /// Calls whose good answer arrived and whose outcome was not written before the kill.
    pub(crate) answered_unknown: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executed, wiped, records, intents, ok, unknown, unknown_ran, wipes_unknown, answered_unknown } =
            self;
        write!(
            f,
            "{executed} executed ({wiped} by approval), {records} records of {intents} intents: {ok} ok, {unknown} unknown ({unknown_ran} of them ran; {wipes_unknown} approved ones; {answered_unknown} had been answered)"
        )
    }
}

/// A call in the journal.
#[derive(Default)]
struct Entry<'a> {
    intents: Vec<&'a Line>,
    ends: Vec<&'a Line>,
}

impl Entry<'_> {
    fn end(&self) -> Option<Outcome> {
        self.ends.first().and_then(|line| line.record.outcome)
    }
}

/// Compares the accounts; a run is good if there are no faults.
pub(crate) fn judge(sent: &[Sent], observed: &[String], lines: &[Line]) -> (Figures, Vec<Fault>) {
    let mut judged = Judged { lines, faults: Vec::new() };
    judged.chain();
    let digests: HashMap<&str, String> = sent.iter().map(|call| (call.key.as_str(), call.digest())).collect();
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    for key in observed {
        *ran.entry(key.as_str()).or_default() += 1;
        if !digests.contains_key(key.as_str()) {
            judged.fault(Rule::Sent, format!("'{key}' ran"), None);
        }
    }
    let entries = judged.entries();
    let by_arguments = by_arguments(&entries);
    let mut figures = Figures { executed: observed.len(), records: lines.len(), ..Figures::default() };
    for call in sent {
        let digest = digests[call.key.as_str()].as_str();
        let ran = ran.get(call.key.as_str()).copied().unwrap_or(0);
        let announced = by_arguments.get(digest).map_or(&[][..], Vec::as_slice);
        figures.wiped += if call.tool == "wipe" { ran } else { 0 };
        figures.intents += announced.len();
        let ended = |outcomes: &[Outcome]| {
            announced.iter().filter(|entry| entry.end().is_some_and(|end| outcomes.contains(&end))).count()
        };
        let ok = ended(&[Outcome::Ok]);
        let unclear = ended(&[Outcome::Unknown, Outcome::TimedOut, Outcome::Cancelled]);
        figures.ok += ok;
        let unknown = ended(&[Outcome::Unknown]);
        figures.unknown += unknown;
        figures.wipes_unknown += if call.tool == "wipe" { unknown } else { 0 };
        figures.unknown_ran += ran.saturating_sub(ok);

        let mut must = |rule, holds: bool| {
            if !holds {
                judged.fault(rule, format!("{call:?}, ran {ran} times"), Some(digest));
            }
        };
        let most = if call.tool == "wipe" { call.approvals as usize } else { 1 };
        must(if call.tool == "wipe" { Rule::Approved } else { Rule::Once }, ran <= most);
        must(Rule::Announced, ran <= announced.len());
        must(Rule::Ran, call.oks == 0 || ran > 0);
        let waits = call.tool == "wipe" || call.idempotency.is_some();
        must(Rule::OkRecorded, !waits || call.oks == 0 || ok > 0);
        figures.answered_unknown += usize::from(call.oks > 0 && ok == 0);
        must(Rule::OkTrue, ok <= ran);
        must(Rule::UnclearSaid, ran <= ok + unclear);
        must(Rule::KeyLeavesOnce, call.idempotency.is_none() || ok + unclear <= 1);
    }
    (figures, judged.faults)
}

struct Judged<'a> {
    lines: &'a [Line],
    faults: Vec<Fault>,
}

impl<'a> Judged<'a> {
    /// A fault, with all records about the same arguments.
    fn fault(&mut self, rule: Rule, mut about: String, digest: Option<&str>) {
        // A long journal is searched for a few of many faults only.
        let same = |line: &&Line| digest.is_some() && line.record.arguments.as_deref() == digest;
        let few = self.faults.len() < SHOWN;
        for line in self.lines.iter().filter(|_| few).filter(same) {
            about.push_str(&format!("\n    {} {}", line.seq, serde_json::to_string(&line.record).unwrap()));
        }
        self.faults.push(Fault { rule, about });
    }

    fn chain(&mut self) {
        let (mut seq, mut hash) = (0, GENESIS.to_owned());
        for line in self.lines {
            if line.seq != seq + 1 || line.hash != link(&hash, line.seq, &line.record) {
                self.fault(Rule::Chained, format!("record {} does not follow from record {seq}", line.seq), None);
                return;
            }
            (seq, hash) = (line.seq, line.hash.clone());
        }
    }

    /// Calls by run and number, judged each for itself.
    fn entries(&mut self) -> BTreeMap<(&'a str, u64), Entry<'a>> {
        let mut entries: BTreeMap<(&str, u64), Entry<'_>> = BTreeMap::new();
        for line in self.lines {
            let entry = || (line.record.run.as_str(), line.record.call);
            match line.record.kind {
                Kind::Intent => entries.entry(entry()).or_default().intents.push(line),
                Kind::Outcome | Kind::Recovered => entries.entry(entry()).or_default().ends.push(line),
                _ => {}
            }
        }
        let mut authorities = HashSet::new();
        for ((run, call), entry) in &entries {
            let digest = entry.intents.iter().chain(&entry.ends).find_map(|line| line.record.arguments.as_deref());
            let about = |what: &str| format!("call {call} of run {run} {what}");
            if !entry.intents.is_empty() && entry.ends.len() != 1 {
                self.fault(Rule::EndedOnce, about(&format!("has {} ends", entry.ends.len())), digest);
            }
            let recovered: Vec<_> = entry.ends.iter().filter(|end| end.record.kind == Kind::Recovered).collect();
            let announced = entry.intents.len();
            if announced > 1 || (announced == 0 && !recovered.is_empty()) {
                self.fault(Rule::AnnouncedOnce, about(&format!("was announced {announced} times")), digest);
            }
            if recovered.iter().any(|end| end.record.outcome != Some(Outcome::Unknown)) {
                self.fault(Rule::RecoveredUnknown, about("was recovered as something else"), digest);
            }
            for intent in entry.intents.iter().filter(|line| is_tool(&line.record, "wipe")) {
                let authority = intent.record.authority.as_deref().unwrap_or_default();
                if authority.is_empty() || !authorities.insert(authority) {
                    let what = format!("ran by an authority that is none or was used up: '{authority}'");
                    self.fault(Rule::ApprovalUsedOnce, about(&what), digest);
                }
            }
        }
        entries
    }
}

/// Calls that were announced, by the digest of their arguments.
fn by_arguments<'a, 'e>(entries: &'e BTreeMap<(&'a str, u64), Entry<'a>>) -> HashMap<&'a str, Vec<&'e Entry<'a>>> {
    let mut by_arguments: HashMap<&str, Vec<&Entry<'_>>> = HashMap::new();
    for entry in entries.values() {
        for digest in entry.intents.iter().filter_map(|intent| intent.record.arguments.as_deref()) {
            by_arguments.entry(digest).or_default().push(entry);
        }
    }
    by_arguments
}

fn is_tool(record: &JournalRecord, name: &str) -> bool {
    record.tool.as_deref().is_some_and(|tool| tool.ends_with(&format!("/{name}")))
}

mod tests;
