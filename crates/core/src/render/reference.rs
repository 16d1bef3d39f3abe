//! The reference of targets, made from the dialects.

use std::fmt::Write;

use super::{
    Target,
    dialect::{DIALECTS, Dialect, KeyScope, REVISED, Rule, TABLE, Wrapper},
    strict::{MOST_VALIDATED, StrictRules},
};
use crate::model::{Family, ModelTable};

/// What each target takes, as Markdown.
pub fn markdown() -> String {
    let mut out = format!(
        "# Targets\n\n\
         Made from the code; do not edit. `toolcrib assemble --for TARGET` prints the tool set in the shape that the target\n\
         accepts; `mcp` prints definitions as they are. Last compared with the providers' documentation: {REVISED}.\n\n\
         | target | shape of a tool | tools | name | description | property keys | formats |\n|---|---|---|---|---|---|---|\n"
    );
    for dialect in DIALECTS {
        let shape = match dialect.wrapper {
            Wrapper::Anthropic => "`{name, description, input_schema}`".to_owned(),
            Wrapper::Function => "`{type: function, function: {name, description, parameters}}`".to_owned(),
            Wrapper::FlatFunction => "`{type: function, name, description, parameters, strict: false}`".to_owned(),
            Wrapper::Declarations(key) => format!("one `{{functionDeclarations: [{{name, description, {key}}}]}}`"),
            Wrapper::ToolSpec => "`{toolSpec: {name, description, inputSchema: {json}}}`".to_owned(),
        };
        let number = |limit: Option<usize>| limit.map_or_else(|| "any".to_owned(), |limit| format!("≤ {limit}"));
        let description = match (dialect.description_required, dialect.description) {
            (true, _) => "required".to_owned(),
            (false, None) => "optional".to_owned(),
            (false, Some(limit)) => format!("optional, ≤ {limit}"),
        };
        let keys = match dialect.keys {
            KeyScope::Nowhere => "any",
            KeyScope::Root => "plain at the root",
            KeyScope::Everywhere => "plain",
        };
        let formats = match dialect.formats {
            None => "any".to_owned(),
            Some([]) => "none".to_owned(),
            Some(formats) => formats.join(", "),
        };
        let _ = writeln!(
            out,
            "| `{}` | {shape} | {} | {} | {description} | {keys} | {formats} |",
            dialect.target,
            number(dialect.tools),
            number(dialect.name),
        );
    }
    out.push_str(
        "\nA plain key matches `[A-Za-z0-9_.-]{1,64}`; others are renamed, and arguments are carried back. Too many tools are\n\
         reported, never cut. A tool that cannot be lowered is refused for that target only.\n\n\
         ## Constructs of JSON Schema\n\n\
         keep: stays. drop: left out. describe: left out of the schema and told in the description. rewrite: said in another\n\
         way. Whatever a target does not keep is in the report of losses, unless it means the same.\n\n| construct |",
    );
    let strict: Vec<Dialect> = [Target::Anthropic, Target::OpenAiChat, Target::DeepSeek]
        .iter()
        .filter_map(|target| target.dialect()?.strict())
        .collect();
    for dialect in DIALECTS {
        let _ = write!(out, " {} |", dialect.target);
    }
    out.push_str(" anthropic strict | openai and mistral strict | deepseek strict |\n|---|");
    out.push_str(&"---|".repeat(DIALECTS.len() + strict.len()));
    out.push('\n');
    for (construct, _) in TABLE {
        let word = serde_json::to_value(construct).unwrap_or_default();
        let _ = write!(out, "| {} |", word.as_str().unwrap_or_default().replace('_', " "));
        for dialect in DIALECTS.iter().chain(&strict) {
            let rule = match dialect.rule(*construct) {
                Rule::Keep => "keep",
                Rule::Drop => "drop",
                Rule::Describe => "describe",
                Rule::Rewrite => "rewrite",
            };
            let _ = write!(out, " {rule} |");
        }
        out.push('\n');
    }
    strict_modes(&mut out);
    models(&mut out);
    let _ = writeln!(out, "\nAll targets: {}.", Target::ALL.map(Target::name).join(", "));
    out
}

