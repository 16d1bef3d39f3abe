//! The file tools on real files. Which paths are allowed is tested where paths are opened (`builtin/roots/tests.rs`);
//! here is what the tools make of it.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use serde_json::json;
use tempfile::TempDir;
use toolcrib_connect::builtin::{BuiltinSettings, ReadLimits, Root};
use toolcrib_engine::{CallContext, InvokeError};

use crate::tools::Tools;

fn folder(files: &[(&str, &str)]) -> (TempDir, Tools) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let tools = Tools::in_folder(folder.path());
    (folder, tools)
}

fn text(folder: &TempDir, path: &str) -> String {
    fs::read_to_string(folder.path().join(path)).unwrap()
}

#[tokio::test]
async fn read_file_returns_lines() {
    let (_folder, tools) = folder(&[("f", "one\ntwo\r\nthree"), ("empty", ""), ("end", "a\n")]);
    let cases = [
        (json!({"path": "f"}), "one\ntwo\r\nthree"),
        (json!({"path": "empty"}), ""),
        (json!({"path": "end"}), "a\n"),
        (json!({"path": "f", "offset": 2}), "two\r\nthree"),
        (json!({"path": "f", "offset": 3, "limit": 5}), "three"),
        (json!({"path": "f", "limit": 3}), "one\ntwo\r\nthree"),
        (json!({"path": "f", "limit": 1}), "one\n[more lines follow; continue with offset 2]"),
        (json!({"path": "f", "offset": 2, "limit": 1}), "two\r\n[more lines follow; continue with offset 3]"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(tools.ok("read_file", arguments.clone()).await, expected, "{arguments}");
    }
    let cases = [
        (json!({"path": "f", "offset": 4}), "has 3 lines"),
        (json!({"path": "empty", "offset": 2}), "has 0 lines"),
        (json!({"path": "none"}), "does not exist"),
        (json!({"path": "."}), "use list_directory"),
        (json!({"path": "../x"}), "contains '..'"),
        (json!({"path": "/etc/passwd"}), "outside the allowed folders"),
        (json!({}), "missing field `path`"),
        (json!({"path": "f", "lines": 1}), "unknown field"),
    ];
    for (arguments, part) in cases {
        let error = tools.err("read_file", arguments.clone()).await;
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn read_file_has_bounds() {
    let (folder, _) =
        folder(&[("long", &"0123456789\n".repeat(30)), ("wide", &format!("{}\nnext\n", "ü".repeat(500)))]);
    let tools = Tools::new(BuiltinSettings {
        roots: vec![Root { path: folder.path().into(), writable: false }],
        read: ReadLimits { lines: 20, chars: 100 },
        ..BuiltinSettings::default()
    });
    let page = tools.ok("read_file", json!({"path": "long"})).await;
    assert!(page.starts_with(&"0123456789\n".repeat(9)), "{page}");
    assert!(page.ends_with("continue with offset 10]"), "{page}");
    let page = tools.ok("read_file", json!({"path": "wide"})).await;
    assert_eq!(page, format!("{}\n[line 1 was cut at 100 characters; the next line is offset 2]", "ü".repeat(100)));
    assert_eq!(tools.ok("read_file", json!({"path": "wide", "offset": 2})).await, "next\n");
}

#[tokio::test]
async fn read_file_wants_text() {
    let (folder, tools) = folder(&[("nul", "abc\0def")]);
    assert!(tools.err("read_file", json!({"path": "nul"})).await.contains("not a text file"));
    fs::write(folder.path().join("latin"), b"caf\xe9\n").unwrap();
    assert_eq!(tools.ok("read_file", json!({"path": "latin"})).await, "caf\u{fffd}\n");
}

#[tokio::test]
async fn write_file_creates_and_replaces() {
    let (folder, tools) = folder(&[("old", "before")]);
    assert_eq!(tools.ok("write_file", json!({"path": "new/er/f", "content": "é"})).await, "created new/er/f (2 bytes)");
    assert_eq!(text(&folder, "new/er/f"), "é");
    assert_eq!(tools.ok("write_file", json!({"path": "old", "content": ""})).await, "overwrote old (0 bytes)");
    assert_eq!(text(&folder, "old"), "");
    assert_eq!(entries(folder.path()), ["new", "old"], "no temporary file is left");
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[tokio::test]
async fn write_file_keeps_permissions_and_what_links_lead_to() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, tools) = folder(&[("run.sh", "x"), ("target", "safe")]);
    let path = folder.path().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    tools.ok("write_file", json!({"path": "run.sh", "content": "y"})).await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);

    symlink("target", folder.path().join("link")).unwrap();
    let error = tools.err("write_file", json!({"path": "link", "content": "y"})).await;
    assert!(error.contains("is a link"), "{error}");
    assert_eq!(text(&folder, "target"), "safe");
    assert!(tools.err("write_file", json!({"path": "new/..", "content": "y"})).await.contains("'..'"));
    fs::create_dir(folder.path().join("dir")).unwrap();
    assert!(tools.err("write_file", json!({"path": "dir", "content": "y"})).await.contains("is a directory"));
}

#[tokio::test]
async fn edit_file_wants_exactly_one_place() {
    let (folder, tools) = folder(&[("f", "a b a\nc\n"), ("dos", "a\r\nb\r\nc\r\n"), ("bin", "\0")]);
    let edit = async |arguments| tools.call("edit_file", arguments).await;
    let done = edit(json!({"path": "f", "old_text": "b a\nc", "new_text": "X"})).await.unwrap();
    assert_eq!((done.as_str(), text(&folder, "f").as_str()), ("replaced 1 occurrence in f", "a X\n"));
    let done = edit(json!({"path": "dos", "old_text": "a\nb", "new_text": "1\n2"})).await.unwrap();
    assert_eq!((done.as_str(), text(&folder, "dos").as_str()), ("replaced 1 occurrence in dos", "1\r\n2\r\nc\r\n"));

    fs::write(folder.path().join("f"), "aaa a").unwrap();
    let cases = [
        (json!({"path": "f", "old_text": "a", "new_text": "b"}), "occurs 4 times in 'f'"),
        (json!({"path": "f", "old_text": "x", "new_text": "b"}), "does not occur in 'f'"),
        (json!({"path": "f", "old_text": "", "new_text": "b"}), "old_text is empty"),
        (json!({"path": "f", "old_text": "a", "new_text": "a"}), "are the same"),
        (json!({"path": "none", "old_text": "a", "new_text": "b"}), "does not exist"),
        (json!({"path": "../f", "old_text": "a", "new_text": "b"}), "'..'"),
    ];
    for (arguments, part) in cases {
        let error = edit(arguments.clone()).await.unwrap_err();
        assert!(error.contains(part), "{arguments}: {error}");
    }
    assert_eq!(text(&folder, "f"), "aaa a");
    let done = edit(json!({"path": "f", "old_text": "a", "new_text": "$0\\1", "replace_all": true})).await.unwrap();
    assert_eq!((done.as_str(), text(&folder, "f").as_str()), ("replaced 4 occurrences in f", "$0\\1$0\\1$0\\1 $0\\1"));
}

#[tokio::test]
async fn edit_file_does_not_let_a_file_grow_beyond_its_bound() {
    let before = "a".repeat(11_000);
    let (folder, tools) = folder(&[("f", &before)]);
    let edit =
        |length: usize| json!({"path": "f", "old_text": "a", "new_text": "b".repeat(length), "replace_all": true});
    for length in [954, 1_000_000] {
        let error = tools.err("edit_file", edit(length)).await;
        assert!(error.contains("replacing 11000 occurrences would make 'f' larger than 10485760 bytes"), "{error}");
        assert!(text(&folder, "f") == before, "{length}");
    }
    tools.ok("edit_file", edit(953)).await;
    assert_eq!(text(&folder, "f").len(), 11_000 * 953);
    tools.ok("edit_file", json!({"path": "f", "old_text": "b", "new_text": "", "replace_all": true})).await;
    assert_eq!(text(&folder, "f"), "");
}

// One line as long as a disk: as many calls as may use files at once, and the next one still gets its turn.
#[tokio::test]
async fn reading_a_line_without_an_end_stops_when_nobody_waits() {
    let (folder, tools) = folder(&[("sparse", &"a".repeat(10_000)), ("small", "text")]);
    let sparse = fs::File::options().write(true).open(folder.path().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": "sparse"})),
        ("read_file", json!({"path": "sparse", "offset": 2})),
        ("search_text", json!({"path": "sparse", "pattern": "x"})),
        ("search_text", json!({"pattern": "x"})),
    ] {
        let context = CallContext::new(1, Duration::from_millis(50));
        let calls = (0..8).map(|_| tools.invoke(tool, arguments.clone(), &context));
        for outcome in futures_util::future::join_all(calls).await {
            assert!(matches!(outcome, Err(InvokeError::TimedOut(_))) || outcome.is_ok_and(|result| result.is_error()));
        }
        assert_eq!(tools.ok("read_file", json!({"path": "small"})).await, "text", "after {tool}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_at_the_same_time_lose_nothing() {
    let lines = (0..20).map(|n| format!("line {n:02}\n")).collect::<Vec<_>>().concat();
    let (folder, tools) = folder(&[("f", &lines)]);
    let edits = (0..20).map(|n| {
        tools.ok(
            "edit_file",
            json!({"path": "f", "old_text": format!("line {n:02}"), "new_text": format!("done {n:02}")}),
        )
    });
    futures_util::future::join_all(edits).await;
    assert_eq!(text(&folder, "f"), lines.replace("line", "done"));
}

#[tokio::test]
async fn list_directory_shows_kinds_and_sizes() {
    let (folder, tools) = folder(&[("b.txt", "12345"), ("a/x", ""), (".hidden", "")]);
    symlink("b.txt", folder.path().join("link")).unwrap();
    fs::write(folder.path().join("odd\nname"), "").unwrap();
    let listing = tools.ok("list_directory", json!({"path": "."})).await;
    assert_eq!(listing, ".hidden  0 bytes\na/\nb.txt  5 bytes\nlink@\nodd\u{fffd}name  0 bytes");
    assert_eq!(tools.ok("list_directory", json!({"path": "a"})).await, "x  0 bytes");
    fs::remove_file(folder.path().join("a/x")).unwrap();
    assert_eq!(tools.ok("list_directory", json!({"path": "a"})).await, "(empty)");
    assert!(tools.err("list_directory", json!({"path": "b.txt"})).await.contains("is not a directory"));
    assert!(tools.err("list_directory", json!({"path": "none"})).await.contains("does not exist"));
    for n in 0..1_100 {
        fs::write(folder.path().join(format!("a/{n:04}")), "").unwrap();
    }
    let listing = tools.ok("list_directory", json!({"path": "a"})).await;
    assert!(listing.ends_with("0999  0 bytes\n[100 more entries; use find_files with a pattern]"));
}

fn project() -> (TempDir, Tools) {
    folder(&[
        (".gitignore", "target/\n*.log\n!keep.log\n/only-top\n"),
        (".hidden/a.rs", "fn hidden() {}\n"),
        (".git/config.rs", "fn git() {}\n"),
        ("a.rs", "fn a() {}\nlet x = 1;\n"),
        ("b.log", "fn log() {}\n"),
        ("keep.log", ""),
        ("only-top", ""),
        ("src/.gitignore", "gen.rs\n"),
        ("src/.ignore", "!kept.log\n"),
        ("src/b.rs", "fn b() {}\n"),
        ("src/deep/c.rs", "  FN C() {}\r\n"),
        ("src/deep/gen.rs", "fn gen() {}\n"),
        ("src/kept.log", ""),
        ("src/only-top", ""),
        ("target/d.rs", "fn d() {}\n"),
    ])
}

#[tokio::test]
async fn find_files_matches_globs_and_respects_ignore_files() {
    let (_folder, tools) = project();
    let cases = [
        (json!({"pattern": "*.rs"}), ".hidden/a.rs a.rs src/b.rs src/deep/c.rs"),
        (json!({"pattern": "src/*.rs"}), "src/b.rs"),
        (json!({"pattern": "src/**/*.rs"}), "src/b.rs src/deep/c.rs"),
        (json!({"pattern": "**/*.log"}), "keep.log src/kept.log"),
        (json!({"pattern": "*.{log,txt}"}), "keep.log src/kept.log"),
        (json!({"pattern": "only-top"}), "src/only-top"),
        (json!({"pattern": "*", "path": "src/deep"}), "src/deep/c.rs"),
        (json!({"pattern": "deep/*.rs", "path": "src"}), "src/deep/c.rs"),
        (json!({"pattern": "./[ab].rs"}), "a.rs"),
        (json!({"pattern": "[ab].rs"}), ".hidden/a.rs a.rs src/b.rs"),
        (json!({"pattern": "d.rs", "path": "target"}), "target/d.rs"),
        (json!({"pattern": "*.none"}), "no files match"),
    ];
    for (arguments, expected) in cases {
        let expected = if expected.starts_with("no ") { expected.to_owned() } else { expected.replace(' ', "\n") };
        assert_eq!(tools.ok("find_files", arguments.clone()).await, expected, "{arguments}");
    }
    let cases = [
        (json!({"pattern": ""}), "is not a glob"),
        (json!({"pattern": "a[b"}), "is not a glob"),
        (json!({"pattern": "/etc/*"}), "put the folder there"),
        (json!({"pattern": "*", "path": "/etc"}), "outside the allowed folders"),
        (json!({"pattern": "*", "path": "a.rs"}), "is not a directory"),
    ];
    for (arguments, part) in cases {
        let error = tools.err("find_files", arguments.clone()).await;
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn search_text_shows_matching_lines() {
    let (folder, tools) = project();
    fs::write(folder.path().join("bin.rs"), "fn bin\0() {}").unwrap();
    fs::write(folder.path().join("wide.txt"), format!("{}needle\n", "x".repeat(1_000))).unwrap();
    let cases = [
        (json!({"pattern": "^fn "}), ".hidden/a.rs:1: fn hidden() {}\na.rs:1: fn a() {}\nsrc/b.rs:1: fn b() {}"),
        (json!({"pattern": "(?i)fn c"}), "src/deep/c.rs:1:   FN C() {}"),
        (json!({"pattern": r"\d", "path": "a.rs"}), "a.rs:2: let x = 1;"),
        (json!({"pattern": "fn", "glob": "src/*.rs"}), "src/b.rs:1: fn b() {}"),
        (json!({"pattern": "fn", "glob": "b.*"}), "src/b.rs:1: fn b() {}"),
        (json!({"pattern": "fn", "path": "b.log"}), "b.log:1: fn log() {}"),
        (json!({"pattern": "nothing like it"}), "no lines match"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(tools.ok("search_text", arguments.clone()).await, expected, "{arguments}");
    }
    let wide = tools.ok("search_text", json!({"pattern": "needle"})).await;
    assert_eq!(wide, format!("wide.txt:1: {}…", "x".repeat(300)));
    let cases = [
        (json!({"pattern": "("}), "regular expression"),
        (json!({"pattern": "(a{1000}){1000}"}), "regular expression"),
        (json!({"pattern": "x", "path": "none"}), "does not exist"),
        (json!({"pattern": "x", "path": "../x"}), "'..'"),
        (json!({"pattern": "x", "glob": "["}), "is not a glob"),
    ];
    for (arguments, part) in cases {
        let error = tools.err("search_text", arguments.clone()).await;
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn searches_are_bounded() {
    let (folder, tools) = folder(&[("many.txt", &"hit\n".repeat(500))]);
    let text = tools.ok("search_text", json!({"pattern": "hit"})).await;
    assert!(text.ends_with("many.txt:200: hit\n[more than 200 lines match; narrow the pattern, path or glob]"));
    for n in 0..1_001 {
        fs::write(folder.path().join(format!("{n:04}.f")), "").unwrap();
    }
    let text = tools.ok("find_files", json!({"pattern": "*.f"})).await;
    assert!(text.ends_with("0999.f\n[more than 1000 files match; narrow the pattern or give a path]"));
}

#[tokio::test]
async fn walks_meet_no_link_no_pipe_and_no_endless_ignore_file() {
    let (folder, tools) = folder(&[("in/a.txt", "secret inside\n")]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("b.txt"), "secret outside\n").unwrap();
    symlink(outside.path(), folder.path().join("out")).unwrap();
    symlink(outside.path().join("b.txt"), folder.path().join("b.txt")).unwrap();
    symlink("..", folder.path().join("in/loop")).unwrap();
    symlink("/dev/zero", folder.path().join(".gitignore")).unwrap();
    let fifo = folder.path().join("in/.gitignore");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert_eq!(tools.ok("search_text", json!({"pattern": "secret"})).await, "in/a.txt:1: secret inside");
    assert_eq!(tools.ok("find_files", json!({"pattern": "*.txt"})).await, "b.txt\nin/a.txt");
    assert!(tools.err("search_text", json!({"pattern": "secret", "path": "out"})).await.contains("through a link"));
    assert!(tools.err("find_files", json!({"pattern": "*", "path": "out"})).await.contains("through a link"));
}

#[tokio::test]
async fn other_roots_are_named_by_absolute_path() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(second.path().join("f.txt"), "text\n").unwrap();
    let tools = Tools::new(BuiltinSettings {
        roots: vec![
            Root { path: first.path().into(), writable: true },
            Root { path: second.path().into(), writable: false },
        ],
        ..BuiltinSettings::default()
    });
    let path = second.path().display().to_string();
    let found = tools.ok("find_files", json!({"pattern": "*", "path": path})).await;
    assert_eq!(found, format!("{path}/f.txt"));
    assert_eq!(tools.ok("read_file", json!({"path": found})).await, "text\n");
    let error = tools.err("write_file", json!({"path": found, "content": "x"})).await;
    assert!(error.contains("may only be read"), "{error}");
}

#[tokio::test]
async fn calls_end_when_nobody_waits_or_time_is_up() {
    let (_folder, tools) = folder(&[("f", "x")]);
    let context = CallContext::new(1, Duration::from_secs(5));
    context.cancel.cancel();
    let outcome = tools.invoke("read_file", json!({"path": "f"}), &context).await;
    assert!(matches!(outcome, Err(InvokeError::Cancelled)), "{outcome:?}");
    let context = CallContext::new(1, Duration::ZERO);
    let outcome = tools.invoke("search_text", json!({"pattern": "x", "path": "."}), &context).await;
    assert!(matches!(outcome, Err(InvokeError::TimedOut(_)) | Ok(_)), "{outcome:?}");
}
