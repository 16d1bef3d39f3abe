//! Pages of the documentation, followed to the letter: their first configuration is a `toolcrib.toml`, their commands run in the
//! order in which they stand, and their programs are the examples.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// The fenced blocks of a page in their order: what stands behind the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut parts = page.split("\n```");
    parts.next();
    let mut blocks = Vec::new();
    while let (Some(block), Some(_)) = (parts.next(), parts.next()) {
        blocks.push(block.split_once('\n').unwrap());
    }
    blocks
}

/// A folder of its own, with the first configuration of a page.
struct Reader {
    folder: tempfile::TempDir,
}

impl Reader {
    fn of(page: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("toolcrib-page-").tempdir().unwrap();
        let first = blocks(page).into_iter().find(|(kind, _)| *kind == "toml").map_or("", |(_, text)| text);
        fs::write(folder.path().join("toolcrib.toml"), first).unwrap();
        Self { folder }
    }

    /// What a line of the page does.
    fn run(&self, line: &str) -> Output {
        let programs = Path::new(env!("CARGO_BIN_EXE_toolcrib")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(self.folder.path()).stdin(Stdio::null()).env("PATH", path);
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env(name, self.folder.path());
        }
        for name in ["TOOLCRIB_STORE", "TOOLCRIB_CONFIG", "TOOLCRIB_LOG"] {
            command.env_remove(name);
        }
        command.env("OPERATOR", "a-key-of-at-least-16-characters").output().unwrap()
    }

