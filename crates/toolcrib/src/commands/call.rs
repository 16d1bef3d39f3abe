//! `toolcrib call`: one call through the whole call path.

use std::{io::IsTerminal, time::Duration};

use anyhow::{Context, bail};
use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;
use toolcrib_core::{
    Source,
    bridge::suggest,
    categories::{TOOL_CATALOG_LOAD, TOOL_CATALOG_UNLOAD},
};
use toolcrib_engine::{CallReply, CallRequest, Cause, Door, Outcome, Trust};

use crate::{args::CallArgs, asker, exit::Exit, files::read_stdin, print, world::World};

/// How long an interrupted call may take to end.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Most bytes of arguments taken from standard input.
const MAX_ARGUMENTS: u64 = 16 * 1024 * 1024;

pub(crate) async fn run(args: CallArgs) -> anyhow::Result<Exit> {
    let arguments = read_arguments(args.arguments.as_deref())?;
    let world = World::start_to_call(&args.look.sources, args.trust, Trust::Configured).await?;
    world.wait_for_tool(&args.name, args.look.wait).await;
    let cancel = CancellationToken::new();
    let mut request = CallRequest::new(&args.name, arguments, world.scope.clone(), Door::Cli);
    request.cancel = cancel.clone();
    request.asker = asker::Terminal::if_attended();
    request.idempotency_key = args.key;
    let mut call = std::pin::pin!(world.engine.call_report(request));
    let report = tokio::select! {
        report = &mut call => report,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            // Time for the tool to hear of it, and for the record to say how it ended.
            let _ = tokio::time::timeout(LAST_WORDS, &mut call).await;
            world.stop().await;
            bail!("interrupted; the call may or may not have taken effect");
        }
    };
    for repair in &report.repairs {
        print::note(format!(
            "repaired {}: {} became {}",
            if repair.path.is_empty() { "the arguments" } else { &repair.path },
            repair.from,
            repair.to
        ));
    }
    match &report.reply {
        CallReply::Result(result) if args.look.json => print::line(result.raw().get()),
        CallReply::Result(result) => {
            let text = result.to_text();
            if report.outcome == Outcome::Ok {
                // On a terminal a result must not be able to move the cursor; a program gets the bytes.
                if std::io::stdout().is_terminal() { print::line(print::clean(&text)) } else { print::line(&text) }
            } else {
                print::note(print::clean(&text));
            }
            let others = result.to_value()["content"]
                .as_array()
                .map_or(0, |blocks| blocks.iter().filter(|block| block["type"] != "text").count());
            if others > 0 {
                print::note(format!("{others} more content blocks that are not text; --json prints all."));
            }
        }
        CallReply::Question(request) => print::note(print::clean(&request.description)),
        CallReply::Protocol { .. } if report.cause == Some(Cause::UnknownTool) && !args.look.json => {
            print::note(print::clean(&no_tool(&world, &args.name)));
        }
        CallReply::Protocol { code, message, data } => {
            if args.look.json {
                print::json(&json!({"error": {"code": code, "message": message, "data": data}}))?;
            } else {
                print::note(print::clean(message));
            }
        }
    }
    if let Some(Cause::Approval { request }) = &report.cause
        && world.store.kept
    {
        print::note(format!("`toolcrib approvals approve {request}` lets this call run once."));
    }
    if let Some(id) = &report.tool
        && id.source == Source::Builtin
        && [TOOL_CATALOG_LOAD, TOOL_CATALOG_UNLOAD].contains(&id.name.as_str())
    {
        print::note(
            "What is loaded belongs to one conversation with `toolcrib serve`; this command's ended with it. To have categories loaded from the start, name them in categories.auto_load or categories.pinned.",
        );
    }
    world.stop().await;
    Ok(match report.outcome {
        Outcome::Ok => Exit::Done,
        Outcome::ToolError | Outcome::Invalid | Outcome::TimedOut | Outcome::Cancelled | Outcome::Unknown => {
            Exit::Failed
        }
        Outcome::Denied => Exit::Denied,
        Outcome::Unavailable => Exit::Unavailable,
    })
}

/// That a name leads to no tool, whether there is none or not for this scope, for a person who has commands and not the bridge.
fn no_tool(world: &World, name: &str) -> String {
    let view = world.view().ok();
    let near = view.map(|view| suggest(name, view.set.names())).unwrap_or_default();
    let near = if near.is_empty() { String::new() } else { format!(" (closest: {})", near.join(", ")) };
    format!(
        "there is no tool '{name}' to be called here{near}; `toolcrib explain {name}` says why, `toolcrib search WORDS` finds others"
    )
}

fn read_arguments(text: Option<&str>) -> anyhow::Result<Option<Box<RawValue>>> {
    let text = match text {
        None => return Ok(None),
        Some("-") => read_stdin("the text of the arguments", MAX_ARGUMENTS)?,
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    let raw = RawValue::from_string(text.trim().to_owned())
        .context("the arguments are not JSON; write them as one object, such as '{\"path\": \"notes.txt\"}'")?;
    Ok(Some(raw))
}
