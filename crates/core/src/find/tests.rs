//! Query forms on small catalogs; the numbers are the cases of the OpenClaw and OpenClaude reference.

use std::{borrow::Cow, collections::HashSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Answer, Ask, Filter, Via, fairly, find};
use crate::{
    bridge::{Card, Directory},
    search::{Document, Index, RankerKind, tests::golden},
    usage::Prior,
};

/// Tools as (server, name, description).
struct Shelf {
    tools: Vec<Document>,
    definitions: Vec<Value>,
    index: Index,
    /// Whether tools go by their names as identities.
    identities: bool,
}

/// Cards with or without identities.
struct Cards<'a>(Vec<Card<'a>>, bool);

impl Directory for Cards<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn card(&self, index: usize) -> Card<'_> {
        self.0[index]
    }

    fn identity(&self, index: usize) -> Option<Cow<'_, str>> {
        self.1.then(|| self.0[index].name.into())
    }
}

impl Shelf {
    fn new(tools: Vec<Document>) -> Self {
        Self::of(RankerKind::Lexical, tools)
    }

    fn of(kind: RankerKind, tools: Vec<Document>) -> Self {
        let definition = |tool: &Document| {
            let read = tool.name.contains("list") || tool.name.contains("get");
            json!({"name": tool.name, "annotations": {"readOnlyHint": read}})
        };
        let definitions = tools.iter().map(definition).collect();
        let index = Index::build(kind, &tools);
        Self { tools, definitions, index, identities: false }
    }

    fn small() -> Self {
        let tool = |(server, name, description): (&str, &str, &str)| Document {
            server: server.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            ..Document::default()
        };
        let tools = [
            ("slack", "slack__post_message", "Post a message to a channel."),
            ("slack", "slack__list_channels", "List the channels."),
            ("slack", "slack__get_user", "Look up a user."),
            ("github", "github__create_issue", "Open an issue in a repository."),
            ("github", "github__list_issues", "List the issues of a repository. Can notify slack."),
            ("jira", "jira__create_issue", "File a work item."),
            ("files", "read_file", "Read a file."),
            ("files", "readMany", "Read several files."),
        ];
        Self::new(tools.map(tool).to_vec())
    }

    fn ask(&self, query: &str, ask: &Ask<'_>) -> Answer {
        let tools = self.tools.iter().zip(&self.definitions);
        let card = |(tool, definition)| {
            let tool: &Document = tool;
            Card { name: &tool.name, server: &tool.server, definition, tool: None }
        };
        find(&Cards(tools.map(card).collect(), self.identities), &self.index, query, ask)
    }

    fn names(&self, answer: &Answer) -> Vec<&str> {
        answer.hits.iter().map(|hit| self.tools[hit.index].name.as_str()).collect()
    }
}

fn ask(limit: usize) -> Ask<'static> {
    Ask { limit, ..Ask::default() }
}

#[track_caller]
fn check(query: &str, want: &[&str]) {
    let shelf = Shelf::small();
    assert_eq!(shelf.names(&shelf.ask(query, &ask(5))), want, "{query}");
}

#[track_caller]
fn check_first(query: &str, want: &str) {
    let shelf = Shelf::small();
    let answer = shelf.ask(query, &ask(5));
    assert_eq!(shelf.names(&answer).first(), Some(&want), "{query}: {:?}", shelf.names(&answer));
}

#[test]
fn names_are_selected() {
    check("select:slack__get_user,missing,read_file,slack__get_user", &["slack__get_user", "read_file"]); // 76
    check("SELECT: read_file ", &["read_file"]); // 77
    check("Select:`read_file`, \"readMany\"", &["read_file", "readMany"]);
    check("select:READ-FILE,slack/post_message", &["read_file", "slack__post_message"]);
    check("select:list_channels,mcp__github__list_issues", &["slack__list_channels", "github__list_issues"]);
    check("read_file, readMany", &["read_file", "readMany"]);
    check("select:zzz", &[]);
    check("select:create_issue", &[]); // 94
    let shelf = Shelf::small();
    let all: Vec<&str> = shelf.tools.iter().map(|tool| tool.name.as_str()).collect();
    let answer = shelf.ask(&format!("select:{}", all.join(",")), &ask(5));
    assert_eq!(shelf.names(&answer), all, "the limit does not count"); // 78
    assert!(answer.hits.iter().all(|hit| hit.via == Via::Selected) && !answer.more);
    let answer = shelf.ask("select:read_file,gone,gone", &ask(5)); // 79b
    assert_eq!(answer.missing.iter().map(|missing| missing.name.as_str()).collect::<Vec<_>>(), ["gone"]);
    // Nothing after it: a word like others.
    check("select:", &[]);
}

