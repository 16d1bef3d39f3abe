//! The tools array from turn to turn.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    Catalog, IngestLimits, Scope, Source, SourceEntry, SourceState,
    assemble::{AssembleSettings, ToolSet, assemble},
    conversation::{Turn, TurnRequest, TurnSet, turn},
    disclosure,
    ingest::ingest,
    search::Ranker,
    shortlist::Why,
};

fn entry(source: &Source, names: &[String], state: SourceState) -> Arc<SourceEntry> {
    let items = names
        .iter()
        .map(|name| {
            let description = format!("Does {}.", name.replace('_', " "));
            json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}})
        })
        .collect();
    let (tools, refused) = ingest(source, items, &IngestLimits::default(), 1000, &|_| Ok(()));
    Arc::new(SourceEntry::new(state, tools.into_iter().map(Arc::new).collect(), refused))
}

fn catalog(sources: &[(&str, &[&str])]) -> Catalog {
    sources.iter().fold(Catalog::default(), |catalog, (source, names)| {
        let source: Source = source.parse().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let entry = entry(&source, &names, SourceState::Ready);
        catalog.with_source(source, Some(entry))
    })
}

const SHOP: [(&str, &[&str]); 3] = [
    ("builtin", &["read_file", "kv_get"]),
    ("mcp:shop", &["find_order", "cancel_order", "list_invoices"]),
    ("mcp:mail", &["send_mail", "read_mail"]),
];

fn set_of(catalog: &Catalog, settings: &AssembleSettings) -> ToolSet {
    assemble(catalog, &Scope::default(), settings).unwrap()
}

fn set() -> ToolSet {
    set_of(&catalog(&SHOP), &AssembleSettings::default())
}

fn inline() -> AssembleSettings {
    AssembleSettings { disclosure: disclosure::resolve(&json!(false)).0, ..AssembleSettings::default() }
}

fn run(set: &ToolSet, request: &TurnRequest) -> TurnSet {
    turn(set, request, |text, limit| set.build_index().search(text, limit))
}

fn names(turn: &TurnSet) -> Vec<&str> {
    turn.definitions.iter().map(|definition| definition["name"].as_str().unwrap()).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "as the request has it")]
fn calls(names: &[&str]) -> Option<Value> {
    Some(names.iter().map(|name| json!({"type": "call", "name": "tool_call", "arguments": {"name": name}})).collect())
}

const BRIDGE: [&str; 4] = ["read_file", "tool_search", "tool_describe", "tool_call"];

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "rows read better")]
fn check(request: TurnRequest, want: &[&str]) -> TurnSet {
    let set = set();
    let turn = run(&set, &request);
    assert_eq!(names(&turn), [&BRIDGE[..], want].concat());
    assert_eq!(turn.turn.shown, names(&turn));
    assert_eq!(turn.loaded.iter().map(|loaded| loaded.name.as_str()).collect::<Vec<_>>(), want);
    let counted: usize = turn.definitions.iter().map(|definition| set.counter().json(definition)).sum();
    assert_eq!(turn.tokens.shown, counted, "what is counted is what is shown");
    turn
}

#[test]
fn nothing_asked_for_gives_the_set_itself() {
    for settings in [AssembleSettings::default(), inline()] {
        let set = set_of(&catalog(&SHOP), &settings);
        let turn = run(&set, &TurnRequest::default());
        assert_eq!(turn.definitions, set.definitions);
        assert_eq!(turn.tokens, set.tokens);
        assert_eq!((turn.marker, turn.announcement, turn.notes.len(), turn.over), (None, None, 0, 0));
    }
}

