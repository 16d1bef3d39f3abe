//! `docs/rust-tools.md`, followed to the letter: its programs are the examples, and they print what it says they print. That
//! they compile and run as they stand on the page is for the documentation tests, because the page is the crate's own.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

fn page() -> String {
    std::fs::read_to_string(root().join("docs/rust-tools.md")).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first fenced block after `after`, without its fences.
#[track_caller]
fn block(page: &str, after: &str) -> String {
    let (_, rest) = page.split_once(after).unwrap_or_else(|| panic!("the page does not say '{after}'"));
    let (_, rest) = rest.split_once("```").expect("a block");
    let (_, rest) = rest.split_once('\n').expect("a line after the fence");
    let (block, _) = rest.split_once("```").expect("the end of the block");
    block.to_owned()
}

fn example(name: &str) -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_toolcrib")).parent().unwrap().join("examples");
    let program = folder.join(name);
    assert!(program.exists(), "{} is not built; build with --examples or --all-targets", program.display());
    Command::new(program)
}

#[test]
fn the_programs_on_the_page_are_the_examples() {
    let page = page();
    let names: Vec<&str> = page.split("This is `examples/").skip(1).filter_map(|rest| rest.split('`').next()).collect();
    assert_eq!(names, ["typed_tool.rs", "tool_factory.rs", "serve_tools.rs"]);
    for name in names {
        let path = root().join("crates/toolcrib/examples").join(name);
        assert_eq!(
            block(&page, &format!("This is `examples/{name}`")),
            std::fs::read_to_string(&path).unwrap(),
            "docs/rust-tools.md and {name} differ: make the page say what the example does"
        );
    }
}

#[test]
fn they_print_what_the_page_says() {
    let page = page();
    for name in ["typed_tool", "tool_factory"] {
        let output = example(name).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected = block(&page, &format!("`cargo run -p toolcrib --example {name}` prints"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{name}");
    }
}

#[test]
fn the_server_on_the_page_speaks_mcp() {
    let mut child = example("serve_tools").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
    let mut ask = |method: &str, params: Value| -> Value {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).unwrap();
        loop {
            let message: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
            if message["id"] == 1 {
                return message;
            }
        }
    };
    let client = json!({"name": "t", "version": "1"});
    ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
    let listed = ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let mean = tools.iter().find(|tool| tool["name"] == "maths__mean").expect("it is listed");
    assert_eq!(mean["inputSchema"]["properties"]["numbers"]["description"], "At least one number.");
    assert_eq!(mean["outputSchema"]["properties"]["result"], json!({"type": "number"}));
    let mut call = |arguments: Value| {
        let answer = ask("tools/call", json!({"name": "maths__mean", "arguments": arguments}));
        answer["result"].clone()
    };
    let answer = call(json!({"numbers": [1, 2, 6]}));
    assert_eq!(answer["structuredContent"], json!({"result": 3.0}), "{answer}");
    let told = call(json!({"numbers": []}));
    assert_eq!(told["isError"], true);
    assert_eq!(told["content"][0]["text"], "there is no mean of no numbers; give at least one");
    let invalid = call(json!({"numbers": "x"}));
    assert!(invalid["content"][0]["text"].as_str().unwrap().contains("not acceptable"), "{invalid}");
    // The program ends with its input.
    drop(input);
    assert!(child.wait().unwrap().success());
}
