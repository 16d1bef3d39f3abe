//! What a group of tools is about, told by the words that its tool names share.

use std::{borrow::Cow, collections::BTreeMap};

/// Words that say what is done rather than what it is done to, and filler. They do not tell groups apart.
const UNTELLING: &[&str] = &[
    "add",
    "all",
    "and",
    "api",
    "apply",
    "batch",
    "bulk",
    "by",
    "call",
    "cancel",
    "check",
    "close",
    "copy",
    "count",
    "create",
    "delete",
    "describe",
    "disable",
    "do",
    "edit",
    "enable",
    "execute",
    "export",
    "fetch",
    "find",
    "for",
    "from",
    "get",
    "handle",
    "id",
    "import",
    "in",
    "info",
    "invoke",
    "list",
    "make",
    "many",
    "mcp",
    "move",
    "new",
    "of",
    "on",
    "op",
    "open",
    "oper",
    "operation",
    "perform",
    "post",
    "put",
    "query",
    "read",
    "remove",
    "rename",
    "retrieve",
    "run",
    "save",
    "search",
    "send",
    "service",
    "set",
    "show",
    "start",
    "stop",
    "submit",
    "test",
    "to",
    "tool",
    "tools",
    "update",
    "upload",
    "upsert",
    "use",
    "using",
    "view",
    "with",
    "write",
];

/// The most frequent telling words of `names`, most frequent first (ties by word), joined by commas, at most `max`
/// characters. Words of `label` are left out: it stands beside them.
pub(super) fn topics<'a>(names: impl Iterator<Item = &'a str>, label: &str, max: usize) -> String {
    let own: Vec<_> = words(label).collect();
    let mut counts: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
    for name in names {
        for word in words(name) {
            if word.len() > 2 && !own.contains(&word) && UNTELLING.binary_search(&&*word).is_err() {
                *counts.entry(word).or_default() += 1;
            }
        }
    }
    // "issue" and "issues" are one topic.
    let plurals: Vec<_> = counts
        .keys()
        .filter(|word| word.strip_suffix('s').is_some_and(|singular| counts.contains_key(singular)))
        .cloned()
        .collect();
    for plural in plurals {
        if let Some(count) = counts.remove(&plural)
            && let Some(singular) = plural.strip_suffix('s').and_then(|singular| counts.get_mut(singular))
        {
            *singular += count;
        }
    }
    let mut ranked: Vec<_> = counts.into_iter().collect();
    // Stable: words of equal count stay in alphabetical order.
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut line = String::new();
    let mut chars = 0;
    for (word, _) in ranked {
        let more = word.chars().count() + if line.is_empty() { 0 } else { 2 };
        if chars + more > max {
            break;
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(&word);
        chars += more;
    }
    line
}

/// Lower-case words of a name, split at separators, digits and changes of case. Borrowed where nothing changes.
fn words(name: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let runs = name.split(|c: char| !c.is_alphabetic()).filter(|run| !run.is_empty());
    runs.flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let mut last_lower = false;
            let turn = rest.char_indices().find(|(_, c)| {
                let turns = c.is_uppercase() && last_lower;
                last_lower = c.is_lowercase();
                turns
            });
            let (word, tail) = rest.split_at(turn.map_or(rest.len(), |(at, _)| at));
            rest = tail;
            let lower = word.bytes().all(|byte| byte.is_ascii_lowercase());
            (!word.is_empty()).then(|| if lower { Cow::Borrowed(word) } else { word.to_lowercase().into() })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telling_words_come_by_frequency() {
        #[track_caller]
        fn check(names: &[&str], label: &str, max: usize, want: &str) {
            assert_eq!(topics(names.iter().copied(), label, max), want);
        }
        let github = [
            "github_create_issue",
            "github_list_issues",
            "listPullRequests",
            "get_pull_request",
            "create_branch",
            "github_add_issue_comment",
        ];
        check(&github, "github", 60, "issue, pull, request, branch, comment");
        check(&github, "github", 13, "issue, pull");
        check(&github, "github", 3, "");
        check(&["get", "list_all", "x1"], "x", 60, "");
        check(&[], "x", 60, "");
    }

    #[test]
    fn the_list_of_untelling_words_is_sorted() {
        assert!(UNTELLING.is_sorted());
    }
}
