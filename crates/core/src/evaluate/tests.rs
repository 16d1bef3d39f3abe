//! What the figures mean, on answers small enough to work out by hand.

use super::{
    DEPTH, JUNK_RATE, LabelledQuery, LabelledTools, METRICS, Scores, Summary, compare, compare_sets, percentile, styles,
};

fn query(gold: &[usize]) -> LabelledQuery {
    LabelledQuery { gold: gold.to_vec(), ..LabelledQuery::default() }
}

fn value(scores: &Scores, metric: &str) -> f64 {
    let Scores::Answerable(values) = scores else { panic!("{scores:?}") };
    values[METRICS.iter().position(|name| *name == metric).unwrap()]
}

#[track_caller]
fn check(query: &LabelledQuery, ranked: &[usize], want: &[(&str, f64)]) {
    let scores = Scores::of(query, ranked);
    for (metric, want) in want {
        let got = value(&scores, metric);
        assert!((got - want).abs() < 1e-9, "{metric}: {got}, not {want}");
    }
}

#[test]
fn recall_is_the_share_of_gold_among_the_first_k() {
    let two = query(&[3, 7]);
    check(&two, &[], &[("recall@1", 0.0), ("recall@10", 0.0), ("hit@5", 0.0), ("mrr", 0.0), ("ndcg@10", 0.0)]);
    check(&two, &[7], &[("recall@1", 0.5), ("recall@2", 0.5), ("recall@10", 0.5), ("hit@5", 1.0), ("mrr", 1.0)]);
    check(&two, &[1, 3, 2, 7], &[("recall@1", 0.0), ("recall@2", 0.5), ("recall@3", 0.5), ("recall@4", 1.0)]);
    check(&two, &[3, 7], &[("recall@1", 0.5), ("recall@2", 1.0), ("ndcg@10", 1.0)]);
}

#[test]
fn a_hit_counts_up_to_the_fifth_place_and_nothing_beyond_the_tenth() {
    let one = query(&[0]);
    check(&one, &[1, 2, 3, 4, 0], &[("hit@5", 1.0), ("recall@5", 1.0), ("mrr", 0.2)]);
    check(&one, &[1, 2, 3, 4, 5, 0], &[("hit@5", 0.0), ("recall@5", 0.0), ("recall@6", 1.0), ("mrr", 1.0 / 6.0)]);
    let eleven: Vec<usize> = (1..=DEPTH).chain([0]).collect();
    check(&one, &eleven, &[("recall@10", 0.0), ("mrr", 0.0), ("ndcg@10", 0.0)]);
}

#[test]
fn ndcg_discounts_by_rank_and_weighs_by_grade() {
    check(&query(&[0]), &[1, 0], &[("ndcg@10", 1.0 / 3f64.log2())]);
    let graded = LabelledQuery { grades: Some(vec![(0, 1.0), (1, 2.0)]), ..query(&[0, 1]) };
    let ideal = 3.0 + 1.0 / 3f64.log2();
    check(&graded, &[1, 0], &[("ndcg@10", 1.0)]);
    check(&graded, &[0, 1], &[("ndcg@10", (1.0 + 3.0 / 3f64.log2()) / ideal)]);
    // More gold tools than places: the ideal is a full page of them.
    let many: Vec<usize> = (0..20).collect();
    check(&query(&many), &many, &[("ndcg@10", 1.0), ("recall@10", 0.5)]);
    let worthless = LabelledQuery { grades: Some(vec![(0, 0.0)]), ..query(&[0]) };
    check(&worthless, &[0], &[("ndcg@10", 0.0), ("recall@1", 1.0)]);
}

#[test]
fn any_hit_for_a_query_without_an_answer_is_junk() {
    assert_eq!(Scores::of(&query(&[]), &[]), Scores::Absent { junk: false });
    assert_eq!(Scores::of(&query(&[]), &[4]), Scores::Absent { junk: true });
    let summary = Summary::of(&[Scores::Absent { junk: true }, Scores::Absent { junk: false }]);
    assert_eq!((summary.queries, summary.answered), (2, None));
    assert_eq!(summary.junk_rate.map(|rate| rate.mean), Some(0.5));
}

/// Ten answers of which `right` have the gold tool first, the others not at all.
fn answers(right: usize) -> Vec<Scores> {
    (0..10).map(|at| Scores::of(&query(&[0]), &[usize::from(at >= right)])).collect()
}

#[test]
fn a_summary_has_means_with_repeatable_intervals() {
    let summary = Summary::of(&answers(7));
    let names: Vec<&str> = summary.figures().map(|(name, _)| name).collect();
    assert_eq!(names[..13], METRICS);
    assert_eq!(names[13], JUNK_RATE);
    let recall = summary.answered.unwrap()[0];
    assert!((recall.mean - 0.7).abs() < 1e-9);
    let (low, high) = recall.interval;
    assert!((0.3..=0.5).contains(&low) && (0.9..=1.0).contains(&high), "{low} to {high}");
    assert_eq!(summary.junk_rate, None);
    assert_eq!(summary, Summary::of(&answers(7)));
    assert_eq!(Summary::of(&[]).figures().filter(|(_, figure)| figure.is_some()).count(), 0);
    let sure = Summary::of(&answers(10)).answered.unwrap()[0];
    assert_eq!(sure.interval, (1.0, 1.0));
}

