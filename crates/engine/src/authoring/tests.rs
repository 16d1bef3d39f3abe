//! What becomes of types: schemas, definitions, results, failures. Numbers are cases of the oneringai reference.
#![allow(clippy::needless_pass_by_value, reason = "tests")]

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json, value::to_raw_value};
use toolcrib_core::ToolResult;

use super::*;
use crate::backend::{CallContext, InvokeError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema counts")]
struct Order {
    /// What to order.
    item: String,
    /// How many. At least one.
    #[serde(default = "one")]
    count: u32,
    #[serde(default)]
    places: Vec<Place>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Place {
    street: String,
    number: u8,
}

/// Contains itself.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Tree {
    #[serde(default)]
    children: Vec<Tree>,
}

#[derive(Serialize, JsonSchema)]
struct Receipt {
    id: u64,
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Text(String),
    Object { n: i32 },
}

#[track_caller]
fn schema<T: JsonSchema>(expected: Value) {
    assert_eq!(schema_of::<T>(), expected);
}

#[test]
fn arguments_become_plain_schemas() {
    schema::<NoArguments>(json!({
        "description": "The arguments of a tool that takes none.",
        "type": "object", "additionalProperties": false,
    }));
    // Parts are in place, doc comments are descriptions, widths of numbers are limits and no formats.
    schema::<Order>(json!({
        "type": "object",
        "properties": {
            "item": {"description": "What to order.", "type": "string"},
            "count": {"description": "How many. At least one.", "type": "integer", "minimum": 0, "default": 1},
            "places": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "street": {"type": "string"},
                    "number": {"type": "integer", "minimum": 0, "maximum": 255},
                },
                "required": ["street", "number"],
            }},
        },
        "additionalProperties": false,
        "required": ["item"],
    }));
    // What contains itself is referred to, and still compiles.
    let tree = schema_of::<Tree>();
    let validator = toolcrib_core::schema::Validator::compile(&tree).expect("it compiles");
    assert!(validator.is_valid(&json!({"children": [{"children": []}]})));
    assert!(!validator.is_valid(&json!({"children": [{"children": 1}]})));
}

#[test]
fn a_definition_has_every_field_of_the_reference() {
    // oneringai §1.2, FunctionToolDefinition: name, description, parameters, strict, outputSchema, blocking and the rest.
    let about = About::new("order", "Orders something.")
        .title("Order")
        .adds()
        .idempotent()
        .closed()
        .background()
        .field("strict", json!(true))
        .field("_meta", json!({"team": "shop"}))
        .field("name", json!("ignored: it has its own place"));
    let tool = erase(tool_fn(about, |order: Order, _| async move {
        Ok(Json(Receipt { id: u64::from(order.count), note: Some(order.item) }))
    }));
    let definition = tool.definition();
    assert_eq!(definition["name"], "order");
    assert_eq!(definition["title"], "Order");
    assert_eq!(definition["inputSchema"], schema_of::<Order>());
    assert_eq!(definition["outputSchema"]["properties"]["id"], json!({"type": "integer", "minimum": 0}));
    assert_eq!(definition["outputSchema"]["required"], json!(["id", "note"]), "as it is written, not as it is read");
    assert_eq!(
        definition["annotations"],
        json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!((&definition["blocking"], &definition["strict"]), (&json!(false), &json!(true)));
    assert_eq!(definition["_meta"], json!({"team": "shop"}));
}

#[tokio::test]
async fn outputs_become_results() {
    #[track_caller]
    fn check<O: Output>(output: O, expected: Value) {
        let wrap = O::schema().is_some_and(|schema| schema.wrapped);
        let result = output.into_result(wrap).expect("it can be written").to_value();
        assert_eq!(result, expected);
        // What a schema is declared for fits it (MCP 2025-06-18, structured content).
        if let Some(declared) = O::schema() {
            let validator = toolcrib_core::schema::Validator::compile(&declared.schema).expect("it compiles");
            assert_eq!(validator.validate(&result["structuredContent"]), Ok(()), "{}", declared.schema);
        }
    }
    check("hello", json!({"content": [{"type": "text", "text": "hello"}]}));
    check(String::from("hello"), json!({"content": [{"type": "text", "text": "hello"}]}));
    // Case 23: nothing to give is still an answer.
    check((), json!({"content": [{"type": "text", "text": "Done."}]}));
    check(ToolResult::error("no"), json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
    let structured =
        |value: Value| json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value});
    check(Json(Receipt { id: 7, note: None }), structured(json!({"id": 7, "note": null})));
    check(Json(4), structured(json!({"result": 4})));
    check(Json(vec![1, 2]), structured(json!({"result": [1, 2]})));
    check(Json(Either::Text("a".into())), structured(json!({"result": "a"})));
    check(Json(Either::Object { n: 1 }), structured(json!({"result": {"n": 1}})));
    check(Json(json!({"any": "thing"})), structured(json!({"any": "thing"})));
    check(Json(json!([1])), structured(json!({"result": [1]})));
    assert_eq!(<Json<Value> as Output>::schema(), None);
    check(Json(BTreeMap::from([("a", 1)])), structured(json!({"a": 1})));
}

