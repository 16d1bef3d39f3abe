//! What a search for tools means, whatever ranks them: the forms a query may take, filters, requests of several steps,
//! paging, and why each tool was found. The bridge, the command line, the JSON API and `eval` all search through
//! [`find`].
//!
//! A query is one of (openclaw cases 76–84; `retrieval.md` §6):
//!
//! - `select:A,B` (in any case): tools by exposed name, by identity (`mcp:github/create_issue`), or by a shorter or
//!   differently written name that only one tool has. The answer says which names were not found.
//! - one exact name: that tool alone. Names inside of longer texts come first.
//! - the beginning of names: `slack__`, `mcp__slack`, `mcp:slack`, `slack__po*`.
//! - words, which the ranker reads: `+word` must be in every hit, `slack: post` stays in that server.
//! - words of several steps ("create an issue and then post it to slack"): tools for each step.
//!
//! Everything comes from the [`Directory`] given, which holds what the caller may see: a hidden tool and one that does
//! not exist read alike.

mod filter;
mod form;
mod select;
mod steps;
mod why;

use crate::{
    bridge::Directory,
    search::{Encoding, Explanation, Hit, Index, Options},
    usage::{Prior, WEIGHT},
};

pub use filter::{Filter, LeftOut};
use form::Form;
pub(crate) use form::selection;
pub use select::Missing;
pub use why::{Why, why};

/// Most hits that an answer holds, whatever limit is asked for.
pub const MAX_HITS: usize = 1_000;
/// Score of a tool that was asked for by its name. Above every score that words give.
const NAMED_SCORE: f64 = 10.0;
/// Score of the best tool of a step, as a share of the best of the whole request: right behind what fits all of it. Measured
/// on labelled sets together with [`AHEAD`] and [`LATER_SHARE`]: requests of several calls gain, others lose nothing.
const STEP_SHARE: f64 = 0.9;
/// Tools that fit the whole request and at most stand before the best of each step, however near their scores are.
const AHEAD: usize = 2;
/// What the other tools of a step count besides.
const LATER_SHARE: f64 = 0.7;
/// Hits whose order what was learnt from use may change. The same however many are asked for, so that pages fit together.
const LEARNED_DEPTH: usize = 50;
/// Most exact names that are looked for inside of a text.
const MAX_NAMED: usize = 8;

/// What ranks tools by words.
pub trait Searcher {
    /// The best hits for a text, best first.
    fn hits(&self, text: &str, options: &Options<'_>) -> Vec<Hit>;

    /// Why the tool at `index` was found for a text, where that can be said.
    fn explain(&self, text: &str, index: usize) -> Option<Explanation>;
}

impl Searcher for Index {
    fn hits(&self, text: &str, options: &Options<'_>) -> Vec<Hit> {
        self.search_with(text, options)
    }

    fn explain(&self, text: &str, index: usize) -> Option<Explanation> {
        self.lexical()?.explain(text, index)
    }
}

/// An index whose documents and queries an encoder has vectors of.
#[derive(Clone, Copy, Debug)]
pub struct EncodedIndex<'a> {
    /// The index.
    pub index: &'a Index,
    /// What the encoder says.
    pub encoding: Encoding<'a>,
}

impl Searcher for EncodedIndex<'_> {
    fn hits(&self, text: &str, options: &Options<'_>) -> Vec<Hit> {
        self.index.search_with(text, &Options { encoding: Some(self.encoding), ..*options })
    }

    fn explain(&self, text: &str, index: usize) -> Option<Explanation> {
        self.index.lexical()?.explain_with(text, index, Some(self.encoding))
    }
}

/// How to search, beside the query. By default the first five, of everything.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Most hits. Tools that are selected by name come whatever it says.
    pub limit: usize,
    /// Hits to pass over before the first one returned.
    pub offset: usize,
    /// Label of the server to stay in.
    pub server: Option<&'a str>,
    /// Words about where the tool is likely to be. Raise, never exclude.
    pub hint: &'a str,
    /// What tools must be like.
    pub filter: &'a Filter,
    /// What was learnt from use, and the time now in milliseconds since the Unix epoch. It changes the order of what
    /// words find, and nothing else.
    pub learned: Option<(&'a Prior, u64)>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        const ANYTHING: &Filter = &Filter { source: None, category: None, readonly: false };
        Self { limit: 5, offset: 0, server: None, hint: "", filter: ANYTHING, learned: None }
    }
}

