use super::*;

#[track_caller]
fn round_trip(text: &str, want: &Source) {
    assert_eq!(&text.parse::<Source>().unwrap(), want);
    assert_eq!(want.to_string(), text);
}

#[test]
fn every_source_has_a_text_form_that_reads_back() {
    round_trip("builtin", &Source::Builtin);
    round_trip("plugin:weather", &Source::Plugin("weather".into()));
    round_trip("mcp:github", &Source::Mcp("github".into()));
    round_trip("connector:crm", &Source::Connector { name: "crm".into(), account: None });
    round_trip("connector:crm:eu", &Source::Connector { name: "crm".into(), account: Some("eu".into()) });
    round_trip("custom:anna", &Source::Custom("anna".into()));
    round_trip("remote:gpu", &Source::Remote("gpu".into()));
    round_trip("static", &Source::Static(String::new()));
    round_trip("static:slack", &Source::Static("slack".into()));
}

#[test]
fn other_texts_are_refused() {
    for text in ["", "mcp", "mcp:", "github", "connector::x", "connector:x:", "MCP:github", ":x"] {
        assert!(text.parse::<Source>().is_err(), "{text:?}");
    }
}

#[test]
fn a_tools_own_name_may_hold_slashes() {
    let id: ToolId = "mcp:files/dir/read".parse().unwrap();
    assert_eq!(id, ToolId::new(Source::Mcp("files".into()), "dir/read"));
    assert_eq!(id.to_string(), "mcp:files/dir/read");
}
