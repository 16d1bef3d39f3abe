//! Why a tool was found, in words and in figures.

use serde_json::{Value, json};

use super::{Answer, Found, Searcher, Via};
use crate::search::{Evidence, Explanation, Match, NameMatch};

/// Why a tool was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// How, in one word: `words`, `select`, `name`, `beginning` or `step`.
    pub via: &'static str,
    /// The text whose words the ranker read, where words found it.
    pub text: Option<String>,
    /// What the ranker says, where it can.
    pub words: Option<Explanation>,
    /// The part of the score that was learnt from use.
    pub learned: f64,
}

/// Why `found` is in the answer to `query`.
pub fn why(searcher: &dyn Searcher, query: &str, answer: &Answer, found: &Found) -> Why {
    let (via, text) = match found.via {
        Via::Words => ("words", Some(query)),
        Via::Step(number) => ("step", answer.steps.get(number).map(String::as_str)),
        Via::Selected => ("select", None),
        Via::Name => ("name", None),
        Via::Beginning => ("beginning", None),
    };
    let words = text.and_then(|text| searcher.explain(text, found.index));
    Why { via, text: text.map(str::to_owned), words, learned: found.learned }
}

impl Why {
    /// The reasons as short sentences, the weightiest first.
    pub fn sentences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match (self.via, &self.text) {
            ("select", _) => lines.push("select: names it".to_owned()),
            ("name", _) => lines.push("the query is its name, or holds it".to_owned()),
            ("beginning", _) => lines.push("the query begins its name, or is its server".to_owned()),
            ("step", Some(text)) => lines.push(format!("for the step '{text}'")),
            _ => {}
        }
        match &self.words {
            Some(words) => lines.extend(sentences(words)),
            None if self.text.is_some() => lines.push("by its server or letters of its name".to_owned()),
            None => {}
        }
        if self.learned > 0.0 {
            lines.push(format!("{:+.2} for having been called upon such words", self.learned));
        }
        lines
    }

    /// The same for programs.
    pub fn to_value(&self) -> Value {
        let mut value = json!({"via": self.via});
        if self.via == "step" {
            value["step"] = json!(self.text);
        }
        if let Some(words) = &self.words
            && let (Some(value), Value::Object(figures)) = (value.as_object_mut(), figures(words))
        {
            value.extend(figures);
        }
        if self.learned > 0.0 {
            value["learned"] = self.learned.into();
        }
        value["reasons"] = json!(self.sentences());
        value
    }
}

/// What says how near a tool is where no encoder does.
const BUILT_IN: &str = "the built-in table";

fn similarity_by(why: &Explanation) -> Option<&str> {
    let built_in = why.similarity.map(|_| BUILT_IN);
    why.encoded.as_ref().map(|(by, _)| &**by).or(built_in)
}

fn figures(why: &Explanation) -> Value {
    let word = |found: &Match| {
        json!({
            "word": found.word,
            "term": found.term,
            "evidence": evidence(found.evidence),
            "fields": found.fields.iter().map(|place| place.as_str()).collect::<Vec<_>>(),
            "worth": found.worth,
        })
    };
    json!({
        "score": why.score,
        "words": why.matches.iter().map(word).collect::<Vec<_>>(),
        "name": why.name.map(name_match),
        "name_coverage": why.name_coverage,
        "server": why.server,
        "similarity": why.encoded.as_ref().map(|(_, near)| *near).or(why.similarity),
        "similarity_by": similarity_by(why),
        "answered": why.answered,
        "answered_floor": why.answered_floor,
        "answers": why.answers,
    })
}

fn sentences(why: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(quality) = why.name {
        lines.push(format!("the query is {}", name_match(quality)));
    }
    for found in &why.matches {
        let fields: Vec<&str> = found.fields.iter().map(|place| place.as_str()).collect();
        let how = match found.evidence {
            Evidence::Word => String::new(),
            other => format!(" as {} of '{}'", evidence(other), found.term),
        };
        lines.push(format!("{:.2}  '{}'{how} in its {}", found.worth, found.word, fields.join(", ")));
    }
    if why.name_coverage > 0.0 {
        lines.push(format!("the query covers {:.0} % of its name", why.name_coverage * 100.0));
    }
    if why.server > 0.0 {
        lines.push(format!("{:+.2} for its server", why.server));
    }
    if let Some((by, near)) = &why.encoded {
        lines.push(format!("{near:.2} near to what the query is about, by {by}"));
    } else if let Some(near) = why.similarity {
        lines.push(format!("{near:.2} near to what the query is about, by {BUILT_IN}"));
    }
    let (share, floor) = (why.answered * 100.0, why.answered_floor * 100.0);
    lines.push(format!("holds {share:.0} % of what the query is about; {floor:.0} % are enough for an answer"));
    lines
}

fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Word => "word",
        Evidence::Typo => "misspelling",
        Evidence::Abbreviation => "abbreviation",
        Evidence::Translation => "translation",
        Evidence::Prefix => "beginning",
        Evidence::Synonym => "synonym",
    }
}

fn name_match(quality: NameMatch) -> &'static str {
    match quality {
        NameMatch::Exact => "its name",
        NameMatch::Spelling => "its name in another spelling",
        NameMatch::Short => "its title or its name without the server's",
    }
}

#[cfg(test)]
mod tests;
