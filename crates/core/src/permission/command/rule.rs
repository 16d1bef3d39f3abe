//! Rules over command lines.

use std::fmt;

use super::{
    Hop, Parsed, SimpleCommand, Word,
    reach::{self, Use},
    wrapper::base_name,
};
use crate::permission::{
    Match, Side,
    wildcard::{parts_match, wildcard},
};

/// Which commands a rule means: `rm:*` (the program `rm` with any arguments), `git push:*` (with any further
/// arguments), `git status` (exactly that), `npm run *` (a lone star is any number of words, one inside a word any text
/// in that word). Quotes keep words together. A text with operators (`curl * | sh`) is held against the whole line.
#[derive(Clone, Debug)]
pub struct CommandRule {
    text: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Words(Vec<Piece>),
    /// The whole line, blanks evened out.
    Line(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Any number of words.
    Star,
    /// One word: what stands between its stars.
    Word(Vec<String>),
}

/// Most words of a rule and of a command that are compared.
const MAX_PIECES: usize = 64;
const MAX_WORDS: usize = 8_192;

/// Variables that may be set in front of a command that is let through: they change how it looks, not what it does.
const HARMLESS: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CI",
    "RUST_BACKTRACE",
];

/// Folders whose programs are what their names say.
const SYSTEM: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];

impl CommandRule {
    /// Reads a rule; every text is one. Nothing or `*` is any command.
    pub fn parse(text: &str) -> Self {
        let trimmed = text.trim();
        let form = pieces(trimmed).map_or_else(|| Form::Line(even(trimmed)), Form::Words);
        Self { text: trimmed.to_owned(), form }
    }

    /// For a rule that denies or asks: whether any command of the line, at any depth, is what the rule means.
    /// [`Match::Uncertain`] where the line or a command in it cannot be told.
    pub fn match_any(&self, parsed: &Parsed) -> Match {
        let mut found = if parsed.certain { Match::No } else { Match::Uncertain };
        match &self.form {
            Form::Line(line) if wildcard(line, &even(&parsed.line), true) => Match::Yes,
            Form::Line(_) => found,
            Form::Words(words) => {
                for command in parsed.all() {
                    if command.assignments.iter().any(|name| reach::may_run(name)) {
                        found = found.max(Match::Uncertain);
                    }
                    if command.words.is_empty() {
                        continue;
                    }
                    if command.opaque || command.reach.iter().any(|(_, does)| *does == Use::Runs) {
                        found = found.max(Match::Uncertain);
                    }
                    found = found.max(words_match(words, command, Side::Restrict));
                }
                found
            }
        }
    }

    /// For a rule that lets through: [`allows`] with this rule alone.
    pub fn match_all(&self, parsed: &Parsed) -> Match {
        allows(&[self], parsed)
    }

    /// Whether the rule means this command itself, whatever it runs; uncertain where the command does more than its name
    /// says by words that the rule does not name.
    fn grants(&self, command: &SimpleCommand) -> Match {
        let Form::Words(pieces) = &self.form else { return Match::No };
        let named = |(place, _): &(usize, Use)| match command.words.get(*place).filter(|_| *place > 0) {
            None => self.exact(),
            Some(word) => pieces.iter().skip(1).any(|piece| match piece {
                Piece::Star => false,
                Piece::Word(parts) => {
                    parts.first().is_some_and(|start| !start.is_empty()) && parts_match(parts, &word.text)
                }
            }),
        };
        match words_match(pieces, command, Side::Grant) {
            Match::Yes if command.reach.iter().all(named) => Match::Yes,
            Match::Yes => Match::Uncertain,
            Match::No | Match::Uncertain => Match::No,
        }
    }

    /// Whether it names one exact list of words.
    fn exact(&self) -> bool {
        match &self.form {
            Form::Line(line) => !line.contains('*'),
            Form::Words(words) => words.iter().all(|piece| matches!(piece, Piece::Word(parts) if parts.len() == 1)),
        }
    }
}

impl fmt::Display for CommandRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether rules that let through cover a line together: it is certain, it has a command, each command is what one of
/// them means, and none writes to a file, sets a variable that could change what runs, or has its program do more than
/// its name says by words that no rule names. Programs count by their name
/// as written, or by their base name in a system folder, so that `./git` is not `git`.
///
/// [`Match::Uncertain`] for an uncertain line, however well it fits, and where only such words are not named; treat it as
/// no.
pub fn allows(rules: &[&CommandRule], parsed: &Parsed) -> Match {
    if !parsed.certain {
        return Match::Uncertain;
    }
    let whole =
        |rule: &&CommandRule| matches!(&rule.form, Form::Line(line) if rule.exact() && *line == even(&parsed.line));
    if rules.iter().any(whole) {
        return Match::Yes;
    }
    let some = parsed.commands.iter().any(|command| !command.words.is_empty());
    let all = parsed.commands.iter().map(|command| covered(rules, command)).min();
    all.filter(|_| some).unwrap_or(Match::No)
}

