use super::*;
use crate::{IngestLimits, ingest::ingest};

fn claim(server: &str, definition: Value) -> Claim {
    let source = Source::Mcp(server.into());
    let (mut tools, _) = ingest(&source, vec![definition], &IngestLimits::default(), 1, &|_| Ok(()));
    let tool = Arc::new(tools.remove(0));
    Claim { name: exposed_name(tool.id(), &NameSettings::default()), tool, position: 0 }
}

fn plain(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}})
}

fn rule() -> MergeRule {
    MergeRule {
        label: "hub".into(),
        servers: vec!["work".into(), "home".into(), "old".into()],
        argument: "account".into(),
    }
}

fn merged(claims: Vec<Claim>) -> (Vec<String>, HashMap<ToolId, Merged>, Vec<Claim>) {
    let (claims, merged) = merge(claims, &[rule()], &NameSettings::default());
    let mut names: Vec<String> = claims.iter().map(|claim| claim.name.clone()).collect();
    names.sort();
    (names, merged, claims)
}

#[track_caller]
fn check(claims: &[(&str, &str, &str)], want: &[&str]) {
    let build = |claims: &[(&str, &str, &str)]| -> Vec<Claim> {
        claims.iter().map(|(server, name, text)| claim(server, plain(name, text))).collect()
    };
    assert_eq!(merged(build(claims)).0, want);
    let turned: Vec<_> = claims.iter().rev().copied().collect();
    assert_eq!(merged(build(&turned)).0, want, "input order must not matter");
}

#[test]
fn what_is_the_same_to_the_letter_becomes_one() {
    check(&[("work", "a", "x"), ("home", "a", "x")], &["hub__a"]);
    check(&[("work", "a", "x"), ("home", "a", "x"), ("other", "a", "x")], &["hub__a", "other__a"]);
    check(&[("work", "a", "x"), ("home", "a", "x"), ("old", "a", "old")], &["hub__a", "old__a"]);
    check(&[("work", "a", "x"), ("home", "b", "x")], &["hub__a", "hub__b"]);
    // One alone has its name already, so that nothing is renamed when the second comes.
    check(&[("work", "a", "x")], &["hub__a"]);
    check(&[("other", "a", "x")], &["other__a"]);
}

#[test]
fn a_tool_that_has_such_an_argument_stays_as_it_is() {
    let own = json!({"name": "a", "inputSchema": {"type": "object", "properties": {"account": {}}}});
    assert_eq!(merged(vec![claim("work", own.clone()), claim("home", own)]).0, ["home__a", "work__a"]);
}

#[test]
fn the_argument_says_which_and_does_not_reach_the_tool() {
    let (_, found, claims) = merged(vec![claim("work", plain("a", "x")), claim("home", plain("a", "x"))]);
    let schema = claims[0].tool.input_schema();
    assert_eq!(schema["properties"]["account"]["enum"], json!(["home", "work"]));
    assert_eq!(schema["required"], json!(["n", "account"]));
    let merged = &found[claims[0].tool.id()];
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let (tool, rest) = merged.choose(Some(&raw(r#"{"n":12345678901234567890123,"account":"home"}"#))).unwrap();
    assert_eq!(tool.id().to_string(), "mcp:home/a");
    assert_eq!(rest.unwrap().get(), r#"{"n":12345678901234567890123}"#);
    for wrong in ["{}", r#"{"account":"nope"}"#, r#"{"account":5}"#, "[]", "7"] {
        let told = merged.choose(Some(&raw(wrong))).unwrap_err().to_string();
        assert_eq!(told, "'account' has to be one of home, work", "{wrong}");
    }
    assert!(merged.choose(None).is_err());
}
