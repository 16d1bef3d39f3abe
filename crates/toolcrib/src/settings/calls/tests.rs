use super::*;

fn read(calls: &str) -> anyhow::Result<AdmissionSettings> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("toolcrib.toml");
    std::fs::write(&file, calls)?;
    admission(&toolcrib_config::load(&[file], &[], &toolcrib_config::Process)?, Groups::default())
}

/// Circuits of single tools and sources (oneringai §2.3: configured apart).
#[test]
fn breakers_of_single_tools_and_sources_go_by_the_rest_for_what_they_leave_out() {
    let settings = read(
        "[calls]\nbreaker.window_ms = 5000\nsource_breaker.open_ms = 7000\n\
         breakers = [{ tool = 'mcp:slow/*', failures = 1 }, { source = 'mcp:slow', failures = 2 }, \
         { source = 'mcp:slow', failures = 9 }, { tool = 'mcp:free/*', enabled = false }]",
    )
    .unwrap();
    let of_tools: Vec<_> = settings.breakers.iter().map(|rule| rule.policy.as_ref()).collect();
    let slow = of_tools[0].unwrap();
    assert_eq!((slow.failures, slow.window_ms, slow.open_ms, slow.successes), (1, 5_000, 60_000, 2));
    assert!(of_tools[1].is_none() && of_tools.len() == 2);
    let slow = settings.source_breakers[&Source::Mcp("slow".to_owned())].as_ref().unwrap();
    assert_eq!((slow.failures, slow.window_ms, slow.open_ms), (2, 300_000, 7_000), "the first that fits");
    assert_eq!(settings.source_breakers.len(), 1);
}

#[test]
fn places_of_single_tools_and_sources() {
    let settings = read(
        "[calls.concurrency]\ntool = 3\ntools = [{ tool = 'mcp:a/write', limit = 1 }]\nsources = { 'mcp:a' = 2, builtin = 5 }",
    )
    .unwrap();
    assert_eq!(settings.concurrency.tool, Some(3));
    assert_eq!(settings.concurrency.tools[0].limit, Some(1));
    assert_eq!(settings.concurrency.tools[0].pattern[0].as_str(), "mcp:a/write");
    let sources = [(Source::Builtin, Some(5)), (Source::Mcp("a".to_owned()), Some(2))];
    assert_eq!(settings.concurrency.sources, sources.into());
}

#[track_caller]
fn refused(calls: &str, part: &str) {
    let error = format!("{:#}", read(calls).unwrap_err());
    assert!(error.contains(part), "{calls}: {error}");
}

#[test]
fn rules_that_cannot_be_meant_are_refused_with_their_place() {
    for (rule, part) in [
        ("{}", "either 'tool' or 'source'"),
        ("{ failures = 1 }", "either 'tool' or 'source'"),
        ("{ tool = 'a', source = 'mcp:a' }", "either 'tool' or 'source'"),
        ("{ source = 'github' }", "'github' is no source such as mcp:github"),
        ("{ tool = '[' }", "calls.breakers"),
    ] {
        refused(&format!("calls.breakers = [{rule}]"), part);
    }
    refused("calls.concurrency.sources = { github = 1 }", "'github' is no source such as mcp:github");
    refused("calls.concurrency.tools = [{ tool = '[', limit = 1 }]", "calls.concurrency.tools");
}
