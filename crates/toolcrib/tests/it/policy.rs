//! Who sees what, at the built command: every stage, told in one sentence whose advice mends it.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::scene::Scene;

const CONFIG: &str = include_str!("../data/policy/toolcrib.toml");
const TOOLS: &str = include_str!("../data/policy/tools.json");
const ROWS: &str = include_str!("../data/policy/rows.json");

struct Ran {
    code: i32,
    out: String,
    err: String,
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(config: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("toolcrib.toml", config);
        folder.write("tools.json", TOOLS);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn run(&self, words: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(words)
            .args(["--catalog", "tools.json"])
            .current_dir(self.0.path())
            .env("TOOLCRIB_STORE", ":memory:")
            .env("XDG_CONFIG_HOME", self.0.path())
            .env_remove("TOOLCRIB_CONFIG")
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(&[words, &["--json"]].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{words:?}: {error}: {}\n{}", ran.out, ran.err))
    }
}

/// Without the folder and the line, which move.
fn plain(sentence: &str, folder: &Path) -> String {
    let text = sentence.replace(&format!("{}/", folder.display()), "").replace("./toolcrib.toml", "toolcrib.toml");
    let mut parts = text.split("toolcrib.toml:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        format!("{told}toolcrib.toml{}", part.trim_start_matches(|c: char| c.is_ascii_digit()))
    })
}

#[test]
fn every_stage_is_explained_and_the_advice_mends_it() {
    let rows: Vec<Value> = serde_json::from_str(ROWS).unwrap();
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut stages = std::collections::BTreeSet::new();
    for row in &rows {
        let folder = Folder::new(CONFIG);
        let (flags, tool) = (words(&row["flags"]), row["tool"].as_str().unwrap());
        let explain = |flags: &[String], more: &[&str]| {
            let mut words = vec!["explain", tool];
            words.extend(flags.iter().map(String::as_str));
            folder.json(&[&words, more].concat())[0].clone()
        };
        let told = explain(&flags, &[]);
        assert_eq!(plain(told["sentence"].as_str().unwrap(), folder.0.path()), row["says"].as_str().unwrap(), "{row}");
        assert_eq!(told["stage"], row["stage"], "{row}");
        stages.insert(row["stage"].as_str().unwrap().to_owned());
        let mended = match row["mend"].as_str() {
            Some(mend) => {
                folder.write("mend.toml", mend);
                explain(&flags, &["--config", "toolcrib.toml", "--config", "mend.toml"])
            }
            None => explain(&words(&row["mend_flags"]), &[]),
        };
        assert_ne!((&mended["fate"], &mended["stage"]), (&json!("hidden"), &row["stage"]), "{row}: {mended}");
    }
    let missing: Vec<&str> =
        toolcrib_core::select::STAGES.into_iter().filter(|stage| !stages.contains(*stage)).collect();
    // Plugins are refused before they get so far; servers, labels of single tools and categories have tests of their own.
    assert_eq!(missing, ["tool", "server", "plugin", "category"]);
}

#[test]
fn all_that_is_hidden_is_told_with_cause_and_fix() {
    let folder = Folder::new(CONFIG);
    for flags in
        [vec![], vec!["--agent", "lead"], vec!["--agent", "clerk", "--model", "local"], vec!["--channel", "telegram"]]
    {
        let told = folder.json(&[vec!["explain", "*"], flags.clone()].concat());
        let mut hidden = 0;
        for one in told.as_array().unwrap().iter().filter(|one| one["fate"] == "hidden") {
            hidden += 1;
            let sentence = one["sentence"].as_str().unwrap();
            let id = one["id"].as_str().unwrap();
            assert!(sentence.starts_with(&format!("{id} is hidden by the ")), "{sentence}");
            for part in ["rule", "origin", "fix"] {
                let text = one[part].as_str().unwrap();
                assert!(!text.is_empty() && sentence.contains(text), "{sentence}");
            }
        }
        assert!(hidden > 3, "{flags:?}");
        // The same is the trace of an assembled set.
        let set = folder.json(&[vec!["assemble"], flags].concat());
        assert_eq!(set["trace"].as_array().unwrap().len(), told.as_array().unwrap().len());
    }
}

#[test]
fn what_is_said_of_single_tools_is_explained_and_selects() {
    let scene = Scene::new("");
    let overlay = Path::new(scene.folder()).join("more.toml");
    let labels = "[servers.up]\ncategory = 'work'\n[servers.up.tools.wipe_cli]\nenabled = false\ncategory = 'danger'\n";
    fs::write(&overlay, labels).unwrap();
    let json = |words: &[&str]| -> Value {
        let config = format!("{}/toolcrib.toml", scene.folder());
        scene
            .documents(&[words, &["--json", "--config", &config, "--config", overlay.to_str().unwrap()]].concat())
            .remove(0)
    };
    let told = json(&["explain", "mcp:up/wipe_cli"]);
    let sentence = told[0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("is switched off") && sentence.contains("servers.up.tools.wipe_cli"), "{sentence}");
    let names = |words: &[&str]| -> Vec<String> {
        let told = json(&[&["tools"], words].concat());
        let ids = told["tools"].as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap().to_owned());
        ids.filter(|id| id.starts_with("mcp:")).collect()
    };
    let work = names(&["--allow", "category:work"]);
    assert!(!work.is_empty() && work.iter().all(|id| id.starts_with("mcp:up/")), "{work:?}");
    assert_eq!(names(&["--deny", "category:work"]), Vec::<String>::new());
}

