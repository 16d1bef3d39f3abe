//! Rows of the store that were damaged: every command goes on, says how many it left out, and the doctor says what to do.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("toolcrib.toml"), "permissions.ask = ['builtin/kv_*']\napprovals.wait_ms = 0")
            .unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(args)
            .current_dir(self.path())
            .env("TOOLCRIB_STORE", "state.db")
            .env("XDG_CONFIG_HOME", self.path())
            .env_remove("TOOLCRIB_CONFIG")
            .env_remove("TOOLCRIB_LOG")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn check(&self, args: &[&str], code: i32) -> (String, String) {
        let (found, out, said) = self.run(args);
        assert_eq!(found, code, "{args:?}\n{out}\n{said}");
        (out, said)
    }

    /// A call that is parked; the handle of its request.
    fn parked(&self, key: &str) -> String {
        self.check(&["call", "kv_set", &json!({"key": key, "value": "v"}).to_string()], 3);
        let (out, _) = self.check(&["approvals", "list", "--json"], 0);
        let waiting: Value = serde_json::from_str(&out).unwrap();
        let wanted = |request: &&Value| request["arguments"].as_str().unwrap().contains(&format!("\"{key}\""));
        waiting.as_array().unwrap().iter().find(wanted).unwrap()["id"].as_str().unwrap().to_owned()
    }

    fn damage(&self, sql: &str) {
        let changed = rusqlite::Connection::open(self.path().join("state.db")).unwrap().execute(sql, []).unwrap();
        assert!(changed > 0, "{sql}");
    }

    fn findings(&self) -> Vec<(String, String)> {
        let (out, _) = self.check(&["doctor", "--json"], 0);
        let report: Value = serde_json::from_str(&out).unwrap();
        let told = report["findings"].as_array().unwrap().iter();
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let told = told.map(|finding| (text(finding, "about"), text(finding, "message")));
        told.filter(|(about, _)| about.starts_with("store, ")).collect()
    }
}

#[test]
fn commands_go_on_without_damaged_rows_and_say_so() {
    let place = Place::new();
    let good = place.parked("good");
    let bad = place.parked("bad");
    place.check(&["call", "current_time"], 0);
    place.check(&["call", "current_time"], 0);
    assert_eq!(place.findings(), []);
    for args in [&["audit"][..], &["stats"], &["approvals", "list"]] {
        let (_, said) = place.check(args, 0);
        assert!(!said.contains("could not be read"), "{args:?}: {said}");
    }

    place.damage(&format!("UPDATE approvals SET record = 'secret' WHERE request = '{bad}'"));
    place.damage("UPDATE journal SET record = 'secret' WHERE seq = (SELECT max(seq) FROM journal)");
    let left_out = |args: &[&str], table: &str| -> String {
        let (out, said) = place.check(args, 0);
        assert!(said.contains(&format!("1 row of {table} could not be read")), "{args:?}: {said}");
        assert!(!out.contains("secret") && !said.contains("secret"), "{out}\n{said}");
        out
    };
    let listed = left_out(&["approvals", "list"], "approvals");
    assert!(listed.contains(&good) && !listed.contains(&bad), "{listed}");
    assert!(left_out(&["audit"], "journal").contains("current_time"));
    assert!(left_out(&["audit", "--limit", "1", "--json"], "journal").contains("\"kind\""));
    assert!(left_out(&["audit", "--export", "-"], "journal").contains("current_time"));
    assert!(left_out(&["stats"], "journal").contains("current_time"));
    let (_, said) = place.check(&["audit", "--verify"], 1);
    assert!(said.contains("was changed"), "{said}");
    // What is not damaged goes on: the other request is answered, and calls run.
    place.check(&["approvals", "approve", &good], 0);
    place.check(&["call", "kv_set", r#"{"key":"good","value":"v"}"#], 0);
    // The damaged one is asked anew.
    assert_ne!(place.parked("bad"), bad);

    let findings = place.findings();
    let about: Vec<&str> = findings.iter().map(|(about, _)| about.as_str()).collect();
    assert_eq!(about, ["store, approvals", "store, journal"], "{findings:?}");
    assert!(findings[0].1.contains(&bad) && findings[0].1.contains("make the call again"), "{findings:?}");
    assert!(findings[1].1.contains("audit --verify"), "{findings:?}");
}

#[test]
fn a_damaged_never_still_refuses_until_it_is_taken_away() {
    let place = Place::new();
    let id = place.parked("a");
    place.check(&["approvals", "deny", &id, "--for", "always"], 0);
    place.damage("UPDATE grants SET record = '{}'");
    let call = ["call", "kv_set", r#"{"key":"a","value":"v"}"#];
    let (_, said) = place.check(&call, 3);
    assert!(said.contains("cannot be read") && said.contains("revoke it under its handle"), "{said}");
    // Another tool is not concerned.
    place.check(&["call", "current_time"], 0);
    let (out, _) = place.check(&["approvals", "grants", "--json"], 0);
    let grants: Value = serde_json::from_str(&out).unwrap();
    let grant = grants[0]["id"].as_str().unwrap();
    assert_eq!((&grants[0]["allow"], &grants[0]["tool"]), (&json!(false), &json!("builtin/kv_set")));
    assert!(place.findings()[0].1.contains(grant));
    place.check(&["approvals", "revoke", grant], 0);
    assert_eq!(place.findings(), []);
    let (_, said) = place.check(&call, 3);
    assert!(said.contains("needs a person's approval"), "{said}");
}

#[test]
fn an_intent_that_cannot_be_read_does_not_keep_the_process_from_starting() {
    let place = Place::new();
    let id = place.parked("a");
    place.check(&["approvals", "approve", &id], 0);
    place.check(&["call", "kv_set", r#"{"key":"a","value":"v"}"#], 0);
    // As if the process had died before the outcome was written, and the intent were damaged.
    place.damage("DELETE FROM journal WHERE outcome = 'ok'");
    place.damage("UPDATE journal SET record = 'secret' WHERE record ->> '$.kind' = 'intent'");
    let seq: i64 = rusqlite::Connection::open(place.path().join("state.db"))
        .unwrap()
        .query_row("SELECT seq FROM journal WHERE record = 'secret'", [], |row| row.get(0))
        .unwrap();
    place.damage(&format!("INSERT INTO open_intents SELECT run, call, seq FROM journal WHERE seq = {seq}"));
    let (_, said) = place.check(&["call", "current_time"], 0);
    assert!(said.contains(&format!("row=\"{seq}\"")) && !said.contains("secret"), "{said}");
    let (out, _) = place.check(&["audit", "--outcome", "unknown"], 0);
    assert!(out.contains("recovered") && out.contains(&format!("record {seq}")), "{out}");
    let (_, said) = place.check(&["call", "current_time"], 0);
    assert!(!said.contains("cannot be read"), "told once: {said}");
}
