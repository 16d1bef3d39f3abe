//! Order and names of what is assembled (cases 49 to 53 and 68 to 72).

use super::{catalog_of, everybody};
use crate::{
    Catalog,
    assemble::{AssembleSettings, assemble},
    disclosure,
    name::{Conflict, NameSettings, Prefix},
};

fn shown(catalog: &Catalog, names: NameSettings) -> Vec<String> {
    let (disclosure, _) = disclosure::resolve(&serde_json::json!(false));
    let settings = AssembleSettings { names, disclosure, ..AssembleSettings::default() };
    let set = assemble(catalog, &everybody(), &settings).unwrap();
    set.definitions.iter().map(|definition| definition["name"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn check(tools: &[(&str, &[&str])], names: NameSettings, want: &[&str]) {
    assert_eq!(shown(&catalog_of(tools), names), want);
    // 70: any permutation.
    let mut turned = tools.to_vec();
    turned.reverse();
    assert_eq!(shown(&catalog_of(&turned), names), want);
}

#[test]
fn built_in_tools_are_a_sorted_prefix_and_the_rest_goes_by_group_and_name() {
    let tools: &[(&str, &[&str])] = &[
        ("mcp:a", &["z", "a"]),
        ("builtin", &["write", "read"]),
        ("mcp:Z", &["a"]),
        ("plugin:m", &["a_first"]),
        ("connector:crm:eu", &["find"]),
    ];
    // 70, 71.
    check(
        tools,
        NameSettings::default(),
        &["read", "write", "Z__a", "a__a", "a__z", "crm_eu__find_u82nudd5", "a_first"],
    );
}

#[test]
fn one_rule_for_conflicts_at_every_door() {
    let tools: &[(&str, &[&str])] = &[("mcp:s", &["x", "y"]), ("plugin:p", &["x"]), ("builtin", &["x"])];
    let names = |conflict| NameSettings { prefix: Prefix::None, conflict, ..NameSettings::default() };
    // 68, 72: the built-in tool, also where tools are served to others.
    check(tools, names(Conflict::Priority), &["x", "y"]);
    check(tools, names(Conflict::First), &["x", "y"]);
    check(tools, names(Conflict::Reject), &["y"]);
    let catalog = catalog_of(tools);
    assert_eq!(shown(&catalog, names(Conflict::Namespace)).len(), 4);
}

#[test]
fn names_of_servers_do_not_depend_on_one_another() {
    let name = |tools: &[(&str, &[&str])], id: &str| {
        let catalog = catalog_of(tools);
        let set = assemble(&catalog, &everybody(), &AssembleSettings::default()).unwrap();
        let found = set.name_map().iter().find(|(_, one)| one.to_string() == id).map(|(name, _)| name.to_owned());
        found.unwrap()
    };
    // 49: both are served, and neither name is a count of the other.
    let both: &[(&str, &[&str])] = &[("mcp:vigil-harbor", &["x"]), ("mcp:vigil:harbor", &["x"])];
    assert_ne!(name(both, "mcp:vigil-harbor/x"), name(both, "mcp:vigil:harbor/x"));
    // 52: one of them gone changes nothing.
    assert_eq!(name(both, "mcp:vigil:harbor/x"), name(&both[1..], "mcp:vigil:harbor/x"));
    // 50: a name that is reserved.
    let long = "x".repeat(200);
    let tools: &[(&str, &[&str])] = &[("plugin:p", &["memory__status"]), ("mcp:memory", &["status", &long, "y"])];
    // 51: of 200 characters at most 64, still its own.
    assert!(name(tools, &format!("mcp:memory/{long}")).len() <= 64);
    // 53: letters first.
    assert!(name(&[("mcp:1st", &["x"])], "mcp:1st/x").starts_with("t_1st__x"));
}
