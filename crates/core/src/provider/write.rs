//! Writing of answers, one function a shape (standards reference §4.2–4.7). Every call gets one, in the order of the
//! calls, since providers reject a history with a call that nobody answered.

use serde_json::{Map, Value, json};

use super::{
    CallKind, ProviderCall, Turn, WayBack, WriteOptions,
    content::{Content, Part, spoken},
    wire::Wire,
};
use crate::{ToolResult, bridge::names_in_reply};

/// Writes the answers to a turn: what goes into the conversation behind [`Turn::messages`].
///
/// `results` are those of [`Turn::calls`], by position; a call that has none is answered with an error that says that it
/// was not run. The messages are in the order and number that the provider wants: one for all answers, or one each, and
/// behind them, where an answer itself can hold no image, one with the images.
pub fn results_into(way: &WayBack, turn: &Turn, results: &[Option<ToolResult>], options: &WriteOptions) -> Vec<Value> {
    let Some(wire) = Wire::of(way.target()) else { return Vec::new() };
    let answers: Vec<Answer<'_>> = turn
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let result = results.get(index).and_then(Option::as_ref);
            Answer { call, found: found_names(way, call, result), content: Content::of(result) }
        })
        .collect();
    if answers.is_empty() {
        return Vec::new();
    }
    let each = |write: &dyn Fn(&Answer<'_>) -> Value| answers.iter().map(write).collect::<Vec<Value>>();
    match wire {
        Wire::Anthropic => {
            vec![json!({"role": "user", "content": each(&|answer| anthropic(way, answer, options.images))})]
        }
        Wire::Bedrock => vec![json!({"role": "user", "content": each(&|answer| bedrock(answer, options.images))})],
        Wire::Gemini => vec![json!({"role": "user", "parts": each(&|answer| gemini(answer, options.images))})],
        Wire::Responses => each(&|answer| responses(way, answer, options.images)),
        Wire::Chat => {
            let mut messages = each(
                &|answer| json!({"role": "tool", "tool_call_id": answer.call.id, "content": answer.content.text(options.images)}),
            );
            messages.extend(images(&answers, options.images));
            messages
        }
        Wire::Mistral => each(&|answer| {
            json!({
                "role": "tool", "tool_call_id": answer.call.id, "name": answer.call.own,
                "content": answer.content.text(false),
            })
        }),
        Wire::Ollama => each(&|answer| {
            let mut message =
                json!({"role": "tool", "tool_name": answer.call.own, "content": answer.content.text(options.images)});
            let images: Vec<&str> = answer.content.images().map(|(_, data)| data).collect();
            if options.images && !images.is_empty() {
                message["images"] = json!(images);
            }
            message
        }),
    }
}

struct Answer<'a> {
    call: &'a ProviderCall,
    content: Content,
    /// Exposed names that a search found, where the set is one that loads tools by search.
    found: Vec<String>,
}

/// What a search of the bridge found, best first.
fn found_names(way: &WayBack, call: &ProviderCall, result: Option<&ToolResult>) -> Vec<String> {
    let wanted = way.refers(&call.name) || call.kind == CallKind::Search;
    let Some(result) = result.filter(|result| wanted && !result.is_error()) else { return Vec::new() };
    // A note may follow the reply.
    let text = result.to_text();
    let Some(Ok(reply)) = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next() else {
        return Vec::new();
    };
    let mut names: Vec<String> = Vec::new();
    for name in names_in_reply(&reply) {
        if way.knows(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn anthropic(way: &WayBack, answer: &Answer<'_>, images: bool) -> Value {
    let content: Vec<Value> = if answer.found.is_empty() {
        answer
            .content
            .shown(images)
            .into_iter()
            // An empty block of text is refused; no block at all is fine.
            .filter(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()))
            .map(|part| match part {
                Part::Image { mime, data } => {
                    json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}})
                }
                Part::Text(text) | Part::Other(text) => json!({"type": "text", "text": text}),
            })
            .collect()
    } else {
        answer.found.iter().map(|name| json!({"type": "tool_reference", "tool_name": way.own(name)})).collect()
    };
    let mut block = json!({"type": "tool_result", "tool_use_id": answer.call.id, "content": content});
    if answer.content.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn bedrock(answer: &Answer<'_>, images: bool) -> Value {
    let content = &answer.content;
    // `json` takes an object only; then it stands for the text that says the same.
    let structured = content.structured.as_ref().filter(|value| value.is_object());
    let mut blocks: Vec<Value> = structured.map(|value| json!({"json": value})).into_iter().collect();
    for part in content.shown(images) {
        match part {
            Part::Text(text) if text.trim().is_empty() => {}
            Part::Text(text) | Part::Other(text) => {
                let said = structured
                    .is_some_and(|value| serde_json::from_str::<Value>(&text).is_ok_and(|said| said == *value));
                if !said {
                    blocks.push(json!({"text": text}));
                }
            }
            Part::Image { mime, data } => {
                let format = mime.strip_prefix("image/").unwrap_or(&mime);
                blocks.push(json!({"image": {"format": format, "source": {"bytes": data}}}));
            }
        }
    }
    if blocks.is_empty() {
        blocks.push(json!({"text": spoken(String::new(), content.is_error)}));
    }
    json!({"toolResult": {
        "toolUseId": answer.call.id,
        "content": blocks,
        "status": if content.is_error { "error" } else { "success" },
    }})
}

