use super::*;
use crate::api::wire::{Assemble, AuditQuery, Batch, Call, Object, Search, Verdict};

#[track_caller]
fn refused<T: DeserializeOwned>(body: &str, at: &str, says: &str) {
    let Err(problem) = json::<Object<T>>(body.as_bytes()).map(|_| ()) else { panic!("{body} was read") };
    let value = serde_json::to_value(&problem).unwrap();
    assert_eq!(value["code"], "not_read", "{body}: {value}");
    assert_eq!(value["errors"][0]["at"].as_str().unwrap_or("-"), at, "{body}: {value}");
    assert!(value["detail"].as_str().unwrap().contains(says), "{body}: {value}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    refused::<Call>(r#"{"name":"a","argument":{}}"#, "/argument", "unknown field `argument`");
    refused::<Call>(r#"{"arguments":{}}"#, "", "missing field `name`");
    refused::<Call>(r#"{"name":"a","name":"b"}"#, "", "duplicate field");
    refused::<Call>(r#"{"name":""}"#, "/name", "1 to 512 characters");
    refused::<Call>(r#"{"name":" \u0085\ufeff "}"#, "/name", "it is empty");
    refused::<Call>(r#"{"name":"a","timeout_ms":0}"#, "/timeout_ms", "give 1 to");
    refused::<Call>(r#"{"name":"a","timeout_ms":1.5}"#, "/timeout_ms", "a whole number");
    refused::<Call>(r#"{"name":"a","scope":{"profil":"x"}}"#, "/scope/profil", "unknown field `profil`");
    refused::<Batch>(r#"{"calls":[{"name":"a"},{"name":"b","x/y":1}]}"#, "/calls/1/x~1y", "unknown field");
    // A structure is an object, not a list of its members in order.
    refused::<Assemble>(r#"["mcp"]"#, "", "expected an object");
    refused::<Call>(r#"{"name":"a","scope":[null,null]}"#, "/scope", "expected an object");
    refused::<Batch>(r#"{"calls":[["a"]]}"#, "/calls/0", "expected an object");
    refused::<Verdict>(r#"["approve","once"]"#, "", "expected an object");
    refused::<Batch>(r#"{"calls":[]}"#, "/calls", "it is empty");
    refused::<Assemble>(r#"{"target":"nobody"}"#, "/target", "nobody");
    refused::<Search>(r#"{"query":[]}"#, "/query", "it is empty");
    refused::<Search>(r#"{"query":7}"#, "/query", "expected a string");
    refused::<Verdict>(r#"{"answer":"approve","reach":"once","x":1}"#, "", "unknown field `x`");
    refused::<Call>(r#"{"name":"a"} {}"#, "-", "trailing characters");
}

#[test]
fn arguments_stay_as_written() {
    for text in [r#"{"n": 123456789012345678901234567890}"#, r#"{"a":1,"a":2}"#, "[1]", r#""{\"a\":1}""#, "null"] {
        let body = format!(r#"{{"name":"a","arguments":{text}}}"#);
        let call: Call = json(body.as_bytes()).unwrap();
        assert_eq!(call.arguments.map_or("null".to_owned(), |raw| raw.get().to_owned()), text);
    }
    let limit = |text: &str| json::<Object<Search>>(format!(r#"{{"query":"a","limit":{text}}}"#).as_bytes());
    assert_eq!(limit("275.0").unwrap().0.limit.unwrap().get(), 275, "a whole number to JSON");
    assert!(limit("275.5").is_err() && limit("-1.0").is_err() && limit("1e30").is_err());
    let batch: Batch = json(br#"{"calls":[{"name":"a","arguments":{"n":1e400}}]}"#).unwrap();
    assert_eq!(batch.calls[0].arguments.as_ref().unwrap().get(), r#"{"n":1e400}"#);
}

#[test]
fn queries_are_strict() {
    let read = |text: &str| query::<AuditQuery>(&format!("/v1/audit?{text}").parse().unwrap());
    assert_eq!(read("limit=5&tool=mcp:up/").unwrap().limit.unwrap().get(), 5);
    assert!(read("").unwrap().limit.is_none());
    for (text, says) in [
        ("limit=0", "give 1 to 1000"),
        ("limit=-1", "limit"),
        ("limit=many", "limit"),
        ("limt=5", "limt"),
        ("limit=5&limit=6", "duplicate"),
        ("outcome=odd", "odd"),
        ("user=", "1 to 256"),
    ] {
        let problem = read(text).unwrap_err();
        assert!(problem.code() == Code::NotRead && problem.detail().contains(says), "{text}: {}", problem.detail());
    }
}
