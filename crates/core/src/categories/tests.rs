//! Categories as a specification. Numbers are cases of the oneringai reference.

use proptest::prelude::*;

use super::*;
use crate::{
    Catalog, Labels, SourceEntry, SourceState,
    assemble::{AssembleSettings, Standing, assemble},
    explain::explain,
    ingest::{IngestLimits, ingest},
    labels::word::BadWord,
    select::Policy,
};

fn id(text: &str) -> CategoryId {
    text.parse().expect("an id")
}

fn selectors(texts: &[&str]) -> Vec<Selector> {
    texts.iter().map(|text| text.parse().expect("a selector")).collect()
}

#[test]
fn ids_of_categories() {
    #[track_caller]
    fn check(text: &str, expected: Result<(&str, Option<&str>), BadCategoryId>) {
        let read = text.parse::<CategoryId>();
        match (&read, expected) {
            (Ok(CategoryId::Connector(connector)), Ok((name, account))) => {
                assert_eq!((connector.name.as_str(), connector.account.as_deref()), (name, account));
            }
            (Ok(CategoryId::Plain(name)), Ok((plain, None))) => assert_eq!(name.as_str(), plain),
            (Err(bad), Err(expected)) => assert_eq!(bad, &expected),
            (read, expected) => panic!("{text:?}: {read:?}, not {expected:?}"),
        }
        // The text form leads back.
        if let Ok(read) = read {
            assert_eq!(read.to_string().parse(), Ok(read));
        }
    }
    // Case 47.
    check("", Err(BadCategoryId::Blank));
    check("  \t", Err(BadCategoryId::Blank));
    for hidden in ['\u{7}', '\u{200b}', '\u{202e}'] {
        check(&format!("a{hidden}b"), Err(BadCategoryId::Hidden(BadWord::Invisible(hidden))));
        check(&format!("connector:a{hidden}b"), Err(BadCategoryId::Hidden(BadWord::Invisible(hidden))));
    }
    // Case 52.
    check("connector:microsoft:work", Ok(("microsoft", Some("work"))));
    check("connector:google:user@example.com", Ok(("google", Some("user@example.com"))));
    check("connector:x:a:b", Ok(("x", Some("a:b"))));
    check("connector:x:", Ok(("x", None)));
    check("connector:x", Ok(("x", None)));
    check("connectorish", Ok(("connectorish", None)));
    // Theirs: an empty name.
    check("connector:", Err(BadCategoryId::NoConnector));
    check("connector::work", Err(BadCategoryId::NoConnector));
    check(" web ", Ok(("web", None)));
}

#[test]
fn names_that_people_read() {
    // Case 53.
    for (text, name) in [
        ("my-cool-tool", "My Cool Tool"),
        ("custom-tools", "Custom Tools"),
        ("web", "Web"),
        ("élan-vital", "Élan Vital"),
        ("", ""),
    ] {
        assert_eq!(display_name(text), name);
    }
    assert_eq!(id("connector:microsoft:work").display_name(), "Microsoft (work)");
}

#[test]
fn which_categories_are_offered() {
    let patterns = |texts: &[&str]| Patterns::parse(texts.iter().copied()).expect("patterns");
    let offered = |offered: Offered| -> Vec<String> {
        let book = Book { offered, ..Book::default() };
        ["filesystem", "shell", "web"].into_iter().filter(|name| book.offers(&id(name))).map(str::to_owned).collect()
    };
    // Case 50.
    assert_eq!(offered(Offered::All), ["filesystem", "shell", "web"]);
    assert_eq!(offered(Offered::Only(patterns(&["filesystem", "web"]))), ["filesystem", "web"]);
    assert_eq!(offered(Offered::Except(patterns(&["shell"]))), ["filesystem", "web"]);
    assert_eq!(offered(Offered::Only(patterns(&[]))), Vec::<String>::new());
    // Ours: globs, and case does not matter.
    assert_eq!(offered(Offered::Only(patterns(&["*S*"]))), ["filesystem", "shell"]);
    assert_eq!(offered(Offered::Except(patterns(&["{web,shell}"]))), ["filesystem"]);
    assert!(Patterns::parse(["["]).is_err());
}

