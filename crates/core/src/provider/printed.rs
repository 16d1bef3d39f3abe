//! Calls that a model printed as text: the forms that local models are trained on and that servers without the right
//! template leave in the answer (OpenClaude reference §2.5). Only names of the set count, so that an example in a
//! quoted page is not a call unless it names a tool that is there; reading them at all is the caller's choice.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{WayBack, read::Found, way::owned, wire::Wire};

/// Longest text that is searched, in bytes.
const TEXT: usize = 256 * 1024;

/// A printed call: the name as written and its arguments.
type Printed = (String, Box<RawValue>);

/// How a printed call begins, and what ends it.
const FORMS: &[(&str, Form)] = &[
    ("<tool_call>", Form::Until("</tool_call>")),
    ("<function_call>", Form::Until("</function_call>")),
    ("<｜tool▁call▁begin｜>", Form::Until("<｜tool▁call▁end｜>")),
    ("<function=", Form::Function),
    ("[TOOL_CALLS]", Form::Mistral),
    ("<|python_tag|>", Form::Values),
    ("<|tool_call|>", Form::Values),
    ("```", Form::Fence),
];

#[derive(Clone, Copy)]
enum Form {
    /// Everything up to an end tag, or to the end of the text.
    Until(&'static str),
    /// `<function=NAME>…</function>`.
    Function,
    /// `[{…}]`, or `NAME{…}`, or `NAME[ARGS]{…}`.
    Mistral,
    /// JSON values.
    Values,
    /// A fenced block.
    Fence,
}

/// Finds printed calls and turns the message into one with proper calls, so that the answers have something to answer.
pub(super) fn find(wire: Wire, way: &WayBack, found: &mut Found) {
    if !matches!(wire, Wire::Chat | Wire::Mistral | Wire::Ollama) || found.text.len() > TEXT {
        return;
    }
    let known = |name: &str| way.exposed(name).1;
    let (calls, rest) = extract(&found.text, &known);
    if calls.is_empty() {
        return;
    }
    let mut written = Vec::new();
    for (index, (name, arguments)) in calls.into_iter().enumerate() {
        let given = match wire {
            Wire::Ollama => serde_json::from_str(arguments.get()).ok().filter(Value::is_object).unwrap_or(json!({})),
            _ => arguments.get().into(),
        };
        let mut call = json!({"function": {"name": name, "arguments": given}});
        if wire != Wire::Ollama {
            call["type"] = "function".into();
        }
        written.push(call);
        let found = found.call(format!("/tool_calls/{index}"), &Value::Null, &name.into(), &Value::Null);
        found.arguments = arguments;
        found.printed = true;
    }
    found.text.clone_from(&rest);
    found.messages = vec![json!({"role": "assistant", "content": rest, "tool_calls": written})];
}

/// The calls in a text, and the text without them.
fn extract(text: &str, known: &dyn Fn(&str) -> bool) -> (Vec<Printed>, String) {
    let (mut calls, mut said) = (Vec::new(), String::new());
    // What a model thinks is not what it does.
    let thought = text.rfind("</think>").map_or(0, |end| end + "</think>".len());
    let mut rest = &text[thought..];
    let whole = rest.trim();
    if whole.starts_with(['{', '['])
        && let Some((found, "")) = values(whole, true)
        && all_known(&found, known)
    {
        return (found, String::new());
    }
    while let Some((at, opener, form)) =
        FORMS.iter().filter_map(|(opener, form)| Some((rest.find(opener)?, *opener, *form))).min_by_key(|found| found.0)
    {
        let body = &rest[at + opener.len()..];
        if let Some((found, after)) = read(form, body).filter(|(found, _)| all_known(found, known)) {
            said.push_str(&rest[..at]);
            calls.extend(found);
            rest = after;
        } else {
            said.push_str(&rest[..at + opener.len()]);
            rest = body;
        }
    }
    said.push_str(rest);
    for mark in ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<tool_calls>", "</tool_calls>"] {
        if !calls.is_empty() {
            said = said.replace(mark, "");
        }
    }
    (calls, said.trim().to_owned())
}

fn all_known(found: &[Printed], known: &dyn Fn(&str) -> bool) -> bool {
    !found.is_empty() && found.iter().all(|(name, _)| known(name))
}

/// Reads what follows an opener: the calls, and the text behind them.
fn read(form: Form, body: &str) -> Option<(Vec<Printed>, &str)> {
    match form {
        Form::Until(end) => {
            let (inside, after) = body.split_once(end).unwrap_or((body, ""));
            Some((block(inside.trim())?, after))
        }
        Form::Function => function(body),
        Form::Mistral => {
            let body = body.trim_start();
            if body.starts_with(['[', '{']) {
                return values(body, false);
            }
            let end = body.find(['{', '['])?;
            let (name, mut rest) = (body[..end].trim(), &body[end..]);
            rest = rest.strip_prefix("[ARGS]").unwrap_or(rest);
            let (arguments, after) = value(rest)?;
            Some((vec![(name.to_owned(), owned(arguments.get()))], after))
        }
        Form::Values => values(body, false),
        Form::Fence => {
            let (language, rest) = body.split_once('\n')?;
            if !matches!(language.trim(), "" | "json" | "tool_call" | "tool_code") {
                return None;
            }
            let (inside, after) = rest.split_once("```")?;
            let (found, "") = values(inside.trim(), true)? else { return None };
            Some((found, after))
        }
    }
}

