//! HTML to readable text.
//!
//! Works on the token stream, without a tree: linear in the page, no recursion, so nesting of any depth costs nothing.
//! That is why no ready converter is used: those build a tree and walk it recursively, and a page made of a million
//! opening tags would end the process.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};
use url::Url;

/// The page's text: title, headings marked as in Markdown, lists, links with their address, table cells divided by
/// bars. Stops once there are more than `chars` characters.
pub(crate) fn to_text(page: &str, base: &Url, chars: usize) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(base);
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&tag),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        // Bytes are at least as many as characters, so this is never too early by more than the factor.
        if writer.out.len() > chars.saturating_mul(4) {
            break;
        }
    }
    writer.finish()
}

/// Elements whose content nobody reads.
const SKIPPED: [&str; 11] =
    ["script", "style", "noscript", "template", "svg", "iframe", "noembed", "noframes", "object", "select", "textarea"];
/// Lists deeper than this are not indented further.
const MAX_INDENT: usize = 8;

struct Writer<'a> {
    base: &'a Url,
    out: String,
    title: String,
    in_title: bool,
    // The skipped element we are in and how many of its name are open.
    skipping: Option<(&'static str, usize)>,
    breaks: usize,
    space: bool,
    preformatted: usize,
    lists: usize,
    // Where the open link's text began, and its address.
    link: Option<(usize, String)>,
}

impl<'a> Writer<'a> {
    fn new(base: &'a Url) -> Self {
        Self {
            base,
            out: String::new(),
            title: String::new(),
            in_title: false,
            skipping: None,
            breaks: 0,
            space: false,
            preformatted: 0,
            lists: 0,
            link: None,
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((skipped, depth)) = &mut self.skipping {
            if name == *skipped && !tag.self_closing {
                *depth += 1;
            }
            return;
        }
        if let Some(skipped) = SKIPPED.iter().find(|skipped| name == **skipped) {
            if !tag.self_closing {
                self.skipping = Some((skipped, 1));
            }
            return;
        }
        let attribute =
            |name: &str| tag.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned());
        match &*name {
            "title" => self.in_title = true,
            "hr" => {
                self.break_line(2);
                self.word("---");
                self.break_line(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_line(2);
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.word(&"#".repeat(level));
                self.space = true;
            }
            "ul" | "ol" | "menu" | "dl" => {
                self.break_line(if self.lists == 0 { 2 } else { 1 });
                self.lists += 1;
            }
            "li" | "dt" => {
                self.break_line(1);
                let indent = self.lists.saturating_sub(1).min(MAX_INDENT);
                self.word(&format!("{}-", "  ".repeat(indent)));
                self.space = true;
            }
            "br" | "tr" => self.break_line(1),
            "td" | "th" => {
                if !self.out.is_empty() && self.breaks == 0 && !self.out.ends_with('\n') {
                    self.space = true;
                    self.word("|");
                }
                self.space = true;
            }
            "pre" => {
                self.break_line(2);
                self.flush();
                self.preformatted += 1;
            }
            "img" => {
                if let Some(alt) = attribute("alt").filter(|alt| !alt.trim().is_empty()) {
                    self.text(&format!("[image: {}]", alt.trim()));
                }
            }
            "a" => {
                self.close_link();
                let target = attribute("href").and_then(|href| self.base.join(href.trim()).ok());
                if let Some(target) = target.filter(|target| self.is_worth_showing(target)) {
                    self.flush();
                    self.link = Some((self.out.len(), target.into()));
                }
            }
            name if is_block(name) => self.break_line(if name == "p" { 2 } else { 1 }),
            _ => {}
        }
    }

    fn end(&mut self, tag: &EndTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((skipped, depth)) = &mut self.skipping {
            if name == *skipped {
                *depth -= 1;
                if *depth == 0 {
                    self.skipping = None;
                }
            }
            return;
        }
        match &*name {
            "title" => self.in_title = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "p" | "table" => self.break_line(2),
            "ul" | "ol" | "menu" | "dl" => {
                self.lists = self.lists.saturating_sub(1);
                self.break_line(if self.lists == 0 { 2 } else { 1 });
            }
            "pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.break_line(2);
            }
            "a" => self.close_link(),
            "li" | "dt" | "tr" => self.break_line(1),
            name if is_block(name) => self.break_line(1),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipping.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
            return;
        }
        if self.preformatted > 0 {
            self.flush();
            self.out.push_str(text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.space = true;
        }
        for word in text.split_whitespace() {
            self.word(word);
            self.space = true;
        }
        if !text.ends_with(char::is_whitespace) {
            self.space = false;
        }
    }

    fn word(&mut self, word: &str) {
        self.flush();
        self.out.push_str(word);
    }

    /// Asks for line breaks before whatever comes next; the most that was asked for wins.
    fn break_line(&mut self, count: usize) {
        self.breaks = self.breaks.max(count);
        self.space = false;
    }

    /// Writes the breaks or the blank that are due.
    fn flush(&mut self) {
        if self.breaks > 0 {
            let kept = self.out.trim_end_matches([' ', '\n']).len();
            let had = self.out[kept..].matches('\n').count();
            self.out.truncate(kept);
            if kept > 0 {
                self.out.push_str(&"\n".repeat(self.breaks.max(had.min(2))));
            }
        } else if self.space && !self.out.is_empty() && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        self.breaks = 0;
        self.space = false;
    }

    fn is_worth_showing(&self, target: &Url) -> bool {
        let mut page = self.base.clone();
        page.set_fragment(target.fragment());
        matches!(target.scheme(), "http" | "https" | "mailto") && page != *target
    }

    fn close_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        // Breaks inside a link may have taken blanks before it away.
        let Some(text) = self.out.get(start..).map(str::trim).filter(|text| !text.is_empty()) else { return };
        let linked = format!("[{text}]({target})");
        let blank = if self.out[start..].starts_with(char::is_whitespace) { " " } else { "" };
        self.out.truncate(start);
        if !self.out.ends_with(char::is_whitespace) {
            self.out.push_str(blank);
        }
        self.out.push_str(&linked);
    }

    fn finish(mut self) -> String {
        self.close_link();
        let body = self.out.trim();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let heading = format!("# {title}");
        if title.is_empty() || body.lines().next() == Some(heading.as_str()) {
            body.to_owned()
        } else {
            format!("{heading}\n\n{body}")
        }
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "legend"
            | "main"
            | "nav"
            | "option"
            | "p"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "thead"
            | "tfoot"
    )
}

#[cfg(test)]
mod tests;