#[test]
fn what_is_left_out_of_a_server_is_explained() {
    let scene = Scene::new("");
    let overlay = Path::new(scene.folder()).join("more.toml");
    fs::write(&overlay, "[servers.up]\nexclude = ['wipe_*']").unwrap();
    let output =
        scene.command(&["explain", "up__wipe_cli", "--json"], false).arg("--config").arg(&overlay).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sentence = plain(told[0]["sentence"].as_str().unwrap(), Path::new(scene.folder()));
    assert!(sentence.starts_with("mcp:up/wipe_cli is hidden by the server stage (exclude names it"), "{sentence}");
    assert!(
        sentence.contains("take the pattern that matches \"wipe_cli\" out of that server's exclude list"),
        "{sentence}"
    );
    // What is not listed is not called either, whoever asks.
    let output = scene
        .command(&["call", "up__wipe_cli", "{}", "--owner"], false)
        .arg("--config")
        .arg(&overlay)
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert_eq!(scene.executions("wipe_cli"), 0);
}

#[test]
fn scopes_hold_when_a_tool_is_called() {
    let folder = Folder::new(
        "[agents.small]\ndeny = ['current_time']\n[agents.big]\n[names.aliases]\nclock = 'builtin/current_time'",
    );
    let call = |name: &str, flags: &[&str]| folder.run(&[&["call", name, "{}"], flags].concat());
    assert_eq!(call("current_time", &["--agent", "big"]).code, 0);
    assert_eq!(call("CLOCK", &[]).code, 0);
    for flags in [vec!["--agent", "small"], vec!["--parent", "small", "--agent", "big"], vec!["--role", "coordinator"]]
    {
        for name in ["current_time", "clock"] {
            let ran = call(name, &flags);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{name} {flags:?}");
            assert!(ran.err.contains("there is no tool"), "{}", ran.err);
        }
    }
    let ran = call("current_time", &["--agent", "bgi"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no agent is called 'bgi'"), "{}", ran.err);
}

#[test]
fn settings_of_a_tool_never_grant_it() {
    // Openclaw complaint 23: a section with the tool's options gave it back to an agent without it.
    let folder = Folder::new("profile = 'minimal'\n[builtin.command]\nallow = ['ls']\n[builtin.files]\nroots = ['.']");
    let told = folder.json(&["explain", "read_file"]);
    assert_eq!((told[0]["fate"].as_str(), told[0]["stage"].as_str()), (Some("hidden"), Some("profile")));
}

#[test]
fn a_set_without_what_it_needs_is_refused() {
    let folder = Folder::new("[policy]\ndeny = ['current_time']");
    let ran = folder.run(&["assemble", "--require", "current_time"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.err.contains("required tool 'current_time' (this run) is missing: the global stage removed it"),
        "{}",
        ran.err
    );
    assert_eq!(folder.run(&["assemble", "--require", "shop__find_order"]).code, 0);
    // At every door, and nothing of it goes to a script that reads on.
    for words in [
        &["assemble"][..],
        &["assemble", "--json"],
        &["tools"],
        &["tools", "--json"],
        &["search", "order"],
        &["show", "shop__find_order"],
        &["call", "read_file", r#"{"path":"tools.json"}"#],
    ] {
        let ran = folder.run(&[words, &["--require", "current_time"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("current_time") && ran.err.contains("global"), "{words:?}: {}", ran.err);
    }
    for words in [&["explain", "current_time"][..], &["lint", "--fail-on", "never"]] {
        assert_eq!(folder.run(&[words, &["--require", "current_time"]].concat()).code, 0, "{words:?}");
    }
    // Case 39.
    let ran = folder.run(&["assemble", "--allow", "builtin/current_time"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("no tool is left: together these allow lists let nothing through"), "{}", ran.err);
}

#[test]
fn two_scopes_and_two_days_can_be_compared() {
    let folder = Folder::new(CONFIG);
    let difference = folder.json(&["assemble", "--diff", "default", "agent=clerk"]);
    let ids = |key: &str| -> Vec<&str> {
        difference[key].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
    };
    assert!(ids("removed").contains(&"static:shop/refund"), "{difference}");
    assert_eq!(ids("added"), [""; 0]);
    let why = difference["removed"].as_array().unwrap().iter().find(|one| one["id"] == "static:shop/refund").unwrap();
    assert!(why["why"].as_str().unwrap().contains("agents.clerk.deny"), "{why}");

    let before = folder.json(&["assemble"]);
    folder.write("before.json", &before.to_string());
    folder.write("tools.json", &TOOLS.replace("Does refund.", "Gives money back."));
    folder.write("toolcrib.toml", &CONFIG.replace("deny = [\"static:shop/close_shop\"]", "deny = []"));
    let difference = folder.json(&["assemble", "--diff", "before.json", "default"]);
    assert_eq!(difference["equal"], false);
    assert_eq!(difference["added"][0]["id"], "static:shop/close_shop", "{difference}");
    assert_eq!(difference["changed"][0]["id"], "static:shop/refund", "{difference}");
    let ran = folder.run(&["assemble", "--diff", "nothing", "default"]);
    assert!(ran.code == 2 && ran.err.contains("'nothing' is no file, no profile and no agent"), "{}", ran.err);
}

#[test]
fn doctor_looks_the_policy_over() {
    let folder = Folder::new(
        "[policy]\ndeny = ['static:shop/refnud']\n[policy.senders.'*']\nallow = ['*']\n[callers.nobody]\nprofile = 'full'\n\
         [agents.a]\nallow = ['static:shop/refund']\nprofile = 'minimal'\n[agents.'*']",
    );
    let report = folder.json(&["doctor"]);
    let told: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{}: {}: {}",
                one["level"].as_str().unwrap(),
                one["about"].as_str().unwrap(),
                one["message"].as_str().unwrap()
            )
        })
        .collect();
    for want in [
        ("warning: 'static:shop/refnud' in policy.deny in ", "the closest: "),
        ("warning: '*' in policy.senders.*", "whoever writes in a channel gets everything"),
        ("warning: callers.nobody", "no key of gateway.named_keys goes by that name"),
        ("warning: 'static:shop/refund' in agents.a.allow", "the profile stage has removed all that it names before"),
    ] {
        assert!(told.iter().any(|one| one.starts_with(want.0) && one.contains(want.1)), "{want:?} in {told:#?}");
    }
}

#[test]
fn lint_looks_the_policy_over() {
    let folder = Folder::new(
        "[policy]\ndeny = ['static:shop/refnud']\n[policy.senders.'*']\nallow = ['*']\n\
         [agents.a]\nallow = ['static:shop/refund']\nprofile = 'minimal'\n[agents.b]\nprofile = 'none'\n[profiles.none]\nallow = ['mcp:gone']",
    );
    let of_policy = |ran: &Value| -> Vec<(String, String, String)> {
        let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        let found = ran["findings"].as_array().unwrap().iter();
        let found = found.filter(|one| one["code"].as_str().unwrap().starts_with("policy-"));
        found.map(|one| (text(one, "code"), text(one, "tool"), text(one, "place"))).collect()
    };
    let words = ["lint", "--fail-on", "warning"];
    let report = folder.json(&words);
    let found = of_policy(&report);
    for (code, origin, entry) in [
        ("policy-unmatched", "policy.deny in ", "static:shop/refnud"),
        ("policy-unsafe", "policy.senders.*", "*"),
        ("policy-shadowed", "agents.a.allow in ", "static:shop/refund"),
        ("policy-removes-everything", "agent 'b'", ""),
    ] {
        let there = found.iter().any(|one| one.0 == code && one.1.starts_with(origin) && one.2 == entry);
        assert!(there, "{code} {origin}: {found:#?}");
    }
    assert_eq!(report["failed"], true);
    let ran = folder.run(&words);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("warning policy-unmatched policy.deny in "), "{}", ran.out);
    assert!(ran.out.contains("static:shop/refnud: no source offers"), "{}", ran.out);
    // What was accepted stays accepted when the file's lines move.
    assert_eq!(folder.run(&["lint", "--write-baseline", "accepted.json"]).code, 0);
    let config = std::fs::read_to_string(folder.0.path().join("toolcrib.toml")).unwrap();
    folder.write("toolcrib.toml", &format!("\n# A line more.\n{config}"));
    let report = folder.json(&["lint", "--fail-on", "warning", "--baseline", "accepted.json"]);
    assert_eq!((of_policy(&report), &report["failed"]), (Vec::new(), &Value::from(false)), "{report:#}");
}

#[test]
fn a_place_with_both_lists_is_closed() {
    // Case 28: in one file nobody knows what was meant; in two, the later one adds.
    let folder = Folder::new("[policy]\nallow = ['current_time']\nalso_allow = ['static:shop']");
    let ran = folder.run(&["tools", "--json"]);
    assert!(ran.err.contains("allow and also_allow stand in one place of one file"), "{}", ran.err);
    assert!(ran.out.contains("\"tools\": []"), "{}", ran.out);
    let folder = Folder::new("[policy]\nallow = ['current_time']");
    folder.write("later.toml", "[policy]\nalso_allow = ['static:shop/refund']");
    let listed = folder.json(&["tools", "--config", "toolcrib.toml", "--config", "later.toml"]);
    let ids: Vec<&str> = listed["tools"].as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["builtin/current_time", "static:shop/refund"]);
}

#[test]
fn entries_outside_of_the_policy_that_mean_nothing_are_told() {
    let folder = Folder::new(
        "[servers.down]\ncommand = '/nonexistent'\n[servers.down.tools.gone]\nenabled = false\n\
         [permissions]\ndeny = ['shop__refnud', 'mcp:down/wipe']\nrisks = [{ tool = 'mcp:githib/x', risk = 'low' }]\n\
         [permissions.roles.r]\nallow = ['nothing_such']\n\
         [calls]\nrates = [{ tool = 'static:shop/none', limit = 1, window_ms = 1000 }]\n\
         [disclosure]\nalways = ['static:shop/nope']\n[groups]\ng = ['static:shop/nix']\n\
         [names.aliases]\nmine = 'static:shop/refnud'",
    );
    let report = folder.json(&["doctor"]);
    let told: Vec<String> = report["findings"].as_array().unwrap().iter().map(Value::to_string).collect();
    let linted = folder.json(&["lint", "--fail-on", "never"]);
    let linted: Vec<String> = linted["findings"].as_array().unwrap().iter().map(Value::to_string).collect();
    for (entry, origin, message) in [
        ("shop__refnud", "permissions.deny in ", "it restricts nothing"),
        ("mcp:down/wipe", "permissions.deny in ", "mcp:down is down: "),
        ("mcp:down/gone", "servers.down.tools.gone in ", "mcp:down is down: "),
        ("mcp:githib/x", "permissions.risks[0] in ", "there is no source mcp:githib"),
        ("nothing_such", "permissions.roles.r.allow in ", "no source offers a tool that it names"),
        ("static:shop/none", "calls.rates[0] in ", "no source offers"),
        ("static:shop/nope", "disclosure.always in ", "no source offers"),
        ("static:shop/nix", "groups.g in ", "no source offers"),
        ("static:shop/refnud", "names.aliases.mine in ", "the closest: refund"),
    ] {
        for list in [&told, &linted] {
            let there = list.iter().any(|one| one.contains(entry) && one.contains(origin) && one.contains(message));
            assert!(there, "{entry}: {list:#?}");
        }
    }
}

#[test]
fn a_list_of_servers_that_is_passed_over_is_told() {
    let folder = Folder::new("[servers.mine]\nenabled = false\ncommand = 'x'");
    let told = |folder: &Folder| folder.json(&["doctor"])["findings"].to_string().contains(".mcp.json is not read");
    assert!(!told(&folder));
    folder.write(".mcp.json", r#"{"mcpServers": {"other": {"command": "x"}}}"#);
    assert!(told(&folder));
    folder.write(".mcp.json", r#"{"mcpServers": {"mine": {"command": "x"}}}"#);
    assert!(!told(&folder), "all of them were taken over");
}
