//! `toolcrib explain`: why a tool is shown, deferred, hidden or quarantined, and what would become of a call.

use anyhow::Context;
use serde_json::{Value, json};
use toolcrib_core::{
    Source,
    explain::{Explanation, Fate},
};
use toolcrib_engine::{
    Identity, Judgement,
    permission::{Decision, Verdict},
};

use crate::{args::ExplainArgs, exit::Exit, print, world::World};

pub(crate) async fn run(args: ExplainArgs) -> anyhow::Result<Exit> {
    let world = World::start(&args.look.sources).await?;
    world.wait_for_tool(&args.name, args.look.wait).await;
    let found = world.engine.explain(&world.scope, &args.name)?;
    let arguments: Value = match &args.with {
        None => json!({}),
        Some(text) => {
            let value: Value = serde_json::from_str(text).context(WITH)?;
            anyhow::ensure!(value.is_object(), WITH);
            value
        }
    };
    let mut judged = Vec::new();
    for explanation in &found {
        let arguments = arguments_for(explanation, &arguments);
        judged.push(world.engine.judge(&world.scope, &Identity::default(), explanation, &arguments).await?);
    }
    if args.look.json {
        let list: Vec<Value> =
            found.iter().zip(&judged).map(|(explanation, judgement)| told(explanation, judgement.as_ref())).collect();
        print::json(&list)?;
    } else {
        for (explanation, judgement) in found.iter().zip(&judged) {
            print::line(print::one_line(&explanation.sentence()));
            if let Some(judgement) = judgement {
                print::line(print::one_line(&sentence(judgement, args.with.is_some())));
                for remark in remarks(&world, explanation, judgement, args.with.is_some()) {
                    print::line(format!("  {}", print::one_line(&remark)));
                }
            }
        }
    }
    if found.is_empty() {
        print::note(print::clean(&no_such_tool(&world, &args.name)));
        world.warn_about_sources();
    }
    world.stop().await;
    Ok(if found.is_empty() { Exit::Failed } else { Exit::Done })
}

/// That there is no such tool, and how to find the one that is meant.
fn no_such_tool(world: &World, name: &str) -> String {
    let view = world.inspect().ok();
    let near = view.map(|view| toolcrib_core::bridge::suggest(name, view.set.names())).unwrap_or_default();
    let near = match near[..] {
        [] => "`toolcrib search WORDS` finds tools, `toolcrib tools` lists them".to_owned(),
        _ => format!("Closest names: {}", near.join(", ")),
    };
    format!("No source offers a tool called '{name}'. {near}.")
}

/// What is wrong with `--with`.
const WITH: &str = "--with is not a JSON object; write the arguments as one";

/// The arguments of a call that is for this tool, also where another stands for it.
pub(crate) fn arguments_for(explanation: &Explanation, arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let (Fate::Merged { argument, value, .. }, Some(map)) = (&explanation.fate, arguments.as_object_mut()) {
        map.insert(argument.clone(), value.as_str().into());
    }
    arguments
}

/// An explanation with what would become of a call, as a value.
pub(crate) fn told(explanation: &Explanation, judgement: Option<&Judgement>) -> Value {
    let mut value = serde_json::to_value(explanation).unwrap_or_default();
    value["sentence"] = explanation.sentence().into();
    value["call"] = judgement.map_or(Value::Null, as_value);
    value
}

/// What would become of a call, in one sentence.
fn sentence(judgement: &Judgement, with_arguments: bool) -> String {
    let call = if with_arguments { "This call" } else { "A call without arguments" };
    let nature = format!("{} risk, {}", judgement.risk.word(), judgement.effect.word().replace('_', "-"));
    if let Some(hindrance) = &judgement.hindrance {
        return format!("  {call} would not run now: {hindrance} ({nature}).");
    }
    match &judgement.decision {
        Decision::Allow { authority } => {
            format!("  {call} would run if its arguments fit ({authority}; {nature}, unless a person said \"never\").")
        }
        Decision::Ask { authority, reason, by_trust } => {
            // Where a rule asks, another that allows changes nothing.
            let fix = if *by_trust { " A rule in permissions.allow lets it run." } else { "" };
            format!("  {call} would ask a person: {reason} ({authority}; {nature}).{fix}")
        }
        Decision::Deny { authority, reason, .. } => {
            format!("  {call} would be refused: {reason} ({authority}; {nature}). Changing that rule lets it run.")
        }
    }
}

/// What a judgement leaves open, and what would change it.
fn remarks(world: &World, explanation: &Explanation, judgement: &Judgement, with_arguments: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    let id = &explanation.id;
    let catalog = world.engine.hub().catalog_for(&world.scope);
    let Some(tool) = catalog.get(id) else { return remarks };
    if with_arguments && id.source == Source::Builtin && !matches!(judgement.decision, Decision::Deny { .. }) {
        remarks.push(
            "What the tool itself refuses shows only when it runs: paths outside of builtin.files.roots, commands and addresses that the builtin section does not let through."
                .to_owned(),
        );
    }
    let hints = tool.annotations();
    if let Source::Mcp(server) = &id.source
        && hints.read_only_hint == Some(true)
        && hints.destructive_hint != Some(true)
        && !tool.hints_trusted()
    {
        remarks.push(format!(
            "The server says that it only reads, which is not believed; servers.{server}.trust_hints = true believes it."
        ));
    }
    remarks
}

/// The judgement as `--json` and the JSON API tell it.
pub(crate) fn as_value(judgement: &Judgement) -> Value {
    let (decision, authority, reason) = match &judgement.decision {
        Decision::Allow { authority } => ("allow", authority.to_string(), None),
        Decision::Ask { authority, reason, .. } => ("ask", authority.to_string(), Some(reason.to_string())),
        Decision::Deny { authority, reason, .. } => ("deny", authority.clone(), Some(reason.clone())),
    };
    let opinions: Vec<Value> = judgement
        .opinions
        .iter()
        .map(|(policy, verdict)| {
            let (says, rule) = match verdict {
                Verdict::Allow { rule } => ("allow", Some(rule)),
                Verdict::Ask { rule, .. } => ("ask", Some(rule)),
                Verdict::Deny { rule, .. } => ("deny", Some(rule)),
                Verdict::Abstain => ("abstain", None),
            };
            json!({"policy": policy, "says": says, "rule": rule})
        })
        .collect();
    json!({
        "hindrance": judgement.hindrance,
        "decision": decision,
        "authority": authority,
        "reason": reason,
        "risk": judgement.risk.word(),
        "effect": judgement.effect.word(),
        "opinions": opinions,
    })
}
