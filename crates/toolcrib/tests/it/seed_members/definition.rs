//! What a tool is, and what executes it.

use toolcrib::{
    core::{assemble::ToolSet, render::RenderOptions},
    engine::{
        CallLimits, Engine, Hub,
        authoring::{self, About, Tool, Toolbox},
    },
};

use super::{Row, rows};

pub(super) fn classes() -> Vec<(&'static str, Vec<Row>)> {
    vec![("FunctionToolDefinition", fields()), ("IToolExecutor", executor())]
}

fn fields() -> Vec<Row> {
    rows! {
        ["name" => About::name, "exposed names are made of it and the source"]
        ["description" => of Tool about, ""]
        ["parameters" => part Tool Arguments, "the schema is made of the type, by `authoring::schema_of`, and holds before the call"]
        ["strict" => About::field as (About, &str, serde_json::Value), "payloads are strict by wish of whoever asks for them, where the provider can"]
        ["outputSchema" => part Tool Output, "`Json` declares it; results are held against it"]
        ["blocking" => About::background, "`false`: a handle now, the result later"]
        ["timeout" => field CallLimits.tool_timeouts, "enforced; the operator's to say"]
        ["async" => field RenderOptions.asynchronous, ""]
        ["allowedCallers" => field RenderOptions.programmatic, ""]
        ["deferLoading" => type toolcrib::core::disclosure::Disclosure, "decided for each view; in payloads where the provider loads by search"]
        ["descriptionFactory" => of Tool describe, "by scope; the same in listing, search and describing"]
        ["describeCall" => of Tool describe_call, "shown to the person who is asked"]
        ["execute" => of Tool call, "the context comes with the call; case 136"]
        ["ToolFunction" => authoring::erase as (super::Sample), "the same without its types"]
        ["createTool" => type dyn authoring::ToolFactory, "`Hub::register_scoped`; case 55"]
    }
}

fn executor() -> Vec<Row> {
    rows! {
        ["execute" => Engine::call, "`call_report` with the outcome and all that is known of it"]
        ["hasToolFunction" => ToolSet::resolve, "for one scope"]
        ["getToolDefinition" => ToolSet::tool, "for one scope"]
        ["registerTool" => Toolbox::publish, "`Hub::register` for other backends"]
        ["unregisterTool" => Hub::remove, ""]
        ["listTools" => ToolSet::names, "for one scope"]
    }
}
