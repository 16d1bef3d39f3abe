//! Paths in arguments: which arguments are paths, and where a path leads by its text alone.
//!
//! Nothing here looks at a disk: symbolic links and the case rules of a file system are the engine's to check. What it
//! found comes back as [`RealPaths`].

use std::collections::BTreeMap;

use serde_json::Value;

use super::walk::{plain_name, texts};

/// What relative paths and `~` start from, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The folder from which the tool itself takes relative paths, absolute.
    pub cwd: Option<&'a str>,
    /// The home folder, absolute.
    pub home: Option<&'a str>,
}

/// Names under which tools take paths, in [`plain_name`] form (oneringai.md §2.7: path, file_path, target_path,
/// directory; the rest as MCP servers use them).
const STRONG: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filepath",
    "filepaths",
    "filename",
    "filenames",
    "targetpath",
    "targetfile",
    "directory",
    "directories",
    "dir",
    "folder",
    "sourcepath",
    "destinationpath",
    "oldpath",
    "newpath",
    "inputpath",
    "outputpath",
    "notebookpath",
    "absolutepath",
    "relativepath",
    "rootpath",
];

/// Names that mean a path beside one of the others, or in pairs (`source` and `destination` of a move).
const WEAK: &[&str] = &["source", "destination", "src", "dst", "dest", "from", "to", "root", "cwd", "output", "target"];

/// Where absolute paths lead on the disk, links followed, by the text that was looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealPaths(BTreeMap<String, Option<String>>);

impl RealPaths {
    /// What is known of a path: `None` if nobody looked, `Some(None)` if it was looked for in vain.
    pub fn get(&self, path: &str) -> Option<Option<&str>> {
        self.0.get(path).map(Option::as_deref)
    }
}

impl FromIterator<(String, Option<String>)> for RealPaths {
    fn from_iter<I: IntoIterator<Item = (String, Option<String>)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// Names of patterns over paths; they count where they climb or are absolute.
const GLOBS: &[&str] = &["pattern", "glob", "include", "exclude"];

/// Whether an argument of that name (`file_path`, `filePath`) is a path.
pub fn is_path_name(name: &str) -> bool {
    STRONG.contains(&plain_name(name).as_str())
}

/// Whether an argument of that name may be a path beside others or in a pair (`source`).
pub(super) fn may_be_path_name(name: &str) -> bool {
    WEAK.contains(&plain_name(name).as_str())
}

/// Whether a tool takes paths, by the names of its arguments.
pub fn takes_paths<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let mut ends = [false; 2];
    for name in names {
        if is_path_name(name) {
            return true;
        }
        match plain_name(name).as_str() {
            "source" | "src" => ends[0] = true,
            "destination" | "dest" | "dst" => ends[1] = true,
            _ => {}
        }
    }
    ends == [true; 2]
}

/// The paths in the arguments of a call, as written (`file:` URIs decoded).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathArguments {
    /// The paths.
    pub paths: Vec<String>,
    /// Whether everything was seen; false for arguments too deep or too many, or a `file:` URI that cannot be read.
    pub complete: bool,
}

/// Collects the path arguments of a call: arguments named like paths at any depth, lists included, and every text that
/// is a `file:` URI. `source`, `destination` and their like count beside other paths and as a pair; a `pattern` or
/// `glob` counts when it climbs (`..`) or is absolute.
pub fn collect_paths(arguments: &Value) -> PathArguments {
    let mut found = PathArguments::default();
    let (mut weak, mut unread, mut keys) = (Vec::new(), false, Vec::new());
    let complete = texts(arguments, &mut |key, text| {
        let name = plain_name(key);
        if is_file_uri(text, STRONG.contains(&name.as_str())) {
            match file_uri(text) {
                Some(path) => {
                    // Without a slash some readers take the path as it stands, others from the root.
                    if !path.is_empty() && !is_absolute(&path) {
                        found.paths.push(format!("/{path}"));
                    }
                    found.paths.push(path);
                }
                None => unread = true,
            }
            return;
        }
        if STRONG.contains(&name.as_str()) {
            found.paths.push(text.to_owned());
        } else if GLOBS.contains(&name.as_str()) {
            let absolute = text.starts_with(['/', '~']) && text.contains('*');
            if absolute || text.split(['/', '\\']).any(|part| part == "..") {
                found.paths.push(text.to_owned());
            }
        } else if WEAK.contains(&name.as_str()) {
            keys.push(key);
            weak.push(text.to_owned());
        }
    });
    if !found.paths.is_empty() || takes_paths(keys.into_iter()) {
        found.paths.append(&mut weak);
    }
    found.complete = complete && !unread;
    found
}

