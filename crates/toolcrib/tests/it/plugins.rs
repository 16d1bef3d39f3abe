//! `toolcrib plugins` and plugins behind the other commands, with a plugin in shell.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

const MANIFEST: &str = r#"
id = "greeter"
version = "1.0.0"
description = "Greets"
[run]
lines = ["sh", "greeter.sh"]
[requires]
auth = ["key"]
[[tools]]
name = "greet"
description = "Greet somebody"
hints = { read_only = true }
input_schema = { type = "object" }
[[tools]]
name = "shout"
optional = true
input_schema = { type = "object" }
"#;

const PROGRAM: &str = r#"
echo x >>started
while IFS= read -r frame; do
    case $frame in
    '{"type":"hello",'*) printf '%s\n' '{"type":"describe","protocol":1,"tools":[{"name":"greet"},{"name":"shout"}]}' ;;
    '{"type":"call",'*) printf '%s\n' "{\"type\":\"result\",\"id\":$(printf '%s' "$frame" | sed 's/.*"id":\([0-9]*\).*/\1/'),\"text\":\"hello\"}" ;;
    esac
done
"#;

struct Desk {
    root: tempfile::TempDir,
}

impl Desk {
    fn new(config: &str) -> Self {
        let desk = Self { root: tempfile::tempdir().unwrap() };
        desk.configure(config);
        fs::create_dir_all(desk.folder()).unwrap();
        fs::write(desk.folder().join("plugin.toml"), MANIFEST).unwrap();
        fs::write(desk.folder().join("greeter.sh"), PROGRAM).unwrap();
        fs::create_dir_all(desk.folder().join(".git")).unwrap();
        desk
    }

    /// Another manifest for the plugin.
    fn declare(&self, change: impl FnOnce(&str) -> String) {
        fs::write(self.folder().join("plugin.toml"), change(MANIFEST)).unwrap();
    }

    /// Whether anything is where plugins are added.
    fn has_added(&self) -> bool {
        fs::read_dir(self.root.path().join("plugins")).is_ok_and(|mut inner| inner.next().is_some())
    }

    fn configure(&self, config: &str) {
        let text = format!("{config}\n[plugins.settings.greeter]\nauth = {{ key = 'sesame-opens-it' }}\n");
        fs::write(self.root.path().join("toolcrib.toml"), text).unwrap();
    }