#[test]
fn an_exact_name_is_that_tool() {
    check("slack__post_message", &["slack__post_message"]);
    check("Slack__Post-Message", &["slack__post_message"]); // 80
    check("READ_FILE", &["read_file"]);
    check("readmany", &["readMany"]);
    check_first("use github__list_issues to see them", "github__list_issues");
    check_first("post message slack", "slack__post_message");
}

#[test]
fn the_beginning_of_a_name_gives_all_that_begin_so() {
    check("mcp__slack", &["slack__get_user", "slack__list_channels", "slack__post_message"]); // 81
    check("slack__", &["slack__get_user", "slack__list_channels", "slack__post_message"]);
    check("SLACK__*", &["slack__get_user", "slack__list_channels", "slack__post_message"]);
    check("mcp__slack__po", &["slack__post_message"]);
    check("read*", &["readMany", "read_file"]);
    check("zzz__", &[]);
    check("*", &[]);
    let shelf = Shelf::small();
    let answer = shelf.ask("slack__", &Ask { limit: 2, ..ask(2) });
    assert_eq!((shelf.names(&answer), answer.more), (vec!["slack__get_user", "slack__list_channels"], true));
    let answer = shelf.ask("slack__", &Ask { offset: 2, ..ask(2) });
    assert_eq!((shelf.names(&answer), answer.more), (vec!["slack__post_message"], false));
}

#[test]
fn words_may_be_required_and_servers_named() {
    let shelf = Shelf::small();
    let answer = shelf.ask("+slack list", &ask(5)); // 82
    assert_eq!(shelf.names(&answer)[0], "slack__list_channels");
    assert!(shelf.names(&answer).iter().all(|name| name.contains("slack") || *name == "github__list_issues"));
    check_first("post", "slack__post_message"); // 83
    check("slack: list", &["slack__list_channels"]);
    check_first("slack list", "slack__list_channels");
    let only = Ask { server: Some("jira"), ..ask(5) };
    assert_eq!(shelf.names(&shelf.ask("create issue", &only)), ["jira__create_issue"]);
    let hinted = Ask { hint: "jira", ..ask(5) };
    assert_eq!(shelf.names(&shelf.ask("create issue", &hinted))[0], "jira__create_issue");
}