#[test]
fn known_tools_are_appended_in_the_order_in_which_they_came_up() {
    let transcript = calls(&["shop__find_order", "mail__send_mail", "shop__find_order", "read_file"]);
    let turn = check(TurnRequest { transcript, ..TurnRequest::default() }, &["shop__find_order", "mail__send_mail"]);
    let marker = turn.marker.unwrap();
    assert_eq!(marker, r#"<toolcrib-tools>["mcp:shop/find_order","mcp:mail/send_mail"]</toolcrib-tools>"#);
    // After compaction nothing but the marker is left (openclaw case 92).
    let transcript = Some(json!([{"role": "user", "content": format!("So far: … {marker}")}]));
    check(TurnRequest { transcript, ..TurnRequest::default() }, &["shop__find_order", "mail__send_mail"]);
}

#[test]
fn what_is_gone_leaves_a_note_and_the_rest_as_it_was() {
    // openclaw case 91
    let transcript = json!([
        {"role": "user", "content": "<toolcrib-tools>[\"mcp:shop/find_order\",\"mcp:old/tool\"]</toolcrib-tools>"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [{"type": "tool_reference", "tool_name": "old__other"}]}]},
        {"type": "call", "name": "never_was", "arguments": {}},
        {"type": "call", "name": "mail__send_mail", "arguments": {}},
    ]);
    let request = TurnRequest { transcript: Some(transcript), ..TurnRequest::default() };
    let turn = check(request, &["shop__find_order", "mail__send_mail"]);
    assert_eq!(turn.gone, ["mcp:old/tool", "old__other"]);
    assert!(turn.notes[0].contains("mcp:old/tool, old__other"), "{:?}", turn.notes);
    // Gone between two turns: what stood before it stays, byte for byte, and so does the listing.
    let first = run(
        &set(),
        &TurnRequest { transcript: calls(&["shop__find_order", "mail__send_mail"]), ..TurnRequest::default() },
    );
    let less = set_of(&catalog(&[SHOP[0], SHOP[2]]), &AssembleSettings::default());
    let request = TurnRequest { previous: Some(first.turn.clone()), ..TurnRequest::default() };
    let second = run(&less, &request);
    assert_eq!(second.definitions[..4], first.definitions[..4]);
    assert_eq!(second.definitions[4..], first.definitions[5..]);
    assert_eq!(second.gone, ["shop__find_order"]);
    let told = second.announcement.unwrap();
    for name in ["shop__find_order", "shop__cancel_order", "shop__list_invoices"] {
        assert!(told.contains(name), "{told}");
    }
}

#[test]
fn a_server_that_is_down_takes_nothing_away() {
    let request = TurnRequest { transcript: calls(&["shop__find_order"]), ..TurnRequest::default() };
    let up = run(&set(), &request);
    let source: Source = "mcp:shop".parse().unwrap();
    let names = ["find_order", "cancel_order", "list_invoices"].map(str::to_owned);
    let down = entry(&source, &names, SourceState::Down { reason: "crashed".into() });
    let set = set_of(&catalog(&SHOP).with_source(source, Some(down)), &AssembleSettings::default());
    assert_eq!(run(&set, &request).definitions, up.definitions);
}

#[test]
fn a_task_shows_the_tools_that_answer_it() {
    let task = |text: &str| TurnRequest { task: Some(text.into()), ..TurnRequest::default() };
    let turn = check(task("find an order"), &["shop__find_order", "shop__cancel_order"]);
    assert_eq!(turn.left_out, []);
    check(TurnRequest { most: Some(1), ..task("find an order") }, &["shop__find_order"]);
    check(task("zzz"), &[]);
    // The same task at the next turn shows no more than that, and what came up in between stays behind it.
    let transcript = calls(&["mail__read_mail"]);
    let next = TurnRequest { previous: Some(turn.turn), transcript, ..task("find an order") };
    let turn = check(next, &["shop__find_order", "shop__cancel_order", "mail__read_mail"]);
    let again = TurnRequest { previous: Some(turn.turn.clone()), most: Some(1), ..task("find an order") };
    assert_eq!(
        check(again, &["shop__find_order", "shop__cancel_order", "mail__read_mail"]).definitions,
        turn.definitions
    );
}

