//! What toolcrib started must end by itself, soon after toolcrib was killed.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// How long a process may outlive its toolcrib.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// A process, told apart from a later one with the same number by its start time.
#[derive(Debug)]
struct Process {
    id: u32,
    started: String,
    command: String,
}

impl Process {
    /// The same process, though it may run another program by now.
    fn is(&self, other: &Self) -> bool {
        (self.id, &self.started) == (other.id, &other.started)
    }
}

/// Processes that outlived their toolcrib so far.
#[derive(Default)]
pub(crate) struct Orphans {
    since: Vec<(Process, Instant)>,
    /// How many there were.
    pub(crate) seen: u64,
    pub(crate) longest: Duration,
}

impl Orphans {
    /// Notes everything that runs in this scene now, except its toolcrib `main`: right before that is killed, and after,
    /// for what it started in between.
    pub(crate) fn note(&mut self, scene: &Path, main: u32) {
        for process in of_scene(scene) {
            if process.id != main && !self.since.iter().any(|(known, _)| known.is(&process)) {
                self.seen += 1;
                self.since.push((process, Instant::now()));
            }
        }
    }

    /// Forgets those that have ended; says which have lived too long.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        let (still, ended): (Vec<_>, Vec<_>) =
            self.since.drain(..).partition(|(process, _)| read(process.id).is_some_and(|now| now.is(process)));
        self.since = still;
        for since in ended.iter().map(|(_, since)| since.elapsed()) {
            // Only as exact as it is looked at.
            self.longest = self.longest.max(since);
        }
        match self.since.iter().find(|(_, since)| since.elapsed() > LONGEST) {
            Some((process, since)) => Err(format!("outlived its toolcrib by {:?}: {process:?}", since.elapsed())),
            None => Ok(()),
        }
    }

    /// Waits until all have ended, or one has lived too long.
    pub(crate) fn wait(&mut self) -> Result<(), String> {
        self.check()?;
        while !self.since.is_empty() {
            std::thread::sleep(Duration::from_millis(20));
            self.check()?;
        }
        Ok(())
    }
}

/// All processes with the scene's folder on their command line, except those that were run beside.
fn of_scene(scene: &Path) -> Vec<Process> {
    let scene = scene.to_str().unwrap();
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(read)
        .filter(|process| process.command.contains(scene))
        .filter(|process| ![" approvals ", " call "].iter().any(|beside| process.command.contains(beside)))
        .collect()
}

/// Nothing for processes that have ended, also if nobody has asked for their status yet.
fn read(id: u32) -> Option<Process> {
    let command = fs::read(format!("/proc/{id}/cmdline")).ok().filter(|words| !words.is_empty())?;
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // Behind the name, which may hold anything: state, then 18 numbers, then the start time.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let started = fields.nth(18)?.to_owned();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    Some(Process { id, started, command })
}