fn covered(rules: &[&CommandRule], command: &SimpleCommand) -> Match {
    // One and two small letters are what loops count with; no program looks at such a variable.
    let harmless = |name: &String| {
        HARMLESS.contains(&name.as_str())
            || name.starts_with("LC_")
            || name.len() <= 2 && name.bytes().all(|byte| byte.is_ascii_lowercase())
            || matches!(name.as_str(), "file" | "dir" | "line" | "item" | "name")
    };
    if command.writes || !command.assignments.iter().all(harmless) {
        return Match::No;
    }
    if command.words.is_empty() {
        return Match::Yes;
    }
    let own = || rules.iter().map(|rule| rule.grants(command)).max().unwrap_or(Match::No);
    let exact = || rules.iter().filter(|rule| rule.exact()).map(|rule| rule.grants(command)).max().unwrap_or(Match::No);
    let inner = || command.inner.iter().map(|inner| covered(rules, inner)).min().unwrap_or(Match::Yes);
    match command.hop {
        Hop::None | Hop::Outer => own(),
        Hop::Through if command.inner.is_empty() => own(),
        Hop::Through => inner().max(exact()),
        Hop::Both => own().min(inner()).max(exact()),
    }
}

fn words_match(pieces: &[Piece], command: &SimpleCommand, side: Side) -> Match {
    let words = &command.words;
    if words.len() > MAX_WORDS {
        return Match::Uncertain;
    }
    // From the last piece to the first: how well it and what follows fit the words from each place on.
    let at_end = if command.open_ended { Match::Uncertain } else { Match::Yes };
    let mut best: Vec<Match> = vec![Match::No; words.len() + 1];
    best[words.len()] = at_end;
    // Words that may expand to nothing.
    for (index, word) in words.iter().enumerate().rev() {
        if word.known {
            break;
        }
        best[index] = Match::Uncertain;
    }
    for (position, piece) in pieces.iter().enumerate().rev() {
        let mut next = vec![Match::No; words.len() + 1];
        match piece {
            Piece::Star if position + 1 == pieces.len() => next.fill(Match::Yes),
            Piece::Star => {
                next[words.len()] = best[words.len()];
                for index in (0..words.len()).rev() {
                    next[index] = best[index].max(next[index + 1]);
                }
            }
            Piece::Word(parts) => {
                next[words.len()] = if command.open_ended { Match::Uncertain } else { Match::No };
                for (index, word) in words.iter().enumerate() {
                    next[index] = if !word.known {
                        Match::Uncertain
                    } else if word_fits(parts, word, index == 0, side) {
                        best[index + 1]
                    } else {
                        Match::No
                    };
                }
            }
        }
        best = next;
    }
    match best[0] {
        Match::No if side == Side::Restrict && behind_options(pieces, words) => Match::Uncertain,
        found => found,
    }
}

/// `git -C there push` beside `git push:*`: options between a program and its subcommand.
fn behind_options(pieces: &[Piece], words: &[Word]) -> bool {
    let [Piece::Word(program), Piece::Word(sub), ..] = pieces else { return false };
    words.len() > 2
        && word_fits(program, &words[0], true, Side::Restrict)
        && words[1].text.starts_with('-')
        && sub.first().is_some_and(|sub| !sub.starts_with('-'))
        && words[2..].iter().any(|word| !word.known || parts_match(sub, &word.text))
}

fn word_fits(parts: &[String], word: &Word, program: bool, side: Side) -> bool {
    if !program {
        return parts_match(parts, &word.text);
    }
    let base = base_name(&word.text);
    match side {
        Side::Grant => {
            let folder = word.text.strip_suffix(base).and_then(|folder| folder.strip_suffix('/'));
            let qualified = parts.iter().any(|part| part.contains('/'));
            match folder {
                Some(folder) if !qualified => SYSTEM.contains(&folder) && parts_match(parts, base),
                Some(_) => parts.len() == 1 && parts_match(parts, &word.text),
                None => parts_match(parts, base),
            }
        }
        Side::Restrict => {
            // Folders make no difference, and on some systems neither do case and ending.
            let lower = base.to_lowercase();
            let plain = lower.strip_suffix(".exe").unwrap_or(&lower);
            let mut parts: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
            if let [only] = parts.as_mut_slice() {
                *only = base_name(only).trim_end_matches(".exe").to_owned();
            }
            parts_match(&parts, plain) || parts_match(&parts, &word.text.to_lowercase())
        }
    }
}

/// Splits a rule into words; `None` when it has operators, expansions or an open quote.
fn pieces(text: &str) -> Option<Vec<Piece>> {
    let (text, open) = text.strip_suffix(":*").map_or((text, false), |prefix| (prefix, true));
    let mut pieces = Vec::new();
    let mut word: Option<Vec<String>> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let mut literal = c;
        let operator = match quote {
            None => ";&|<>()`$\n".contains(c),
            Some('"') => "$`".contains(c),
            Some(_) => false,
        };
        if operator {
            return None;
        }
        match (quote, c) {
            (Some(open), c) if open == c => {
                quote = None;
                continue;
            }
            (None | Some('"'), '\\') => literal = chars.next()?,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_with(|| vec![String::new()]);
                continue;
            }
            (None, '*') => {
                word.get_or_insert_with(|| vec![String::new()]).push(String::new());
                continue;
            }
            (None, c) if c.is_whitespace() => {
                pieces.extend(word.take().map(piece));
                continue;
            }
            _ => {}
        }
        if let Some(part) = word.get_or_insert_with(|| vec![String::new()]).last_mut() {
            part.push(literal);
        }
    }
    pieces.extend(word.take().map(piece));
    if open || pieces.is_empty() {
        pieces.push(Piece::Star);
    }
    (quote.is_none() && pieces.len() <= MAX_PIECES).then_some(pieces)
}

fn piece(parts: Vec<String>) -> Piece {
    if parts.len() > 1 && parts.iter().all(String::is_empty) { Piece::Star } else { Piece::Word(parts) }
}

fn even(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