#[test]
fn connectors_are_offered_by_account() {
    let book = |list: Option<&[&str]>| Book {
        connectors: list.map(|list| list.iter().map(|text| text.parse().expect("a connector")).collect()),
        // Does not count for connectors (§2.5).
        offered: Offered::Only(Patterns::default()),
        ..Book::default()
    };
    for (list, text, expected) in [
        (None, "connector:github", true),
        (Some(&["github"][..]), "connector:github", true),
        (Some(&["github"]), "connector:github:work", true),
        (Some(&["github:work"]), "connector:github:work", true),
        (Some(&["github:work"]), "connector:github:home", false),
        (Some(&["github:work"]), "connector:github", false),
        (Some(&[]), "connector:github", false),
    ] {
        assert_eq!(book(list).offers(&id(text)), expected, "{list:?} {text}");
    }
}

#[test]
fn what_is_said_of_categories_changes() {
    let mut book = Book::default();
    let said = |name: &str| CategorySpec { name: Some(name.into()), ..CategorySpec::default() };
    assert!(book.upsert(id("web"), said("One")).is_none());
    // Case 49: one entry, the newer text.
    assert_eq!(book.upsert(id("web"), said("Two")).and_then(|spec| spec.name).as_deref(), Some("One"));
    assert_eq!((book.specs.len(), book.name(&id("web"))), (1, "Two".into()));
    // Case 48: a category comes to be by its tools; one named twice is there once.
    book.upsert_tools(id("new-one"), selectors(&["mcp:a/x", "mcp:a/y"]));
    book.upsert_tools(id("new-one"), selectors(&["mcp:a/x"]));
    assert_eq!((book.specs[&id("new-one")].tools.len(), book.name(&id("new-one"))), (2, "New One".into()));
    assert!(book.remove_tool(&id("new-one"), "mcp:a/x"));
    assert!(!book.remove_tool(&id("new-one"), "mcp:a/x") && !book.remove_tool(&id("none"), "mcp:a/x"));
    // Case 57: gone with its tools, and again nothing.
    assert!(book.remove(&id("new-one")).is_some());
    assert!(book.remove(&id("new-one")).is_none());
    book.extend([(id("more"), said("More"))]);
    assert_eq!(book.specs.keys().map(ToString::to_string).collect::<Vec<_>>(), ["more", "web"]);
    assert_eq!(book.description(&id("filesystem")), "Reading, writing, finding and listing files.");
}

/// A catalog of `category/tool` names, all of one server, and one tool of no category.
fn catalog(names: &[&str]) -> Catalog {
    let source = Source::Mcp("s".into());
    let items = names.iter().map(|name| serde_json::json!({"name": name.rsplit('/').next()})).collect();
    let (tools, _) = ingest(&source, items, &IngestLimits::default(), 1_000, &|_| Ok(()));
    let category = |tool: &Tool| {
        let name = names.iter().find(|name| name.rsplit('/').next() == Some(tool.name()))?;
        name.split_once('/').map(|(category, _)| category.to_owned())
    };
    let tools = tools.into_iter().map(|tool| {
        let labels = Labels { category: category(&tool).map(Into::into), ..Labels::default() };
        Arc::new(tool.with_labels(Arc::new(labels)))
    });
    let entry = SourceEntry::new(SourceState::Ready, tools.collect(), Vec::new());
    Catalog::default().with_source(source, Some(Arc::new(entry)))
}

fn settings(book: Book) -> AssembleSettings {
    let mut policy = Policy::default();
    policy.categories = Some(Arc::new(book));
    AssembleSettings { policy, ..AssembleSettings::default() }
}