#[test]
fn a_budget_holds_and_says_what_it_cost() {
    let base = run(&set(), &TurnRequest::default()).tokens.shown;
    let one = set().tokens_of(set().name_map().position("shop__find_order").unwrap());
    let request = |budget: usize| TurnRequest {
        transcript: calls(&["shop__find_order", "mail__send_mail"]),
        budget: Some(budget),
        ..TurnRequest::default()
    };
    let turn = check(request(base + one), &["shop__find_order"]);
    assert_eq!(turn.left_out.len(), 1);
    assert!(turn.left_out[0].deferred && matches!(turn.left_out[0].why, Why::Budget { left: 0, .. }));
    assert!(turn.notes[0].contains("mail__send_mail"), "{:?}", turn.notes);
    let turn = check(request(base - 1), &[]);
    assert_eq!(turn.over, 1);
    assert!(turn.notes[0].contains("1 more than the budget"), "{:?}", turn.notes);
    // Alone, it is filled: in the order of names, and of equal rank the smaller first.
    let all = [
        "kv_get",
        "mail__read_mail",
        "mail__send_mail",
        "shop__cancel_order",
        "shop__find_order",
        "shop__list_invoices",
    ];
    check(TurnRequest { budget: Some(1_000_000), ..TurnRequest::default() }, &all);
    let kv = set().tokens_of(set().name_map().position("kv_get").unwrap());
    check(TurnRequest { budget: Some(base + kv), ..TurnRequest::default() }, &["kv_get"]);
    // What was shown stays shown: a smaller budget stops additions only.
    let first = run(&set(), &request(1_000_000));
    let next = TurnRequest { previous: Some(first.turn.clone()), ..request(base) };
    assert_eq!(run(&set(), &next).definitions, first.definitions);
}

#[test]
fn without_a_bridge_the_rest_is_left_out_with_a_reason() {
    let set = set_of(&catalog(&SHOP), &inline());
    let turn = run(&set, &TurnRequest { task: Some("find an order".into()), ..TurnRequest::default() });
    assert_eq!(names(&turn), ["read_file", "shop__find_order", "shop__cancel_order"]);
    assert_eq!(turn.left_out.len(), 4);
    assert!(turn.left_out.iter().all(|left| !left.deferred && left.why == Why::NoMatch));
    let turn = run(&set, &TurnRequest { budget: Some(0), ..TurnRequest::default() });
    assert_eq!(names(&turn), ["read_file"]);
    assert_eq!(turn.left_out.len(), 6);
    assert!(turn.over > 0);
}

#[test]
fn what_is_new_is_told_and_the_listing_stays() {
    let small = set_of(&catalog(&SHOP[..2]), &AssembleSettings::default());
    let first = run(&small, &TurnRequest::default());
    let second = run(&set(), &TurnRequest { previous: Some(first.turn.clone()), ..TurnRequest::default() });
    assert_eq!(second.definitions, first.definitions);
    assert_eq!(
        second.announcement.as_deref(),
        Some(
            "Your tools have changed since the last turn. New, to be found with tool_search:\n- mail: mail__read_mail, mail__send_mail"
        )
    );
    let third = run(&set(), &TurnRequest { previous: Some(second.turn), ..TurnRequest::default() });
    assert_eq!(third.announcement, None);
    // Direct instead of deferred is no change of what there is (openclaw §2.4), and comes at the end.
    let settings = AssembleSettings { always: vec!["kv_get".parse().unwrap()], ..AssembleSettings::default() };
    let pinned = set_of(&catalog(&SHOP), &settings);
    let fourth = run(&pinned, &TurnRequest { previous: Some(third.turn), ..TurnRequest::default() });
    assert_eq!(names(&fourth), [&BRIDGE[..], &["kv_get"]].concat());
    assert_eq!(fourth.announcement, None);
}