#[tokio::test]
async fn failures_say_to_the_model_what_is_for_the_model() {
    let failing = |make: fn() -> ToolError| {
        erase(tool_fn(About::new("f", ""), move |_: NoArguments, _| async move { Err::<(), _>(make()) }))
    };
    let call = async |tool: std::sync::Arc<dyn ErasedTool>| {
        let raw = to_raw_value(&json!({})).expect("JSON");
        tool.call(&raw, &CallContext::new(42, std::time::Duration::from_secs(1))).await
    };
    let told = call(failing(|| ToolError::told("ask for a smaller page"))).await.expect("a result");
    assert_eq!((told.is_error(), told.to_text().as_str()), (true, "ask for a smaller page"));
    let down = call(failing(|| ToolError::unavailable("the database restarts"))).await;
    assert!(matches!(down, Err(InvokeError::Unavailable(text)) if text == "the database restarts"));
    // An error of a library is not repeated to the model: it gets the number under which the log has it.
    let internal = call(failing(|| std::io::Error::other("/srv/secret/path is gone").into())).await;
    let error = internal.expect_err("an internal failure");
    assert!(matches!(error, InvokeError::Broken(42)), "{error:?}");
    assert!(!error.to_string().contains("secret"));
}

#[test]
fn arguments_that_cannot_be_read_say_where() {
    #[track_caller]
    fn check(arguments: &Value, path: &str, says: &str) {
        let tool = erase(tool_fn(About::new("order", ""), |_: Order, _| async { Ok(()) }));
        let raw = to_raw_value(arguments).expect("JSON");
        match tool.check(&raw) {
            Ok(()) => assert_eq!(says, "", "accepted"),
            Err(violation) => {
                assert_eq!((violation.path.as_str(), violation.message.as_str()), (path, says));
            }
        }
    }
    check(&json!({"item": "a"}), "", "");
    check(&json!({"item": "a", "count": 0, "places": [{"street": "x", "number": 255}]}), "", "");
    check(&json!({}), "", "missing field `item`");
    check(&json!({"item": 1}), "/item", "invalid type: integer `1`, expected a string");
    check(
        &json!({"item": "a", "places": [{"street": "x", "number": 1}, {"street": "x", "number": 256}]}),
        "/places/1/number",
        "invalid value: integer `256`, expected u8",
    );
    check(
        &json!({"item": "a", "a/b~c": 1}),
        "/a~1b~0c",
        "unknown field `a/b~c`, expected one of `item`, `count`, `places`",
    );
}

#[test]
fn a_toolbox_refuses_what_it_cannot_serve() {
    #[track_caller]
    fn check(builder: ToolboxBuilder, expected: &BadTool) {
        assert_eq!(builder.build().err().as_ref(), Some(expected));
    }
    let named = |name: &'static str| tool_fn(About::new(name, ""), |_: NoArguments, _| async { Ok(()) });
    check(Toolbox::builder().tool(named("a")).tool(named("a")), &BadTool::Duplicate("a".into()));
    check(Toolbox::builder().tool(named(" ")), &BadTool::NoName);
    let list = tool_fn(About::new("list", ""), |_: Vec<u8>, _| async { Ok(()) });
    check(Toolbox::builder().tool(list), &BadTool::NoObject("list".into()));
    let toolbox = Toolbox::builder().tool(named("b")).tool(named("a")).build().expect("fine");
    assert_eq!(toolbox.names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((toolbox.len(), toolbox.is_empty(), toolbox.get("c").is_some()), (2, false, false));
}
