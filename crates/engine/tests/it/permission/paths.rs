//! Paths on a real disk: links, missing ends, and what text alone gets wrong.

use std::fs;

use serde_json::json;
use toolcrib_engine::{Trust, permission::PermissionSettings};

use super::{Allow, Ask, Hard, Soft, Word, check, trust};
use crate::judged::Judged;

/// `root/` with `file`, `sub/`, a link `out` to the folder beside it, `dangling` to nothing there, and `in` to `sub`.
struct Disk {
    _folder: tempfile::TempDir,
    base: String,
    root: String,
}

fn disk() -> Disk {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let root = base.join("root");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::create_dir_all(base.join("outside")).unwrap();
    fs::create_dir_all(base.join("root-private")).unwrap();
    fs::write(root.join("file"), "x").unwrap();
    #[cfg(unix)]
    for (target, link) in [("outside", "out"), ("nowhere", "dangling"), ("root/sub", "in")] {
        std::os::unix::fs::symlink(base.join(target), root.join(link)).unwrap();
    }
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    Disk { base: text(&base), root: text(&root), _folder: folder }
}

#[cfg(unix)]
#[test]
fn paths_stay_in_their_roots() {
    #[track_caller]
    fn path(settings: PermissionSettings, path: &str, want: Word) {
        check(settings, &Judged::new("mcp:fs/read", json!({"path": path})), want);
    }
    let disk = disk();
    let roots = || PermissionSettings { path_roots: Some(vec![disk.root.clone()]), ..trust(Trust::All) };
    let at = |rest: &str| format!("{}/{rest}", disk.root);
    for (rest, want) in [
        ("", Allow),
        ("file", Allow),
        ("sub/new/deep/file", Allow),
        ("in/file", Allow),
        ("sub/../file", Allow),
        // O102: out by text.
        ("../outside/file", Hard),
        ("sub/../../../etc/passwd", Hard),
        // Another folder with the same beginning.
        ("../root-private/file", Hard),
        // O103: out by a link, also to a file that is not there yet, also through a link and back.
        ("out", Hard),
        ("out/file", Hard),
        ("out/new/file", Hard),
        ("out/../file", Hard),
        ("in/../../outside", Hard),
        // What is created through a link that leads nowhere is created outside.
        ("dangling", Hard),
        ("dangling/x", Hard),
        // A file is no folder.
        ("file/x", Hard),
    ] {
        path(roots(), &at(rest), want);
    }
    path(roots(), "/etc/passwd", Hard);
    path(roots(), "~root/x", Hard);
    path(roots(), "~/x", Hard);
    path(roots(), &format!("file://{}", at("file")), Allow);
    path(roots(), &format!("file://{}", at("out/file")), Hard);
    // Relative ones start from the first root.
    path(roots(), "file", Allow);
    path(roots(), "../outside", Hard);
    // A root that is a link is where it leads.
    let linked = PermissionSettings { path_roots: Some(vec![at("in")]), ..trust(Trust::All) };
    path(linked.clone(), &at("sub/file"), Allow);
    path(linked, &at("file"), Hard);
    path(PermissionSettings { path_roots: Some(Vec::new()), ..trust(Trust::All) }, &at("file"), Hard);
    // Every path counts; no path is no matter.
    let both = json!({"source": at("file"), "destination": "/etc/passwd"});
    check(roots(), &Judged::new("mcp:fs/move", both), Hard);
    check(roots(), &Judged::new("mcp:fs/time", json!({"zone": "/etc"})), Allow);
    // Too deep to be seen whole.
    let mut deep = json!({"path": at("file")});
    for _ in 0..40 {
        deep = json!({"in": deep});
    }
    check(roots(), &Judged::new("mcp:fs/read", deep), Soft);
}

#[cfg(unix)]
#[test]
fn writing_is_harmless_in_the_scratch_area_alone() {
    let disk = disk();
    let scratch = || PermissionSettings { scratch: vec![disk.root.clone()], ..PermissionSettings::default() };
    for (path, want) in [
        (format!("{}/file", disk.root), Allow),
        (format!("{}/new/file", disk.root), Allow),
        (format!("{}/out/file", disk.root), Ask),
        (format!("{}/dangling", disk.root), Ask),
        (format!("{}/../outside/file", disk.root), Ask),
        (format!("{}/outside/file", disk.base), Ask),
        ("relative".into(), Ask),
        ("~/x".into(), Ask),
    ] {
        check(scratch(), &Judged::new("builtin/write_file", json!({"path": path, "content": ""})), want);
    }
}
