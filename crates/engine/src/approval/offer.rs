//! What a person is offered: how far an approval may reach, and for which wider pattern.

use toolcrib_core::permission::{
    CommandRule, Effect, Match, Parsed, Risk, collect_paths, collect_urls, commands_of, normalise, path::is_absolute,
};

use super::{
    request::{GrantPattern, Reach},
    settings::ApprovalSettings,
};
use crate::{
    identity::Principal,
    permission::{Question, settled},
};

/// How far an approval may reach. Critical: once, ever. "Always" never for what may destroy something, unless set
/// otherwise (T21). "Session" only where there is a session to hold on to.
pub(super) fn reaches(question: &Question<'_>, principal: &Principal, settings: &ApprovalSettings) -> Vec<Reach> {
    let mut offers = vec![Reach::Once];
    if question.assessment.risk >= Risk::Critical {
        return offers;
    }
    if principal.session.is_some() {
        offers.push(Reach::Session);
    }
    if question.assessment.effect != Effect::Destructive || settings.always_for_destructive {
        offers.push(Reach::Always);
    }
    offers
}

/// The patterns wider than these arguments, narrow ones first: this program, this host, this folder, anything. Each
/// covers the call itself. "Anything" is not offered for tools that run commands.
pub(super) async fn patterns(question: &Question<'_>, offers: &[Reach]) -> Vec<GrantPattern> {
    let mut patterns = Vec::new();
    if offers.iter().all(|reach| *reach == Reach::Once) {
        return patterns;
    }
    if let Some(parsed) = commands_of(question.tool, question.arguments) {
        patterns.extend(program(&parsed));
        return patterns;
    }
    patterns.extend(host(question));
    patterns.extend(folder(question).await);
    patterns.push(GrantPattern::Any);
    patterns
}

/// `git:*` where the line consists of calls of one program, and that rule covers it.
fn program(parsed: &Parsed) -> Option<GrantPattern> {
    let name = parsed.commands.first()?.words.first().filter(|word| word.known)?.text.clone();
    if name.is_empty() || name.len() > 200 || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let text = format!("{name}:*");
    let covers = CommandRule::parse(&text).match_all(parsed) == Match::Yes;
    covers.then_some(GrantPattern::Command { rule: text })
}

/// The host that all addresses of the call share.
fn host(question: &Question<'_>) -> Option<GrantPattern> {
    let found = collect_urls(question.arguments);
    let host = found.urls.first()?.host_str()?.to_owned();
    let same =
        found.urls.iter().all(|url| matches!(url.scheme(), "http" | "https") && url.host_str() == Some(host.as_str()));
    (!found.unclear && same).then_some(GrantPattern::Host { host })
}

/// The folder that holds all paths of the call: the parent of a single one, else the deepest they share. Never the
/// root of the file system, and nothing where a path is relative: what it starts from is not known here. It is offered
/// under its real name, so that a link made later does not widen what was agreed to.
async fn folder(question: &Question<'_>) -> Option<GrantPattern> {
    let found = collect_paths(question.arguments);
    if !found.complete || !found.paths.iter().all(|path| is_absolute(path)) {
        return None;
    }
    let mut shared: Option<Vec<String>> = None;
    for path in &found.paths {
        let full = normalise(path, None);
        let parent: Vec<String> = full.rsplit_once('/')?.0.split('/').map(str::to_owned).collect();
        shared = Some(match shared {
            None => parent,
            Some(old) => old.into_iter().zip(parent).take_while(|(a, b)| a == b).map(|(a, _)| a).collect(),
        });
    }
    let root = shared.filter(|parts| parts.len() > 1)?.join("/");
    let root = tokio::task::spawn_blocking(move || settled(&root, &found.paths)).await.ok()??;
    (root != "/").then_some(GrantPattern::Within { root })
}
