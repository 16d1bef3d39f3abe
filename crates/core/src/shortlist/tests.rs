use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const fn item(position: usize, name: &str, tokens: usize, priority: i32) -> Item<'_> {
    Item { position, name, tokens, priority, conditions: &[], keep: false }
}

fn names<'a>(items: &[Item<'a>], pick: &Pick) -> Vec<&'a str> {
    pick.kept.iter().map(|position| items.iter().find(|item| item.position == *position).unwrap().name).collect()
}

#[track_caller]
fn check<'a>(items: &'a [Item<'a>], build: impl Fn(Shortlist<'a>) -> Shortlist<'a>, want: &[&str]) {
    let pick = build(Shortlist::of(items)).pick();
    assert_eq!(names(items, &pick), want);
    assert_eq!(pick.kept.len() + pick.left_out.len(), items.len(), "every tool has a fate");
    // The order in which items come says nothing.
    let reversed: &'a [Item<'a>] = Vec::leak(items.iter().rev().copied().collect());
    assert_eq!(names(reversed, &build(Shortlist::of(reversed)).pick()), want);
}

const ABC: [Item<'static>; 3] = [item(0, "a", 10, 10), item(1, "b", 20, 100), item(2, "c", 30, 50)];

#[test]
fn priority_decides_where_nothing_else_does() {
    // oneringai case 7
    check(&ABC, |list| list, &["b", "c", "a"]);
    let equal = [item(0, "b", 1, 0), item(1, "a", 1, 0)];
    check(&equal, |list| list, &["a", "b"]);
}

#[test]
fn a_budget_keeps_the_best_that_fit_and_lets_smaller_ones_have_the_rest() {
    check(&ABC, |list| list.within(60), &["b", "c", "a"]);
    check(&ABC, |list| list.within(59), &["b", "c"]);
    check(&ABC, |list| list.within(49), &["b", "a"]);
    check(&ABC, |list| list.within(19), &["a"]);
    check(&ABC, |list| list.within(0), &[]);
    // Of equal rank as many as possible.
    let equal = [item(0, "a", 50, 0), item(1, "b", 20, 0), item(2, "c", 30, 0)];
    check(&equal, |list| list.within(50), &["b", "c"]);
}

#[test]
fn what_must_stay_stays_and_the_excess_is_told() {
    let items = [Item { keep: true, ..item(0, "z", 100, -5) }, item(1, "a", 10, 0)];
    check(&items, |list| list.within(40), &["z"]);
    let pick = Shortlist::of(&items).within(40).pick();
    assert_eq!((pick.tokens, pick.over), (100, 60));
    assert_eq!(pick.left_out, [(1, Why::Budget { tokens: 10, left: 0 })]);
}

#[test]
fn relevance_comes_before_priority_and_no_match_means_nothing() {
    let search = |text: &str, _| match text {
        "order" => vec![Hit { index: 2, score: 9.0 }, Hit { index: 0, score: 3.0 }],
        _ => vec![],
    };
    check(&ABC, |list| list.matching("order", search), &["c", "a"]);
    check(&ABC, |list| list.matching("order", search).most(1), &["c"]);
    check(&ABC, |list| list.matching("order", search).within(29), &["a"]);
    // openclaw case 98; unlike oneringai, where an empty text matches everything
    check(&ABC, |list| list.matching("", search), &[]);
    let pick = Shortlist::of(&ABC).matching("order", search).most(1).pick();
    assert_eq!(pick.left_out, [(1, Why::NoMatch), (0, Why::Rank { most: 1 })]);
}

#[test]
fn conditions_and_recent_tools() {
    let situation = Situation {
        mode: Some("plan".into()),
        input: Some("Where is the INVOICE?".into()),
        recent: vec!["a".into()],
        facts: [("tier".to_owned(), json!("pro"))].into(),
        ..Situation::default()
    };
    let test = |name: &str, test: fn(&Situation) -> Result<bool, String>| Condition::Test {
        name: name.into(),
        test: Arc::new(test),
    };
    for (condition, want) in [
        (Condition::Mode(vec!["act".into(), "plan".into()]), Ok(true)),
        (Condition::Mode(vec![]), Ok(false)),
        (Condition::Fact { name: "tier".into(), value: json!("pro") }, Ok(true)),
        (Condition::Fact { name: "tier".into(), value: json!("free") }, Ok(false)),
        (Condition::Fact { name: "none".into(), value: json!(null) }, Ok(false)),
        (Condition::Mentions(vec!["invoice".into()]), Ok(true)),
        (Condition::Mentions(vec!["voice".into(), String::new()]), Ok(false)),
        (test("yes", |situation| Ok(situation.mode.is_some())), Ok(true)),
        (test("broken", |_| Err("no clock".into())), Err("no clock".to_owned())),
    ] {
        assert_eq!(condition.holds(&situation), want, "{condition}");
    }
    // A broken condition costs its own tool only, where oneringai's selection fails as a whole.
    let broken = [test("broken", |_| Err("no clock".into()))];
    let never = [Condition::Mode(vec!["act".into()])];
    let items = [
        item(0, "a", 1, 0),
        Item { conditions: &broken, ..item(1, "b", 1, 0) },
        Item { conditions: &never, ..item(2, "c", 1, 0) },
        item(3, "d", 1, 0),
    ];
    check(&items, |list| list.when(&situation, Recent::Ignore), &["a", "d"]);
    check(&items, |list| list.when(&situation, Recent::Exclude), &["d"]);
    let last = [item(0, "z", 1, 0), item(1, "a", 1, 0), item(2, "y", 1, 5)];
    let used = Situation { recent: vec!["z".into()], ..Situation::default() };
    check(&last, |list| list.when(&used, Recent::Prefer), &["y", "z", "a"]);
    let pick = Shortlist::of(&items).when(&situation, Recent::Ignore).pick();
    let reasons: Vec<String> = pick.left_out.iter().map(|(_, why)| why.sentence()).collect();
    assert_eq!(
        reasons,
        ["its condition 'broken' cannot be evaluated: no clock", "its condition 'mode is act' does not hold"]
    );
}

#[test]
fn a_condition_that_panics_costs_its_own_tool_only() {
    let test: Test = Arc::new(|_| panic!("scripted"));
    let held = Condition::Test { name: "bad".into(), test }.holds(&Situation::default());
    assert_eq!(held, Err("it panicked".to_owned()));
}

proptest! {
    /// The objective, against all subsets: kept is the first of the fitting sets in the declared order.
    #[test]
    fn the_kept_set_is_the_best_that_fits(
        specs in prop::collection::vec((0_usize..40, -2_i32..3), 0..9),
        budget in 0_usize..120,
    ) {
        let named: Vec<String> = (0..specs.len()).map(|n| format!("t{n}")).collect();
        let items: Vec<Item<'_>> =
            specs.iter().zip(&named).enumerate().map(|(n, ((tokens, priority), name))| item(n, name, *tokens, *priority)).collect();
        let pick = Shortlist::of(&items).within(budget).pick();
        let order = Shortlist::of(&items).within(usize::MAX).pick().kept;
        let place = |position: &usize| order.iter().position(|other| other == position).unwrap();
        let best = (0..1_usize << items.len())
            .map(|set| {
                let mut set: Vec<usize> = (0..items.len()).filter(|n| set >> n & 1 == 1).collect();
                set.sort_by_key(place);
                set
            })
            .filter(|set| set.iter().map(|n| items[*n].tokens).sum::<usize>() <= budget)
            .max_by_key(|set| {
                let mut key: Vec<bool> = vec![false; items.len()];
                for n in set {
                    key[place(n)] = true;
                }
                key
            })
            .unwrap();
        prop_assert_eq!(&pick.kept, &best);
        prop_assert!(pick.tokens <= budget);
        prop_assert_eq!(pick.over, 0);
    }
}
