//! Reading shell text into simple commands: words, quotes, separators, redirections, substitutions.

use std::collections::VecDeque;

use super::{MAX_DEPTH, SimpleCommand, State, Word, wrapper};

mod words;

/// Reads a script. What is found is certain only as far as `state` stays so.
pub(super) fn script(text: &str, depth: usize, state: &mut State) -> Vec<SimpleCommand> {
    if depth > MAX_DEPTH {
        state.doubt();
        return Vec::new();
    }
    if text.contains("$\\\n") {
        // The two may or may not be one expansion.
        state.doubt();
    }
    let mut reader = Reader::new(text, depth, state);
    reader.statements(false);
    reader.out
}

/// A word while it is needed to know how it was written.
struct Token {
    word: Word,
    /// Whether any of it was quoted, so that it is no keyword.
    quoted: bool,
    /// The variable it sets, if it is an assignment.
    sets: Option<String>,
}

#[derive(Default)]
struct Draft {
    tokens: Vec<Token>,
    writes: bool,
}

struct HereDocument {
    delimiter: String,
    quoted: bool,
    indented: bool,
}

struct Reader<'s> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    state: &'s mut State,
    out: Vec<SimpleCommand>,
    waiting: Vec<HereDocument>,
}

impl<'s> Reader<'s> {
    fn new(text: &str, depth: usize, state: &'s mut State) -> Self {
        Self { chars: text.chars().collect(), at: 0, depth, state, out: Vec::new(), waiting: Vec::new() }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next_is(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    /// Goes one level down; false, with everything left unread, when that is too deep.
    fn down(&mut self) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.state.doubt();
            self.at = self.chars.len();
        }
        self.depth <= MAX_DEPTH
    }

    /// Reads commands to the end, or to the bracket that closes a substitution.
    fn statements(&mut self, nested: bool) {
        let mut draft = Draft::default();
        let mut open = 0_usize;
        loop {
            while matches!(self.peek(0), Some(' ' | '\t')) || self.next_is("\\\n") {
                self.at += if self.peek(0) == Some('\\') { 2 } else { 1 };
            }
            let Some(c) = self.peek(0) else {
                self.finish(&mut draft);
                if nested || open > 0 || !self.waiting.is_empty() {
                    self.state.doubt();
                }
                return;
            };
            match c {
                '\n' => {
                    self.finish(&mut draft);
                    self.at += 1;
                    self.here_documents();
                }
                '&' if self.peek(1) == Some('>') => {
                    self.at += 1;
                    self.redirection(&mut draft);
                }
                ';' | '&' | '|' => {
                    self.finish(&mut draft);
                    if self.next_is(";;") || self.next_is(";&") {
                        self.state.doubt();
                    }
                    self.at += 1;
                    while matches!(self.peek(0), Some(';' | '&' | '|')) && !self.next_is("&>") {
                        self.at += 1;
                    }
                }
                '(' => {
                    // A function, an array, an extended glob or arithmetic; else a subshell.
                    if !draft.tokens.is_empty() || self.peek(1) == Some('(') {
                        self.state.doubt();
                        self.finish(&mut draft);
                    }
                    open += 1;
                    self.at += 1;
                }
                ')' => {
                    self.finish(&mut draft);
                    self.at += 1;
                    if open > 0 {
                        open -= 1;
                    } else if nested {
                        return;
                    } else {
                        self.state.doubt();
                    }
                }
                '<' | '>' => self.redirection(&mut draft),
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => {
                    let token = self.word();
                    let redirects = matches!(self.peek(0), Some('<' | '>'));
                    let text = token.word.text.as_str();
                    let digits = !token.quoted && text.bytes().all(|byte| byte.is_ascii_digit());
                    // `{fd}>f` sets a variable to the descriptor; shells without it take it for a word.
                    let variable = text.len() > 2 && text.starts_with('{') && text.ends_with('}');
                    if redirects && variable {
                        self.state.doubt();
                    }
                    if !(redirects && (digits || variable)) {
                        draft.tokens.push(token);
                    }
                }
            }
        }
    }