/// Whether a text is a `file:` URI. One without slashes (`file:etc/passwd`) only where it is one word, or an argument
/// that is a path: prose begins like that as well.
fn is_file_uri(text: &str, path: bool) -> bool {
    let text = text.trim();
    let Some((scheme, rest)) = text.split_at_checked(5) else { return false };
    scheme.eq_ignore_ascii_case("file:")
        && (rest.starts_with(['/', '\\']) || path || !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// The path of a `file:` URI: host dropped, query and fragment cut off, percent signs decoded.
fn file_uri(text: &str) -> Option<String> {
    let rest = text.trim().get(5..)?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => rest,
    };
    // Readers of URIs take one for the other.
    let path = path.replace('\\', "/");
    let path = path.split(['?', '#']).next()?;
    let bytes = path.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let digits = path.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    let path = String::from_utf8(out).ok()?;
    // `/C:/x` is a Windows path with a slash in front.
    let drive = path.get(1..).filter(|rest| drive_of(rest).is_some());
    Some(drive.map_or_else(|| path.clone(), str::to_owned))
}

/// `C` of `C:/…` and `C:\…`.
fn drive_of(path: &str) -> Option<char> {
    let bytes = path.as_bytes();
    (bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\'))
        .then(|| char::from(bytes[0].to_ascii_uppercase()))
}

/// Whether a path names its place without a working folder.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.starts_with(r"\\") || drive_of(path).is_some()
}

/// The path with `.`, `..`, doubled and trailing slashes resolved by its text, joined to `cwd` where it is relative.
///
/// A `..` at the root stays at the root. Without a `cwd` a relative path stays relative and keeps the `..` it begins
/// with; nothing is `.`. Backslashes separate in Windows paths (`C:\…`, `\\…`) and on Windows; the result always has
/// forward slashes. `~` is an ordinary name: see [`Place::expand`].
pub fn normalise(path: &str, cwd: Option<&str>) -> String {
    let path = slashes(path);
    let joined = match cwd {
        // Once more for a Windows folder, whose relative paths have backslashes.
        Some(cwd) if !is_absolute(&path) && is_absolute(cwd) => slashes(&format!("{}/{path}", slashes(cwd))),
        _ => path,
    };
    let (root, rest) = match drive_of(&joined) {
        Some(drive) => (format!("{drive}:/"), &joined[3..]),
        None if joined.starts_with('/') => ("/".to_owned(), joined.as_str()),
        None => (String::new(), joined.as_str()),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if !root.is_empty() => {}
            _ => parts.push(part),
        }
    }
    // A relative path must not come out looking absolute: `./C:/x` stays below the folder it is in.
    if root.is_empty() && is_absolute(&parts.join("/")) {
        parts.insert(0, ".");
    }
    match format!("{root}{}", parts.join("/")) {
        empty if empty.is_empty() => ".".to_owned(),
        path => path,
    }
}

fn slashes(path: &str) -> String {
    if cfg!(windows) || path.starts_with(r"\\") || drive_of(path).is_some() {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    }
}

/// Whether `path` is `root` or lies below it, by whole components (`/data` does not hold `/data-private`; oneringai.md
/// case 102). Both are normalised first; a relative path is never within an absolute root.
pub fn is_within(path: &str, root: &str) -> bool {
    let (path, root) = (normalise(path, None), normalise(root, None));
    if root == "." {
        return !is_absolute(&path) && path != ".." && !path.starts_with("../");
    }
    path.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || root.ends_with('/') || rest.starts_with('/'))
}

impl Place<'_> {
    /// Where a path leads: `~` and `~/…` expanded, then [`normalise`]. `None` where that needs something unknown: the
    /// home folder, another user's (`~root`), or the working folder.
    pub fn expand(&self, path: &str) -> Option<String> {
        let path = match path.strip_prefix('~') {
            None => path.to_owned(),
            Some("") => self.home?.to_owned(),
            Some(rest) => format!("{}/{}", self.home?, rest.strip_prefix('/')?),
        };
        let full = normalise(&path, self.cwd);
        is_absolute(&full).then_some(full)
    }

    /// Every absolute path that a tool may take `path` for, with its `..` still there: what a `..` behind a link leads
    /// to is for the disk to say. `~` is read as the home folder and as a plain name. Empty where one of the readings
    /// starts from something unknown.
    pub fn readings(&self, path: &str) -> Vec<String> {
        let below = |folder: &str| format!("{}/{path}", folder.trim_end_matches('/'));
        let plain = if is_absolute(path) { Some(path.to_owned()) } else { self.cwd.map(below) };
        let Some(rest) = path.strip_prefix('~') else { return plain.into_iter().collect() };
        let home = self.home.filter(|_| rest.is_empty() || rest.starts_with('/'));
        match (plain, home) {
            (Some(plain), Some(home)) => vec![plain, format!("{home}{rest}")],
            _ => Vec::new(),
        }
    }

    /// Every absolute path to look up for `path`: each reading with its `..` resolved by the text, and as it is.
    pub fn spellings(&self, path: &str) -> impl Iterator<Item = String> {
        self.readings(path).into_iter().flat_map(|reading| [normalise(&reading, None), reading])
    }
}

#[cfg(test)]
mod tests;