#[test]
fn filters_keep_out_and_say_so() {
    let shelf = Shelf::small();
    let source = Filter { source: Some("GitHub".to_owned()), ..Filter::default() };
    let answer = shelf.ask("create issue", &Ask { filter: &source, ..ask(5) });
    assert!(answer.hits.iter().all(|hit| shelf.tools[hit.index].server == "github") && !answer.hits.is_empty());
    let readonly = Filter { readonly: true, ..Filter::default() };
    let answer = shelf.ask("issue", &Ask { filter: &readonly, ..ask(5) });
    assert_eq!(shelf.names(&answer), ["github__list_issues"]);
    let left: Vec<&str> = answer.left_out.iter().map(|left| shelf.tools[left.index].name.as_str()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let answer = shelf.ask("select:github__create_issue,read_file", &Ask { filter: &readonly, ..ask(5) });
    assert_eq!((answer.hits.len(), answer.left_out.len()), (0, 2));
    let tagged = Filter { category: Some("work".to_owned()), ..Filter::default() };
    assert_eq!(shelf.ask("issue", &Ask { filter: &tagged, ..ask(5) }).hits, []);
}

#[test]
fn each_step_has_its_tool() {
    let shelf = Shelf::small();
    for query in [
        "create an issue in github and then post it to slack",
        "read the file and post a message",
        "look up the user, create an issue, and post a message to the channel",
    ] {
        let answer = shelf.ask(query, &ask(5));
        assert!(answer.steps.len() >= 2, "{query}");
        for (number, step) in answer.steps.iter().enumerate() {
            let best = shelf.ask(step, &ask(1)).hits[0].index;
            assert!(answer.hits.iter().any(|hit| hit.index == best), "{query}: {number} {:?}", shelf.names(&answer));
        }
    }
    assert_eq!(shelf.ask("create issue", &ask(5)).steps, [""; 0]);
}

/// With either of our rankers, and though much of the catalog fits the one step or the other.
#[test]
fn every_step_has_its_tool_among_the_first_five() {
    #[track_caller]
    fn check(query: &str, want: &[&str]) {
        for &kind in RankerKind::ALL.iter().filter(|&&kind| kind != RankerKind::Bm25) {
            let shelf = Shelf::of(kind, golden::documents("large"));
            let answer = shelf.ask(query, &ask(5));
            let found = shelf.names(&answer);
            assert!(want.iter().all(|name| found.contains(name)), "{kind}: {query}: {found:?}");
            assert!(answer.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{kind}: {query}");
        }
    }
    check(
        "Find the email in gmail that mentions the contract, then create a slack reminder about it",
        &["mcp__gmail__search_emails", "mcp__slack__create_reminder"],
    );
    check(
        "list the pull requests in github and then create a jira issue",
        &["mcp__github__list_pull_requests", "mcp__jira__create_issue"],
    );
    check(
        "list the stripe invoices, and delete the draft in gmail, and then create a linear issue",
        &["mcp__stripe__list_invoices", "mcp__gmail__delete_draft", "mcp__linear__create_issue"],
    );
    check(
        "borra la rama en github y luego crea una issue en jira",
        &["mcp__github__delete_branch", "mcp__jira__create_issue"],
    );
}

#[test]
fn what_was_learnt_changes_the_order_and_nothing_else() {
    let mut shelf = Shelf::small();
    shelf.identities = true;
    let mut prior = Prior::new(1_000_000);
    for tool in ["jira__create_issue", "hidden__create_issue", "slack__get_user"] {
        prior.observe(&Prior::words_of("create issue"), tool, 0);
    }
    let plain = shelf.ask("create issue", &ask(5));
    let learned = shelf.ask("create issue", &Ask { learned: Some((&prior, 0)), ..ask(5) });
    assert_eq!(shelf.names(&learned)[0], "jira__create_issue");
    assert!(learned.hits[0].learned > 0.0);
    let sorted = |answer: &Answer| {
        let mut indices: Vec<usize> = answer.hits.iter().map(|hit| hit.index).collect();
        indices.sort_unstable();
        indices
    };
    assert_eq!(sorted(&plain), sorted(&learned), "nothing that words do not find");
    let nothing = Prior::new(1);
    assert_eq!(shelf.ask("create issue", &Ask { learned: Some((&nothing, 0)), ..ask(5) }), plain);
}

#[test]
fn nothing_usable_finds_nothing() {
    // 98
    for query in ["", "   ", "the of and", "+", ":", "__", "select:,,"] {
        assert_eq!(Shelf::small().ask(query, &ask(5)).hits, [], "'{query}'");
    }
    assert_eq!(Shelf::small().ask("create issue", &ask(0)).hits, []);
}

fn query() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "create",
        "issue",
        "list",
        "github",
        "slack",
        "post",
        "message",
        "pods",
        "and then",
        "and",
        ",",
        "select:",
        "+issue",
        "mcp__slack",
        "mcp__github__create_issue",
        "slack:",
        "read",
        "gmail_send_email",
        "*",
        "send",
        "email",
        ". Delete",
    ]);
    prop::collection::vec(word, 1..8).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Pages put together are the whole list, whatever their size; every tool once, best first.
    #[test]
    fn pages_are_parts_of_the_whole(query in query(), size in 1usize..7, readonly: bool) {
        let shelf = LARGE.with(std::rc::Rc::clone);
        let filter = Filter { readonly, ..Filter::default() };
        let whole = shelf.ask(&query, &Ask { filter: &filter, ..ask(30) });
        let mut paged = Vec::new();
        for offset in (0..30).step_by(size) {
            let page = shelf.ask(&query, &Ask { offset, filter: &filter, ..ask(size.min(30 - offset)) });
            let over = page.hits.len() > size;
            prop_assert!(!over || page.hits.iter().all(|hit| hit.via == Via::Selected));
            paged.extend(page.hits);
        }
        prop_assert_eq!(&paged, &whole.hits, "{}", query);
        prop_assert!(whole.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{:?}", whole.hits);
        prop_assert_eq!(whole.hits.iter().map(|hit| hit.index).collect::<HashSet<_>>().len(), whole.hits.len());
    }

    /// Whatever is written is read: no panic, no tool twice, best first.
    #[test]
    fn any_text_is_answered(text: String, mixed in query(), odd in "[:+*_,./ \\PC]{0,80}") {
        let shelf = Shelf::small();
        for text in [text.clone(), odd.clone(), format!("select:{odd}"), format!("{mixed}{odd}"), format!("{text} {mixed}")] {
            let answer = shelf.ask(&text, &ask(20));
            prop_assert!(answer.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{text:?}");
            prop_assert_eq!(answer.hits.iter().map(|hit| hit.index).collect::<HashSet<_>>().len(), answer.hits.len());
            prop_assert!(answer.steps.iter().all(|step| text.contains(step.as_str())), "{text:?} {:?}", answer.steps);
        }
    }

    /// Of every query the best comes before the second best of any other, unless another query had it earlier.
    #[test]
    fn merging_is_fair(queries in prop::collection::vec(query(), 1..6)) {
        let shelf = LARGE.with(std::rc::Rc::clone);
        let answers: Vec<Answer> = queries.iter().map(|query| shelf.ask(query, &ask(5))).collect();
        let merged = fairly(&answers);
        let place = |index: usize| merged.iter().position(|(_, hit)| hit.index == index);
        let mut all = HashSet::new();
        for answer in &answers {
            for (rank, hit) in answer.hits.iter().enumerate() {
                all.insert(hit.index);
                let place = place(hit.index);
                prop_assert!(place.is_some_and(|place| place < (rank + 1) * answers.len()), "{place:?} {rank}");
            }
        }
        prop_assert_eq!(merged.len(), all.len());
    }

    /// What the directory does not hold is never found, by whatever form: a hidden name reads like an unknown one.
    #[test]
    fn hidden_tools_read_like_unknown_ones(query in query(), hidden in prop::collection::hash_set(0usize..60, 1..30)) {
        let whole = golden::documents("medium");
        let seen: Vec<Document> =
            whole.iter().enumerate().filter(|(at, _)| !hidden.contains(at)).map(|(_, tool)| tool.clone()).collect();
        let shelf = Shelf::new(seen);
        let names: Vec<&str> = whole.iter().map(|tool| tool.name.as_str()).collect();
        let selected = format!("select:{}", names[..names.len().min(50)].join(","));
        for query in [query, selected] {
            let answer = shelf.ask(&query, &ask(50));
            for hit in &answer.hits {
                prop_assert!(hit.index < shelf.tools.len());
            }
            for missing in &answer.missing {
                prop_assert!(shelf.tools.iter().all(|tool| tool.name != missing.name));
                for name in missing.meanings.iter().chain(&missing.suggestions) {
                    prop_assert!(shelf.tools.iter().any(|tool| tool.name == *name));
                }
            }
        }
        let gone = *hidden.iter().min().unwrap();
        if gone < whole.len() {
            let ask_for = |name: &str| {
                let answer = shelf.ask(&format!("select:{name}"), &ask(5));
                (answer.hits.len(), answer.missing.len(), answer.more)
            };
            prop_assert_eq!(ask_for(&whole[gone].name), ask_for("no_such_tool_anywhere"));
        }
    }
}

thread_local! {
    static LARGE: std::rc::Rc<Shelf> = std::rc::Rc::new(Shelf::new(golden::documents("large")));
}
