//! What is credited with what, and what is learnt of it.

use proptest::prelude::*;

use super::{Asked, Event, MAX_PAIRS, Prior, SearchMade, WINDOW_MS, attribute, decayed, label};

const DAY: u64 = 24 * 3_600 * 1_000;

fn search(at_ms: u64, queries: &[(&str, &[&str])]) -> Event {
    let asked = |(text, found): &(&str, &[&str])| Asked {
        text: (*text).to_owned(),
        found: found.iter().map(|id| (*id).to_owned()).collect(),
    };
    Event::Search(SearchMade { queries: queries.iter().map(asked).collect(), at_ms })
}

fn call(at_ms: u64, tool: &str) -> Event {
    Event::Call { tool: tool.to_owned(), at_ms }
}

/// Query, tools and whether all were shown, of the labels that the events of sessions give.
#[track_caller]
fn check(events: &[(&str, Event)], want: &[(&str, &[&str], bool)]) {
    let events = events.iter().map(|(session, event)| ((*session).to_owned(), event.clone()));
    let labelled = label(events);
    let got: Vec<(&str, Vec<&str>, bool)> = labelled
        .iter()
        .map(|one| (one.query.as_str(), one.gold.iter().map(String::as_str).collect(), one.shown))
        .collect();
    let want: Vec<(&str, Vec<&str>, bool)> =
        want.iter().map(|(query, gold, shown)| (*query, gold.to_vec(), *shown)).collect();
    assert_eq!(got, want);
}

#[test]
fn a_call_is_credited_to_the_search_before_it_in_its_session() {
    check(
        &[
            ("a", search(0, &[("make a ticket", &["x/one", "x/two"])])),
            ("b", search(1, &[("read mail", &["y/one"])])),
            ("a", call(2, "x/two")),
            ("a", call(3, "x/two")),
            ("b", call(4, "x/other")),
            ("a", search(5, &[("another", &[])])),
            ("c", call(6, "x/one")),
        ],
        &[("make a ticket", &["x/two"], true), ("read mail", &["x/other"], false)],
    );
}

#[test]
fn of_several_queries_those_that_found_the_tool_are_credited() {
    check(
        &[
            ("a", search(0, &[("one thing", &["x/one"]), ("other thing", &["x/two", "x/one"]), ("third", &[])])),
            ("a", call(1, "x/one")),
            ("a", call(2, "x/two")),
            ("a", call(3, "x/none")),
        ],
        &[("one thing", &["x/one"], true), ("other thing", &["x/one", "x/two"], true)],
    );
}

#[test]
fn what_tells_nothing_is_left_out() {
    check(&[("a", search(0, &[("late", &[])])), ("a", call(WINDOW_MS + 1, "x/one"))], &[]);
    check(
        &[("a", search(0, &[("just in time", &[])])), ("a", call(WINDOW_MS, "x/one"))],
        &[("just in time", &["x/one"], false)],
    );
    for name in ["select:one", "SELECT: one,two", "slack__post_message", "mcp:x/one", " ", "read*"] {
        check(&[("a", search(0, &[(name, &["x/one"])])), ("a", call(1, "x/one"))], &[]);
    }
    let twice = [("a", search(0, &[("again", &[])])), ("a", call(1, "x/one"))];
    check(&[twice.clone(), twice].concat(), &[("again", &["x/one"], false)]);
}

fn share(prior: &Prior, query: &str, tool: &str, now_ms: u64) -> f64 {
    prior.experience(query, now_ms).of(tool)
}

fn learn(prior: &mut Prior, query: &str, tool: &str, now_ms: u64) {
    prior.observe(&Prior::words_of(query), tool, now_ms);
}