/// How a tool was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By the words of the query.
    Words,
    /// By `select:`.
    Selected,
    /// The query is its name, or holds it.
    Name,
    /// By the beginning of its name, or by its server.
    Beginning,
    /// By the words of one step of the query, counted from 0.
    Step(usize),
}

/// One found tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Its index in the directory.
    pub index: usize,
    /// Larger is better; comparable within one answer.
    pub score: f64,
    /// How it was found.
    pub via: Via,
    /// The part of the score that was learnt from use.
    pub learned: f64,
}

impl Found {
    fn new(index: usize, score: f64, via: Via) -> Self {
        Self { index, score, via, learned: 0.0 }
    }
}

/// The answer to one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What was found, best first.
    pub hits: Vec<Found>,
    /// Whether there are more behind these.
    pub more: bool,
    /// The steps that the query was taken apart into, if it was.
    pub steps: Vec<String>,
    /// Names asked for that lead to no tool, or to several.
    pub missing: Vec<Missing>,
    /// Tools near the top that only the filter kept out.
    pub left_out: Vec<LeftOut>,
}

/// Answers one query.
pub fn find<D: Directory + ?Sized>(directory: &D, searcher: &dyn Searcher, query: &str, ask: &Ask<'_>) -> Answer {
    let query = query.trim();
    match Form::of(query, directory) {
        Form::Select(names) => selected(directory, &names, ask),
        Form::Exact(index) => {
            let hit = Found::new(index, NAMED_SCORE, Via::Name);
            let kept: Vec<Found> = [hit].into_iter().filter(|hit| ask.keeps(directory, hit.index)).collect();
            let left_out = if kept.is_empty() { ask.filter.left_out(directory, [index]) } else { Vec::new() };
            page(Answer { hits: kept, left_out, ..Answer::default() }, ask)
        }
        Form::Beginning(indices) => {
            let kept = indices.into_iter().filter(|index| ask.keeps(directory, *index));
            let hit = |index| Found::new(index, 1.0, Via::Beginning);
            page(Answer { hits: kept.map(hit).collect(), ..Answer::default() }, ask)
        }
        Form::Words => words(directory, searcher, query, ask),
    }
}

/// Hits of several answers in turn: all first ones in the order of the queries, then all second ones, and so on; each
/// tool once, with the number of the query that brought it there first.
pub fn fairly(answers: &[Answer]) -> Vec<(usize, Found)> {
    let deepest = answers.iter().map(|answer| answer.hits.len()).max().unwrap_or(0);
    let mut seen = std::collections::HashSet::new();
    let rank = |rank: usize| {
        answers.iter().enumerate().filter_map(move |(number, answer)| Some((number, *answer.hits.get(rank)?)))
    };
    (0..deepest).flat_map(rank).filter(|(_, hit)| seen.insert(hit.index)).collect()
}

impl Ask<'_> {
    fn keeps<D: Directory + ?Sized>(&self, directory: &D, index: usize) -> bool {
        let card = directory.card(index);
        self.server.is_none_or(|server| card.server == server) && self.filter.takes(directory, index).is_ok()
    }

    /// Whether anything is kept out at all.
    fn restricts(&self) -> bool {
        self.server.is_some() || *self.filter != Filter::default()
    }

    /// How many hits are needed to fill the page and to tell whether there are more.
    fn wanted(&self) -> usize {
        self.offset.saturating_add(self.limit).min(MAX_HITS) + 1
    }
}

/// Cuts the page out of all hits.
fn page(mut answer: Answer, ask: &Ask<'_>) -> Answer {
    answer.hits.truncate(MAX_HITS);
    answer.hits.drain(..ask.offset.min(answer.hits.len()));
    answer.more = answer.hits.len() > ask.limit;
    answer.hits.truncate(ask.limit);
    answer
}

/// Everything that was named, on the first page (case 78).
fn selected<D: Directory + ?Sized>(directory: &D, names: &[&str], ask: &Ask<'_>) -> Answer {
    let mut answer = Answer::default();
    let (found, missing) = select::resolve(directory, names);
    answer.missing = missing;
    let kept = found.iter().filter(|index| ask.keeps(directory, **index));
    if ask.offset == 0 {
        answer.hits = kept.map(|&index| Found::new(index, NAMED_SCORE, Via::Selected)).collect();
    }
    answer.left_out = ask.filter.left_out(directory, found);
    answer
}

