use super::*;

#[track_caller]
fn check(tools: &[(&str, &str)], want: &[(&[&str], Alike)]) {
    let ids: Vec<(ToolId, &str)> = tools.iter().map(|(id, name)| (id.parse().unwrap(), *name)).collect();
    let found = lookalikes(ids.iter().map(|(id, name)| (id, *name)));
    let found: Vec<(Vec<String>, Alike)> = found
        .into_iter()
        .map(|group| (group.tools.into_iter().map(|(id, _)| id.to_string()).collect(), group.alike))
        .collect();
    let want: Vec<(Vec<String>, Alike)> =
        want.iter().map(|(ids, alike)| (ids.iter().map(|id| (*id).to_owned()).collect(), *alike)).collect();
    assert_eq!(found, want);
    let mut turned = ids.clone();
    turned.reverse();
    let again = lookalikes(turned.iter().map(|(id, name)| (id, *name)));
    assert_eq!(again.len(), found.len(), "input order must not matter");
}

#[test]
fn names_are_alike_by_case_or_by_shape() {
    check(&[("mcp:a/get", "a__get"), ("mcp:a/set", "a__set")], &[]);
    check(&[("mcp:a/Get", "a__Get"), ("mcp:a/get", "a__get")], &[(&["mcp:a/Get", "mcp:a/get"], Alike::Case)]);
    check(&[("mcp:A/get", "A__get"), ("mcp:a/get", "a__get")], &[(&["mcp:A/get", "mcp:a/get"], Alike::Case)]);
    check(
        &[("mcp:a/get_it", "a__get_it"), ("mcp:a/get-it", "a__get-it")],
        &[(&["mcp:a/get-it", "mcp:a/get_it"], Alike::Case)],
    );
    // Cyrillic е, and a digit for a letter.
    check(
        &[("mcp:a/delete", "a__delete"), ("mcp:a/d\u{435}lete", "a__d_lete_0tail000")],
        &[(&["mcp:a/delete", "mcp:a/d\u{435}lete"], Alike::Shape)],
    );
    check(
        &[("mcp:paypal/pay", "paypal__pay"), ("mcp:paypa1/pay", "paypa1__pay")],
        &[(&["mcp:paypa1/pay", "mcp:paypal/pay"], Alike::Shape)],
    );
    // What nobody sees, separators of other kinds, full width.
    check(
        &[("mcp:a/get_it", "a__get_it"), ("mcp:a/getIt\u{feff}", "a__getIt_0tail000")],
        &[(&["mcp:a/getIt\u{feff}", "mcp:a/get_it"], Alike::Case)],
    );
    check(
        &[("mcp:a/get", "a__get"), ("mcp:a/ｇｅｔ", "a__0tail000")],
        &[(&["mcp:a/get", "mcp:a/ｇｅｔ"], Alike::Case)],
    );
    check(
        &[("mcp:a/get_aIl", "a__get_aIl"), ("mcp:a/get_all", "a__get_all")],
        &[(&["mcp:a/get_aIl", "mcp:a/get_all"], Alike::Shape)],
    );
    // One group is told once.
    check(
        &[("mcp:a/Get", "a__Get"), ("mcp:a/get", "a__get"), ("mcp:a/gEt", "a__gEt")],
        &[(&["mcp:a/Get", "mcp:a/gEt", "mcp:a/get"], Alike::Case)],
    );
}

#[test]
fn names_that_clients_bring_must_be_free() {
    let taken = ["exec", "read_file"];
    let clashes = |brought: &[&'static str]| clashes(brought, taken.into_iter());
    assert_eq!(clashes(&[" Exec "]), [(" Exec ".to_owned(), "exec".to_owned())]); // openclaw case 75
    assert_eq!(clashes(&["mine", "MINE"]), [("MINE".to_owned(), "mine".to_owned())]);
    assert_eq!(clashes(&["read-file"]).len(), 1);
    assert_eq!(clashes(&["mine", "yours"]), []);
}
