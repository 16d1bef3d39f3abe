//! What the catalog's tools say.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_core::{
    categories::CategoryId,
    disclosure::{clean, clip, short_description},
    labels::word::shown,
    search::{Document, Index, Ranker as _, RankerKind},
};

use super::{Overview, Standing};

/// Most tools in one answer.
const MAX_TOOLS: usize = 500;
/// Most categories in one answer.
const MAX_CATEGORIES: usize = 200;
/// Most tools of a category that a query found by the category's own text.
const MAX_OF_CATEGORY: usize = 20;
/// Characters of a tool's description.
const TOOL_CHARS: usize = 160;
/// Characters of a category's description.
const DESCRIPTION_CHARS: usize = 300;

fn head(standing: &Standing) -> Value {
    let category = &standing.category;
    let mut head = json!({
        "category": category.id,
        "name": clean(&category.name),
        "description": clip(&clean(&category.description), DESCRIPTION_CHARS),
        "tools": category.tools.len(),
        "loaded": standing.loaded,
        "pinned": standing.pinned,
    });
    if let CategoryId::Connector(connector) = &category.id {
        head["connector"] = json!(connector.name);
        if let Some(account) = &connector.account {
            head["account"] = json!(account);
        }
    }
    head
}

fn tool(overview: &Overview, position: usize) -> Value {
    let set = &overview.view.set;
    json!({
        "name": set.name_map().name(position),
        "description": short_description(set.tools()[position].description(), TOOL_CHARS),
    })
}

/// The categories (oneringai case 58).
pub(super) fn categories(overview: &Overview) -> Value {
    let shown = overview.categories.iter().take(MAX_CATEGORIES);
    let mut answer = json!({"categories": shown.map(head).collect::<Vec<_>>()});
    if overview.categories.len() > MAX_CATEGORIES {
        answer["more"] = json!(overview.categories.len() - MAX_CATEGORIES);
    }
    answer
}

/// Every category with its tools (oneringai case 60).
pub(super) fn everything(overview: &Overview) -> Value {
    let mut left = MAX_TOOLS;
    let mut shown = Vec::new();
    for standing in overview.categories.iter().take(MAX_CATEGORIES) {
        let mut entry = head(standing);
        let tools = standing.category.tools.iter().take(left).map(|&position| tool(overview, position));
        let tools: Vec<Value> = tools.collect();
        left -= tools.len();
        entry["tools"] = tools.into();
        shown.push(entry);
    }
    let total: usize = overview.categories.iter().map(|standing| standing.category.tools.len()).sum();
    let mut answer = json!({"categories": shown, "totalCategories": overview.categories.len(), "totalTools": total});
    if total > MAX_TOOLS || overview.categories.len() > MAX_CATEGORIES {
        answer["hint"] = "this is not all; look into single categories, or search".into();
    }
    answer
}

/// The tools of one category.
pub(super) fn of_category(overview: &Overview, standing: &Standing) -> Value {
    let mut answer = head(standing);
    let tools = standing.category.tools.iter().take(MAX_TOOLS).map(|&position| tool(overview, position));
    answer["tools"] = tools.collect::<Vec<_>>().into();
    if standing.category.tools.len() > MAX_TOOLS {
        answer["more"] = json!(standing.category.tools.len() - MAX_TOOLS);
    }
    answer
}

/// What a query finds, best first: by the same ranking as `tool_search`, over everything that may be loaded. A category whose
/// own text fits is given with its tools, else only the tools that fit (oneringai §2.5; case 73: ranked, not a substring).
pub(super) fn found(overview: &Overview, query: &str, limit: usize) -> Value {
    let hits = overview.view.index().search(query, limit.saturating_mul(2));
    let mut order: Vec<usize> = Vec::new();
    let mut tools: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut taken = 0;
    for hit in hits {
        let owners =
            (0..).zip(&overview.categories).filter(|(_, standing)| standing.category.tools.contains(&hit.index));
        let owners: Vec<usize> = owners.map(|(at, _)| at).collect();
        if owners.is_empty() || taken >= limit {
            continue;
        }
        taken += 1;
        for at in owners {
            if !order.contains(&at) {
                order.push(at);
            }
            tools.entry(at).or_default().push(hit.index);
        }
    }
    for at in by_text(overview, query) {
        if !order.contains(&at) {
            order.push(at);
        }
        let of = tools.entry(at).or_default();
        for &position in overview.categories[at].category.tools.iter().take(MAX_OF_CATEGORY) {
            if !of.contains(&position) {
                of.push(position);
            }
        }
    }
    let results = order.iter().map(|at| {
        let mut entry = head(&overview.categories[*at]);
        let tools = tools.get(at).into_iter().flatten().map(|&position| tool(overview, position));
        entry["tools"] = tools.collect::<Vec<_>>().into();
        entry
    });
    let results: Vec<Value> = results.collect();
    let mut answer = json!({"results": results});
    if order.is_empty() {
        answer["hint"] = "nothing fits; call without arguments to see all categories".into();
    }
    answer
}

/// Positions of the categories whose own name and description answer the query, best first.
fn by_text(overview: &Overview, query: &str) -> Vec<usize> {
    let documents: Vec<Document> = overview
        .categories
        .iter()
        .map(|standing| Document {
            name: standing.category.id.to_string(),
            title: standing.category.name.clone(),
            description: standing.category.description.clone(),
            ..Document::default()
        })
        .collect();
    let index = Index::build(RankerKind::Lexical, &documents);
    index.search(query, MAX_CATEGORIES).into_iter().map(|hit| hit.index).collect()
}

pub(super) fn not_loaded(what: &str) -> Value {
    json!({"unloaded": 0, "message": format!("'{}' was not loaded", shown(what))})
}

/// Of a tool whose unloading took nothing out of the list: what keeps it there, or that it is not there. `by_itself` is whether
/// it was loaded by itself until now.
pub(super) fn no_tool_gone(asked: &str, by_itself: bool, keepers: &[Standing]) -> Value {
    let asked = shown(asked);
    let ids: Vec<String> = keepers.iter().take(10).map(|keeper| format!("'{}'", keeper.category.id)).collect();
    let message = match (&ids[..], by_itself) {
        ([], false) => return not_loaded(&asked),
        ([], true) => format!("'{asked}' is not loaded any more; it is not offered at the moment"),
        (ids, by_itself) => {
            let it = if by_itself { "is not loaded by itself any more" } else { "was not loaded by itself" };
            let (noun, that) = if ids.len() == 1 { ("category", "it") } else { ("categories", "them") };
            let pinned = keepers.iter().any(|keeper| keeper.pinned);
            let next = if pinned { "pinned, so it stays".to_owned() } else { format!("unload {that} to take it out") };
            format!("'{asked}' {it}; it stays loaded through the {noun} {}: {next}", ids.join(", "))
        }
    };
    json!({"unloaded": 0, "tools": [], "message": message})
}
