//! From pairs to a set, and to files and back.

use toolcrib_core::{
    evaluate::LabelledTools,
    search::{Document, Parameter},
    usage,
};

use super::{queries, write};
use crate::commands::eval::{Labelled, sets};

fn tools() -> LabelledTools {
    let schema = serde_json::json!({"properties": {
        "path": {"description": "Where."},
        "how": {"enum": ["fast", "slow"], "properties": {"inner": {"description": "deep"}}}}});
    let mut tools = LabelledTools::default();
    for name in ["read", "write"] {
        let document = Document {
            name: name.to_owned(),
            server: "files".to_owned(),
            description: format!("To {name} \"things\"."),
            server_summary: "A disk.".to_owned(),
            tags: vec!["disk".to_owned()],
            parameters: Parameter::from_schema(&schema),
            ..Document::default()
        };
        tools.push(format!("mcp:files/{name}"), document);
    }
    tools
}

fn labelled(query: &str, gold: &[&str], shown: bool) -> usage::Labelled {
    usage::Labelled { query: query.to_owned(), gold: gold.iter().map(|id| (*id).to_owned()).collect(), shown }
}

#[test]
fn queries_for_tools_that_are_gone_do_not_count() {
    let pairs = [
        labelled("store it", &["mcp:files/write"], false),
        labelled("look into it", &["mcp:files/read", "mcp:gone/read"], true),
        labelled("both", &["mcp:files/write", "mcp:files/read"], true),
    ];
    let (queries, gone) = queries(&tools(), &pairs);
    assert_eq!(gone, 1);
    let got: Vec<(&str, &[usize], &str)> =
        queries.iter().map(|query| (query.text.as_str(), query.gold.as_slice(), query.style.as_str())).collect();
    assert_eq!(got, [("store it", &[1][..], "not shown"), ("both", &[0, 1][..], "shown")]);
}

#[test]
fn a_set_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (queries, _) = queries(&tools(), &[labelled("store \"it\"\n", &["mcp:files/write"], true)]);
    let set = Labelled { name: "traffic".to_owned(), tools: tools(), queries };
    let path = folder.path().join("sets/mine");
    write(&path, &set).unwrap();
    let read = sets::read_all(&folder.path().join("sets")).unwrap();
    assert_eq!((read.len(), read[0].name.as_str()), (1, "mine"));
    assert_eq!(read[0].tools.documents(), set.tools.documents());
    assert_eq!(read[0].queries, set.queries);
    assert!(write(&path, &set).unwrap_err().to_string().contains("there already"));
}
