//! The categories in few words, for a prompt.

use super::{Category, TOOL_CATALOG_LOAD, TOOL_CATALOG_SEARCH};
use crate::{
    disclosure::{clean, clip},
    estimate::TokenCounter,
};

/// Characters of a description in a digest.
const DESCRIPTION_CHARS: usize = 160;

/// The categories as a block of text of at most `budget` tokens: with what they are for, else only their ids, else as many
/// ids as fit and how many more there are. The same categories give the same text whatever is loaded, so that it can stand in
/// a cached prefix. `None` if there is none, or not even the shortest form fits.
pub fn digest(categories: &[Category], budget: usize, counter: TokenCounter) -> Option<String> {
    let head = format!("Categories of tools, to be loaded with {TOOL_CATALOG_LOAD}:");
    if categories.is_empty() {
        return None;
    }
    let fits = |text: &String| counter.text(text) <= budget;
    let line = |category: &Category| {
        let description = clip(&clean(&category.description), DESCRIPTION_CHARS);
        let dash = if description.is_empty() { "" } else { ": " };
        format!("\n- {} ({}){dash}{description}", clean(&category.id.to_string()), clean(&category.name))
    };
    let whole = categories.iter().map(line).fold(head.clone(), |text, line| text + &line);
    if fits(&whole) {
        return Some(whole);
    }
    let ids: Vec<String> = categories.iter().map(|category| clean(&category.id.to_string())).collect();
    let named = |count: usize| {
        let more = ids.len() - count;
        let rest =
            if more == 0 { String::new() } else { format!(" and {more} more; {TOOL_CATALOG_SEARCH} finds them") };
        format!("{head} {}{rest}", ids[..count].join(", "))
    };
    // More ids never take less room: the most that fit are found by halving.
    let (mut least, mut most) = (0, ids.len());
    while least < most {
        let middle = (least + most).div_ceil(2);
        if fits(&named(middle)) { least = middle } else { most = middle - 1 }
    }
    Some(named(least)).filter(|text| least > 0 && fits(text))
}