#[test]
fn styles_are_told_apart() {
    let styled = |style: &str| LabelledQuery { style: style.to_owned(), ..query(&[0]) };
    let queries = [styled("typo"), styled("keywords"), styled(""), styled("typo")];
    let scores: Vec<Scores> = queries.iter().map(|query| Scores::of(query, &[0])).collect();
    let by_style = styles(&queries, &scores);
    let counts: Vec<(&str, usize)> =
        by_style.iter().map(|(style, summary)| (style.as_str(), summary.queries)).collect();
    assert_eq!(counts, [("keywords", 1), ("typo", 2)]);
    let queries: Vec<LabelledQuery> = (0..300).map(|number| styled(&format!("{number:03}"))).collect();
    let by_style = styles(&queries, &vec![Scores::Absent { junk: false }; 300]);
    assert_eq!((by_style.len(), by_style["(other)"].queries), (101, 200));
}

#[track_caller]
fn check_compare(first: usize, second: usize, want: f64, significant: bool) {
    let comparisons = compare(&answers(first), &answers(second));
    let names: Vec<&str> = comparisons.iter().map(|comparison| comparison.metric).collect();
    assert_eq!(names, METRICS);
    let top = comparisons[0];
    assert!((top.difference.mean - want).abs() < 1e-9, "{top:?}");
    assert_eq!(top.p < 0.05, significant, "{top:?}");
    assert_eq!((top.larger, top.smaller), (second.saturating_sub(first), first.saturating_sub(second)));
    assert_eq!(top.larger + top.smaller + top.equal, 10);
    let (low, high) = top.difference.interval;
    assert!(low <= top.difference.mean && top.difference.mean <= high, "{top:?}");
}

#[test]
fn two_rankers_are_compared_query_by_query() {
    check_compare(5, 5, 0.0, false);
    check_compare(5, 6, 0.1, false);
    check_compare(0, 9, 0.9, true);
    check_compare(9, 0, -0.9, true);
    let same = compare(&answers(5), &answers(5))[0];
    assert!((same.p - 1.0).abs() < 1e-9, "no difference at all is what chance gives");
    let junk = compare(&[Scores::Absent { junk: true }], &[Scores::Absent { junk: false }]);
    assert_eq!((junk.len(), junk[0].metric, junk[0].smaller), (1, JUNK_RATE, 1));
}

#[test]
fn every_set_counts_the_same() {
    let (small, large) = (answers(10)[..2].to_vec(), answers(0));
    let summary = Summary::of_sets(&[&small, &large, &[Scores::Absent { junk: true }], &[]]);
    let recall = summary.answered.unwrap()[0];
    assert!((recall.mean - 0.5).abs() < 1e-9 && recall.interval == (0.5, 0.5), "{recall:?}");
    assert_eq!((summary.queries, summary.junk_rate.map(|rate| rate.mean)), (13, Some(1.0)));
    assert_eq!(Summary::of_sets(&[]).answered, None);
    let (worse, better) = (answers(2), answers(9));
    let over = compare_sets(&[(&worse, &better), (&small, &small)])[0];
    assert!((over.difference.mean - 0.35).abs() < 1e-9, "{over:?}");
    assert!(over.p < 0.05 && (over.larger, over.smaller, over.equal) == (7, 0, 5), "{over:?}");
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let check = |values: &[f64], share: f64, want: f64| {
        let got = percentile(&mut values.to_vec(), share);
        assert!((got - want).abs() < 1e-9, "{values:?} at {share}: {got}");
    };
    check(&[], 0.5, 0.0);
    check(&[4.0], 0.99, 4.0);
    check(&[3.0, 1.0, 2.0], 0.5, 2.0);
    check(&[1.0, 2.0, 3.0, 4.0], 0.5, 2.0);
    check(&[1.0, 2.0, 3.0, 4.0], 0.0, 1.0);
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    check(&hundred, 0.99, 99.0);
    check(&hundred, 1.0, 100.0);
}

const TOOLS: &str = "\u{feff}{\"id\":\"a\",\"name\":\"read\",\"server\":\"files\",\"parameters\":[\"path\"]}\n\n\
    {\"name\":\"write\",\"server\":\"files\",\"server_description\":\"a disk\",\"title\":\"Write\",\"tags\":[\"disk\"],\
    \"inputSchema\":{\"properties\":{\"text\":{}}}}\r\n{\"name\":\"clock\",\"description\":null}\n";

