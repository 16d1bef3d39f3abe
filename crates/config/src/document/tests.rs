use proptest::prelude::*;

use super::*;

#[track_caller]
fn fails(name: &str, bytes: &[u8], want: &str) {
    let error = Document::parse(Path::new(name), bytes).unwrap_err().to_string();
    assert!(error.contains(want), "{error}");
}

#[track_caller]
fn parses(name: &str, text: &str, want_key: &str) {
    let document = Document::parse(Path::new(name), text.as_bytes()).unwrap();
    assert!(document.tree.contains_key(want_key), "{name}: {:?}", document.tree);
}

#[test]
fn formats_are_told_by_name_or_content() {
    parses("toolcrib.toml", "[servers.a]\ncommand = 'x'", "servers");
    parses("toolcrib.yaml", "servers:\n  a:\n    command: x", "servers");
    parses("toolcrib.json", "// c\n{\"servers\": {\"a\": {\"command\": \"x\"},},}", "servers");
    parses("noext", "{\"mcpServers\": {\"a\": {}}}", "servers");
    parses("noext", "[mcp_servers.a]\ncommand = 'x'", "servers");
    parses("noext", "profile = 'x'", "profile");
    parses("noext", "profile: x", "profile");
    parses("toolcrib.toml", "\u{feff}profile = 'x'\r\n", "profile");
}

#[test]
fn a_broken_file_names_line_and_column() {
    fails("a.toml", b"x = 1\ny = = 2", "a.toml:2:");
    fails("a.json", b"{\n  \"a\": ]\n}", "a.json:2:");
    fails("a.yaml", b"a: [1\nb: 2", "a.yaml:");
    fails("a.toml", b"ok = 1\n\xff\xfe", "a.toml:2:1: it is not UTF-8");
    fails("a.json", b"[1]", "holds no keys");
    fails("a.json", "[".repeat(100_000).as_bytes(), "a.json");
    fails("a.toml", &vec![b'#'; MAX_FILE + 1], "larger than");
    fails("a.yaml", b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]", "YAML");
}

#[test]
fn an_empty_file_is_an_empty_configuration() {
    for name in ["a.toml", "a.yaml", "a.json", "a"] {
        assert!(Document::parse(Path::new(name), b" \n").unwrap().tree.is_empty());
    }
}

#[test]
fn keys_are_found_in_the_text() {
    let text = "# servers\n[servers.git]\ncommand = 'x'\n\n[servers.github]\nurl = 'y'\n";
    let document = Document::parse(Path::new("toolcrib.toml"), text.as_bytes()).unwrap();
    assert_eq!(document.place_of("servers.github.url"), Some(Place { line: 6, column: 1 }));
    assert_eq!(document.place_of("servers.git.args[3]").map(|place| place.line), Some(2), "the nearest key around it");
    assert_eq!(document.place_of("nothing"), None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), name in "a\\.(toml|yaml|json)|a") {
        let _ = Document::parse(Path::new(&name), &bytes);
    }
}
