//! Texts that speak to the model rather than describe a tool (threats T1 and T3).
//!
//! A text is read as a model would read it: look-alikes folded, hidden characters removed, blanks collapsed. What is
//! looked for are turns of phrase that describe no tool; words that honest descriptions use as well are not enough.

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Regex, RegexSet};
use unicode_normalization::UnicodeNormalization;

use super::{Code, Findings, Subject, names::latin};
use crate::{
    ToolId,
    disclosure::{clean, clip, is_invisible},
};

/// Characters of a quotation in a finding.
const QUOTED: usize = 120;
/// Shortest name that is looked for in other tools' texts: shorter ones are words.
const NAME_CHARS: usize = 8;
/// Most tool names that are looked for.
const MOST_NAMES: usize = 50_000;

/// What is looked for, by code. Held against lower-case text on one line.
const PATTERNS: &[(Code, &str)] = &[
    (
        Code::OverridesInstructions,
        r"\b(ignore|disregard|forget|override|bypass|(do not|don't|never) (follow|obey))\b[^.]{0,40}\b(previous|prior|earlier|above|preceding|system|developer|original|safety|existing|all other|any other)\b[^.]{0,30}\b(instructions?|prompts?|rules|guidelines?|directives?|constraints|commands)\b",
    ),
    (Code::OverridesInstructions, r"\bnew (system )?(instructions?|prompt|directives?)( for you)? ?:"),
    (Code::OverridesInstructions, r"\byou are now\b[^.]{0,40}\b(mode|assistant|agent|jailbroken|unrestricted|free)\b"),
    (
        Code::OverridesInstructions,
        r"\byour (real|true|actual|new) (task|goal|instructions?|purpose|objective) (is|are)\b",
    ),
    (
        Code::HidesFromUser,
        r"\b(do not|don't|never|must not|mustn't|should not|avoid)\b[^.]{0,30}\b(tell(ing)?|mention(ing)?|inform(ing)?|reveal(ing)?|disclos(e|ing)|notify(ing)?|alert(ing)?|warn(ing)?)\b[^.]{0,40}\b(the |your |any )?(user|human|customer|operator)s?\b",
    ),
    // Services offer "without notifying the user" as an option; nobody offers to tell nobody.
    (
        Code::HidesFromUser,
        r"\bwithout (telling|mentioning|informing|revealing)\b[^.]{0,40}\b(the |your |any )?(user|human|customer|operator)s?\b",
    ),
    (
        Code::HidesFromUser,
        r"\b(keep|hide|conceal)\b[^.]{0,30}\b(secret|hidden|confidential|invisible|this|it|everything)\b[^.]{0,15}\bfrom (the |your |any )?(user|human|customer|operator)s?\b",
    ),
    (
        Code::HidesFromUser,
        r"\b(user|human|customer)s? (must|should|may|need)( not|n't| never) (know|notice|find out|learn|be told|be aware)\b",
    ),
    (
        Code::HidesFromUser,
        r"\b(secretly|covertly|silently)\b[^.]{0,30}\b(send|read|upload|forward|include|call|run|execute|copy|collect|pass|transmit)\b",
    ),
    (
        Code::AsksForSecrets,
        r"\b(read|open|cat|load|include|send|pass|provide|attach|upload|forward|append|copy|paste|collect|access|get|fetch)\b[^.]{0,60}(~|\$home|%userprofile%)?[/\\]?(\.ssh\b|id_(rsa|ed25519|ecdsa)\b|\.aws[/\\]credentials|\.netrc\b|\.pgpass\b|\.git-credentials|\.kube[/\\]config|/etc/(passwd|shadow)\b|\.cursor[/\\]mcp\.json|claude_desktop_config|\.npmrc\b|\.gnupg\b)",
    ),
    (
        Code::AsksForSecrets,
        r"\b(read|send|include|pass|attach|upload|forward|append|copy|paste|collect)\b[^.]{0,30}\b(contents? of|values? in|everything in)\b[^.]{0,20}\.env\b",
    ),
    (
        Code::PromptMarkup,
        r"</?(important|system|instructions?|secret|hidden|admin|critical|override|sys)( [^<>]{0,40})?>",
    ),
    (Code::PromptMarkup, r"<\|(im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>"),
    (Code::PromptMarkup, r"\[/?inst\]|<</?sys>>"),
    (Code::PromptMarkup, r"#{2,4} ?(system|developer) ?(prompt|message|instructions?)?:"),
    (Code::PromptMarkup, r"<!--[^>]{20,}"),
    (
        Code::ClaimsPrecedence,
        r"\b(always|must|required to|have to)\b[^.]{0,40}\b(call|use|run|invoke|execute|prefer|choose)\b[^.]{0,50}\b(before|instead of|over|prior to)\b[^.]{0,15}\b(any|all|every|each|the)\b ?(of the )?(other|another)?\b ?(available |mcp )?(tools?|functions?|servers?)\b",
    ),
    (
        Code::ClaimsPrecedence,
        r"\b(before|instead of|in place of|rather than) (using|calling|running|invoking) (any|all|every|the) (other |another )?(available )?(tools?|functions?)\b",
    ),
    (
        Code::ClaimsPrecedence,
        r"\b(ignore|do not use|don't use|never use|stop using|avoid using|avoid)\b[^.]{0,10}\b(all|any|every|the)? ?other (similar |available |mcp )?(tools?|servers?|functions?)\b",
    ),
    (
        Code::ClaimsPrecedence,
        r"\b(all|every|each) (other )?(tools?|functions?|calls?|requests?|messages?|e-?mails?)\b[^.]{0,30}\bmust (first )?(go through|be (sent|routed|passed|forwarded)|be preceded)\b",
    ),
    (
        Code::AsksForConversation,
        r"\b(send|include|pass|attach|provide|copy|paste|put|forward|append|insert)\b[^.]{0,40}\b(entire|full|whole|complete|all( of)?( the)?|your|verbatim|previous|prior)\b[^.]{0,20}\b(conversation|chat history|message history|system prompt|system message|chain of thought|context window|previous messages|prior messages|instructions you)\b",
    ),
    (Code::EncodedText, r"[a-z0-9+/]{160,}={0,2}"),
    (Code::EncodedText, r"(\\x[0-9a-f]{2}){12,}|(%[0-9a-f]{2}){16,}|(&#x?[0-9a-f]{2,6};){10,}"),
];

