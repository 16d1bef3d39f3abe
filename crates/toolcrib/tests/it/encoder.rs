//! The built command with an encoder in its configuration: a model small enough to be written here, and an endpoint that is
//! not there.

use std::{fs, net::TcpListener, path::Path, process::Command};

use serde_json::{Value, json};

/// Tokens and what they are about: `pad` and `write` the same, `order` something else.
const TOKENS: [(&str, [f32; 2]); 4] =
    [("[UNK]", [0.0, 0.0]), ("pad", [1.0, 0.0]), ("write", [1.0, 0.1]), ("order", [0.0, 1.0])];

const CATALOG: &str = r#"{"server":"desk","tools":[
    {"name":"create_note","description":"Makes a note."},
    {"name":"drop_note","description":"Drops a note in order."},
    {"name":"find_order","description":"Finds an order."},
    {"name":"list_orders","description":"Lists each order."},
    {"name":"send_order","description":"Sends an order."},
    {"name":"memo","description":"Keeps what is said on a pad."}]}"#;

fn write_model(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let vocabulary: Value = TOKENS
        .iter()
        .enumerate()
        .map(|(at, (token, _))| ((*token).to_owned(), at.into()))
        .collect::<serde_json::Map<_, Value>>()
        .into();
    let tokenizer = json!({
        "version": "1.0", "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let numbers: Vec<u8> =
        TOKENS.iter().flat_map(|(_, row)| row.iter().flat_map(|number| number.to_le_bytes())).collect();
    let header =
        json!({"embeddings": {"dtype": "F32", "shape": [TOKENS.len(), 2], "data_offsets": [0, numbers.len()]}})
            .to_string();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &numbers].concat();
    fs::write(folder.join("model.safetensors"), bytes).unwrap();
}

/// Exit code, standard output and error of a command in a folder with this configuration, the model and the catalog.
fn run(config: &str, args: &[&str]) -> (i32, String, String) {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    fs::write(path("toolcrib.toml"), config).unwrap();
    fs::write(path("catalog.json"), CATALOG).unwrap();
    fs::write(path("queries.jsonl"), r#"{"query":"write a note","gold":["desk:memo"]}"#).unwrap();
    write_model(&path("model"));
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(args)
        .current_dir(scratch.path())
        .env("TOOLCRIB_STORE", path("state.db"))
        .env("XDG_CONFIG_HOME", scratch.path())
        .env("HOME", scratch.path())
        .env_remove("TOOLCRIB_CONFIG")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const STATIC: &str = "[search.encoder]\nkind = 'static'\nfolder = 'model'\n";
const SEARCH: [&str; 8] =
    ["search", "write a note", "--explain", "--json", "--catalog", "catalog.json", "--source", "static:desk"];

#[track_caller]
fn search(config: &str) -> Value {
    let (code, out, err) = run(config, &SEARCH);
    assert_eq!(code, 0, "{out}\n{err}");
    serde_json::from_str(&out).unwrap()
}

fn names(reply: &Value) -> Vec<&str> {
    let matches = reply["results"][0]["matches"].as_array().unwrap();
    matches.iter().map(|hit| hit["name"].as_str().unwrap()).collect()
}

fn similarity_by(reply: &Value) -> &str {
    reply["results"][0]["matches"][0]["why"]["similarity_by"].as_str().unwrap()
}

#[track_caller]
fn findings(config: &str) -> Vec<(String, String)> {
    let (_, out, _) = run(config, &["doctor", "--json", "--catalog", "catalog.json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let about = |finding: &&Value| {
        finding["about"] == "search.encoder" || finding["message"].as_str().unwrap().contains("search.encoder")
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(about)
        .map(|finding| (text(&finding["level"]), text(&finding["message"])))
        .collect()
}

#[test]
fn a_static_model_ranks_and_says_so() {
    let (plain, with) = (search(""), search(STATIC));
    assert_eq!(similarity_by(&plain), "the built-in table");
    assert_eq!(similarity_by(&with), "the static model 'model' (2 numbers)");
    assert!(!names(&plain).contains(&"desk__memo") && names(&with).contains(&"desk__memo"), "{:?}", names(&with));
    assert_eq!(with.get("notes"), None);
    let told = findings(STATIC);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].0 == "note" && told[0].1.contains("with vectors of 2 numbers"), "{told:?}");
    let words = findings(&format!("{STATIC}[disclosure]\nranker = 'lexical'\n"));
    assert!(words.iter().any(|(level, text)| level == "warning" && text.contains("never asked")), "{words:?}");
}

#[test]
fn what_cannot_be_used_is_told_and_searches_go_on() {
    let plain = search("");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let http = format!(
        "[search.encoder]\nkind = 'http'\nurl = 'http://{gone}/v1/embeddings'\nmodel = 'm'\nkey = 'hunter2hunter2'\n"
    );
    for (config, noted, want) in [
        ("[search.encoder]\nkind = 'static'\nfolder = 'none'\n", false, "none/tokenizer.json"),
        ("[search.encoder]\nkind = 'static'\n", false, "needs the folder"),
        (http.as_str(), true, "cannot get an answer"),
    ] {
        let reply = search(config);
        assert_eq!(reply["results"], plain["results"], "{config}");
        assert_eq!(reply.get("notes").is_some(), noted, "{reply}");
        let told = findings(config);
        assert!(told.iter().any(|(level, text)| level == "error" && text.contains(want)), "{told:?}");
        assert!(!format!("{told:?}").contains("hunter2"), "{told:?}");
    }
    let config = "[search.encoder]\nkind = 'static'\nfolder = 'none'\n";
    let said = |args: &[&str]| run(config, args).2.contains("search.encoder cannot be used");
    assert!(said(&SEARCH));
    assert!(!said(&["tools", "--catalog", "catalog.json"]), "what does not search loads no model");
}

#[test]
fn eval_measures_the_encoder_beside_the_default() {
    let files = ["eval", "--tools", "catalog.json", "--queries", "queries.jsonl", "--json"];
    for (config, more) in [("", &["--encoder-folder", "model"][..]), (STATIC, &["--encoder"])] {
        let (code, out, err) = run(config, &[&files[..], more].concat());
        assert_eq!(code, 0, "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&report["a"]["ranker"], &report["a"]["recall@5"]), (&json!("hybrid"), &json!(0.0)));
        assert_eq!(report["b"]["ranker"], "hybrid + the static model 'model' (2 numbers)");
        assert_eq!(report["b"]["recall@5"], 1.0);
    }
    let (code, _, err) = run("", &[&files[..], &["--encoder"]].concat());
    assert!(code != 0 && err.contains("names no search.encoder"), "{err}");
    let (code, _, err) = run("", &[&files[..], &["--encoder-folder", "none"]].concat());
    assert!(code != 0 && err.contains("none/tokenizer.json"), "{err}");
}
