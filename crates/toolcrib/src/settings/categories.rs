//! From `categories` to the book of categories.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{anyhow, bail};
use toolcrib_config::{Loaded, model::UnloadedTools};
use toolcrib_core::categories::{
    BadCategoryId, Book, CategoryId, CategorySpec, Connector, Offered, Patterns, Unloaded,
};

use super::{policy, selectors, size};

/// The book, where categories are loaded. What cannot be read stops the start: `only` and `except` hide tools.
pub(super) fn book(loaded: &Loaded) -> anyhow::Result<Option<Arc<Book>>> {
    let config = &loaded.config.categories;
    if !config.enabled {
        return Ok(None);
    }
    let place = |key: &str| loaded.origins.text(&format!("categories.{key}"));
    let ids = |key: &str, list: &[String]| -> anyhow::Result<Vec<CategoryId>> {
        let read = |text: &String| text.parse().map_err(|bad: BadCategoryId| anyhow!("{}: {bad}", place(key)));
        list.iter().map(read).collect()
    };
    let patterns = |key: &str, list: &[String]| {
        let patterns = Patterns::parse(list.iter().map(String::as_str));
        patterns.map_err(|problem| anyhow!("{}: {problem}", place(key)))
    };
    let offered = match (&config.only, config.except.is_empty()) {
        (Some(_), false) => bail!("{}: give either only or except, not both", place("only")),
        (Some(only), true) => Offered::Only(patterns("only", only)?),
        (None, false) => Offered::Except(patterns("except", &config.except)?),
        (None, true) => Offered::All,
    };
    let connectors = config.connectors.as_ref().map(|list| {
        let read = |text: &String| {
            let text = text.strip_prefix("connector:").unwrap_or(text);
            text.parse::<Connector>().map_err(|bad| anyhow!("{}: {bad}", place("connectors")))
        };
        list.iter().map(read).collect::<anyhow::Result<Vec<_>>>()
    });
    let mut specs = BTreeMap::new();
    for (text, said) in &config.category {
        let key = format!("category.{text}");
        let id: CategoryId = text.parse().map_err(|bad: BadCategoryId| anyhow!("{}: {bad}", place(&key)))?;
        if let Some(twin) = policy::twin(text, config.category.keys()) {
            let place = place(&key);
            bail!(
                "{place}: '{twin}' and '{text}' are one category, because the case of letters does not count; make one of them"
            );
        }
        let spec = CategorySpec {
            name: said.name.clone(),
            description: said.description.clone(),
            tools: selectors(&said.tools, &format!("categories.{key}.tools"), loaded)?,
        };
        specs.insert(id, spec);
    }
    Ok(Some(Arc::new(Book {
        specs,
        offered,
        connectors: connectors.transpose()?,
        pinned: ids("pinned", &config.pinned)?,
        auto_load: ids("auto_load", &config.auto_load)?,
        max_loaded: size(config.max_loaded),
        max_tools: size(config.max_tools),
        digest_tokens: size(config.digest_tokens),
        unloaded: match config.unloaded {
            UnloadedTools::Deferred => Unloaded::Deferred,
            UnloadedTools::Hidden => Unloaded::Hidden,
        },
        origin: loaded.origins.text("categories"),
    })))
}
