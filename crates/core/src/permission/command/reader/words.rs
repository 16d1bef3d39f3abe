//! Words: quotes, escapes, expansions and the substitutions inside them.

use super::{Reader, Token, script};
use crate::permission::command::{MAX_DEPTH, Word};

impl Reader<'_> {
    /// Reads the substitutions in a text that is expanded but not split into commands.
    pub(super) fn substitutions(&mut self, text: &str) {
        if self.depth + 1 > MAX_DEPTH {
            self.state.doubt();
            return;
        }
        let mut reader = Reader::new(text, self.depth + 1, self.state);
        let mut token = Token { word: Word { text: String::new(), known: true }, quoted: true, sets: None };
        while let Some(c) = reader.peek(0) {
            match c {
                '\\' => reader.at += 2,
                '$' => reader.dollar(&mut token, true),
                '`' => reader.backtick(&mut token, true),
                _ => reader.at += 1,
            }
        }
        let out = reader.out;
        self.out.extend(out);
    }

    pub(super) fn word(&mut self) -> Token {
        let mut token = Token { word: Word { text: String::new(), known: true }, quoted: false, sets: None };
        let (mut bracket, mut brace, mut expands) = (false, false, false);
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' => {
                    match self.peek(1) {
                        None => self.state.doubt(),
                        Some('\n') => {}
                        Some(next) => {
                            token.quoted = true;
                            token.word.text.push(next);
                        }
                    }
                    self.at += 2;
                    continue;
                }
                '\'' => {
                    token.quoted = true;
                    self.at += 1;
                    self.single(&mut token);
                    continue;
                }
                '"' => {
                    self.double(&mut token);
                    continue;
                }
                '$' => {
                    self.dollar(&mut token, false);
                    continue;
                }
                '`' => {
                    self.backtick(&mut token, false);
                    continue;
                }
                '=' if token.sets.is_none() && !token.quoted && is_variable(&token.word.text) => {
                    token.sets = Some(token.word.text.trim_end_matches('+').to_owned());
                }
                // zsh looks up `=name`.
                '=' if token.word.text.is_empty() && !token.quoted => expands = true,
                '*' | '?' => expands = true,
                '[' => bracket = true,
                '{' => brace = true,
                ',' => expands |= brace,
                '.' => expands |= brace && self.peek(1) == Some('.'),
                c if c.is_control() || c.is_whitespace() => self.state.doubt(),
                _ => {}
            }
            token.word.text.push(c);
            self.at += 1;
        }
        if expands || bracket && token.word.text != "[" && token.word.text != "[[" {
            token.word.known = false;
        }
        token
    }

    /// The rest of a single-quoted text.
    fn single(&mut self, token: &mut Token) {
        loop {
            let Some(c) = self.peek(0) else { return self.state.doubt() };
            self.at += 1;
            if c == '\'' {
                return;
            }
            token.word.text.push(c);
        }
    }

    fn double(&mut self, token: &mut Token) {
        token.quoted = true;
        self.at += 1;
        loop {
            let Some(c) = self.peek(0) else { return self.state.doubt() };
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '$' => self.dollar(token, true),
                '`' => self.backtick(token, true),
                '\\' => {
                    match self.peek(1) {
                        Some('\n') | None => {}
                        Some(next @ ('$' | '`' | '"' | '\\')) => token.word.text.push(next),
                        Some(next) => token.word.text.extend(['\\', next]),
                    }
                    self.at += 2;
                }
                _ => {
                    token.word.text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn backtick(&mut self, token: &mut Token, in_quotes: bool) {
        token.word.known = false;
        token.quoted = true;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.peek(0) else {
                self.state.doubt();
                break;
            };
            self.at += 1;
            match (c, self.peek(0)) {
                ('`', _) => break,
                ('\\', Some(next @ ('`' | '\\' | '$'))) => {
                    text.push(next);
                    self.at += 1;
                }
                // Shells differ in whether this is a quote inside.
                ('\\', Some('"')) if in_quotes => {
                    self.state.doubt();
                    text.push('"');
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
        token.word.text.push_str("`…`");
        let inner = script(&text, self.depth + 1, self.state);
        self.out.extend(inner);
    }

    fn dollar(&mut self, token: &mut Token, in_quotes: bool) {
        match self.peek(1) {
            Some('(') => {
                token.word.known = false;
                token.word.text.push_str("$(…)");
                if self.peek(2) == Some('(') && self.arithmetic() {
                    return;
                }
                self.at += 2;
                if self.down() {
                    // A here-document inside ends inside.
                    let waiting = std::mem::take(&mut self.waiting);
                    self.statements(true);
                    self.waiting.splice(..0, waiting);
                    self.depth -= 1;
                }
            }
            Some('{') => {
                token.word.known = false;
                self.at += 2;
                let inner = self.braced();
                token.word.text.push_str(&format!("${{{inner}}}"));
                if !is_plain_expansion(&inner) {
                    self.state.doubt();
                }
                self.substitutions(&inner);
            }
            Some('\'') if !in_quotes => {
                token.quoted = true;
                self.at += 2;
                let mut escaped = false;
                loop {
                    let Some(c) = self.peek(0) else { return self.state.doubt() };
                    self.at += 1;
                    match c {
                        '\'' => break,
                        '\\' => {
                            escaped = true;
                            self.at += 1;
                        }
                        _ => token.word.text.push(c),
                    }
                }
                // Which characters the escapes stand for is left open.
                token.word.known &= !escaped;
            }
            Some('"') if !in_quotes => {
                self.at += 1;
                self.double(token);
            }
            Some('[') => {
                self.state.doubt();
                token.word.known = false;
                self.at += 2;
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                token.word.known = false;
                token.word.text.extend(['$', c]);
                self.at += 2;
                while let Some(c) = self.peek(0).filter(|next| {
                    (c.is_ascii_alphabetic() || c == '_') && (next.is_ascii_alphanumeric() || *next == '_')
                }) {
                    token.word.text.push(c);
                    self.at += 1;
                }
            }
            _ => {
                token.word.text.push('$');
                self.at += 1;
            }
        }
    }

    /// Passes over `$((…))`; false when that is a subshell in a substitution instead.
    fn arithmetic(&mut self) -> bool {
        let mut open = 2_usize;
        let mut end = self.at + 3;
        loop {
            match self.chars.get(end) {
                None => return false,
                Some('(') => open += 1,
                Some(')') => open -= 1,
                Some(_) => {}
            }
            if open == 1 {
                break;
            }
            end += 1;
        }
        if self.chars.get(end + 1) != Some(&')') {
            return false;
        }
        let text: String = self.chars[self.at + 3..end].iter().collect();
        self.at = end + 2;
        // Names and subscripts are evaluated in turn, so they may run something.
        if text.chars().any(|c| !c.is_ascii_digit() && !" +-*/%()<>=&|^!~?:,".contains(c)) {
            self.state.doubt();
            self.substitutions(&text);
        }
        true
    }

    /// The inside of `${…}`, up to the brace that closes it.
    fn braced(&mut self) -> String {
        let mut text = String::new();
        let mut open = 1_usize;
        loop {
            let Some(c) = self.peek(0) else {
                self.state.doubt();
                return text;
            };
            self.at += 1;
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                '\\' => {
                    text.push(c);
                    if let Some(next) = self.peek(0) {
                        text.push(next);
                        self.at += 1;
                    }
                    continue;
                }
                // Where braces in quotes belong is not worth telling.
                '"' | '\'' => self.state.doubt(),
                _ => {}
            }
            if open == 0 {
                return text;
            }
            text.push(c);
        }
    }
}

fn is_variable(text: &str) -> bool {
    let name = text.strip_suffix('+').unwrap_or(text);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether the inside of `${…}` is a name, or a name with a default or an affix to remove. Subscripts, offsets, `!` and
/// `@P` evaluate what variables hold, which may run something.
fn is_plain_expansion(inner: &str) -> bool {
    let inner = inner.strip_prefix('#').unwrap_or(inner);
    let name = inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let rest = &inner[name..];
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    name > 0 && (rest.is_empty() && !inner.ends_with(':') || rest.starts_with(['-', '+', '=', '?', '#', '%']))
}
