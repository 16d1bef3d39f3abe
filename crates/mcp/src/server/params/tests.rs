use super::*;

fn read(text: &str) -> Result<Params, RpcError> {
    Params::read(Some(&RawValue::from_string(text.to_owned()).unwrap()))
}

#[test]
fn a_key_given_twice_is_refused_at_any_depth() {
    #[track_caller]
    fn refuses(text: &str, wants: &str) {
        let error = read(text).unwrap_err();
        assert_eq!(error.code, code::INVALID_PARAMS);
        assert!(error.message.contains(wants), "{}", error.message);
    }
    refuses(r#"{"name":"a","name":"b"}"#, r#""name" is given twice"#);
    refuses(r#"{"arguments":{"path":"/ok","path":"/etc"}}"#, r#""path" is given twice"#);
    refuses(r#"{"arguments":{"path":1,"p\u0061th":2}}"#, r#""path" is given twice"#);
    refuses(r#"{"arguments":{"list":[{"deep":{"x":1,"y":2,"x":3}}]}}"#, r#""x" is given twice"#);
    refuses(r#"{"_meta":{"k":1,"k":1}}"#, r#""k" is given twice"#);
    refuses(r#"{"n":1e400}"#, "out of range");
    refuses(&format!(r#"{{"arguments":{}{}}}"#, "[".repeat(200), "]".repeat(200)), "recursion limit");
    // The same key in two objects is fine, and so are keys that only look alike.
    read(
        r#"{"a":{"x":1},"b":{"x":1},"arguments":{"Path":1,"path":2,"PATH":3,"pat\u0000h":4,"to\u212Aen":5,"token":6}}"#,
    )
    .unwrap();
}

#[test]
fn members_keep_their_text() {
    let params =
        read(r#"{"name":"t","arguments": { "n":123456789012345678901234567890 ,"z":-0 },"null":null}"#).unwrap();
    assert_eq!(params.required_text("name").unwrap(), "t");
    assert_eq!(params.object("arguments").unwrap().unwrap().get(), r#"{ "n":123456789012345678901234567890 ,"z":-0 }"#);
    assert!(params.get("null").is_none());
    assert!(params.object("name").is_err());
    assert!(params.text("arguments").is_err());
    assert_eq!(params.required_text("cursor").unwrap_err().message, "params.cursor is missing");
    assert!(Params::read(None).unwrap().get("name").is_none());
}

#[test]
fn meta_is_forwarded_without_what_belongs_to_this_hop() {
    #[track_caller]
    fn forwards(meta: &str, wants: Option<&str>) {
        let params = read(&format!(r#"{{"_meta":{meta}}}"#)).unwrap();
        assert_eq!(params.forwarded_meta(), wants.map(|text| serde_json::from_str(text).unwrap()));
    }
    forwards("{}", None);
    forwards(r#"{"progressToken":1}"#, None);
    forwards(r#"{"io.modelcontextprotocol/protocolVersion":"x","dev.mcp/y":1,"com.mcp.tools/z":2}"#, None);
    forwards(r#"{"com.example.mcp/kept":1,"mcp/kept":2}"#, Some(r#"{"com.example.mcp/kept":1,"mcp/kept":2}"#));
    forwards(r#"{"traceparent":"00-a-b-01","progressToken":"t"}"#, Some(r#"{"traceparent":"00-a-b-01"}"#));
    assert!(read(r#"{"_meta":[]}"#).is_err());
}

#[test]
fn a_progress_token_keeps_its_type() {
    #[track_caller]
    fn token(meta: &str, wants: Option<&str>) {
        let params = read(&format!(r#"{{"_meta":{meta}}}"#)).unwrap();
        assert_eq!(params.progress_token().unwrap().as_deref(), wants);
    }
    token("{}", None);
    token(r#"{"progressToken":null}"#, None);
    token(r#"{"progressToken":7}"#, Some("7"));
    token(r#"{"progressToken":"7"}"#, Some(r#""7""#));
    assert!(read(r#"{"_meta":{"progressToken":{}}}"#).unwrap().progress_token().is_err());
}