fn loaded(categories: &[&str], tools: &[&str]) -> Arc<Loaded> {
    Arc::new(Loaded {
        everything: false,
        categories: categories.iter().map(|text| id(text)).collect(),
        tools: tools.iter().map(|text| text.parse().expect("an identity")).collect(),
    })
}

/// Exposed names of the tools that are direct, and of those that are deferred.
fn shown(book: &Book, scope: &Scope) -> (Vec<String>, Vec<String>) {
    let catalog = catalog(&["web/fetch", "web/find", "shell/run", "plain"]);
    let set = assemble(&catalog, scope, &settings(book.clone())).expect("a set");
    let of = |standing: Standing| {
        let names = set.names().enumerate().filter(|(position, _)| set.standing(*position) == standing);
        names.map(|(_, name)| name.trim_start_matches("s__").to_owned()).collect()
    };
    (of(Standing::Direct), of(Standing::Deferred))
}

#[track_caller]
fn check(book: &Book, scope: &Scope, direct: &[&str], deferred: &[&str]) {
    let (got_direct, got_deferred) = shown(book, scope);
    assert_eq!((got_direct, got_deferred), (owned(direct), owned(deferred)));
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_is_loaded_is_direct_and_the_rest_deferred_or_hidden() {
    let scope = |loaded| Scope { loaded: Some(loaded), ..Scope::default() };
    let book = Book::default();
    check(&book, &Scope::default(), &[], &["fetch", "find", "plain", "run"]);
    check(&book, &scope(loaded(&["web"], &[])), &["fetch", "find"], &["plain", "run"]);
    check(&book, &scope(loaded(&[], &["mcp:s/run"])), &["run"], &["fetch", "find", "plain"]);
    let hidden = Book { unloaded: Unloaded::Hidden, ..Book::default() };
    check(&hidden, &Scope::default(), &[], &["plain"]);
    check(&hidden, &scope(loaded(&["web"], &[])), &["fetch", "find"], &["plain"]);
    check(&hidden, &scope(loaded(&[], &["mcp:s/run"])), &["run"], &["plain"]);
    check(&hidden, &with_everything(&Scope::default()), &["fetch", "find", "run"], &["plain"]);
    // Pinned categories, and those that a conversation begins with.
    let pinned = Book { pinned: vec![id("web")], ..hidden.clone() };
    check(&pinned, &Scope::default(), &["fetch", "find"], &["plain"]);
    let begun = Book { auto_load: vec![id("shell")], ..hidden.clone() };
    check(&begun, &Scope::default(), &["run"], &["plain"]);
    check(&begun, &scope(loaded(&[], &[])), &[], &["plain"]);
    // What is not offered cannot be loaded, not by itself either.
    let except = Book { offered: Offered::Except(Patterns::parse(["web"]).expect("a name")), ..Book::default() };
    check(&except, &scope(loaded(&["web"], &["mcp:s/find"])), &[], &["plain", "run"]);
    // A tool of several categories is there while one of them is.
    let mut two = hidden.clone();
    two.upsert_tools(id("both"), selectors(&["mcp:s/fetch", "mcp:s/run"]));
    check(&two, &scope(loaded(&["both"], &[])), &["fetch", "run"], &["plain"]);
    check(&two, &scope(loaded(&["both", "web"], &[])), &["fetch", "find", "run"], &["plain"]);
    check(&two, &scope(loaded(&["web"], &[])), &["fetch", "find"], &["plain"]);
}

#[test]
fn what_is_not_there_is_explained() {
    let catalog = catalog(&["web/fetch", "shell/run"]);
    let book = Book {
        unloaded: Unloaded::Hidden,
        offered: Offered::Only(Patterns::parse(["web"]).expect("a name")),
        origin: "toolcrib.toml".into(),
        ..Book::default()
    };
    let settings = settings(book);
    let set = assemble(&catalog, &Scope::default(), &settings).expect("a set");
    let sentence = |name: &str| explain(&catalog, &set, &settings, name)[0].sentence();
    assert_eq!(
        sentence("fetch"),
        "mcp:s/fetch is hidden by the category stage (its category \"web\" is not loaded, toolcrib.toml); to change that, \
         a conversation calls tool_catalog_load with {\"category\": \"web\"}, or the configuration adds it to categories.pinned."
    );
    assert_eq!(
        sentence("run"),
        "mcp:s/run is hidden by the category stage (its category \"shell\" is not offered, toolcrib.toml); to change that, \
         add \"shell\" to categories.only."
    );
}

#[test]
fn a_digest_keeps_to_its_budget() {
    let category = |name: &str| Category {
        id: id(name),
        name: display_name(name),
        description: "What it is for.".into(),
        tools: Vec::new(),
    };
    let all: Vec<Category> = (0..40).map(|n| category(&format!("group-{n:02}"))).collect();
    let counter = crate::estimate::TokenCounter::Chars4;
    let head = "Categories of tools, to be loaded with tool_catalog_load:";
    assert_eq!(
        digest(&all[..1], 100, counter).as_deref(),
        Some("Categories of tools, to be loaded with tool_catalog_load:\n- group-00 (Group 00): What it is for.")
    );
    for budget in 0..700 {
        let Some(text) = digest(&all, budget, counter) else {
            assert!(budget < 35, "{budget}");
            continue;
        };
        assert!(counter.text(&text) <= budget && text.starts_with(head), "{budget}: {text}");
        assert!(text.contains("group-39") || text.contains(" more; tool_catalog_search finds them"), "{text}");
    }
    assert!(digest(&all, 700, counter).is_some_and(|text| text.contains("group-39 (Group 39)")));
    assert_eq!(digest(&[], 100, counter), None);
}

proptest! {
    /// Counting references: each loading of a category counts once for each of its tools, each loading of a tool once for
    /// itself; a tool is loaded while its count is above zero.
    #[test]
    fn a_tool_is_loaded_while_anything_that_was_loaded_owns_it(
        owned in prop::collection::vec(prop::collection::btree_set(0_usize..5, 0..4), 1..8),
        steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0_usize..8), 0..40),
    ) {
        let source = Source::Mcp("s".into());
        let items = (0..owned.len()).map(|n| serde_json::json!({"name": format!("t{n}")})).collect();
        let (tools, _) = ingest(&source, items, &IngestLimits::default(), 100, &|_| Ok(()));
        let mut book = Book::default();
        for (tool, categories) in tools.iter().zip(&owned) {
            for category in categories {
                book.upsert_tools(id(&format!("c{category}")), selectors(&[&tool.id().to_string()]));
            }
        }
        let groups = Groups::default();
        let mut counts = vec![0_usize; tools.len()];
        let mut loaded = Loaded::default();
        for (load, whole, which) in steps {
            if whole {
                let category = id(&format!("c{}", which % 5));
                let changed = if load { loaded.categories.insert(category) } else { loaded.categories.remove(&category) };
                for (tool, categories) in owned.iter().enumerate() {
                    if changed && categories.contains(&(which % 5)) {
                        if load { counts[tool] += 1 } else { counts[tool] -= 1 }
                    }
                }
            } else {
                let tool = which % tools.len();
                let it = tools[tool].id().clone();
                let changed = if load { loaded.tools.insert(it.clone()) } else { loaded.tools.remove(&it) };
                // A tool of no category is there without loading.
                if changed && !owned[tool].is_empty() {
                    if load { counts[tool] += 1 } else { counts[tool] -= 1 }
                }
            }
            for (tool, count) in tools.iter().zip(&counts) {
                let is = book.is_loaded(tool, tool.name(), &groups, Some(&loaded));
                prop_assert_eq!(is, *count > 0, "{} {:?}", tool.name(), &loaded);
            }
        }
    }
}