fn gemini(answer: &Answer<'_>, images: bool) -> Value {
    let content = &answer.content;
    let mut response = Map::new();
    let mut parts = Vec::new();
    if content.is_error {
        response.insert("error".to_owned(), content.text(images).into());
    } else if let Some(value) = content.structured.clone().filter(Value::is_object) {
        response.insert("output".to_owned(), value);
    } else {
        let texts: Vec<String> = content
            .shown(images)
            .into_iter()
            .filter_map(|part| match part {
                Part::Text(text) | Part::Other(text) => Some(text),
                Part::Image { .. } => None,
            })
            .collect();
        response.insert("output".to_owned(), spoken(texts.join("\n"), false).into());
    }
    if images {
        parts.extend(content.images().map(|(mime, data)| json!({"inlineData": {"mimeType": mime, "data": data}})));
    }
    let mut function = Map::new();
    if !answer.call.unnamed {
        function.insert("id".to_owned(), answer.call.id.clone().into());
    }
    function.insert("name".to_owned(), answer.call.own.clone().into());
    function.insert("response".to_owned(), Value::Object(response));
    if !parts.is_empty() {
        function.insert("parts".to_owned(), parts.into());
    }
    json!({"functionResponse": function})
}

fn responses(way: &WayBack, answer: &Answer<'_>, images: bool) -> Value {
    if answer.call.kind == CallKind::Search {
        return loaded(way, answer);
    }
    let shown = answer.content.shown(images);
    let has_image = shown.iter().any(|part| matches!(part, Part::Image { .. }));
    let output = if has_image {
        let failed = answer.content.is_error.then(|| json!({"type": "input_text", "text": "Error:"}));
        let parts = shown.into_iter().map(|part| match part {
            Part::Image { mime, data } => {
                json!({"type": "input_image", "detail": "auto", "image_url": format!("data:{mime};base64,{data}")})
            }
            Part::Text(text) | Part::Other(text) => json!({"type": "input_text", "text": text}),
        });
        failed.into_iter().chain(parts).collect()
    } else {
        Value::from(answer.content.text(false))
    };
    let mut item = json!({"type": "function_call_output", "call_id": answer.call.id, "output": output});
    if let Some(caller) = &answer.call.caller {
        item["caller"] = caller.clone();
    }
    item
}

/// The definitions that a search found, by group; they become callable by this.
fn loaded(way: &WayBack, answer: &Answer<'_>) -> Value {
    let mut groups: Vec<(&str, Vec<&Value>)> = Vec::new();
    for found in answer.found.iter().filter_map(|name| way.loadable(name)) {
        match groups.iter_mut().find(|(group, _)| *group == found.group) {
            Some((_, tools)) => tools.push(&found.definition),
            None => groups.push((&found.group, vec![&found.definition])),
        }
    }
    let tools: Vec<&Value> = groups.into_iter().flat_map(|(_, tools)| tools).collect();
    json!({
        "type": "tool_search_output", "call_id": answer.call.id, "execution": "client", "status": "completed",
        "tools": tools,
    })
}

/// A message with the images of all answers, for providers whose answers hold text only.
fn images(answers: &[Answer<'_>], wanted: bool) -> Option<Value> {
    let mut parts = Vec::new();
    for answer in answers.iter().filter(|_| wanted) {
        let mut images = answer.content.images().peekable();
        if images.peek().is_some() {
            parts.push(json!({"type": "text", "text": format!("Images of the result of call {}:", answer.call.id)}));
        }
        parts.extend(images.map(
            |(mime, data)| json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{data}")}}),
        ));
    }
    (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
}