    /// Where the plugin is written.
    fn folder(&self) -> PathBuf {
        self.root.path().join("source/greeter")
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(words)
            .current_dir(self.root.path())
            .env("TOOLCRIB_STORE", ":memory:")
            .env("XDG_CONFIG_HOME", self.root.path().join("config"))
            .env_remove("TOOLCRIB_CONFIG")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn check(&self, words: &[&str], code: i32, out: &str, err: &str) {
        let (was, said, told) = self.run(words);
        assert_eq!(was, code, "{words:?}\n{said}\n{told}");
        assert!(said.contains(out), "{words:?}: {said}");
        assert!(told.contains(err), "{words:?}: {told}");
        assert!(!format!("{said}{told}").contains("sesame"), "a secret is shown: {said}{told}");
    }
}

fn started(folder: &Path) -> usize {
    fs::read_to_string(folder.join("started")).unwrap_or_default().lines().count()
}

const ON: &str = "[plugins]\nenabled = true\nfolders = ['plugins']\n";

#[test]
fn a_plugin_is_checked_added_used_and_removed() {
    let desk = Desk::new(ON);
    desk.check(&["plugins", "check", "source/greeter"], 0, "offers 2 of 2 declared tools", "");
    desk.check(&["plugins", "add", "source/greeter"], 0, "added plugin 'greeter' 1.0.0", "");
    let home = desk.root.path().join("plugins/greeter");
    assert!(home.join("greeter.sh").is_file() && !home.join(".git").exists());
    desk.check(&["plugins", "add", "source/greeter"], 2, "", "--force replaces it");
    desk.check(&["plugins", "add", "source/greeter", "--force"], 0, "added", "");
    desk.check(&["plugins"], 0, "1 of 2", "");
    desk.check(&["call", "greet"], 0, "hello", "");
    desk.check(&["explain", "plugin:greeter/shout"], 0, "it is optional and no allow list names it", "");
    desk.check(&["call", "shout", "--allow", "greeter"], 0, "hello", "");
    let (code, out, _) = desk.run(&["plugins", "list", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["plugins"][0]["state"]), (0, &"ready".into()));
    let greet = serde_json::json!({"name": "greet", "optional": false, "offered": true});
    assert_eq!(report["plugins"][0]["tools"][0], greet);
    desk.check(&["plugins", "remove", "greeter"], 0, "removed plugin 'greeter'", "");
    assert!(!home.exists() && desk.folder().exists());
    desk.check(&["plugins", "remove", "greeter"], 1, "", "There is no plugin 'greeter'");
    desk.check(&["call", "greet"], 1, "", "there is no tool");
}

#[test]
fn without_a_folder_in_the_configuration_plugins_are_in_the_users_own() {
    let desk = Desk::new("");
    desk.check(&["plugins"], 0, "", "Plugins are off");
    desk.check(&["plugins", "add", "source/greeter"], 0, "config/toolcrib/plugins/greeter", "it is in your own folder");
    desk.check(&["plugins", "add", "source/greeter", "--force"], 0, "", "set plugins.enabled = true in");
    desk.configure("[plugins]\nenabled = true");
    desk.check(&["call", "greet"], 0, "hello", "");
}

#[test]
fn a_plugin_that_is_configured_by_its_folder_is_left_alone() {
    let desk = Desk::new("[plugins]\nenabled = true\nfolders = ['source/greeter']\n");
    desk.check(&["call", "greet"], 0, "hello", "");
    desk.check(&["plugins", "remove", "greeter"], 2, "", "take");
    desk.check(&["plugins", "add", "source/greeter"], 2, "", "names no folder that holds plugins");
    assert!(desk.folder().exists());
}

#[test]
fn what_nobody_can_see_is_not_started_and_said_to_be_so() {
    for denial in ["[policy]\ndeny = ['plugin:greeter']\n", "[permissions]\ndeny = ['plugin:greeter']\n"] {
        let desk = Desk::new(&format!("{denial}[plugins]\nenabled = true\nfolders = ['source']\n"));
        desk.check(&["plugins"], 0, "not started", "nobody can see any of its tools");
        desk.check(&["call", "greet"], 1, "", "there is no tool");
        desk.check(&["doctor"], 0, "not started: nobody can see", "");
        assert_eq!(started(&desk.folder()), 0, "{denial}");
    }
    let desk = Desk::new("[plugins]\nenabled = true\nfolders = ['source']\ndeny = ['greet*']\n");
    desk.check(&["explain", "plugin:greeter/greet"], 0, "plugins.deny names its plugin 'greeter'", "");
    assert_eq!(started(&desk.folder()), 0);
}

#[test]
fn whoever_else_is_served_counts_too() {
    let callers = "[agents.'*']\ndeny = ['group:plugins']\n[agents.greeting]\nallow = ['greet']\n";
    let desk = Desk::new(&format!("{callers}[plugins]\nenabled = true\nfolders = ['source']\n"));
    desk.check(&["plugins"], 0, "ready", "");
    desk.check(&["call", "greet", "--agent", "greeting"], 0, "hello", "");
    desk.check(&["call", "greet"], 1, "", "there is no tool");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let desk = Desk::new("[plugins]\nenabled = true\nfolders = ['source', 'gone']\n");
    let manifest = MANIFEST.replace("optional = true", "optoinal = true");
    fs::write(desk.folder().join("plugin.toml"), &manifest).unwrap();
    desk.check(&["plugins", "check", "source/greeter"], 1, "plugin.toml:16: 'tools[1].optoinal'", "");
    desk.check(&["plugins"], 1, "", "plugin.toml:16");
    desk.check(&["doctor"], 1, "plugin.toml:16", "");
    fs::write(desk.folder().join("plugin.toml"), MANIFEST.replace("greeter.sh", "gone.sh")).unwrap();
    desk.check(&["plugins", "check", "source/greeter"], 1, "exited with status", "gone.sh");
    desk.configure("[servers.greeter]\ncommand = 'true'\n[plugins]\nenabled = true\nfolders = ['source']\n");
    desk.check(&["plugins", "--wait", "1"], 1, "", "its id is the name of the MCP server 'greeter'");
    desk.configure("[plugins]\nenabled = true\ndeny = ['[']\n");
    desk.check(&["plugins"], 2, "", "plugins.deny");
}

#[test]
fn a_folder_that_leads_out_of_itself_is_not_added() {
    let desk = Desk::new(ON);
    std::os::unix::fs::symlink(desk.root.path(), desk.folder().join("out")).unwrap();
    desk.check(&["plugins", "add", "source/greeter"], 2, "", "leads out of the plugin's folder");
    assert!(fs::read_dir(desk.root.path().join("plugins")).unwrap().next().is_none(), "nothing half is left");
}

#[test]
fn an_id_that_would_be_refused_later_is_refused_by_check_and_add() {
    // Built-in tools that are off, the bridge and the catalog of categories count as well.
    for id in ["kv_get", "kv-get", "run_command", "tool_search", "store_get", "tool_catalog_load", "git-hub"] {
        let desk = Desk::new(&format!("{ON}[servers.git_hub]\ncommand = 'true'\n"));
        desk.declare(|text| {
            text.replace("id = \"greeter\"", &format!("id = \"{id}\"")).replace("[requires]\nauth = [\"key\"]", "")
        });
        desk.check(&["plugins", "check", "source/greeter"], 1, "could not tell them apart", "");
        desk.check(&["plugins", "add", "source/greeter"], 2, "", "its id is the name of");
        assert!(!desk.has_added(), "{id}");
        // The same that the host says of one that is there already.
        desk.configure("[servers.git_hub]\ncommand = 'true'\n[plugins]\nenabled = true\nfolders = ['source']\n");
        desk.check(&["plugins", "--wait", "1"], 1, "", "its id is the name of");
    }
    let desk = Desk::new("[plugins]\nenabled = true\nfolders = ['source', 'more']\n");
    let more = desk.root.path().join("more/gree-ter");
    fs::create_dir_all(&more).unwrap();
    fs::write(more.join("plugin.toml"), MANIFEST).unwrap();
    desk.check(&["plugins", "check", "source/greeter"], 1, "its id is taken by plugin 'greeter' in", "");
}

/// What is put in place is what was checked, whatever the plugin's code does while it is.
#[test]
fn a_manifest_that_changes_during_the_check_is_not_added() {
    let desk = Desk::new(ON);
    let rewrites = PROGRAM.replace("echo x >>started", "sed -i.old 's/^id = .*/id = \"read_file\"/' plugin.toml");
    fs::write(desk.folder().join("greeter.sh"), rewrites).unwrap();
    desk.check(&["plugins", "add", "source/greeter"], 2, "", "has changed while it was checked; nothing is added");
    assert!(!desk.has_added());
}

#[test]
fn what_fails_the_check_is_not_added() {
    type Change = fn(&str) -> String;
    let rows: [(Change, &str); 3] = [
        (|text| text.replace("greeter.sh", "gone.sh"), "exited with status"),
        (|text| text.replace("name = \"greet\"", "name = \"greet_all\""), "does not declare, which are dropped: greet"),
        (|text| text.replace("type = \"object\"", "type = \"list\""), "would not be served"),
    ];
    for (change, told) in rows {
        let desk = Desk::new(ON);
        desk.declare(change);
        desk.check(&["plugins", "check", "source/greeter"], 1, told, "");
        desk.check(&["plugins", "add", "source/greeter"], 2, "", told);
        assert!(!desk.has_added());
    }
}

#[test]
fn what_a_plugin_requires_and_is_not_there_is_told_and_nothing_is_started() {
    let desk = Desk::new(ON);
    let requires =
        "[requires]\nconfig = [\"units\"]\nenv = [\"TOKEN\"]\nauth = [\"key\", \"other\"]\ncapabilities = [\"maps\"]";
    desk.declare(|text| text.replace("[requires]\nauth = [\"key\"]", requires));
    let (code, out, _) = desk.run(&["plugins", "check", "source/greeter", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &found["started"], &found["lacking"]),
        (
            1,
            &false.into(),
            &serde_json::json!([
                "it needs the setting 'units'; set plugins.settings.greeter.config.units",
                "it needs the environment variable TOKEN; set plugins.settings.greeter.env.TOKEN",
                "it needs the credential 'other'; set plugins.settings.greeter.auth.other",
            ])
        )
    );
    assert_eq!(found["conditions"], serde_json::json!(["it is seen only by clients that have the capability maps"]));
    assert_eq!(started(&desk.folder()), 0);
    // That is for the configuration to mend, so it may be added.
    desk.check(
        &["plugins", "add", "source/greeter"],
        0,
        "added plugin",
        "Not usable as it is: it needs the setting 'units'",
    );
    assert!(desk.has_added());
    // What a single tool lacks does not keep the others from being tried.
    let desk = Desk::new(ON);
    desk.declare(|text| text.replace("optional = true", "requires = { env = [\"TOKEN\"] }"));
    desk.check(&["plugins", "check", "source/greeter"], 1, "'shout': it needs the environment variable TOKEN", "");
    assert_eq!(started(&desk.folder()), 1);
}

#[test]
fn a_plugin_that_is_configured_by_its_folder_is_known_by_whatever_path_leads_there() {
    for folders in ["'source', 'source/../source/greeter'", "'source', './link'", "'all', 'source/greeter'"] {
        let desk = Desk::new(&format!("[plugins]\nenabled = true\nfolders = [{folders}]\n"));
        let link = |from: &str, to: PathBuf| {
            let from = desk.root.path().join(from);
            fs::create_dir_all(from.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, from).unwrap();
        };
        link("link", desk.folder());
        link("all/greeter", desk.folder());
        desk.check(&["plugins", "remove", "greeter"], 2, "", "out of plugins.folders");
        assert!(desk.folder().join("greeter.sh").exists() && desk.root.path().join("all/greeter").exists());
    }
    // Of a link among the plugins only the link goes.
    let desk = Desk::new(ON);
    fs::create_dir(desk.root.path().join("plugins")).unwrap();
    std::os::unix::fs::symlink(desk.folder(), desk.root.path().join("plugins/greeter")).unwrap();
    desk.check(&["plugins", "add", "source/greeter", "--force"], 2, "", "there already");
    desk.check(&["plugins", "remove", "greeter"], 0, "removed plugin", "");
    assert!(!desk.has_added() && desk.folder().join("greeter.sh").exists());
}

#[test]
fn settings_that_cannot_be_read_are_told_by_their_own_key() {
    let desk = Desk::new("");
    let config = "[plugins]\nenabled = true\nfolders = ['source']\n\
                  [plugins.settings.greeter]\nauth = { key = '${env:NO_SUCH_VARIABLE_HERE}' }\n";
    fs::write(desk.root.path().join("toolcrib.toml"), config).unwrap();
    let key = "plugins.settings.greeter.auth.key in";
    desk.check(&["explain", "plugin:greeter/greet"], 0, key, "");
    desk.check(&["plugins"], 0, "not started", "environment variable NO_SUCH_VARIABLE_HERE is not set");
    desk.check(&["plugins", "check", "source/greeter"], 1, key, "");
    for words in [["plugins", "list"], ["explain", "plugin:greeter/greet"], ["plugins", "--json"]] {
        let (_, out, err) = desk.run(&words);
        assert!(!format!("{out}{err}").contains("plugins.deny"), "{out}{err}");
    }
    assert_eq!(started(&desk.folder()), 0);
}

#[test]
fn tools_are_counted_as_they_are_offered_and_a_lost_name_comes_with_a_remedy() {
    let desk = Desk::new("[plugins]\nenabled = true\nfolders = ['source']\n");
    desk.declare(|text| text.replace("name = \"shout\"\noptional = true", "name = \"whisper\""));
    desk.check(&["plugins"], 0, "1 of 2", "declares tools that it does not offer: whisper");
    desk.check(&["doctor"], 0, "1 of 2", "");
    let (_, out, _) = desk.run(&["plugins", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let offered: Vec<&Value> =
        report["plugins"][0]["tools"].as_array().unwrap().iter().map(|tool| &tool["offered"]).collect();
    assert_eq!(offered, [&Value::Bool(true), &Value::Bool(false)]);
    // Another plugin, first by its id, with a tool of the same name.
    desk.declare(|text| text.replace("optional = true", ""));
    let other = desk.root.path().join("source/abel");
    fs::create_dir(&other).unwrap();
    fs::write(
        other.join("plugin.toml"),
        MANIFEST.replace("\"greeter\"", "\"abel\"").replace("[requires]\nauth = [\"key\"]", ""),
    )
    .unwrap();
    fs::write(other.join("greeter.sh"), PROGRAM).unwrap();
    let told = "greeter/greet is seen by nobody; plugin:abel/greet has the name greet; to change that, give one of them another name";
    desk.check(&["plugins"], 0, "1 of 2", told);
    desk.check(&["plugins"], 0, "", "names.conflict = \"namespace\"");
}

#[test]
fn what_is_in_error_ends_the_list_with_an_error() {
    let desk = Desk::new("[plugins]\nenabled = true\nfolders = ['source', 'gone']\n");
    desk.check(&["plugins"], 1, "ready", "gone cannot be read");
    desk.configure("[plugins]\nenabled = true\nfolders = ['source']\n");
    desk.check(&["plugins"], 0, "ready", "");
    fs::write(desk.folder().join("greeter.sh"), "exit 3").unwrap();
    desk.check(&["plugins"], 1, "down", "exited with status 3");
    // One that is not there in time.
    fs::write(desk.folder().join("greeter.sh"), "sleep 60").unwrap();
    desk.check(&["plugins", "--wait", "0"], 1, "starting", "");
}
