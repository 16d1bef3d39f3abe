//! Rules about paths, at the built command: from where relative paths start, where links lead, and which rules stop the
//! start.

use std::{fs, path::Path, process::Command};

/// A folder with `data/secret/key`, `data/open`, the link `data/link` to `secret`, and `cwd` to be called from.
fn disk() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["data/secret", "cwd"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("data/secret/key"), "top secret").unwrap();
    fs::write(folder.path().join("data/open"), "for all").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("secret", folder.path().join("data/link")).unwrap();
    folder
}

/// The exit code and both streams. `{at}` in the texts is the folder.
fn run(folder: &Path, config: &str, args: &[&str]) -> (i32, String) {
    let fill = |text: &str| text.replace("{at}", folder.to_str().unwrap());
    fs::write(folder.join("toolcrib.toml"), fill(config)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(args.iter().map(|arg| fill(arg)))
        .args(["--config", "../toolcrib.toml"])
        .current_dir(folder.join("cwd"))
        .stdin(std::process::Stdio::null())
        .env("TOOLCRIB_STORE", ":memory:")
        .env("XDG_CONFIG_HOME", folder)
        .env_remove("TOOLCRIB_CONFIG")
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), text)
}

#[cfg(unix)]
#[test]
fn the_file_tools_are_judged_by_what_they_open() {
    #[track_caller]
    fn check(permissions: &str, tool: &str, path: &str, want: i32) {
        let disk = disk();
        let config = format!("[builtin.files]\nroots = ['{{at}}/data']\n[permissions]\n{permissions}\n");
        let content = if tool == "write_file" { r#","content":"x""# } else { "" };
        let (code, text) = run(disk.path(), &config, &["call", tool, &format!(r#"{{"path":"{path}"{content}}}"#)]);
        assert_eq!(code, want, "{permissions}: {tool} {path}: {text}");
        assert!(want == 0 || !text.contains("top secret"), "{text}");
    }
    let denied = "deny = ['read_file({at}/data/secret/**)']";
    for (path, want) in
        [("{at}/data/secret/key", 3), ("secret/key", 3), ("{at}/data/link/key", 3), ("link/key", 3), ("open", 0)]
    {
        check(denied, "read_file", path, want);
    }
    check("scratch = ['{at}/cwd']", "write_file", "new", 3);
    check("scratch = ['.']", "write_file", "new", 3);
    check("scratch = ['{at}/data']", "write_file", "new", 0);
    check("scratch = ['../data']", "write_file", "new", 0);
    check("paths = ['{at}/cwd']", "read_file", "open", 3);
    check("paths = ['{at}/data']", "read_file", "open", 0);
}

#[test]
fn rules_that_mean_nothing_stop_the_start() {
    #[track_caller]
    fn check(permissions: &str, want: &str) {
        let disk = disk();
        let (code, text) = run(disk.path(), permissions, &["tools"]);
        assert!(code == 2 && text.contains(want), "{permissions}: {code} {text}");
    }
    for list in ["allow", "deny", "ask"] {
        for text in ["read_file(/x", "read_file(/x)/**", "(x)"] {
            check(&format!("[permissions]\n{list} = ['{text}']"), "brackets");
        }
        check(&format!("[permissions]\n{list} = ['group:fss']"), "no group called 'fss'");
    }
    check("[permissions]\nrules = [{ tool = 'read_file(/x', action = 'deny' }]", "brackets");
    for list in ["allow", "deny"] {
        check(&format!("[permissions.roles.worker]\n{list} = ['read_file(/x']"), "brackets");
        check(&format!("[permissions.roles.worker]\n{list} = ['group:fss']"), "no group called 'fss'");
    }
    check("[permissions]\nrisks = [{ tool = 'group:fss', risk = 'critical' }]", "no group called 'fss'");
    check("[permissions]\nscratch = ['']", "permissions.scratch: a folder's name is empty");
    check("[permissions]\npaths = [' ']", "permissions.paths: a folder's name is empty");
}

#[test]
fn the_doctor_knows_rules_that_name_no_tool() {
    let disk = disk();
    let config = "[permissions]\n\
        deny = ['run_comand', 'write_file(/etc/*)', 'mcp:upp/*']\n\
        ask = ['builtin:read_file', 'read_file', 'kv_*']\n\
        rules = [{ tool = 'fetch_ulr', action = 'deny' }, { tool = 'nix', action = 'allow' }]\n\
        roles.worker = { allow = ['nobody'], deny = ['wirte_file'] }\n";
    let (code, text) = run(disk.path(), config, &["doctor"]);
    assert_eq!(code, 0, "{text}");
    for (key, pattern) in [
        ("deny", "run_comand"),
        ("deny", "mcp:upp/*"),
        ("ask", "builtin:read_file"),
        ("rules[0]", "fetch_ulr"),
        ("roles.worker.deny", "wirte_file"),
    ] {
        let want = format!("warning: '{pattern}' in permissions.{key} in ");
        let told = text.lines().find(|line| line.starts_with(&want));
        assert!(told.is_some_and(|line| line.ends_with("it restricts nothing")), "{want}: {text}");
    }
    for (key, pattern) in [("rules[1]", "nix"), ("roles.worker.allow", "nobody")] {
        let want = format!("warning: '{pattern}' in permissions.{key} in ");
        let told = text.lines().find(|line| line.starts_with(&want));
        assert!(told.is_some_and(|line| !line.contains("restricts")), "{want}: {text}");
    }
    for pattern in ["write_file(/etc/*)", "'read_file'", "kv_*"] {
        assert!(!text.contains(pattern), "{pattern}: {text}");
    }
}
