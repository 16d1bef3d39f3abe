//! `kill -9` in the middle of writing: what was answered is there, and the file is whole (F18).

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use toolcrib_engine::KeyValueStore;
use toolcrib_store::SqliteStore;

const FILE: &str = "STORE_KILL_TEST_FILE";

/// What the process that is killed does: it writes for ever, saying on its standard output what was answered.
async fn write(path: &str) {
    let (store, _) = SqliteStore::open(path).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 0_u64.. {
                let key = format!("{task}/{n}");
                store.set("n", &key, &key, usize::MAX).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "\ndone {key}").unwrap();
                out.flush().unwrap();
            }
        });
    }
    tasks.join_next().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_kill_9() {
    // The test is also the process that it starts and kills.
    if let Ok(path) = env::var(FILE) {
        return write(&path).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    for lines in [1, 50, 300] {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kill::what_was_answered_survives_kill_9", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut answered = Vec::new();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        while answered.len() < lines {
            let line = output.next().expect("the writer goes on until it is killed").unwrap();
            answered.extend(line.strip_prefix("done ").map(str::to_owned));
        }
        child.kill().unwrap();
        // What it still said before the kill was answered too; the last line may be cut.
        let rest: Vec<String> = output.map_while(Result::ok).collect();
        let whole = rest.len().saturating_sub(1);
        answered.extend(rest[..whole].iter().filter_map(|line| line.strip_prefix("done ")).map(str::to_owned));
        child.wait().unwrap();

        let (store, warnings) = SqliteStore::open(&path).unwrap();
        assert_eq!(warnings, []);
        for key in &answered {
            assert_eq!(store.get_value(key).await.as_deref(), Some(key.as_str()), "{key} was answered");
        }
    }
}

trait GetValue {
    async fn get_value(&self, key: &str) -> Option<String>;
}

impl GetValue for SqliteStore {
    async fn get_value(&self, key: &str) -> Option<String> {
        KeyValueStore::get(self, "n", key).await.unwrap()
    }
}