    /// What it prints; it must succeed.
    #[track_caller]
    fn prints(&self, line: &str) -> String {
        let output = self.run(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The lines of a page's blocks that are commands, without those that do not end.
fn commands(page: &str) -> Vec<&str> {
    let lines =
        blocks(page).into_iter().filter(|(kind, _)| ["sh", ""].contains(kind)).flat_map(|(_, text)| text.lines());
    lines.filter(|line| line.starts_with("toolcrib ") && !line.contains(" serve")).collect()
}

#[track_caller]
fn follow(name: &str, least: usize) {
    let page = page(name);
    let reader = Reader::of(&page);
    let commands = commands(&page);
    assert!(commands.len() >= least, "{name}: {commands:?}");
    for line in commands {
        reader.prints(line);
    }
}

#[test]
fn the_commands_about_tools_run() {
    follow("tools.md", 8);
}

#[test]
fn the_commands_about_stores_run() {
    follow("stores.md", 2);
}

#[test]
fn the_first_configuration_of_categories_runs() {
    let page = page("categories.md");
    let reader = Reader::of(&page);
    let findings = reader.prints("toolcrib doctor --json");
    assert!(!findings.contains("categories."), "{findings}");
    let tools = reader.prints("toolcrib tools");
    assert!(tools.contains("kv_get") && tools.contains("read_file") && !tools.contains("current_time"), "{tools}");
    let found = reader.prints("toolcrib call tool_catalog_search");
    assert!(found.contains(r#""category":"clock""#), "{found}");
    // The page wraps what is printed in one line, and shows no folder.
    let (_, shown) = page.split_once("$ toolcrib explain current_time\n").unwrap();
    let shown = shown.split("```").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = format!("{}/", reader.folder.path().canonicalize().unwrap().display());
    let printed = reader.prints("toolcrib explain current_time").replace(&folder, "");
    assert_eq!(printed.lines().next().unwrap(), shown);
    let grouped = reader.prints("toolcrib tools --group-by category");
    assert!(grouped.contains("clock: 0 tools, 0 tokens; 1 hidden") && grouped.contains("\nfiles: "), "{grouped}");
}

#[test]
fn what_is_wrong_with_categories_is_told() {
    let reader = Reader::of("");
    let write = |text: &str| fs::write(reader.folder.path().join("toolcrib.toml"), text).unwrap();
    write(
        "[categories]\nenabled = true\npinned = ['clok']\nexcept = ['x*']\n[categories.category.clock]\ntools = ['builtin/current_time']\n",
    );
    let told = reader.prints("toolcrib doctor");
    assert!(told.contains("'clok' in categories.pinned") && told.contains("the closest: clock"), "{told}");
    assert!(told.contains("'x*' in categories.except") && told.contains("it keeps nothing back"), "{told}");
    // A restriction that cannot be read hides everything.
    write("[categories]\nenabled = true\nexcept = 'clock'\n");
    let output = reader.run("toolcrib tools --json");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("categories.except") && said.contains("no tool is shown"), "{said}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("builtin/"), "{output:?}");
    // What cannot be seen in a label is not taken.
    write("[servers.s]\ncommand = 'true'\ncategory = 'dan\u{202e}ger'\n");
    let output = reader.run("toolcrib tools");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("servers.s.category") && said.contains("U+202E"),
        "{said}"
    );
    write("[groups]\nweb = ['fetch_url']\nWEB = ['read_file']\n");
    assert_eq!(reader.run("toolcrib tools").status.code(), Some(2));
}

/// What a person at a terminal is told names commands, not tools of a model.
#[test]
fn what_is_told_at_a_terminal_makes_sense_there() {
    let reader = Reader::of(&page("categories.md"));
    let said = |line: &str| String::from_utf8(reader.run(line).stderr).unwrap();
    let hidden = said("toolcrib call current_time");
    assert!(hidden.contains("`toolcrib explain current_time`") && !hidden.contains("tool_search"), "{hidden}");
    let unknown = said("toolcrib call qqqqqq");
    assert!(unknown.contains("toolcrib search") && !unknown.contains("tool_search"), "{unknown}");
    let loaded = said(r#"toolcrib call tool_catalog_load '{"category": "clock"}'"#);
    assert!(loaded.contains("categories.auto_load"), "{loaded}");
}

#[test]
fn the_program_about_the_tool_manager_is_the_example() {
    let example = fs::read_to_string(root().join("crates/toolcrib/examples/tool_manager.rs")).unwrap();
    let page = page("tools.md");
    let shown = blocks(&page).into_iter().find(|(kind, _)| *kind == "rust").unwrap().1;
    assert_eq!(format!("{shown}\n"), example);
}

/// What a program of one's own needs is what the examples need, in the versions that are used here.
#[test]
fn the_dependencies_on_the_page_are_those_of_the_examples() {
    let page = page("rust-tools.md");
    let manifest: toml::Table = blocks(&page).into_iter().find(|(kind, _)| *kind == "toml").unwrap().1.parse().unwrap();
    let workspace: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let ours = workspace["workspace"]["dependencies"].as_table().unwrap();
    let version = |value: &toml::Value| -> Option<String> {
        value.as_str().or_else(|| value.get("version")?.as_str()).map(|text| text.trim_start_matches('=').to_owned())
    };
    let listed: BTreeMap<String, &toml::Value> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.replace('-', "_"), value))
        .collect();
    for (name, value) in manifest["dependencies"].as_table().unwrap().iter().filter(|(name, _)| *name != "toolcrib") {
        let (asked, used) = (version(value).unwrap(), version(&ours[name]).unwrap());
        assert!(
            used == asked || used.starts_with(&format!("{asked}.")),
            "{name}: {asked} is asked for, {used} is used"
        );
    }
    assert!(
        root().join("crates/toolcrib/Cargo.toml").exists()
            && manifest["dependencies"]["toolcrib"]["path"].as_str().unwrap().ends_with("/crates/toolcrib")
    );
    for name in ["typed_tool", "tool_factory", "serve_tools", "tool_manager"] {
        let text = fs::read_to_string(root().join(format!("crates/toolcrib/examples/{name}.rs"))).unwrap();
        for used in text.lines().filter_map(|line| line.strip_prefix("use ")) {
            let name = used.split("::").next().unwrap();
            assert!(["std"].contains(&name) || listed.contains_key(name), "{name} is used and not listed");
        }
    }
}