/// Words by which a text directs rather than mentions.
const DIRECTS: &str =
    r"\b(must|always|never|do not|don't|before|after|instead|whenever|every time|when|should|ensure|first)\b";

/// The patterns, and the names of all tools to find them in the texts of others.
pub(super) struct Reader<'a> {
    set: RegexSet,
    each: Vec<Regex>,
    directs: Option<Regex>,
    finder: Option<AhoCorasick>,
    owners: Vec<Vec<&'a ToolId>>,
}

impl<'a> Reader<'a> {
    pub(super) fn of(tools: &[Subject<'a>]) -> Self {
        // Words are told by ASCII alone: the automaton is much faster so, and letters beyond were folded. A pattern that does
        // not compile would find nothing; a test holds that all do.
        let ascii = |pattern: &str| Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).ok();
        let each: Vec<Regex> = PATTERNS.iter().filter_map(|(_, pattern)| ascii(pattern)).collect();
        let set = RegexSet::new(each.iter().map(Regex::as_str)).unwrap_or_else(|_| RegexSet::empty());
        let mut owners: std::collections::BTreeMap<String, Vec<&'a ToolId>> = std::collections::BTreeMap::new();
        for tool in tools {
            let name = tool.id.name.as_str();
            // A plain word may be a word.
            let marked = name.contains(['_', '-']) || name.chars().skip(1).any(char::is_uppercase);
            if marked && name.len() >= NAME_CHARS && owners.len() < MOST_NAMES {
                owners.entry(name.to_lowercase()).or_default().push(tool.id);
            }
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(owners.keys()).ok();
        Self { set, each, directs: ascii(DIRECTS), finder, owners: owners.into_values().collect() }
    }

    /// A text of a tool.
    pub(super) fn check(&self, tool: &ToolId, place: &str, text: &str, findings: &mut Findings) {
        let Some(line) = readable(text) else { return };
        self.patterns(tool, place, text, &line, findings);
        if let Some((other, at)) = self.named(tool, &line)
            && let Some(directs) = &self.directs
            && directs.is_match(sentence(&line, at))
        {
            let message = format!("directs the use of {other}: '{}'", quote(sentence(&line, at)));
            findings.add(Code::NamesOtherTool, tool, place, message, text);
        }
    }

    /// A server's text on how to use it, which may well direct between its own tools.
    pub(super) fn check_source(&self, source: &impl ToString, text: &str, findings: &mut Findings) {
        if let Some(line) = readable(text) {
            self.patterns(source, "/instructions", text, &line, findings);
        }
    }

    fn patterns(&self, tool: &impl ToString, place: &str, text: &str, line: &str, findings: &mut Findings) {
        // Keys and enum values are words, in which nothing of this can be said.
        if !line.contains([' ', '<', '[', '%', '\\', '&']) && line.len() < 160 {
            return;
        }
        let mut told = Vec::new();
        for index in self.set.matches(line) {
            let code = PATTERNS[index].0;
            if told.contains(&code) {
                continue;
            }
            let found = self.each[index].find(line).map_or("", |found| found.as_str());
            // Sequences of letters are data that people do write (proteins, keys of alphabets); encodings hold digits.
            if code == Code::EncodedText && found.bytes().filter(u8::is_ascii_digit).count() * 20 < found.len() {
                continue;
            }
            told.push(code);
            findings.add(code, tool, place, format!("says '{}'", quote(found)), text);
        }
    }

    /// The first tool of other sources alone that the text names as a whole word, and where.
    fn named(&self, tool: &ToolId, text: &str) -> Option<(&'a ToolId, usize)> {
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        self.finder.as_ref()?.find_iter(text).find_map(|found| {
            let owners = &self.owners[found.pattern().as_usize()];
            let whole = !text[..found.start()].ends_with(part) && !text[found.end()..].starts_with(part);
            let foreign = owners.iter().all(|owner| owner.source.group() != tool.source.group());
            (whole && foreign).then(|| (owners[0], found.start()))
        })
    }
}

fn quote(text: &str) -> String {
    clip(&clean(text), QUOTED)
}

/// The text as a model reads it, lower-case on one line; none where there is too little for a sentence.
fn readable(text: &str) -> Option<String> {
    if text.len() < 8 {
        return None;
    }
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    let mut push = |c: char| {
        if c.is_whitespace() {
            gap = true;
        } else if !is_invisible(c) {
            if gap && !line.is_empty() {
                line.push(' ');
            }
            gap = false;
            line.extend(latin(c).to_lowercase());
        }
    };
    if text.is_ascii() {
        text.chars().for_each(&mut push);
    } else {
        // Tag characters are read as what they mirror.
        let plain = text.chars().map(|c| match c {
            '\u{E0020}'..='\u{E007E}' => char::from_u32(c as u32 - 0xE0000).unwrap_or(c),
            '\u{2018}' | '\u{2019}' => '\'',
            other => other,
        });
        plain.nfkc().for_each(&mut push);
    }
    Some(line)
}

/// The sentence around a position.
fn sentence(line: &str, at: usize) -> &str {
    let start = line[..at].rfind(". ").map_or(0, |dot| dot + 2);
    let end = line[at..].find(". ").map_or(line.len(), |dot| at + dot + 1);
    &line[start..end]
}

#[cfg(test)]
impl Reader<'_> {
    /// How many patterns compiled, and how many there are.
    pub(super) fn compiled() -> (usize, usize) {
        let reader = Reader::of(&[]);
        let directs = usize::from(reader.directs.is_some());
        (reader.set.len().min(reader.each.len()) + directs, PATTERNS.len() + 1)
    }
}
