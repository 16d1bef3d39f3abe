//! Names: tools that were refused or lost theirs, names that pass for others, names that had to be changed.

use unicode_normalization::UnicodeNormalization;

use super::{Code, Findings, Subject};
use crate::{
    Quarantine,
    disclosure::{clean, clip},
    name::{NameLoser, lookalikes},
};

/// Longest name that every provider takes (standards §0.3).
const LONGEST: usize = 64;

pub(super) fn check(
    tools: &[Subject<'_>],
    quarantined: &[&Quarantine],
    losers: &[&NameLoser],
    findings: &mut Findings,
) {
    for refused in quarantined {
        let id = format!("{}/{}", refused.source, refused.name);
        let reason = refused.reason.to_string();
        findings.add(Code::Quarantined, &id, "", reason.clone(), &reason);
    }
    for loser in losers {
        let message = match &loser.winner {
            Some(winner) => format!("{winner} has the name {}", loser.name),
            None => format!("several tools would be called {}, and names.conflict rejects all of them", loser.name),
        };
        findings.add(Code::NameTaken, &loser.id, "/name", message.clone(), &message);
    }
    for tool in tools {
        changed(tool, findings);
        let name = &tool.id.name;
        let posing: Vec<char> = name.split(|c: char| !c.is_alphanumeric()).flat_map(posing).collect();
        if !posing.is_empty() {
            let shown: Vec<String> = posing.iter().take(4).map(|c| format!("{c} (U+{:04X})", *c as u32)).collect();
            let message = format!("{} passes for Latin letters with {}", clip(&clean(name), 80), shown.join(", "));
            findings.add(Code::MixedScriptName, tool.id, "/name", message, name);
        }
    }
    confusable(tools, findings);
}

/// Look-alikes in a word that has Latin letters and nothing else beside them: a word of another language has letters that
/// look like no Latin ones.
fn posing(word: &str) -> Vec<char> {
    let foreign: Vec<char> = word.nfkc().filter(|c| c.is_alphabetic() && !c.is_ascii()).collect();
    let poses = word.contains(|c: char| c.is_ascii_alphabetic()) && foreign.iter().all(|c| latin(*c).is_ascii());
    if poses { foreign } else { Vec::new() }
}

fn changed(tool: &Subject<'_>, findings: &mut Findings) {
    let name = &tool.id.name;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let shown = tool.exposed;
    if shown.ends_with(name.as_str()) {
        return;
    }
    let label = tool.id.source.group().chars().count();
    let whole = label + crate::name::SEPARATOR.len() + name.chars().count();
    if whole > LONGEST {
        let message = format!("with its server's label it has {whole} characters, so the model sees {shown}");
        findings.add(Code::NameShortened, tool.id, "/name", message, shown);
    } else if !plain {
        findings.add(Code::NameChanged, tool.id, "/name", format!("the model sees {shown}"), shown);
    }
}

/// One finding for each tool whose name passes for that of one before it, within servers and between servers whose
/// labels pass for one another.
fn confusable(tools: &[Subject<'_>], findings: &mut Findings) {
    for alike in lookalikes(tools.iter().map(|tool| (tool.id, tool.exposed))) {
        let mut names = alike.tools.iter().map(|(id, _)| id);
        let Some(first) = names.next() else { continue };
        for other in names {
            // The same name under the same label is a conflict, and told as one.
            if (first.source.group(), &first.name) != (other.source.group(), &other.name) {
                let message = format!("is hard to tell from {}", clip(&clean(&first.to_string()), 120));
                findings.add(Code::ConfusableNames, other, "/name", message.clone(), &message);
            }
        }
    }
}

/// The Latin letter that a Cyrillic, Greek, Armenian or Cherokee one looks like; other characters as they are. Those
/// that UTS 39 counts as confusable and that fonts in use draw alike.
pub(super) fn latin(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'А' | 'Α' => 'A',
        'В' | 'Β' | 'Ᏼ' => 'B',
        'с' | 'ϲ' => 'c',
        'С' | 'Ϲ' => 'C',
        'ԁ' => 'd',
        'е' | 'ҽ' => 'e',
        'Е' | 'Ε' => 'E',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' => 'h',
        'Н' | 'Η' => 'H',
        'і' | 'ι' | 'ı' => 'i',
        'І' | 'Ι' | 'Ӏ' => 'I',
        'ј' => 'j',
        'Ј' => 'J',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'ո' => 'n',
        'Ν' => 'N',
        'о' | 'ο' | 'օ' => 'o',
        'О' | 'Ο' | 'Օ' => 'O',
        'р' | 'ρ' => 'p',
        'Р' | 'Ρ' => 'P',
        'ԛ' => 'q',
        'ѕ' => 's',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'Х' | 'Χ' => 'X',
        'у' | 'γ' => 'y',
        'У' | 'Υ' => 'Y',
        'Ζ' => 'Z',
        other => other,
    }
}
