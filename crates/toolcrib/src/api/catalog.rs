//! Tools of every kind, and what operators say of them.

use toolcrib_core::{Source, ToolId, permission::Action};
use toolcrib_engine::manager::{Adjustment, CatalogPage, Filter, KeepError, ManagerError, Patch, ViewFilter};
use toolcrib_gateway::{
    KeyScope,
    api::{
        ApiCaller, Code, Problem,
        wire::{self, CatalogQuery, Label, PermissionWord, Relabel, Relabelled, ScopeWish, Text, Word},
    },
};

use super::{
    Api, as_wire,
    scope::{Asking, refused},
    store, unknown,
};
use crate::labels::LabelError;

/// Entries in one answer where nothing else is asked for.
const USUAL: usize = 100;

pub(super) fn list(api: &Api, caller: &ApiCaller, query: CatalogQuery) -> Result<wire::CatalogPage, Problem> {
    let word = |word: Option<Word>| word.map(Word::into_inner);
    let source = query.source.as_deref().map(str::parse::<Source>).transpose();
    let source = source.map_err(|error| not_read("source", error.to_string()))?;
    let after = query.after.as_deref().map(str::parse::<ToolId>).transpose();
    let after = after.map_err(|error| not_read("after", error.to_string()))?;
    let tools = Filter {
        kind: word(query.kind),
        source,
        service: word(query.service),
        namespace: word(query.namespace),
        category: word(query.category),
        tag: word(query.tag),
        text: query.text.map(Text::into_inner),
        enabled: query.enabled,
    };
    let limit = query.limit.map_or(USUAL, |limit| usize::try_from(limit.get()).unwrap_or(USUAL));
    let reachable = !caller.scopes.has(KeyScope::Operate);
    let mut page = page(api, caller, &ViewFilter { tools, reachable, after, limit })?;
    if reachable {
        // Who operates the gateway and how its circuits are is not for callers.
        for entry in &mut page.entries {
            (entry.adjusted, entry.circuit) = (None, None);
        }
    }
    as_wire(&page)
}

pub(super) async fn relabel(
    api: &Api,
    caller: &ApiCaller,
    id: String,
    relabel: Relabel,
) -> Result<Relabelled, Problem> {
    api.of_all_tenants(caller)?;
    let no_such = || unknown("tool; write its identity, mcp:SERVER/tool, percent-encoded");
    let id: ToolId = id.parse().map_err(|_| no_such())?;
    let manager = &api.world.labelling.manager;
    // Of a tool that is gone, what was said can still be taken back.
    if !manager.contains(&id) && manager.adjustment(&id).is_none() {
        return Err(no_such());
    }
    let say = Adjustment {
        enabled: relabel.enabled,
        namespace: relabel.namespace.map(Label::into_inner),
        category: relabel.category.map(Label::into_inner),
        tags: relabel.tags.map(|tags| tags.into_iter().map(Label::into_inner).collect()),
        priority: relabel.priority,
        permission: relabel.permission.map(|permission| match permission {
            PermissionWord::Allow => Action::Allow,
            PermissionWord::Ask => Action::Ask,
            PermissionWord::Deny => Action::Deny,
        }),
        ..Adjustment::default()
    };
    let by = api.responder(caller).by;
    let patches = [(id.clone(), Patch { reset: relabel.reset, say })];
    let changed = api.world.label(&by, &patches).await.map_err(not_done)?;
    let only = Filter { source: Some(id.source.clone()), ..Filter::default() };
    let mut filter = ViewFilter { tools: only, ..ViewFilter::default() };
    let entry = loop {
        let CatalogPage { entries, next, .. } = page(api, caller, &filter)?;
        if let Some(entry) = entries.into_iter().find(|entry| entry.id == id) {
            break Some(entry);
        }
        match next {
            Some(next) => filter.after = Some(next),
            None => break None,
        }
    };
    let entry = entry.map(|entry| as_wire(&entry)).transpose()?;
    Ok(Relabelled { changed: !changed.is_empty(), entry })
}

fn page(api: &Api, caller: &ApiCaller, filter: &ViewFilter) -> Result<CatalogPage, Problem> {
    let asking = Asking::of(api, caller.principal.as_deref(), &ScopeWish::default())?;
    api.world.engine.entries(&asking.scope, filter).map_err(refused)
}

fn not_read(at: &str, text: String) -> Problem {
    Problem::new(Code::NotUsable, format!("{at} cannot be read: {text}")).at(at, text)
}

fn not_done(error: LabelError) -> Problem {
    match error {
        LabelError::Refused(error @ ManagerError::Label(_)) => {
            Problem::new(Code::NotUsable, error.to_string()).at("", error.to_string())
        }
        LabelError::Refused(error) => Problem::new(Code::NotUsable, error.to_string()),
        LabelError::Record(error) | LabelError::Kept(KeepError::Store(error)) => store(error),
        LabelError::Kept(error) => Problem::new(Code::StoreUnavailable, error.to_string()).retry_after(Some(1)),
    }
}