fn strict_modes(out: &mut String) {
    out.push_str(
        "\n## Strict modes\n\n\
         `payloads.strict` names the tools that are to be strict. A tool is, where the target has such a mode, the model is known\n\
         to take it, nothing is lost that a call may need (open objects, maps, recursion, untyped places), and the budget of the\n\
         request is not used up by the tools before it; `strict` in the JSON says of each what became of it. Objects are closed.\n\
         Where every key is required, one that may be left out becomes nullable, and its `null` is taken out of the arguments\n\
         (`absent` in the key map).\n\n\
         | target | keys that may be left out | in one request | in one tool |\n|---|---|---|---|\n",
    );
    for target in Target::ALL {
        let Some(rules) = StrictRules::of(target) else { continue };
        let optional = if rules.all_required { "nullable" } else { "may be" };
        let budget: Vec<String> = [("tools", rules.tools), ("such keys", rules.optional), ("unions", rules.unions)]
            .iter()
            .filter_map(|(what, limit)| Some(format!("≤ {} {what}", (*limit)?)))
            .collect();
        let budget = if budget.is_empty() { "any".to_owned() } else { budget.join(", ") };
        let _ = writeln!(
            out,
            "| `{target}` | {optional} | {budget} | ≤ {} properties, {} levels, {} characters, {} values |",
            rules.properties, rules.depth, rules.chars, rules.values
        );
    }
    let _ = writeln!(
        out,
        "\nDeepSeek has its mode on a beta endpoint: say `strict = true` of the family under `payloads.models` where you use that. Gemini\n\
         holds the model to the schemas of all tools of a request or of none (mode `VALIDATED`): if `payloads.strict` names every tool\n\
         and there are at most {MOST_VALIDATED}, the answer has `tool_config`, which goes into the request as `toolConfig`."
    );
}

fn models(out: &mut String) {
    let Ok(table) = ModelTable::with(Vec::new()) else { return };
    let _ = write!(
        out,
        "\n## Models\n\n\
         `--model` (and `scope.model` in `/v1/assemble`) decides by this table, last compared with what providers publish: {}. Entries\n\
         under `payloads.models` come first. The first family whose pattern fits counts; case, `vendor/`, `models/` and regions\n\
         before the name do not matter. A model that no family names gets what is safe everywhere, and that is said.\n\n\
         Tools that disclosure defers are loaded by search where the family can do that behind the target: with `anthropic` all\n\
         definitions are in the list with `defer_loading`, and our `tool_search` is answered with references; with\n\
         `openai-responses` our search is a `tool_search` item and its answers hold the definitions. `payloads.loading` chooses\n\
         the provider's own search or the bridge instead. Everywhere else there is the bridge.\n\n\
         Tokens are those of o200k times the factor; with the feature `exact-tokens`, families with a public vocabulary are\n\
         counted exactly. Every count says which it is.\n\n\
         | family | models | context | loads by search | strict | images in results | rules of | tokens |\n|---|---|---|---|---|---|---|---|\n",
        table.revised()
    );
    for family in table.families() {
        let Family { family: name, patterns, context_length, search, images, strict, lower_as, tokens } = family;
        let yes = |is: bool| if is { "yes" } else { "no" };
        let rules: Vec<String> = lower_as.iter().map(|(target, other)| format!("{target}: {other}")).collect();
        let weight = tokens.as_ref().map_or_else(String::new, |tokens| {
            let exact = tokens.exact.map_or_else(String::new, |vocabulary| format!(", {vocabulary:?}").to_lowercase());
            let preamble = if tokens.preamble > 0 { format!(" + {}", tokens.preamble) } else { String::new() };
            format!("{:.2}{preamble}{exact}", tokens.over_o200k)
        });
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {weight} |",
            patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", "),
            context_length.map_or_else(String::new, |tokens| tokens.to_string()),
            if search.is_empty() { "no".to_owned() } else { search.join(", ") },
            yes(*strict),
            yes(*images),
            rules.join(", "),
        );
    }
}
