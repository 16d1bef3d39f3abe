use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn check(path: &str, cwd: Option<&str>, want: &str) {
    assert_eq!(normalise(path, cwd), want, "{path} in {cwd:?}");
}

#[test]
fn a_path_leads_where_its_text_says() {
    check("/a/b", None, "/a/b");
    check("/a//b/./c/", None, "/a/b/c");
    check("/a/../b", None, "/b");
    check("/../../etc", None, "/etc");
    check("//etc/passwd", None, "/etc/passwd");
    check("/workspace/src/../../etc/passwd", None, "/etc/passwd");
    check("x", Some("/work"), "/work/x");
    check("../x", Some("/work"), "/x");
    check("../../../x", Some("/work"), "/x");
    check("", Some("/work"), "/work");
    check(".", Some("/work/"), "/work");
    check("x/../..", None, "..");
    check("../x", None, "../x");
    check("", None, ".");
    check("x", Some("relative"), "x");
    check(r"C:\a\..\b", None, "C:/b");
    check(r"c:/a/../../..", None, "C:/");
    check(r"..\x", Some(r"C:\work"), "C:/x");
    check(r"\\server\share\..", None, "/server");
    check("a\\b", None, if cfg!(windows) { "a/b" } else { "a\\b" });
    check("./C:/x", None, "./C:/x");
    check("/a/...", None, "/a/...");
}

#[track_caller]
fn within(path: &str, root: &str, want: bool) {
    assert_eq!(is_within(path, root), want, "{path} in {root}");
}

#[test]
fn inside_is_by_whole_components() {
    within("/workspace/src/../../etc/passwd", "/workspace", false); // oneringai.md case 102
    within("/data", "/data", true);
    within("/data/x", "/data", true);
    within("/data/x", "/data/", true);
    within("/data-private/x", "/data", false);
    within("/data/../data-private", "/data", false);
    within("/anything", "/", true);
    within("data/x", "/data", false);
    within("x", ".", true);
    within("../x", ".", false);
    within("..", ".", false);
    within("..x", ".", true);
    within("/x", ".", false);
    within("src/a", "src", true);
    within(r"C:\data\..\x", r"C:\data", false);
    within(r"c:\data\x", r"C:\data", true);
}

#[track_caller]
fn collects(arguments: &Value, want: &[&str]) {
    let found = collect_paths(arguments);
    assert_eq!(found.paths, want, "{arguments}");
    assert!(found.complete);
}

#[test]
fn path_arguments_are_found_by_name_and_form() {
    collects(&json!({"path": "/a"}), &["/a"]);
    collects(&json!({"file_path": "/a", "content": "/b"}), &["/a"]);
    collects(&json!({"filePath": "/a", "target-path": "/b"}), &["/a", "/b"]);
    collects(&json!({"paths": ["/a", "/b"]}), &["/a", "/b"]);
    collects(&json!({"directory": "d", "file": "f"}), &["d", "f"]);
    collects(&json!({"edits": [{"path": "/a"}, {"path": "/b"}]}), &["/a", "/b"]);
    collects(&json!({"source": "/a", "destination": "/b"}), &["/a", "/b"]);
    collects(&json!({"source": "web"}), &[]);
    collects(&json!({"path": "/a", "output": "/b"}), &["/a", "/b"]);
    collects(&json!({"resource": "file:///etc/pass%77d?x#y"}), &["/etc/passwd"]);
    collects(&json!({"uri": "FILE://localhost/etc/passwd"}), &["/etc/passwd"]);
    collects(&json!({"uri": "file:/etc/passwd"}), &["/etc/passwd"]);
    collects(&json!({"uri": "file:///C:/x"}), &["C:/x"]);
    collects(&json!({"text": "file: see below"}), &[]);
    collects(&json!({"pattern": "*.rs"}), &[]);
    collects(&json!({"pattern": "/api/v1"}), &[]);
    collects(&json!({"pattern": "../../etc/*"}), &["../../etc/*"]);
    collects(&json!({"glob": "/etc/*"}), &["/etc/*"]);
    collects(&json!({"query": "x"}), &[]);
    assert!(!collect_paths(&json!({"uri": "file:///%zz"})).complete, "what cannot be decoded is said");
    let mut deep = json!({"path": "/a"});
    for _ in 0..40 {
        deep = json!({ "x": deep });
    }
    assert!(!collect_paths(&deep).complete, "what lies too deep is said");
}

#[track_caller]
fn expands(path: &str, place: Place<'_>, want: Option<&str>) {
    assert_eq!(place.expand(path).as_deref(), want, "{path}");
}

#[test]
fn what_is_unknown_is_not_guessed() {
    let place = Place { cwd: Some("/work"), home: Some("/home/ada") };
    expands("~", place, Some("/home/ada"));
    expands("~/../bob", place, Some("/home/bob"));
    expands("~bob/x", place, None);
    expands("x", place, Some("/work/x"));
    expands("x", Place::default(), None);
    expands("~/x", Place::default(), None);
    expands("/x/..", Place::default(), Some("/"));
}

proptest! {
    #[test]
    fn normalising_is_idempotent_and_never_escapes(path in r"([a-zC:~.\\/]|\.\./|/){0,24}", cwd in r"/[a-z./]{0,8}") {
        let alone = normalise(&path, None);
        prop_assert_eq!(normalise(&alone, None), alone.clone());
        let joined = normalise(&path, Some(&cwd));
        prop_assert_eq!(normalise(&joined, Some(&cwd)), joined.clone());
        prop_assert!(is_absolute(&joined));
        prop_assert!(joined.split('/').all(|part| part != ".." && part != "."), "{}", joined);
    }

    #[test]
    fn what_lies_within_begins_with_the_root(path in r"([a-c./]|\.\./){0,16}", root in r"/[a-c]{1,2}") {
        let full = normalise(&path, Some("/a/b"));
        let inside = is_within(&full, &root);
        prop_assert_eq!(inside, full == root || full.starts_with(&format!("{root}/")));
    }
}

#[test]
fn file_uris_without_slashes() {
    #[track_caller]
    fn check(arguments: &Value, want: &[&str]) {
        let found = collect_paths(arguments);
        assert!(found.complete, "{arguments}");
        assert_eq!(found.paths, want, "{arguments}");
    }
    check(&json!({"path": "file:etc/passwd"}), &["/etc/passwd", "etc/passwd"]);
    check(&json!({"path": "file:a b"}), &["/a b", "a b"]);
    check(&json!({"any": "file:etc/passwd"}), &["/etc/passwd", "etc/passwd"]);
    check(&json!({"any": "FILE:\\etc\\passwd"}), &["/etc/passwd"]);
    // Prose.
    check(&json!({"any": "file: see below"}), &[]);
    check(&json!({"any": "file:a is broken"}), &[]);
}
