//! sed scripts, as far as it takes to see whether they run commands (`e`, `s///e`) or write files (`w`).

use super::{Use, Word};

/// Looks at the scripts among the words of a sed command.
pub(super) fn read(words: &[Word], found: &mut Vec<(usize, Use)>) {
    let mut explicit = false;
    let mut first = None;
    let mut at = 1;
    let mut scripts: Vec<(usize, String, bool)> = Vec::new();
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        let next = || words.get(at + 1).map(|next| (at + 1, next.text.clone(), next.known));
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if !name.is_empty() && "expression".starts_with(name) {
                explicit = true;
                scripts.extend(value.map(|value| (at, value.to_owned(), word.known)).or_else(next));
                at += usize::from(value.is_none());
            } else if !name.is_empty() && "file".starts_with(name) {
                explicit = true;
            }
        } else if let Some(cluster) = text.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            // What follows `-i` is its value.
            let mut letters = cluster.char_indices().take_while(|(_, letter)| *letter != 'i');
            if let Some((place, letter)) = letters.find(|(_, letter)| matches!(letter, 'e' | 'f' | 'l')) {
                let value = &cluster[place + 1..];
                explicit |= letter != 'l';
                if letter == 'e' {
                    let inside = (!value.is_empty()).then(|| (at, value.to_owned(), word.known));
                    scripts.extend(inside.or_else(next));
                }
                at += usize::from(value.is_empty());
            }
        } else if first.is_none() {
            first = Some((at, text.to_owned(), word.known));
        }
        at += 1;
    }
    if !explicit {
        scripts.extend(first);
    }
    for (at, script, known) in scripts {
        let does = if known { does(&script) } else { Some(Use::Runs) };
        found.extend(does.map(|does| (at, does)));
    }
}

/// What a script does beyond editing. A script that cannot be read counts as running commands.
fn does(script: &str) -> Option<Use> {
    let chars: Vec<char> = script.chars().collect();
    let mut writes = None;
    let mut at = 0;
    while at < chars.len() {
        if chars[at].is_whitespace() || matches!(chars[at], ';' | '{' | '}') {
            at += 1;
            continue;
        }
        let Some(command) = after_address(&chars, at) else { return Some(Use::Runs) };
        at = command;
        let Some(&letter) = chars.get(at) else { break };
        at += 1;
        let to_line_end = |at: usize| chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n);
        match letter {
            'w' | 'W' => {
                writes = Some(Use::Writes);
                at = to_line_end(at);
            }
            's' | 'y' => {
                let Some(end) = parts(&chars, at) else { return Some(Use::Runs) };
                at = end;
                while let Some(flag) = chars.get(at).filter(|c| c.is_ascii_alphanumeric()) {
                    at += 1;
                    match flag {
                        'e' => return Some(Use::Runs),
                        'w' => {
                            writes = Some(Use::Writes);
                            at = to_line_end(at);
                        }
                        _ => {}
                    }
                }
            }
            'a' | 'i' | 'c' => {
                // The text goes on where a line ends with a backslash.
                at = to_line_end(at);
                while at < chars.len() && at > 0 && chars[at - 1] == '\\' {
                    at = to_line_end(at + 1);
                }
            }
            'r' | 'R' | '#' => at = to_line_end(at),
            ':' | 'b' | 't' | 'T' | 'v' => {
                at = chars[at..].iter().position(|c| matches!(c, '\n' | ';')).map_or(chars.len(), |n| at + n);
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' | 'q' | 'Q' | 'l'
            | 'L' => {
                while chars.get(at).is_some_and(|c| c.is_ascii_digit() || *c == ' ') {
                    at += 1;
                }
            }
            // `e` runs a command; another letter is none that is known.
            _ => return Some(Use::Runs),
        }
    }
    writes
}

/// Where the command behind an address stands: `1,/x/I!`.
fn after_address(chars: &[char], mut at: usize) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '0'..='9' | '$' | ',' | '~' | '+' | '!' | ' ' | '\t' => at += 1,
            '/' => at = behind_flags(chars, part(chars, at + 1, '/')?),
            '\\' => at = behind_flags(chars, part(chars, at + 2, *chars.get(at + 1)?)?),
            _ => return Some(at),
        }
    }
}

fn behind_flags(chars: &[char], mut at: usize) -> usize {
    while matches!(chars.get(at), Some('I' | 'M')) {
        at += 1;
    }
    at
}

/// Behind the three delimiters of `s/a/b/`.
fn parts(chars: &[char], at: usize) -> Option<usize> {
    let delimiter = *chars.get(at).filter(|c| !matches!(c, '\\' | '\n'))?;
    let middle = part(chars, at + 1, delimiter)?;
    part(chars, middle, delimiter)
}

/// Behind the next delimiter that no backslash takes. One inside brackets is read in two ways, and so in none.
fn part(chars: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    let mut bracket = false;
    loop {
        match *chars.get(at)? {
            '\\' => at += 1,
            '[' => bracket = true,
            ']' => bracket = false,
            c if c == delimiter => return (!bracket).then_some(at + 1),
            _ => {}
        }
        at += 1;
    }
}
