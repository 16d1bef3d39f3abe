use std::path::Path;

use serde_json::json;

use super::*;

const WEATHER: &str = r#"
id = "weather"
version = "1.2.0"
description = "Forecasts"

[run]
lines = ["python3", "plugin.py"]
start_timeout_ms = 2000
watch = ["lib/*.py"]

[requires]
env = ["WEATHER_KEY"]

[[tools]]
name = "forecast"
description = "The weather of a place"
hints = { read_only = true, open_world = true }
requires = { config = ["units"], auth = ["service"], capabilities = ["maps"] }

[tools.input_schema]
type = "object"
required = ["place"]
[tools.input_schema.properties.place]
type = "string"

[[tools]]
name = "warn_everybody"
optional = true
permission = "ask"
"#;

fn parse(text: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(text, Path::new("weather/plugin.toml"))
}

#[test]
fn a_manifest_says_everything_that_selection_needs() {
    let manifest = parse(WEATHER).unwrap();
    assert_eq!((manifest.id.as_str(), manifest.version.as_str()), ("weather", "1.2.0"));
    assert_eq!(manifest.run, Run::Lines(vec!["python3".to_owned(), "plugin.py".to_owned()]));
    assert_eq!(manifest.start_timeout, Duration::from_secs(2));
    assert!(manifest.watched().is_match("lib/a.py") && !manifest.watched().is_match("plugin.py"));
    assert!(manifest.requires.env.contains("WEATHER_KEY"));
    let [forecast, warn] = manifest.tools.as_slice() else { panic!("two tools") };
    assert!(!forecast.optional && warn.optional);
    assert_eq!(warn.permission, Some(Caution::Ask));
    assert!(forecast.requires.capabilities.contains("maps"));
    let schema = json!({"type": "object", "required": ["place"], "properties": {"place": {"type": "string"}}});
    assert_eq!(
        forecast.definition(),
        json!({
            "name": "forecast",
            "description": "The weather of a place",
            "inputSchema": schema,
            "annotations": {"readOnlyHint": true, "openWorldHint": true},
        })
    );
}

#[test]
fn one_of_three_ways_to_run() {
    let with =
        |run: &str| parse(&WEATHER.replace("lines = [\"python3\", \"plugin.py\"]", run)).map(|manifest| manifest.run);
    let mcp = WEATHER.replace("lines = [\"python3\", \"plugin.py\"]", "mcp = [\"server\"]");
    assert!(parse(&mcp).unwrap_err().to_string().contains("'tools[0].requires.auth' cannot be used with run.mcp"));
    assert_eq!(parse(&mcp.replace("auth = [\"service\"], ", "")).unwrap().run, Run::Mcp(vec!["server".to_owned()]));
    assert_eq!(with("factory = \"counter\"").unwrap(), Run::Factory("counter".to_owned()));
    assert!(with("").unwrap_err().to_string().contains("give one of mcp, lines and factory"));
    assert!(with("mcp = [\"a\"]\nlines = [\"b\"]").unwrap_err().to_string().contains("more than one"));
}

/// Replaces `from` by `to` in a good manifest: the error names line and key, and says `expected`.
#[track_caller]
fn refuses(from: &str, to: &str, line: usize, key: &str, expected: &str) {
    let text = WEATHER.replacen(from, to, 1);
    assert_ne!(text, WEATHER, "the replacement changes something");
    let error = parse(&text).unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (Some(line), key), "{error}");
    assert!(error.problem.contains(expected), "{error}");
    assert!(error.to_string().starts_with(&format!("weather/plugin.toml:{line}: ")), "{error}");
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_key() {
    refuses("id = \"weather\"", "id = \"Weather\"", 2, "id", "beginning with a letter");
    refuses("id = \"weather\"", "id = \"\"", 2, "id", "a-z");
    refuses("id = \"weather\"", "id = \"mcp:x\"", 2, "id", "so that rules can name it");
    refuses("version = \"1.2.0\"", "version = 12", 3, "version", "expected a string");
    refuses("description = \"Forecasts\"", "description = \" \"", 4, "description", "is empty");
    refuses("[requires]\nenv", "[requires]\nenvironment", 12, "requires.environment", "unknown field");
    refuses("optional = true", "optoinal = true", 28, "tools[1].optoinal", "unknown field");
    refuses("name = \"warn_everybody\"", "name = \"forecast\"", 27, "tools[1].name", "an earlier tool has");
    refuses("name = \"warn_everybody\"", "name = \" x\"", 27, "tools[1].name", "blank");
    refuses("permission = \"ask\"", "permission = \"allow\"", 27, "tools[1].permission", "does not grant itself");
    refuses("permission = \"ask\"", "permission = \"maybe\"", 27, "tools[1].permission", "\"ask\" or \"deny\"");
    refuses("start_timeout_ms = 2000", "start_timeout_ms = 5", 6, "run.start_timeout_ms", "100 to 600000");
    refuses("watch = [\"lib/*.py\"]", "watch = [\"lib/[\"]", 6, "run.watch", "no pattern");
    refuses("lines = [\"python3\", \"plugin.py\"]", "lines = []", 6, "run.lines", "names no program");
    refuses("required = [\"place\"]", "default = 2020-01-01", 15, "tools[0].input_schema", "holds a date");
    refuses("id = \"weather\"", "id = weather", 2, "", "cannot be read");
}

#[test]
fn a_plugin_without_tools_and_a_huge_file_are_refused() {
    let (head, _) = WEATHER.split_once("[[tools]]").unwrap();
    assert!(parse(head).unwrap_err().to_string().contains("declares no tool"));
    let huge = format!("{WEATHER}#{}", "x".repeat(MAX_BYTES));
    assert!(parse(&huge).unwrap_err().to_string().contains("at most"));
    let many: Vec<String> = (0..=MAX_TOOLS).map(|n| format!("[[tools]]\nname = \"t{n}\"\n")).collect();
    let many = many.concat();
    assert!(parse(&format!("{head}{many}")).unwrap_err().to_string().contains("at most 1000"));
}

proptest::proptest! {
    #[test]
    fn no_text_brings_the_reader_down(text in "\\PC{0,200}", cut in 0_usize..WEATHER.len()) {
        let _ = parse(&text);
        // A good manifest that ends early, and one with something in the middle.
        let cut = (0..=cut).rev().find(|at| WEATHER.is_char_boundary(*at)).unwrap_or(0);
        let _ = parse(&WEATHER[..cut]);
        let _ = parse(&format!("{}{text}{}", &WEATHER[..cut], &WEATHER[cut..]));
    }
}
