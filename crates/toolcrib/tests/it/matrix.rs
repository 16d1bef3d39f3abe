//! Every guard at every door: what a guard forbids does not reach the tool server, is refused in the door's own way and is
//! in the journal; a harmless call through the same door at the same time runs; and the same call without the guard runs,
//! so that each of these checks can fail.
//!
//! A guard is one row of [`guards`], a door one of [`doors::Door`].

mod doors;
mod guards;
mod library;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use toolcrib::engine::{EngineSettings, intercept::Interceptor};

use crate::scene::Scene;
use doors::{Door, Doors};

/// A call of one of the tool server's tools, of the one that the door has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Which tool.
    pub(crate) tool: &'static str,
    /// What its executions are counted by. The same key, tool and arguments are the same call.
    pub(crate) key: &'static str,
    /// Arguments beside the key: what stands between the braces. `{folder}` is the scene's.
    pub(crate) arguments: &'static str,
}

impl Call {
    pub(crate) const fn of(tool: &'static str, key: &'static str) -> Self {
        Self { tool, key, arguments: "" }
    }

    pub(crate) const fn with(self, arguments: &'static str) -> Self {
        Self { arguments, ..self }
    }

    fn key(self, door: Door) -> String {
        format!("{}-{}", door.word(), self.key)
    }

    fn exposed(self, door: Door) -> String {
        format!("up__{}_{}", self.tool, door.word())
    }

    fn text(self, door: Door, scene: &Scene) -> String {
        let comma = if self.arguments.is_empty() { "" } else { "," };
        format!(r#"{{"key":"{}"{comma}{}}}"#, self.key(door), scene.fill(self.arguments))
    }
}

/// What happens at a door before the guarded call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A call runs.
    Run(Call),
    /// A call runs, and fails in a way that is the server's fault.
    Fault(Call),
    /// A call is refused, and a person can approve it.
    Park(Call),
    /// The person approves it once.
    Approve,
    /// The person says never.
    Never,
    /// The disk is full.
    FillDisk,
}

/// How a guarded call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Denied,
    /// Denied for now.
    TooFast,
    Invalid,
    /// What is no JSON to rely on does not even become a call over MCP.
    Unreadable,
    NoSuchTool,
    Unavailable,
    /// Well, with the result of an earlier call.
    Earlier,
}

impl Want {
    /// The outcome in records.
    fn word(self) -> &'static str {
        match self {
            Self::Denied | Self::TooFast => "denied",
            Self::Invalid | Self::Unreadable | Self::NoSuchTool => "invalid",
            Self::Unavailable => "unavailable",
            Self::Earlier => "ok",
        }
    }
}

/// One row.
pub(crate) struct Guard {
    /// What switches it on: configuration.
    pub(crate) config: &'static str,
    /// The same for the library; the text is the scene's folder.
    pub(crate) settings: fn(&mut EngineSettings, &str),
    /// Code of whoever embeds the library.
    pub(crate) interceptor: Option<fn() -> Arc<dyn Interceptor>>,
    /// Doors where there can be no such guard.
    pub(crate) not_at: &'static [Door],
    pub(crate) before: &'static [Step],
    pub(crate) guarded: Call,
    pub(crate) want: Want,
    /// Part of what the caller is told.
    pub(crate) says: &'static str,
    /// Runs at the same time.
    pub(crate) sibling: Call,
    /// Part of what its caller is told.
    pub(crate) sibling_says: &'static str,
    /// Whether the refusal is in the journal.
    pub(crate) recorded: bool,
    /// Configuration without the guard, where that is not an empty one.
    pub(crate) without: &'static str,
    pub(crate) settings_without: fn(&mut EngineSettings, &str),
    /// What is called then, where it is not the guarded call: some guards cannot be switched off.
    pub(crate) call_without: Option<Call>,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            config: "",
            settings: |_, _| {},
            interceptor: None,
            not_at: &[],
            before: &[],
            guarded: Call::of("note", "guarded"),
            want: Want::Denied,
            says: "",
            sibling: Call::of("look", "sibling"),
            sibling_says: "",
            recorded: true,
            without: "",
            settings_without: |_, _| {},
            call_without: None,
        }
    }
}

/// Whether a guard is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    On,
    Off,
}

