//! Other names under which people know the built-in tools: those of other hosts (openclaw §1.3, §2.2).

/// A name of another host, in the spelling used there, and the built-in tool that does the same.
const HOSTS: &[(&str, &str)] = &[
    ("Bash", "run_command"),
    ("Read", "read_file"),
    ("Write", "write_file"),
    ("Edit", "edit_file"),
    ("Glob", "find_files"),
    ("Grep", "search_text"),
    ("WebFetch", "fetch_url"),
    ("exec", "run_command"),
    ("apply_patch", "edit_file"),
    ("apply-patch", "edit_file"),
    ("web_fetch", "fetch_url"),
];

/// The built-in tool that another host calls so, whatever the case.
pub(super) fn builtin(name: &str) -> Option<&'static str> {
    HOSTS.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name)).map(|(_, ours)| *ours)
}