#[test]
fn a_turn_survives_json_and_a_forged_one_reaches_nothing() {
    let first = run(&set(), &TurnRequest { transcript: calls(&["kv_get"]), ..TurnRequest::default() });
    let text = serde_json::to_string(&first.turn).unwrap();
    assert_eq!(serde_json::from_str::<Turn>(&text).unwrap(), first.turn);
    let forged = json!({"shown": ["hidden__tool", "tool_call", "tool_call", "read_file", "read_file"], "reachable": ["hidden__tool"]});
    let request: TurnRequest = serde_json::from_value(json!({"previous": forged})).unwrap();
    let turn = run(&set(), &request);
    assert_eq!(names(&turn), ["tool_call", "read_file", "tool_search", "tool_describe"]);
    assert_eq!(turn.gone, ["hidden__tool"]);
    for unknown in [json!({"transcripts": []}), json!({"previous": {"shown": []}})] {
        assert!(serde_json::from_value::<TurnRequest>(unknown).is_err());
    }
}

const POOL: [&str; 6] = ["alpha_one", "beta_two", "gamma_three", "delta_four", "epsilon_five", "zeta_six"];

proptest! {
    /// With what the host keeps of the turn before, the array only grows at its end, whatever comes and whatever is asked.
    #[test]
    fn the_array_of_a_turn_is_a_prefix_of_the_next(
        turns in prop::collection::vec((0_usize..6, prop::collection::vec((0_usize..6, 0_usize..6), 0..4), prop::option::of(0_usize..4_000)), 1..6),
        disclosed in any::<bool>(),
    ) {
        let settings = if disclosed { AssembleSettings::default() } else { inline() };
        let mut sources: Vec<usize> = vec![];
        let mut transcript: Vec<Value> = vec![];
        let mut previous: Option<TurnSet> = None;
        for (new_source, called, budget) in turns {
            sources.push(new_source);
            let catalog = sources.iter().fold(catalog(&SHOP), |catalog, n| {
                let source = Source::Mcp(format!("s{n}"));
                let entry = entry(&source, &POOL.map(str::to_owned), SourceState::Ready);
                catalog.with_source(source, Some(entry))
            });
            transcript.extend(called.iter().map(|(s, t)| json!({"type": "call", "name": format!("s{s}__{}", POOL[*t])})));
            let set = set_of(&catalog, &settings);
            let request = TurnRequest {
                transcript: Some(json!(transcript)),
                previous: previous.as_ref().map(|turn| turn.turn.clone()),
                budget,
                ..TurnRequest::default()
            };
            let now = run(&set, &request);
            if let Some(before) = previous {
                prop_assert!(now.definitions.len() >= before.definitions.len());
                let bytes = |turn: &TurnSet| turn.definitions[..before.definitions.len()].iter().map(ToString::to_string).collect::<Vec<_>>();
                prop_assert_eq!(bytes(&now), bytes(&before));
            }
            previous = Some(now);
        }
    }

    /// The same from the transcript alone, while the catalog stays: a longer conversation only appends, within any budget.
    #[test]
    fn a_longer_transcript_only_appends(
        called in prop::collection::vec(0_usize..8, 0..12),
        cut in 0_usize..12,
        budget in prop::option::of(0_usize..2_000),
        task in any::<bool>(),
    ) {
        let set = set();
        let names: Vec<&str> = set.names().chain(["gone__tool"]).collect();
        let called: Vec<&str> = called.iter().map(|n| names[*n]).collect();
        let request = |called: &[&str]| TurnRequest {
            transcript: calls(called),
            budget,
            task: task.then(|| "read my mail".to_owned()),
            ..TurnRequest::default()
        };
        let before = run(&set, &request(&called[..cut.min(called.len())]));
        let now = run(&set, &request(&called));
        prop_assert_eq!(&now.definitions[..before.definitions.len()], &before.definitions[..]);
        prop_assert_eq!(&now.definitions, &run(&set, &request(&called)).definitions);
        if let Some(budget) = budget {
            prop_assert!(now.tokens.shown <= budget.max(set.tokens.shown));
        }
    }
}