fn check(guard: &Guard) {
    let scene = Scene::new(guard.config);
    let library = library::Made { settings: guard.settings, interceptor: guard.interceptor };
    let mut doors = Doors::new(&scene, library);
    let at: Vec<Door> = Door::ALL.into_iter().filter(|door| !guard.not_at.contains(door)).collect();
    let failures: Vec<String> = at
        .iter()
        .filter_map(|door| {
            cell(&scene, &mut doors, *door, guard, Side::On).err().map(|error| format!("{door:?}: {error}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    if guard.recorded {
        recorded(&scene, guard, &at);
    }
    drop(doors);

    // The check itself: without the guard it has to fail, for the one reason that the call ran.
    let scene = Scene::new(guard.without);
    let library = library::Made { settings: guard.settings_without, interceptor: None };
    let mut doors = Doors::new(&scene, library);
    for door in at.into_iter().filter(|door| matches!(door, Door::Direct | Door::Library)) {
        let found = cell(&scene, &mut doors, door, guard, Side::Off);
        assert_eq!(found, Err("it reached the tool".to_owned()), "{door:?} without the guard");
    }
}

/// One guard at one door.
fn cell(scene: &Scene, doors: &mut Doors<'_>, door: Door, guard: &Guard, side: Side) -> Result<(), String> {
    let call = |call: Call, doors: &mut Doors<'_>| {
        let key = call.key(door);
        let before = scene.executions(&key);
        let seen = doors.call(door, &call.exposed(door), &call.text(door, scene));
        (scene.executions(&key) - before, seen)
    };
    for step in guard.before {
        match *step {
            Step::Run(made) => {
                let (ran, seen) = call(made, doors);
                if ran != 1 || !seen.is_ok() {
                    return Err(format!("beforehand, it ran {ran} times: {seen:?}"));
                }
            }
            Step::Fault(made) => {
                let (ran, seen) = call(made, doors);
                if ran != 1 || seen.is_ok() {
                    return Err(format!("the fault ran {ran} times: {seen:?}"));
                }
            }
            _ if side == Side::Off => {}
            Step::Park(made) => {
                let (ran, seen) = call(made, doors);
                if ran != 0 || !seen.text.contains("a person's approval") {
                    return Err(format!("to be asked about, it ran {ran} times: {seen:?}"));
                }
            }
            Step::Approve => answer(scene, door, &["approve"]),
            Step::Never => answer(scene, door, &["deny", "--for", "always"]),
            Step::FillDisk => doors.fill_disk(door, true),
        }
    }
    let guarded = if side == Side::On { guard.guarded } else { guard.call_without.unwrap_or(guard.guarded) };
    let (ran, seen) = call(guarded, doors);
    if ran > 0 {
        return Err("it reached the tool".to_owned());
    }
    seen.agrees(guard.want, door)?;
    if !seen.text.contains(guard.says) {
        return Err(format!("it does not say '{}': {seen:?}", guard.says));
    }
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let (ran, seen) = call(guard.sibling, doors);
        if ran != 1 || !seen.is_ok() {
            return Err(format!("the harmless call ran {ran} times: {seen:?}"));
        }
        if seen.text.contains(guard.sibling_says) {
            break;
        }
        // What one write found out, another that began before it may seem to have settled.
        if Instant::now() > until {
            return Err(format!("the harmless call does not say '{}': {seen:?}", guard.sibling_says));
        }
    }
    if guard.before.iter().any(|step| matches!(step, Step::FillDisk)) {
        doors.fill_disk(door, false);
        let until = Instant::now() + Duration::from_secs(20);
        while call(guarded, doors).0 == 0 {
            if Instant::now() > until {
                return Err("with room on the disk again it is still refused".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// A person answers what was asked at this door.
fn answer(scene: &Scene, door: Door, words: &[&str]) {
    let waiting = scene.documents(&["approvals", "list", "--json"]);
    let suffix = format!("_{}", door.word());
    let of_door = |request: &&serde_json::Value| {
        // `http` ends `mcp_http` too.
        let tool = request["exposed"].as_str().unwrap().strip_prefix("up__").unwrap();
        tool.split_once('_').is_some_and(|(_, of)| of == door.word())
    };
    let request = waiting[0].as_array().unwrap().iter().find(of_door);
    let id = request.unwrap_or_else(|| panic!("nothing waits for {suffix}: {waiting:?}"))["id"].as_str().unwrap();
    let [verb, options @ ..] = words else { unreachable!() };
    let all: Vec<&str> = ["approvals", *verb, id].into_iter().chain(options.iter().copied()).collect();
    let ran = scene.run(&all, false);
    assert!(ran.status.success(), "{all:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The refusals are in the journal, with the outcome and the door.
#[track_caller]
fn recorded(scene: &Scene, guard: &Guard, at: &[Door]) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let records = scene.documents(&["audit", "--json", "--limit", "10000"]);
        let missing = at.iter().find(|door| {
            !records.iter().any(|record| {
                record["kind"] == "outcome"
                    && record["name"] == guard.guarded.exposed(**door)
                    && record["door"] == door.recorded()
                    && record["outcome"] == guard.want.word()
            })
        });
        let Some(missing) = missing else { return };
        assert!(Instant::now() < until, "no record of the call at {missing:?}: {records:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
