//! What `assemble` takes and tells of a conversation.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, bail};
use serde_json::Value;
use toolcrib_core::conversation::{TurnRequest, TurnSet};

use crate::{args::AssembleArgs, print};

/// Largest transcript or turn in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Most tools left out that are named in words.
const TOLD: usize = 20;

/// The request of the command line; empty if nothing was asked for.
pub(super) fn request(args: &AssembleArgs) -> anyhow::Result<TurnRequest> {
    let transcript = args.transcript.as_deref().map(|file| read(file, "transcript")).transpose()?;
    let transcript = transcript.map(|text| messages(&text)).transpose()?;
    let previous = args.previous.as_deref().map(|file| read(file, "previous turn")).transpose()?;
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
    let mut text = String::new();
    let reader: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(fs::File::open(file).with_context(|| format!("cannot open the {what} {}", file.display()))?)
    };
    reader
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read the {what} {}: it must be UTF-8 text", file.display()))?;
    if text.len() as u64 > MAX_FILE {
        bail!("the {what} {} is larger than {MAX_FILE} bytes", file.display());
    }
    Ok(text)
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
        print::note(format!("{} is left out: {}{reach}", left.name, left.why.sentence()));
    }
    if turn.left_out.len() > TOLD {
        print::note(format!("{} more are left out (--json has all)", turn.left_out.len() - TOLD));
    }
    for note in &turn.notes {
        print::note(format!("note: {note}"));
    }
    if let Some(announcement) = &turn.announcement {
        print::note(format!("to tell the model:\n{announcement}"));
    }
    if let Some(marker) = &turn.marker {
        print::note(format!("to keep when the history is shortened: {marker}"));
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
