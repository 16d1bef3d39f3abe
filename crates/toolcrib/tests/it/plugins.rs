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
    assert_eq!(report["plugins"][0]["tools"][0], serde_json::json!({"name": "greet", "optional": false}));
    desk.check(&["plugins", "remove", "greeter"], 0, "removed plugin 'greeter'", "");
    assert!(!home.exists() && desk.folder().exists());
    desk.check(&["plugins", "remove", "greeter"], 1, "", "There is no plugin 'greeter'");
    desk.check(&["call", "greet"], 1, "", "there is no tool");
}

#[test]
fn without_a_folder_in_the_configuration_plugins_are_in_the_users_own() {
    let desk = Desk::new("");
    desk.check(&["plugins"], 0, "", "Plugins are off");
    desk.check(&["plugins", "add", "source/greeter"], 0, "config/toolcrib/plugins/greeter", "Plugins are off");
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
