//! What `assemble` takes and tells of a conversation.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use toolcrib_core::conversation::{TurnRequest, TurnSet};

use crate::{
    args::AssembleArgs,
    files::{read_stdin, read_text},
    print,
};

/// Largest transcript or turn in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Most tools left out that are named in words.
const TOLD: usize = 20;

/// The request of the command line; empty if nothing was asked for.
pub(super) fn request(args: &AssembleArgs) -> anyhow::Result<TurnRequest> {
    let transcript = args.transcript.as_deref().map(|file| read(file, "the transcript")).transpose()?;
    let transcript = transcript.map(|text| messages(&text)).transpose()?;
    let previous = args.previous.as_deref().map(|file| read(file, "the previous turn")).transpose()?;
    let previous = previous.map(|text| {
        let value: Value = serde_json::from_str(&text).context("the previous turn is not JSON")?;
        // The whole last answer is what a script has at hand.
        let turn = value.get("turn").cloned().unwrap_or(value);
        serde_json::from_value(turn).context("the previous turn cannot be used; give the `turn` of the last answer")
    });
    Ok(TurnRequest {
        transcript,
        previous: previous.transpose()?,
        task: args.for_task.clone(),
        most: None,
        budget: args.budget,
    })
}

fn read(file: &Path, what: &str) -> anyhow::Result<String> {
    if file == Path::new("-") { read_stdin(what, MAX_FILE) } else { read_text(file, what, MAX_FILE) }
}

/// One JSON document or, failing that, a message a line.
fn messages(text: &str) -> anyhow::Result<Value> {
    let text = text.trim_start_matches('\u{feff}');
    match serde_json::from_str(text) {
        Ok(document) => Ok(document),
        Err(whole) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let messages: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
            // A file of one broken document is not one message a line; its own error says more.
            messages.map(Value::Array).map_err(|_| anyhow::anyhow!("the transcript is not JSON: {whole}"))
        }
    }
}

/// Tells a person what the turn did.
pub(super) fn tell(turn: &TurnSet) {
    for left in turn.left_out.iter().take(TOLD) {
        let reach = if left.deferred { " (still to be found with tool_search)" } else { "" };
        print::note(print::clean(&format!("{} is left out: {}{reach}", left.name, left.why.sentence())));
    }
    if turn.left_out.len() > TOLD {
        print::note(format!("{} more are left out (--json has all)", turn.left_out.len() - TOLD));
    }
    for note in &turn.notes {
        print::note(print::clean(&format!("note: {note}")));
    }
    if let Some(announcement) = &turn.announcement {
        print::note("to tell the model:");
        announcement.lines().for_each(|line| print::note(print::clean(line)));
    }
    if let Some(marker) = &turn.marker {
        print::note(print::clean(&format!("to keep when the history is shortened: {marker}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_a_document_or_a_message_a_line() {
        let want = serde_json::json!([{"role": "user"}, {"role": "assistant"}]);
        for text in
            [r#"[{"role":"user"},{"role":"assistant"}]"#, "\u{feff}{\"role\":\"user\"}\n\n{\"role\":\"assistant\"}\n"]
        {
            assert_eq!(messages(text).unwrap(), want);
        }
        assert!(messages("{\"role\":").unwrap_err().to_string().contains("not JSON"));
        assert_eq!(messages("").unwrap(), serde_json::json!([]));
    }
}
