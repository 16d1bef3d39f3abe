//! The reference of targets, made from the dialects.

use std::fmt::Write;

use super::{
    Target,
    dialect::{DIALECTS, KeyScope, REVISED, Rule, TABLE, Wrapper},
};

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
    for dialect in DIALECTS {
        let _ = write!(out, " {} |", dialect.target);
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(DIALECTS.len()));
    out.push('\n');
    for (construct, _) in TABLE {
        let word = serde_json::to_value(construct).unwrap_or_default();
        let _ = write!(out, "| {} |", word.as_str().unwrap_or_default().replace('_', " "));
        for dialect in DIALECTS {
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
    let _ = writeln!(out, "\nAll targets: {}.", Target::ALL.map(Target::name).join(", "));
    out
}
