//! A plugin for tests that speaks the line protocol, and misbehaves as its configuration and its tools' names say.

use std::{
    io::{BufRead, Write},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

type Out = Arc<Mutex<std::io::Stdout>>;

fn say(out: &Out, frame: &Value) {
    line(out, &frame.to_string());
}

fn line(out: &Out, text: &str) {
    let Ok(mut out) = out.lock() else { return };
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Leaves a mark that tests see from outside.
fn mark(name: &str, text: &str) {
    let _ =
        std::fs::OpenOptions::new().create(true).append(true).open(name).and_then(|mut file| writeln!(file, "{text}"));
}

fn main() {
    mark("started", &std::process::id().to_string());
    let out: Out = Arc::new(Mutex::new(std::io::stdout()));
    let mut config = Value::Null;
    for text in std::io::stdin().lock().lines() {
        let Ok(text) = text else { break };
        let Ok(frame) = serde_json::from_str::<Value>(&text) else { std::process::exit(9) };
        match frame["type"].as_str() {
            Some("hello") => {
                config = frame["config"].clone();
                mark("hello", &text);
                greet(&out, &config);
            }
            Some("call") => {
                let (out, config) = (out.clone(), config.clone());
                thread::spawn(move || call(&out, &config, &frame));
            }
            Some("cancel") => mark("cancelled", &frame["id"].to_string()),
            _ => std::process::exit(8),
        }
    }
    mark("ended", "by the end of its input");
    if config["stubborn"] == true {
        loop {
            thread::sleep(Duration::from_mins(1));
        }
    }
}

fn greet(out: &Out, config: &Value) {
    for text in config["noise"].as_array().into_iter().flatten() {
        line(out, text.as_str().unwrap_or_default());
    }
    if let Some(text) = config["stderr"].as_str() {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    if config["mute"] == true {
        return;
    }
    if let Some(ms) = config["slow_ms"].as_u64() {
        thread::sleep(Duration::from_millis(ms));
    }
    if config["die"] == true {
        std::process::exit(3);
    }
    if let Some(program) = config["child"].as_str() {
        let child = std::process::Command::new("sh").arg("-c").arg(program).spawn();
        mark("child", &child.map_or(0, |child| child.id()).to_string());
    }
    let names = config["offers"].as_array().cloned().unwrap_or_default();
    let tools: Vec<Value> = names
        .into_iter()
        .map(|name| match name {
            Value::String(name) => json!({"name": name}),
            other => other,
        })
        .collect();
    say(out, &json!({"type": "describe", "protocol": config["protocol"].as_u64().unwrap_or(1), "tools": tools}));
}

fn call(out: &Out, config: &Value, frame: &Value) {
    let id = &frame["id"];
    let arguments = &frame["arguments"];
    mark("called", frame["tool"].as_str().unwrap_or_default());
    let text = |text: String| say(out, &json!({"type": "result", "id": id, "text": text}));
    match frame["tool"].as_str().unwrap_or_default() {
        "echo" => text(format!("{}{arguments}", config["prefix"].as_str().unwrap_or_default())),
        "who" => text(frame["caller"].to_string()),
        "pid" => text(std::process::id().to_string()),
        "env" => {
            let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            text(names.join(" "));
        }
        "fail" => say(out, &json!({"type": "error", "id": id, "message": "there is no such place"})),
        "sleep" => {
            let ms = arguments["ms"].as_u64().unwrap_or(0);
            say(out, &json!({"type": "progress", "id": id, "progress": 0.5, "total": 1, "message": "half"}));
            thread::sleep(Duration::from_millis(ms));
            text(format!("slept {ms}"));
        }
        "crash" => std::process::exit(7),
        "unreadable" => line(out, &format!("{{\"type\":\"result\",\"id\":{id},\"text\":\"a\",\"more\":1}}")),
        "huge" => {
            let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap_or(0)).unwrap_or(0);
            line(out, &format!("{{\"type\":\"result\",\"id\":{id},\"text\":\"{}\"}}", "x".repeat(bytes)));
        }
        "twice" => {
            text("first".to_owned());
            text("second".to_owned());
            say(out, &json!({"type": "result", "id": 999_999, "text": "never asked"}));
        }
        "grow" => {
            say(out, &json!({"type": "describe", "protocol": 1, "tools": config["later"]}));
            text("grown".to_owned());
        }
        "log" => {
            say(out, &json!({"type": "log", "level": "info", "message": "a line for the log"}));
            text("logged".to_owned());
        }
        // Never answers.
        _ => {}
    }
}