fn words<D: Directory + ?Sized>(directory: &D, searcher: &dyn Searcher, query: &str, ask: &Ask<'_>) -> Answer {
    let keep = |index: usize| ask.keeps(directory, index);
    let learned = ask.learned.filter(|(prior, _)| !prior.is_empty());
    let options = Options {
        limit: if learned.is_some() { ask.wanted().max(LEARNED_DEPTH) } else { ask.wanted() },
        server_hint: ask.hint,
        keep: ask.restricts().then_some(&keep as &dyn Fn(usize) -> bool),
        ..Options::default()
    };
    let steps = steps::split(query);
    let mut hits = ranked(searcher, query, &steps, &options);
    if let Some((prior, now_ms)) = learned {
        weigh(directory, prior, query, now_ms, &mut hits);
    }
    if form::is_identifier(query)
        && let Some(first) = hits.first().copied()
        && form::folded_eq(directory.card(first.index).name, query)
        && hits.get(1).is_none_or(|next| !form::folded_eq(directory.card(next.index).name, query))
    {
        // A name in another spelling is a name (case 80).
        hits = vec![Found::new(first.index, NAMED_SCORE, Via::Name)];
    }
    let named = form::names_within(query, directory).filter(|index| keep(*index)).take(MAX_NAMED);
    let mut first: Vec<Found> = Vec::new();
    for index in named {
        if first.iter().all(|hit| hit.index != index) {
            first.push(Found::new(index, NAMED_SCORE, Via::Name));
        }
    }
    if !first.is_empty() {
        hits.retain(|hit| first.iter().all(|named| named.index != hit.index));
        hits.splice(..0, first);
    }
    let left_out = if ask.filter.readonly && ask.offset == 0 {
        let anything = Options { keep: None, limit: ask.limit, ..options };
        ask.filter.left_out(directory, searcher.hits(query, &anything).into_iter().map(|hit| hit.index))
    } else {
        Vec::new()
    };
    page(Answer { hits, steps: steps.into_iter().map(str::to_owned).collect(), left_out, ..Answer::default() }, ask)
}

/// Raises the first hits by what was learnt of them. Nothing is added: what policy hides is no hit.
fn weigh<D: Directory + ?Sized>(directory: &D, prior: &Prior, query: &str, now_ms: u64, hits: &mut [Found]) {
    let experience = prior.experience(query, now_ms);
    if experience.is_empty() {
        return;
    }
    let first = hits.len().min(LEARNED_DEPTH);
    for hit in &mut hits[..first] {
        let share = directory.identity(hit.index).map_or(0.0, |id| experience.of(&id));
        hit.learned = hit.score * WEIGHT * share;
        hit.score += hit.learned;
    }
    // Stable: what nothing was learnt of keeps its order.
    hits[..first].sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// What the ranker finds. Of a request of several steps, the best of each step stands right behind the best of the whole.
fn ranked(searcher: &dyn Searcher, query: &str, steps: &[&str], options: &Options<'_>) -> Vec<Found> {
    let of_whole = searcher.hits(query, options);
    let found = |via: Via| move |Hit { index, score }: Hit| Found::new(index, score, via);
    if steps.is_empty() {
        return of_whole.into_iter().map(found(Via::Words)).collect();
    }
    let top = of_whole.first().map_or(1.0, |hit| hit.score);
    let ahead = of_whole.get(AHEAD - 1).map_or(0.0, |hit| hit.score);
    let best = (STEP_SHARE * top).max(ahead);
    // Every list's hits with their places in it: what decides among equals must not depend on how many were asked for.
    let mut all: Vec<(Found, usize)> = of_whole.into_iter().map(found(Via::Words)).zip(0..).collect();
    for (number, step) in steps.iter().enumerate() {
        let of_step = searcher.hits(step, options);
        let first = of_step.first().map_or(1.0, |hit| hit.score);
        let scaled = of_step.into_iter().enumerate().map(|(rank, hit)| {
            let score = if rank == 0 { best } else { LATER_SHARE * best * hit.score / first };
            Hit { score, ..hit }
        });
        all.extend(scaled.map(found(Via::Step(number))).zip(0..));
    }
    let list = |via: Via| if let Via::Step(number) = via { number + 1 } else { 0 };
    all.sort_by(|(a, place_a), (b, place_b)| {
        b.score.total_cmp(&a.score).then(list(a.via).cmp(&list(b.via))).then(place_a.cmp(place_b))
    });
    let mut seen = std::collections::HashSet::new();
    all.into_iter().map(|(hit, _)| hit).filter(|hit| seen.insert(hit.index)).collect()
}

#[cfg(test)]
mod tests;