fn tools() -> LabelledTools {
    let mut tools = LabelledTools::default();
    tools.add(TOOLS).unwrap();
    tools
}

#[test]
fn a_tool_goes_by_its_id_or_else_by_server_and_name() {
    let tools = tools();
    let queries = tools.read_queries(r#"{"query":"q","gold":["files:write","clock","a","a"]}"#).unwrap();
    assert_eq!(queries[0].gold, [0, 1, 2]);
    let documents = tools.documents();
    let parameters: Vec<&str> = documents.iter().flat_map(|d| &d.parameters).map(|p| p.name.as_str()).collect();
    assert_eq!(parameters, ["path", "text"]);
    assert_eq!((documents[1].server_summary.as_str(), documents[1].title.as_str()), ("a disk", "Write"));
    assert_eq!(documents[1].tags, ["disk"]);
}

#[test]
fn several_files_are_one_catalog_and_the_first_of_an_id_stays() {
    let mut tools = tools();
    tools.add(r#"{"server":"files","tools":[{"name":"copy"},{"name":"write","description":"another"}]}"#).unwrap();
    tools.add(r#"[{"name":"list"}]"#).unwrap();
    tools.add(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"ping"}]}}"#).unwrap();
    tools.add("").unwrap();
    let names: Vec<&str> = tools.documents().iter().map(|document| document.name.as_str()).collect();
    assert_eq!(names, ["read", "write", "clock", "copy", "list", "ping"]);
    assert_eq!((tools.repeated(), tools.documents()[1].description.as_str()), (1, ""));
    assert!(tools.read_queries(r#"{"query":"q","gold":["files:copy"]}"#).is_ok());
}

#[test]
fn queries_carry_grades_and_style() {
    let text = r#"{"id":"1","query":"q","gold":[],"style":"absent","kind":"x"}
        {"query":"","gold":["a"],"kind":"x","grades":{"a":2,"clock":0.5}}"#;
    let queries = tools().read_queries(text).unwrap();
    assert_eq!((queries[0].style.as_str(), queries[1].style.as_str()), ("absent", "x"));
    assert_eq!(queries[1].grades, Some(vec![(0, 2.0), (2, 0.5)]));
    let hinted = tools().read_queries(r#"{"query":"q","gold":[],"server_hint":"disk"}"#).unwrap();
    assert_eq!((queries[0].hint.as_str(), hinted[0].hint.as_str()), ("", "disk"));
}

#[track_caller]
fn check_bad_tools(text: &str, want: &str) {
    let error = LabelledTools::default().add(text).unwrap_err().to_string();
    assert!(error.contains(want), "{text}: {error}");
}

#[track_caller]
fn check_bad_queries(text: &str, want: &str) {
    let error = tools().read_queries(text).unwrap_err().to_string();
    assert!(error.contains(want), "{text}: {error}");
}

#[test]
fn a_bad_line_is_named_with_what_is_wrong() {
    check_bad_tools("{\"name\":\"a\"}\n{bad", "line 2: not JSON");
    check_bad_tools("{\"name\":\"a\"}\n\n7", "line 3: expected an object, found 7");
    check_bad_tools("{\"id\":\"a\"}", "line 1: there is no `name`");
    check_bad_tools("{\"name\":\"a\",\"description\":5}", "`description` is 5, not a string");
    check_bad_tools("{\"name\":\"a\",\"parameters\":\"x\"}", "neither a JSON Schema nor a list of names");
    check_bad_tools("{\"name\":\"a\",\"parameters\":[1]}", "`parameters` holds 1");
    check_bad_tools("[{\"name\":\"a\"},{}]", "tool 2: there is no `name`");
    check_bad_queries("{\"query\":\"q\",\"gold\":[]}\n{\"gold\":[]}", "line 2: there is no `query`");
    check_bad_queries("{\"query\":\"q\"}", "there is no `gold`");
    check_bad_queries("{\"query\":[],\"gold\":[]}", "`query` is [], not a string");
    check_bad_queries("{\"query\":\"q\",\"gold\":\"a\"}", "`gold` is \"a\", not a list of strings");
    check_bad_queries(
        "{\"query\":\"q\",\"gold\":[\"nowhere\"]}",
        "`gold` names \"nowhere\", which is the id of no tool",
    );
    check_bad_queries("{\"query\":\"q\",\"gold\":[\"write\"]}", "near: files:write");
    check_bad_queries("{\"query\":\"q\",\"gold\":[\"a\"],\"grades\":{\"b\":1}}", "`grades` names \"b\"");
    check_bad_queries("{\"query\":\"q\",\"gold\":[\"a\"],\"grades\":{\"a\":-1}}", "not a number from 0 to 30");
    check_bad_queries("{\"query\":\"q\",\"gold\":[\"a\"],\"grades\":[]}", "not an object");
    check_bad_queries(&format!("{{\"query\":\"q\",\"gold\":[\"{}\"]}}", "x".repeat(5000)), "xxx…, which");
}