/// The inside of a tag: JSON, a function in tags, or a name with arguments in tags or in a fence.
fn block(inside: &str) -> Option<Vec<Printed>> {
    if inside.starts_with(['{', '[']) {
        let (found, "") = values(inside, false)? else { return None };
        return Some(found);
    }
    if let Some(body) = inside.strip_prefix("<function=") {
        return function(body).map(|(found, _)| found);
    }
    // DeepSeek writes the kind before the name.
    let inside = inside.split_once("<｜tool▁sep｜>").map_or(inside, |(_, rest)| rest);
    let end = inside.find(['\n', '<']).unwrap_or(inside.len());
    let (name, rest) = (inside[..end].trim(), inside[end..].trim());
    let fenced = rest.strip_prefix("```json").and_then(|rest| rest.trim().strip_suffix("```"));
    let arguments = match fenced {
        Some(json) => owned(json.trim()),
        None => {
            pairs(rest, "<arg_key>", "</arg_key>", |rest| between(rest.trim_start(), "<arg_value>", "</arg_value>"))?
        }
    };
    Some(vec![(name.to_owned(), arguments)])
}

/// `NAME>` with JSON or parameters in tags, up to `</function>`.
fn function(body: &str) -> Option<(Vec<Printed>, &str)> {
    let (name, rest) = body.split_once('>')?;
    let (inside, after) = rest.split_once("</function>").unwrap_or((rest, ""));
    let inside = inside.trim();
    let arguments = if inside.starts_with('{') {
        let (arguments, "") = value(inside)? else { return None };
        owned(arguments.get())
    } else {
        pairs(inside, "<parameter=", ">", |rest| {
            let (value, rest) = rest.split_once("</parameter>")?;
            Some((value.strip_prefix('\n').unwrap_or(value), rest))
        })?
    };
    Some((vec![(name.trim().to_owned(), arguments)], after))
}

/// Keys and values in tags, as an object. Values are text unless they are JSON objects or lists; what a number is, the
/// schema says later.
fn pairs<'t>(
    mut rest: &'t str,
    open: &str,
    close: &str,
    value: impl Fn(&'t str) -> Option<(&'t str, &'t str)>,
) -> Option<Box<RawValue>> {
    let mut map = Map::new();
    while !rest.trim().is_empty() {
        let (key, after) = between(rest.trim_start(), open, close)?;
        let (written, after) = value(after)?;
        let read = serde_json::from_str(written.trim()).ok().filter(|v: &Value| v.is_object() || v.is_array());
        map.insert(key.trim().to_owned(), read.unwrap_or_else(|| written.trim_end_matches('\n').into()));
        rest = after;
    }
    Some(owned(&Value::Object(map).to_string()))
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix(open)?.split_once(close)
}

/// One JSON value and what is behind it.
fn value(text: &str) -> Option<(&RawValue, &str)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = stream.next()?.ok()?;
    Some((value, &text[stream.byte_offset()..]))
}

/// JSON values that are calls or lists of calls, one after the other; with `explicit`, arguments must be there.
fn values(text: &str, explicit: bool) -> Option<(Vec<Printed>, &str)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while rest.starts_with(['{', '[']) {
        let Some((value, after)) = value(rest) else { break };
        let list: Vec<&RawValue> =
            if rest.starts_with('[') { serde_json::from_str(value.get()).ok()? } else { vec![value] };
        for call in list {
            found.push(call_in(call, explicit)?);
        }
        rest = after.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == ',');
    }
    (!found.is_empty()).then_some((found, rest))
}

/// One call as JSON, under the keys that models use.
#[derive(Deserialize)]
struct Written<'a> {
    name: Option<String>,
    tool: Option<String>,
    tool_name: Option<String>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

fn call_in(raw: &RawValue, explicit: bool) -> Option<Printed> {
    let written: Written<'_> = serde_json::from_str(raw.get()).ok()?;
    if let Some(function) = written.function {
        if function.get().starts_with('{') {
            return call_in(function, explicit);
        }
        let name: String = serde_json::from_str(function.get()).ok()?;
        return arguments(&written, explicit).map(|arguments| (name, arguments));
    }
    let arguments = arguments(&written, explicit)?;
    Some((written.name.or(written.tool).or(written.tool_name)?, arguments))
}

fn arguments(written: &Written<'_>, explicit: bool) -> Option<Box<RawValue>> {
    let given = written.arguments.or(written.parameters).or(written.args).or(written.input);
    match given {
        // Text that holds an object is that object, here as everywhere.
        Some(raw) if raw.get().starts_with('"') => {
            serde_json::from_str::<String>(raw.get()).ok().map(|text| owned(&text))
        }
        Some(raw) => Some(owned(raw.get())),
        None if explicit => None,
        None => Some(owned("{}")),
    }
}
