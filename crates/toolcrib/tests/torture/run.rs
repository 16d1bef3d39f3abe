//! The run: rounds of a process under load, each ended by a kill, then the judgement.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    env,
    process::Command,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    door::{Door, Event, Events, Kind, Outgoing, Reply},
    judge::{Line, SHOWN, Sent, judge},
    processes::Orphans,
    random::Random,
    scene::{BESIDE, CONFIG, Scene},
};

/// Calls under way at a time.
const SIDE_BY_SIDE: usize = 8;
/// Kills of a run that is part of the ordinary tests.
const SHORT: u32 = 25;
/// How long a process may take to do its first call.
const START: Duration = Duration::from_secs(20);
/// How often a call is sent at most.
const SENDS: u32 = 5;

/// Runs rounds over one door and judges them; panics with everything known if something does not hold.
pub(crate) fn torture(kind: Kind) {
    let rounds = number("TOOLCRIB_TORTURE").map_or(SHORT, |rounds| u32::try_from(rounds).unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("TOOLCRIB_SEED").unwrap_or(now.as_micros() as u64);
    eprintln!("{kind:?}: {rounds} kills, TOOLCRIB_SEED={seed}");
    let mut run = Run::new(kind, seed);
    let began = Instant::now();
    let mut ended = Ok(());
    for round in 1..=rounds {
        ended = run.round(round).map_err(|fault| format!("round {round}: {fault}"));
        if ended.is_err() {
            break;
        }
    }
    let verdict = ended.and_then(|()| run.verdict(rounds, began));
    match verdict {
        Ok(figures) => eprintln!("{kind:?}: {figures}"),
        Err(fault) => {
            let folder = run.scene.keep();
            panic!("{kind:?}: TOOLCRIB_SEED={seed}, {rounds} kills, left in {}\n{fault}", folder.display());
        }
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

struct Run {
    kind: Kind,
    random: Random,
    scene: Scene,
    events: (Events, Receiver<(u32, Event)>),
    sent: Vec<Sent>,
    /// Calls by the ids they were sent under and that are not answered yet.
    under_way: HashMap<u64, usize>,
    next_id: u64,
    /// Calls to be sent again.
    again: VecDeque<usize>,
    /// Other processes at work on the same store.
    others: usize,
    /// When calls may be sent again after one was refused.
    not_before: Instant,
    orphans: Orphans,
    tally: BTreeMap<&'static str, u64>,
    refusals: BTreeMap<String, u64>,
}

impl Run {
    fn new(kind: Kind, seed: u64) -> Self {
        Self {
            kind,
            random: Random(seed ^ (kind as u64)),
            scene: Scene::new(kind),
            events: channel(),
            sent: Vec::new(),
            under_way: HashMap::new(),
            next_id: 1,
            again: VecDeque::new(),
            others: 0,
            not_before: Instant::now(),
            orphans: Orphans::default(),
            tally: BTreeMap::new(),
            refusals: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    /// Starts a process, loads it, kills it.
    fn round(&mut self, round: u32) -> Result<(), String> {
        let mut door = Door::open(self.kind, &self.scene, round, &self.events.0);
        let started = Instant::now();
        // Some are not alone with their store: what they have under way is theirs to end, not the other's.
        if self.others < 2 && self.random.percent(25) {
            let beside = self.scene.command(BESIDE, &["call", "current_time", "{}"]);
            self.run_beside(beside, Event::Beside);
        }
        // Some die while they start and put in order what the last one left, most after their first good call.
        let early = self.random.percent(20);
        let delay = Duration::from_micros(self.random.below(if early { 250_000 } else { 100_000 }));
        let mut kill_at = early.then(|| started + delay);
        let (mut ready, mut new_wipes) = (false, 2);
        loop {
            let now = Instant::now();
            if kill_at.is_some_and(|at| at <= now) {
                break;
            }
            if started + START < now {
                return Err(format!("no call went well within {START:?}\n{}", door.said()));
            }
            while ready && self.under_way.len() < SIDE_BY_SIDE && self.not_before <= now {
                let call = self.send_one(round, &mut door, &mut new_wipes);
                // Some die while an approval is being used up.
                if self.sent[call].approvals > 0 && self.random.percent(30) {
                    let soon = Instant::now() + Duration::from_micros(self.random.below(20_000));
                    kill_at = Some(kill_at.map_or(soon, |at| at.min(soon)));
                }
            }
            let wake = kill_at.unwrap_or(started + START).min(self.not_before.max(now + Duration::from_millis(1)));
            match self.events.1.recv_timeout(wake.saturating_duration_since(now)) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("no more events".to_owned()),
                Ok((of, Event::Closed)) if of == round => {
                    return Err(format!("it ended by itself\n{}", door.said()));
                }
                Ok((of, Event::Ready(address))) if of == round => {
                    ready = true;
                    door.ready(address);
                }
                Ok((_, event)) => {
                    let good = self.take(event)?;
                    if good && kill_at.is_none() {
                        kill_at = Some(Instant::now() + delay);
                    }
                }
            }
        }
        self.orphans.note(self.scene.folder(), door.id());
        door.kill();
        self.orphans.note(self.scene.folder(), door.id());
        self.drain(round)?;
        self.orphans.check()
    }

    /// Takes what a dead process still said; whatever is unanswered then was lost.
    fn drain(&mut self, round: u32) -> Result<(), String> {
        let (mut closed, until) = (false, Instant::now() + Duration::from_secs(10));
        while !closed || (self.kind == Kind::Http && !self.under_way.is_empty()) {
            match self.events.1.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Err(_) => return Err("a killed process keeps its connections open".to_owned()),
                Ok((of, Event::Closed)) => closed |= of == round,
                Ok((_, Event::Ready(_))) => {}
                Ok((_, event)) => drop(self.take(event)?),
            }
        }
        for call in std::mem::take(&mut self.under_way).into_values() {
            self.lost(call);
        }
        Ok(())
    }

    fn send_one(&mut self, round: u32, door: &mut Door, new_wipes: &mut u32) -> usize {
        let call = match self.again.pop_front() {
            Some(call) => call,
            None => self.new_call(round, new_wipes),
        };
        let id = self.next_id;
        self.next_id += 1;
        let sent = &mut self.sent[call];
        sent.sends += 1;
        let tool = if sent.tool == "wipe" { "up__wipe" } else { "up__add" };
        let outgoing = Outgoing { id, tool, arguments: &sent.arguments, idempotency: sent.idempotency.as_deref() };
        door.send(&outgoing);
        self.under_way.insert(id, call);
        self.count("sent");
        call
    }

    fn new_call(&mut self, round: u32, new_wipes: &mut u32) -> usize {
        let number = self.sent.len();
        let wipe = *new_wipes > 0 && self.random.percent(10);
        *new_wipes -= u32::from(wipe);
        let tool = if wipe { "wipe" } else { "add" };
        let keyed = !wipe && self.kind == Kind::Http && self.random.percent(30);
        let key = format!("{tool}-{round}-{number}");
        self.sent.push(Sent {
            tool,
            arguments: format!("{{\"key\": \"{key}\", \"delay_ms\": {}}}", self.random.below(21)),
            idempotency: keyed.then(|| format!("i{number}")),
            key,
            sends: 0,
            oks: 0,
            approvals: 0,
        });
        number
    }

    /// Takes an event of whichever round; true for a call that went well.
    fn take(&mut self, event: Event) -> Result<bool, String> {
        match event {
            Event::Ready(_) | Event::Closed => {}
            Event::Garbage(line) => return Err(format!("it wrote what is no protocol: {line}")),
            Event::Approved { call, done } => {
                self.others -= 1;
                done.map_err(|said| format!("{} could not be approved: {said}", self.sent[call].key))?;
                self.sent[call].approvals += 1;
                self.count("approvals");
                // Twice, side by side: one of them must be refused.
                self.again.extend([call, call]);
            }
            Event::Beside(done) => {
                self.others -= 1;
                done.map_err(|said| format!("another process beside failed: {said}"))?;
                self.count("others beside");
            }
            Event::Reply(id, reply) => {
                let Some(call) = self.under_way.remove(&id) else {
                    return Err(format!("an answer to {id}, which was not asked or was answered before"));
                };
                match reply {
                    None => self.lost(call),
                    Some(reply) if reply.ok => {
                        let want = format!("did {}", self.sent[call].key);
                        if reply.text != want {
                            return Err(format!("'{want}' was asked for and '{}' came", reply.text));
                        }
                        self.sent[call].oks += 1;
                        self.count("answered ok");
                        return Ok(true);
                    }
                    Some(reply) => self.refused(call, &reply),
                }
            }
        }
        Ok(false)
    }

    /// No answer: it may have run. What carries an idempotency key or needs an approval is sent again.
    fn lost(&mut self, call: usize) {
        self.count("lost");
        let sent = &self.sent[call];
        if sent.sends < SENDS && (sent.idempotency.is_some() || sent.tool == "wipe") {
            let what =
                if sent.tool == "wipe" { "wipes sent again after a loss" } else { "keys sent again after a loss" };
            self.count(what);
            self.again.push_back(call);
        }
    }

    fn refused(&mut self, call: usize, reply: &Reply) {
        self.count("refused");
        self.not_before = Instant::now() + Duration::from_millis(2);
        // The handle varies; what is said does not.
        let said: String = reply.text.split('(').next().unwrap_or_default().chars().take(100).collect();
        let said = said.replace(|c: char| c.is_ascii_digit(), "");
        if self.refusals.len() < 40 || self.refusals.contains_key(&said) {
            *self.refusals.entry(said).or_default() += 1;
        }
        let sent = &self.sent[call];
        if sent.tool != "wipe" || sent.sends >= SENDS {
            return;
        }
        let handle = reply.text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(id, _)| id);
        let Some(handle) = handle.filter(|_| reply.text.contains("approv")) else { return };
        // A person lets most of them through, some even a second time; the others are tried again and must not run.
        let first = sent.approvals == 0;
        if self.others < 2 && self.random.percent(if first { 70 } else { 15 }) {
            self.approve(call, handle);
        } else if first && self.random.percent(50) {
            self.again.push_back(call);
        }
    }

    fn approve(&mut self, call: usize, handle: &str) {
        let approve = self.scene.command(CONFIG, &["approvals", "approve", handle]);
        self.run_beside(approve, move |done| Event::Approved { call, done });
    }

    /// Runs another process; an event tells of its end.
    fn run_beside(&mut self, mut command: Command, event: impl FnOnce(Result<(), String>) -> Event + Send + 'static) {
        self.others += 1;
        let events = self.events.0.clone();
        thread::spawn(move || {
            let output = command.output().unwrap();
            let said = || format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
            let done = if output.status.success() { Ok(()) } else { Err(said()) };
            let _ = events.send((0, event(done)));
        });
    }

    /// Lets a last process put everything in order, and compares the accounts.
    fn verdict(&mut self, rounds: u32, began: Instant) -> Result<String, String> {
        while self.others > 0 {
            let waited = self.events.1.recv_timeout(START).map_err(|_| "a process beside does not end".to_owned());
            self.take(waited?.1)?;
        }
        self.orphans.wait()?;
        self.quiet_round(rounds + 1)?;
        let took = began.elapsed();

        let verified = self.scene.run(&["audit", "--verify"]);
        if !verified.status.success() {
            return Err(format!("audit --verify: {}", String::from_utf8_lossy(&verified.stderr)));
        }
        let exported = self.scene.run(&["audit", "--export", "-"]);
        if !exported.status.success() {
            return Err(format!("audit --export: {}", String::from_utf8_lossy(&exported.stderr)));
        }
        let lines = String::from_utf8(exported.stdout).unwrap();
        let read = |line: &str| serde_json::from_str::<Line>(line).map_err(|error| format!("{error}: {line}"));
        let lines = lines.lines().map(read).collect::<Result<Vec<_>, _>>()?;
        let (figures, faults) = judge(&self.sent, &self.scene.observed(), &lines);
        if !faults.is_empty() {
            let shown: Vec<_> = faults.iter().take(SHOWN).map(ToString::to_string).collect();
            return Err(format!("{} faults\n{}\n{self}", faults.len(), shown.join("\n")));
        }
        // A run in which nothing was at stake shows nothing.
        let http = self.kind == Kind::Http;
        let tally = |what| self.tally.get(what).copied().unwrap_or(0) as usize;
        let sizes = [
            ("calls that ran", figures.executed, rounds as usize * 3),
            ("calls whose end is unknown", figures.unknown, rounds as usize),
            ("unknown ones that ran", figures.unknown_ran, rounds as usize / 4),
            ("approved calls that ran", figures.wiped, rounds as usize / 8),
            ("processes left behind", self.orphans.seen as usize, rounds as usize),
            ("keys sent again", tally("keys sent again after a loss"), if http { rounds as usize / 4 } else { 0 }),
            ("wipes sent again", tally("wipes sent again after a loss"), rounds as usize / 8),
        ];
        // By how much is for luck to say; a short run has to show something of each, a long one enough.
        let long = rounds > SHORT;
        for (what, found, least) in sizes {
            if found < if long { least } else { least.min(1) } {
                return Err(format!("only {found} {what}, {least} expected\n{figures}\n{self}"));
            }
        }
        Ok(format!("{rounds} kills in {:.1} s; {figures}; {self}", took.as_secs_f64()))
    }

    /// A process that is not killed: answers a call and ends well.
    fn quiet_round(&mut self, round: u32) -> Result<(), String> {
        self.again.clear();
        let mut door = Door::open(self.kind, &self.scene, round, &self.events.0);
        let until = Instant::now() + START;
        loop {
            match self.events.1.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Err(_) => return Err(format!("the last process does not answer\n{}", door.said())),
                Ok((of, Event::Closed)) if of == round => {
                    return Err(format!("the last process ended by itself\n{}", door.said()));
                }
                Ok((of, Event::Ready(address))) if of == round => {
                    door.ready(address);
                    self.send_one(round, &mut door, &mut 0);
                }
                Ok((_, event)) => {
                    if self.take(event)? {
                        break;
                    }
                    if self.under_way.is_empty() {
                        thread::sleep(Duration::from_millis(20));
                        self.send_one(round, &mut door, &mut 0);
                    }
                }
            }
        }
        self.orphans.note(self.scene.folder(), door.id());
        if !door.close() {
            return Err(format!("the last process did not end well\n{}", door.said()));
        }
        self.orphans.wait()
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Orphans { seen, longest, .. } = self.orphans;
        write!(
            f,
            "calls {}; {:?}; {seen} processes left behind, the longest seen for {longest:?}; refusals {:?}",
            self.sent.len(),
            self.tally,
            self.refusals
        )
    }
}
