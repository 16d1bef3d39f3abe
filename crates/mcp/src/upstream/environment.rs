//! The environment of a child, and finding its program.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

// Inherited by name. Everything else, tokens above all, stays with us unless configured.
const INHERITED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "TMPDIR", "TZ", "SHELL", "SSL_CERT_FILE"];
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The child's environment: the allow-list out of `ours`, then what is configured.
pub(super) fn child_environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    configured: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let inherited = |name: &OsStr| {
        name.to_str().is_some_and(|name| {
            INHERITED.contains(&name) || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
    };
    let mut env: BTreeMap<OsString, OsString> = ours.into_iter().filter(|(name, _)| inherited(name)).collect();
    env.extend(configured.iter().map(|(name, value)| (name.into(), value.into())));
    env
}

/// Where `command` is, or a text that says why it cannot be started.
pub(super) fn find_program(command: &str, path: Option<&OsStr>, cwd: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(cwd) = cwd
        && !cwd.is_dir()
    {
        return Err(format!("working directory '{}' does not exist; create it or correct 'cwd'", cwd.display()));
    }
    if command.is_empty() {
        return Err("'command' is empty; name the program to start".to_owned());
    }
    if command.contains('/') {
        let direct = cwd.map_or_else(|| PathBuf::from(command), |cwd| cwd.join(command));
        return if is_executable(&direct) {
            // Relative to the child's working directory, which is where it is looked up.
            Ok(std::path::absolute(&direct).unwrap_or(direct))
        } else if direct.exists() {
            Err(format!("'{command}' is not an executable file; make it one or correct 'command'"))
        } else {
            Err(format!("'{command}' does not exist; correct 'command'"))
        };
    }
    std::env::split_paths(path.unwrap_or_default())
        .map(|folder| folder.join(command))
        .find(|candidate| is_executable(candidate))
        .ok_or_else(|| format!("command '{command}' was not found in PATH; install it or give its full path"))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_allow_list_and_the_configuration_reach_a_child() {
        let ours = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("XDG_DATA_HOME", "/x"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("HOME", "/h"),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let configured =
            BTreeMap::from([("TOKEN".to_owned(), "t".to_owned()), ("HOME".to_owned(), "/other".to_owned())]);
        let env = child_environment(ours, &configured);
        let env: Vec<_> = env.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect();
        assert_eq!(env, ["HOME=/other", "LC_ALL=C", "PATH=/bin", "TOKEN=t", "XDG_DATA_HOME=/x"]);
    }

    #[track_caller]
    fn refuses(command: &str, cwd: Option<&str>, reason: &str) {
        let path = std::env::var_os("PATH");
        let error = find_program(command, path.as_deref(), cwd.map(Path::new)).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_explained() {
        refuses("no-such-program-here", None, "was not found in PATH");
        refuses("/no/such/program", None, "does not exist");
        refuses("/etc/passwd", None, "not an executable file");
        refuses("sh", Some("/no/such/folder"), "working directory");
        refuses("", None, "empty");
        assert!(find_program("sh", Some(OsStr::new("/usr/bin:/bin")), None).is_ok());
    }
}