    fn redirection(&mut self, draft: &mut Draft) {
        let out = self.peek(0) == Some('>');
        self.at += 1;
        if self.peek(0) == Some('(') {
            self.at += 1;
            if self.down() {
                self.statements(true);
                self.depth -= 1;
            }
            let word = Word { text: "<(…)".to_owned(), known: false };
            draft.tokens.push(Token { word, quoted: true, sets: None });
            return;
        }
        let mut document = None;
        let mut writes = out;
        let mut duplicates = false;
        match (out, self.peek(0)) {
            (false, Some('<')) if self.peek(1) == Some('<') => self.at += 2,
            (false, Some('<')) => {
                self.at += 1;
                document = Some(self.peek(0) == Some('-'));
                self.at += usize::from(document == Some(true));
            }
            (false, Some('>')) => {
                self.at += 1;
                writes = true;
            }
            (_, Some('&')) => {
                self.at += 1;
                duplicates = true;
            }
            (true, Some('>')) => {
                self.at += 1;
                // `&>>`, and zsh's `>>|` and `>>&`.
                if matches!(self.peek(0), Some('|' | '&')) {
                    self.at += 1;
                }
            }
            (true, Some('|')) => self.at += 1,
            _ => {}
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        if self.peek(0).is_none_or(|c| "\n;&|<>()".contains(c)) {
            self.state.doubt();
            draft.writes |= writes;
            return;
        }
        let target = self.word();
        if let Some(indented) = document {
            self.state.doubt();
            self.waiting.push(HereDocument { delimiter: target.word.text, quoted: target.quoted, indented });
            return;
        }
        let text = target.word.text.as_str();
        let number = text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        let harmless = target.word.known
            && (duplicates && number || matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"));
        draft.writes |= writes && !harmless;
    }

    /// Skips the here-documents announced on the line just ended; what their text substitutes is run.
    fn here_documents(&mut self) {
        for document in std::mem::take(&mut self.waiting) {
            let mut body = String::new();
            loop {
                if self.at >= self.chars.len() {
                    self.state.doubt();
                    break;
                }
                let rest = &self.chars[self.at..];
                let length = rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at += (length + 1).min(rest.len());
                let ends = if document.indented { line.trim_start_matches('\t') } else { line.as_str() };
                if ends == document.delimiter {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if !document.quoted {
                self.substitutions(&body);
            }
        }
    }

    /// Ends a simple command: takes keywords and assignments off its front and looks into it.
    fn finish(&mut self, draft: &mut Draft) {
        let Draft { tokens, writes } = std::mem::take(draft);
        let mut tokens = VecDeque::from(tokens);
        let mut command = SimpleCommand { writes, ..SimpleCommand::default() };
        loop {
            while let passed @ 1.. = timed(&tokens) {
                tokens.drain(..passed);
            }
            let keyword = tokens.front().is_some_and(|token| !token.quoted && is_keyword(&token.word.text));
            let Some(token) = tokens.pop_front_if(|_| keyword) else { break };
            match token.word.text.as_str() {
                "case" | "[[" => {
                    self.state.doubt();
                    return;
                }
                "function" => {
                    self.state.doubt();
                    tokens.pop_front();
                }
                "coproc" => self.state.doubt(),
                // The words are data; the commands stand between `do` and `done`. The variable is set.
                "for" | "select" => {
                    command.assignments.extend(tokens.pop_front().map(|token| token.word.text));
                    tokens.clear();
                }
                _ => {}
            }
        }
        while let Some(name) = tokens.front().and_then(|token| token.sets.clone()) {
            command.assignments.push(name);
            tokens.pop_front();
        }
        command.words = tokens.into_iter().map(|token| token.word).collect();
        if command == SimpleCommand::default() {
            return;
        }
        if self.state.left == 0 {
            return self.state.doubt();
        }
        self.state.left -= 1;
        let command = wrapper::build(command, self.depth, self.state);
        self.out.push(command);
    }
}

/// How many words to pass over for a `time` in front of a compound command (`time { …; }`); in front of a simple one it
/// is a wrapper like others.
fn timed(tokens: &VecDeque<Token>) -> usize {
    let plain = |at: usize| tokens.get(at).filter(|token| !token.quoted).map(|token| token.word.text.as_str());
    if plain(0) != Some("time") {
        return 0;
    }
    let next = if matches!(plain(1), Some("-p" | "--")) { 2 } else { 1 };
    if plain(next).is_some_and(|word| word == "time" || is_keyword(word)) { next } else { 0 }
}

fn is_keyword(text: &str) -> bool {
    matches!(
        text,
        "if" | "then"
            | "elif"
            | "else"
            | "fi"
            | "while"
            | "until"
            | "do"
            | "done"
            | "for"
            | "select"
            | "case"
            | "esac"
            | "function"
            | "coproc"
            | "!"
            | "{"
            | "}"
            | "[["
    )
}
