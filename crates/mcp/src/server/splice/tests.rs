use super::*;

#[track_caller]
fn names(object: &str, wants: &[(&str, &str)]) {
    let found = members(object).unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|member| (&*member.name, member.value)).collect();
    assert_eq!(found, wants);
}

#[test]
fn members_are_found_with_their_text() {
    names("{}", &[]);
    names(" { } ", &[]);
    names(r#"{"a":1}"#, &[("a", "1")]);
    names("{\n \"a\" : 1.50 ,\r\n\t\"b\" : null }", &[("a", "1.50"), ("b", "null")]);
    names(
        r#"{"a":{"a":[1,{"b":"}]"}]},"b":"x\"},","c":[]}"#,
        &[("a", r#"{"a":[1,{"b":"}]"}]}"#), ("b", r#""x\"},""#), ("c", "[]")],
    );
    names(r#"{"result\u0054ype":true,"\\":2,"é":"ü"}"#, &[("resultType", "true"), ("\\", "2"), ("é", r#""ü""#)]);
    assert!(members("[1]").is_none());
    assert!(members(r#"{"a":1"#).is_none());
}

#[test]
fn an_edit_leaves_the_other_members_bytes_alone() {
    #[track_caller]
    fn edits(object: &str, drop: &[usize], add: &str, wants: &str) {
        assert_eq!(edit(object, &members(object).unwrap(), drop, add), wants);
    }
    edits(r#"{"a":1,"b":{"x" : 1.0},"c":3}"#, &[0], "", r#"{"b":{"x" : 1.0},"c":3}"#);
    edits(r#"{"a":1, "b":2, "c":3}"#, &[1], "", r#"{"a":1,"c":3}"#);
    edits(r#"{"a":1}"#, &[0], "", "{}");
    edits(r#"{"a":1}"#, &[0], r#""n":0"#, r#"{"n":0}"#);
    edits(r#"{"a":1,"b":2}"#, &[1], r#""n":0"#, r#"{"n":0,"a":1}"#);
}

#[test]
fn a_member_is_put_in_front_and_nothing_else_moves() {
    #[track_caller]
    fn prepends(object: &str, wants: &str) {
        assert_eq!(prepend(object, &members(object).unwrap(), r#""n":0"#), wants);
    }
    prepends("{}", r#"{"n":0}"#);
    prepends(r#"{"a":1}"#, r#"{"n":0,"a":1}"#);
    prepends("  {\n\"a\" :1 }\n", "  {\"n\":0,\n\"a\" :1 }\n");
}
