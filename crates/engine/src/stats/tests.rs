use super::prometheus::label;

#[test]
fn labels_are_escaped_and_bounded() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(label(text), want);
    }
    check("mcp:github/create_issue", "mcp:github/create_issue");
    check("a\"b\\c\nd", "a\\\"b\\\\c\\nd");
    check("bell\u{7}\r", "bell\u{fffd}\u{fffd}");
    check("été 漢字", "été 漢字");
    assert_eq!(label(&"x".repeat(5_000)).len(), 200);
}