#[test]
fn what_was_called_upon_words_is_expected_upon_them_again() {
    let mut prior = Prior::new(30 * DAY);
    for _ in 0..3 {
        learn(&mut prior, "ship the release", "x/deploy", 0);
    }
    learn(&mut prior, "release notes", "x/notes", 0);
    let (again, part, other) = (
        share(&prior, "shipping releases", "x/deploy", 0),
        share(&prior, "release", "x/deploy", 0),
        share(&prior, "release", "x/notes", 0),
    );
    assert!(again > part && part > other && other > 0.0 && again < 1.0, "{again} {part} {other}");
    assert!(prior.experience("weather", 0).is_empty());
    assert!(share(&prior, "release", "x/unknown", 0).abs() < f64::EPSILON);
    // Words that hold sentences together are not learnt from.
    assert!(Prior::words_of("what is the").is_empty());
}

#[test]
fn half_is_forgotten_after_a_half_life() {
    assert!((decayed(4.0, DAY, DAY) - 2.0).abs() < 1e-9);
    let mut prior = Prior::new(DAY);
    learn(&mut prior, "deploy", "x/old", 0);
    learn(&mut prior, "deploy", "x/new", 5 * DAY);
    let now = 5 * DAY;
    assert!(share(&prior, "deploy", "x/new", now) > 10.0 * share(&prior, "deploy", "x/old", now));
    let pairs = prior.pairs(now);
    assert_eq!(pairs.iter().map(|pair| pair.tool.as_str()).collect::<Vec<_>>(), ["x/new", "x/old"]);
    assert!((pairs[1].weight - 1.0 / 32.0).abs() < 1e-9);
    // Clocks may go back.
    learn(&mut prior, "deploy", "x/new", 0);
    assert!(share(&prior, "deploy", "x/new", 0).is_finite());
}

#[test]
fn it_is_bounded_and_keeps_the_strongest() {
    let mut prior = Prior::new(DAY);
    for _ in 0..2 {
        learn(&mut prior, "keep", "x/kept", 0);
    }
    let words: Vec<String> = (0..MAX_PAIRS + 10).map(|number| format!("w{number}")).collect();
    for word in &words {
        prior.observe(std::slice::from_ref(word), "x/many", 0);
    }
    assert!(prior.len() <= MAX_PAIRS, "{}", prior.len());
    assert!(share(&prior, "keep", "x/kept", 0) > 0.0);
}

#[test]
fn a_call_without_a_query_that_fits_is_nobodys() {
    let made = |queries: Vec<Asked>| SearchMade { queries, at_ms: 0 };
    let asked = |text: &str| Asked { text: text.to_owned(), found: Vec::new() };
    assert_eq!(attribute(&made(vec![asked("a")]), "t"), [0]);
    assert_eq!(attribute(&made(vec![asked("a"), asked("b")]), "t"), [0usize; 0]);
    assert_eq!(attribute(&made(Vec::new()), "t"), [0usize; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Saving and loading gives the same prior; shares stay within 0 and 1 and never sum up to more than 1.
    #[test]
    fn it_survives_being_stored(seen in prop::collection::vec((0usize..5, 0usize..6, 0u64..5), 0..60)) {
        let mut prior = Prior::new(DAY);
        for (word, tool, day) in seen {
            let words = ["deploy", "release", "pod", "mail", "ticket"];
            prior.observe(&[words[word].to_owned()], &format!("x/{tool}"), day * DAY);
        }
        let now = 6 * DAY;
        let again = Prior::from_pairs(prior.pairs(now).into_iter().map(|pair| super::Pair { at_ms: now, ..pair }), DAY, now);
        prop_assert_eq!(prior.len(), again.len());
        let (mine, other) = (prior.experience("deploy release", now), again.experience("deploy release", now));
        let mut sum = 0.0;
        for tool in 0..6 {
            let tool = format!("x/{tool}");
            prop_assert!((mine.of(&tool) - other.of(&tool)).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&mine.of(&tool)));
            sum += mine.of(&tool);
        }
        prop_assert!(sum <= 1.0 + 1e-9);
    }
}
