//! Paths on a real disk: links, missing ends, and what text alone gets wrong.

use std::fs;

use serde_json::json;
use toolcrib_core::{
    Source,
    permission::{Action, Condition, Operator, Rule, RuleSet},
};
use toolcrib_engine::{
    Trust,
    permission::{PermissionSettings, Places, RoleLists},
};

use super::{Allow, Ask, Hard, Soft, Word, check, patterns, trust};
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

/// A source whose tools take relative paths from that folder.
fn at_home(source: &str, folder: &str) -> Places {
    let source: Source = source.parse().unwrap();
    [(source, folder.to_owned())].into_iter().collect()
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
    // Relative ones start from where the source takes them; where that is not known, a person may say so.
    path(roots(), "file", Soft);
    path(roots(), "../outside", Soft);
    let from = |folder: &str| PermissionSettings { places: at_home("mcp:fs", folder), ..roots() };
    path(from(&disk.root), "file", Allow);
    path(from(&disk.root), "../outside", Hard);
    path(from(&at("out")), "file", Hard);
    path(from(&at("sub")), "../file", Allow);
    path(PermissionSettings { places: at_home("mcp:other", &disk.root), ..roots() }, "file", Soft);
    // One that certainly leads out outweighs one of which that is unknown.
    check(roots(), &Judged::new("mcp:fs/move", json!({"source": "a", "destination": "/etc/passwd"})), Hard);
    // `~` may be taken for a plain name.
    let home = |folder: &str, home: &str| PermissionSettings { home: Some(home.to_owned()), ..from(folder) };
    path(home(&at("sub"), &disk.root), "~/file", Allow);
    path(home(&disk.base, &disk.root), "~/file", Hard);
    path(home(&disk.root, &disk.base), "~/file", Hard);
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
    // What the file tools take relative paths from counts.
    for (folder, path, want) in [
        (&disk.root, "file", Allow),
        (&disk.root, "out/file", Ask),
        (&disk.root, "../outside/file", Ask),
        (&disk.base, "file", Ask),
        (&disk.base, "root/file", Allow),
    ] {
        let settings = PermissionSettings { places: at_home("builtin", folder), ..scratch() };
        check(settings, &Judged::new("builtin/write_file", json!({"path": path, "content": ""})), want);
    }
}

/// What the rule languages say of a path in the forms of settings in which it can be written.
#[cfg(unix)]
#[test]
fn rules_about_paths_follow_links_and_the_folder_of_the_source() {
    let disk = disk();
    let at = |rest: &str| format!("{}/{rest}", disk.root);
    let base = |rest: &str| format!("{}/{rest}", disk.base);
    let call = |path: &str| Judged::new("builtin/read_file", json!({"path": path}));
    let here = || PermissionSettings { places: at_home("builtin", &disk.root), ..trust(Trust::All) };
    let content = |folder: &str| format!("read_file({folder}/**)");
    let when = |operator: &str, value: &str, action| {
        let operator: Operator = operator.parse().unwrap();
        let condition = Condition::new("path", operator, value).unwrap();
        RuleSet::new(vec![Rule { when: vec![condition], ..Rule::new("read_file".parse().unwrap(), action, "test") }])
    };
    let roles = |lists: RoleLists| [("worker".to_owned(), lists)].into();
    let outside = base("outside");
    let denying = |folder: &str| {
        [
            PermissionSettings { deny: patterns(&[&content(folder)]), ..here() },
            PermissionSettings {
                rules: RuleSet::new(vec![Rule::new(content(folder).parse().unwrap(), Action::Deny, "test")]),
                ..here()
            },
            PermissionSettings { rules: when("starts_with", folder, Action::Deny), ..here() },
            PermissionSettings {
                roles: roles(RoleLists { deny: patterns(&[&content(folder)]), ..RoleLists::default() }),
                ..here()
            },
        ]
    };
    let as_worker = |path: &str| call(path).with(|call| call.identity.roles = vec!["worker".into()]);
    for (folder, path, want) in [
        (&outside, outside.clone() + "/key", Hard),
        (&outside, at("out/key"), Hard),
        (&outside, "out/key".into(), Hard),
        (&outside, "../outside/key".into(), Hard),
        (&outside, at("sub/../out/key"), Hard),
        (&outside, at("file"), Allow),
        (&outside, "sub/file".into(), Allow),
        (&at("sub"), "in/key".into(), Hard),
        (&at("sub"), "sub/key".into(), Hard),
        // The folder that a rule begins with means what it points to.
        (&at("in"), at("sub/key"), Hard),
        (&at("in"), "sub/key".into(), Hard),
        (&at("in"), at("file"), Allow),
    ] {
        for settings in denying(folder) {
            check(settings, &as_worker(&path), want);
        }
    }
    // Where they lead cannot be told: somebody has to say.
    for path in [at("dangling"), at("file/x")] {
        check(PermissionSettings { deny: patterns(&[&content(&outside)]), ..here() }, &call(&path), Soft);
    }
    let nowhere = PermissionSettings { places: Places::default(), ..here() };
    let denied = PermissionSettings { deny: patterns(&[&content(&outside)]), ..nowhere.clone() };
    check(denied.clone(), &call("key"), Soft);
    check(denied, &call(&at("file")), Allow);
    let ruled = PermissionSettings { rules: when("starts_with", &outside, Action::Deny), ..nowhere.clone() };
    check(ruled, &call("key"), Soft);

    let allowing = |folder: &str, settings: &PermissionSettings| {
        let settings = || PermissionSettings { trust: Trust::None, ..settings.clone() };
        [
            PermissionSettings { allow: patterns(&[&content(folder)]), ..settings() },
            PermissionSettings { rules: when("starts_with", &format!("{folder}/"), Action::Allow), ..settings() },
        ]
    };
    for (folder, path, want) in [
        (&disk.root, at("file"), Allow),
        (&disk.root, at("in/file"), Allow),
        (&disk.root, at("out/key"), Ask),
        (&disk.root, at("out/../key"), Ask),
        (&disk.root, at("dangling"), Ask),
        (&at("in"), at("in/file"), Allow),
        (&at("in"), at("file"), Ask),
        (&outside, at("out/key"), Ask),
    ] {
        for settings in allowing(folder, &here()) {
            check(settings, &call(&path), want);
        }
    }
    check(allowing(&disk.root, &here())[0].clone(), &call("file"), Allow);
    check(allowing(&disk.root, &here())[0].clone(), &call("out/key"), Ask);
    check(allowing(&disk.root, &nowhere)[0].clone(), &call("file"), Ask);
}
