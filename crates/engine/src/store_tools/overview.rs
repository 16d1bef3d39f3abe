//! A block for a prompt that says which stores there are.

use std::fmt::Write;

use super::spec::StoreSpec;

/// The block; `None` without stores.
pub(super) fn overview(stores: &[StoreSpec]) -> Option<String> {
    let (count, noun) = match stores.len() {
        0 => return None,
        1 => ("One".to_owned(), "store"),
        count => (count.to_string(), "stores"),
    };
    let mut text =
        format!("{count} {noun} can be used with store_get, store_set, store_delete, store_list and store_action:");
    for store in stores {
        let _ = write!(text, "\n- {}", store.id);
        if store.shown_name() != store.id {
            let _ = write!(text, " ({})", store.shown_name());
        }
        let _ = write!(text, ": {}", store.description);
        if !store.usage_hint.is_empty() {
            let _ = write!(text, " {}", store.usage_hint);
        }
        let actions: Vec<&str> = store.actions.iter().map(|action| action.name.as_str()).collect();
        if !actions.is_empty() {
            let _ = write!(text, " {}: {}.", if actions.len() == 1 { "Action" } else { "Actions" }, actions.join(", "));
        }
    }
    Some(text)
}
