//! `toolcrib approvals`: what waits for a person, and the person's answer. Works on the store alone, beside whatever serves.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use serde_json::json;
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    approval::{
        Answer, AnswerOutcome, Approvals, Grant, MOST_GRANTS, Reach, RequestFilter, RequestState, Responder,
        StoredRequest, visible,
    },
    pending::{PendingSettings, PendingWork},
};

use super::damage;
use crate::{
    args::{ApprovalsAction, ApprovalsArgs, ReachArg},
    asker,
    callers::now_ms,
    evidence,
    exit::Exit,
    files::read_stdin,
    print, settings,
    stores::{self, Stores},
    world,
};

/// Most requests and grants that are listed.
const LIMIT: usize = 1_000;
/// Most bytes of a reply on standard input.
const MAX_REPLY: u64 = 1024 * 1024;

pub(crate) async fn run(args: ApprovalsArgs) -> anyhow::Result<Exit> {
    let loaded = world::load(&args.config)?;
    let stores = stores::open_existing(&loaded.config)?;
    let approvals = Approvals::new(stores.approvals.clone(), settings::approvals(&loaded.config, true));
    let desk = Desk { approvals, on_record: loaded.config.audit.enabled, me: me() };
    let damage = stores.damage.clone();
    let exit = act(args, &desk, stores).await?;
    damage::note(damage.as_ref());
    Ok(exit)
}

/// Who answers, as far as can be told: a command that runs without a terminal may be anybody's script.
fn me() -> Responder {
    Responder::owner(if std::io::stdin().is_terminal() { "terminal" } else { "command line without a terminal" })
}

async fn act(args: ApprovalsArgs, desk: &Desk, stores: Stores) -> anyhow::Result<Exit> {
    let approvals = &desk.approvals;
    let json = args.json;
    match args.action.unwrap_or(ApprovalsAction::List { all: false }) {
        ApprovalsAction::List { all } => list(approvals, all, json).await,
        ApprovalsAction::Show { id } => show(&find(approvals, &id).await?, json),
        ApprovalsAction::Approve { id, reach, pattern } => {
            let request = find(approvals, &id).await?;
            let pattern = match pattern {
                None => None,
                Some(number) => {
                    let offered = &request.request.patterns;
                    let chosen = number.checked_sub(1).and_then(|index| offered.get(index));
                    Some(
                        chosen
                            .with_context(|| format!("the request offers {} patterns; see `show`", offered.len()))?
                            .clone(),
                    )
                }
            };
            desk.answer(&request, &Answer::Approve { reach: reach.into(), pattern }, json).await
        }
        ApprovalsAction::Deny { id, reach } => {
            let request = find(approvals, &id).await?;
            desk.answer(&request, &Answer::Deny { reach: reach.into() }, json).await
        }
        ApprovalsAction::Watch => desk.watch(json).await,
        ApprovalsAction::Grants => grants(approvals, json).await,
        ApprovalsAction::Revoke { id } => desk.revoke(&id, json).await,
        ApprovalsAction::Reply { correlation, text } => {
            let text = if text == "-" { read_stdin("the answer", MAX_REPLY)? } else { text };
            let work = PendingWork::new(stores.pending, PendingSettings::default());
            let piece = work.reply("", &correlation, ToolResult::text(text)).await?;
            print::note(format!("your answer is kept for {}", print::clean(&piece.exposed)));
            Ok(Exit::Done)
        }
    }
}

impl From<ReachArg> for Reach {
    fn from(reach: ReachArg) -> Self {
        match reach {
            ReachArg::Once => Self::Once,
            ReachArg::Session => Self::Session,
            ReachArg::Always => Self::Always,
        }
    }
}

async fn list(approvals: &Approvals, all: bool, json: bool) -> anyhow::Result<Exit> {
    let state = if all { None } else { Some(RequestState::Pending) };
    let filter = RequestFilter { state, limit: LIMIT, ..RequestFilter::default() };
    let found = approvals.list(filter, now_ms()).await?;
    if json {
        print::json(&found)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        print::note("nothing waits for an approval");
        return Ok(Exit::Done);
    }
    let rows = found
        .iter()
        .map(|stored| {
            let request = &stored.request;
            vec![
                request.id.clone(),
                word(stored.state).to_owned(),
                age(request.created_at_ms),
                request.risk.word().to_owned(),
                request.tool.to_string(),
                request.principal.user.clone().unwrap_or_else(|| "-".to_owned()),
                beginning(&request.arguments),
            ]
        })
        .collect();
    print::table(&["id", "state", "age", "risk", "tool", "who", "arguments"], rows);
    if !all {
        print::note("`toolcrib approvals approve ID` lets one run, `deny ID` refuses it, `show ID` tells more.");
    }
    Ok(Exit::Done)
}

fn show(stored: &StoredRequest, json: bool) -> anyhow::Result<Exit> {
    if json {
        print::json(stored)?;
        return Ok(Exit::Done);
    }
    let request = &stored.request;
    let who = request.principal.user.as_deref().unwrap_or("anybody on this machine");
    print::line(format!("{}  {}", request.id, word(stored.state)));
    print::line(visible(&request.description));
    print::line(format!("tool:      {} (known as {})", visible(&request.tool.to_string()), visible(&request.exposed)));
    print::line(format!("arguments: {}", visible(&request.arguments)));
    print::line(format!("risk:      {}; asked because {}", request.risk.word(), visible(&request.reason)));
    print::line(format!("for:       {}", visible(who)));
    let reaches: Vec<&str> = request.offers.iter().map(|reach| reach.word()).collect();
    print::line(format!("--for:     {}", reaches.join(", ")));
    for (index, pattern) in request.patterns.iter().enumerate() {
        print::line(format!("--pattern {}: {}", index + 1, asker::in_words(pattern)));
    }
    if let (Some(by), Some(at)) = (&stored.answered_by, stored.answered_at_ms) {
        print::line(format!("answered by {}, {} ago", visible(by), age(at)));
    }
    Ok(Exit::Done)
}

/// What answering needs.
struct Desk {
    approvals: Approvals,
    /// Whether answers are to be in the journal.
    on_record: bool,
    me: Responder,
}

impl Desk {
    async fn answer(&self, stored: &StoredRequest, answer: &Answer, json: bool) -> anyhow::Result<Exit> {
        let record = self.on_record.then(|| evidence::answered(&stored.request, answer, &self.me.by));
        let id = &stored.request.id;
        let answered = self.approvals.answer_on_record(id, answer, &self.me, record, now_ms()).await?;
        let (exit, text) = match answered.outcome {
            AnswerOutcome::Recorded => (Exit::Done, "recorded".to_owned()),
            AnswerOutcome::Settled(state) => (Exit::Failed, format!("too late: the request is {}", word(state))),
            AnswerOutcome::Unknown => (Exit::Failed, "the request is gone".to_owned()),
        };
        if json {
            let recorded = answered.outcome == AnswerOutcome::Recorded;
            print::json(
                &json!({"id": stored.request.id, "recorded": recorded, "message": text, "grant": answered.grant}),
            )?;
        } else {
            print::note(text);
        }
        Ok(exit)
    }

    async fn watch(&self, json: bool) -> anyhow::Result<Exit> {
        let attended = !json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let mut watch = self.approvals.watch(None);
        // One for all: an interrupt that comes while an answer is written down must not be lost.
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        loop {
            let stored = tokio::select! {
                stored = watch.next(now_ms) => stored?,
                _ = &mut interrupted => return Ok(Exit::Done),
            };
            if json {
                if !print::goes_on(serde_json::to_string(&stored)?) {
                    return Ok(Exit::Done);
                }
            } else if attended {
                asker::show(&stored.request);
                let Some(line) = asker::line_unless(&mut interrupted, asker::read_line()).await? else {
                    print::note("\nnot answered: the question stays open");
                    return Ok(Exit::Done);
                };
                let answer = asker::choice(&stored.request, &line);
                self.answer(&stored, &answer, false).await?;
            } else {
                show(&stored, false)?;
            }
        }
    }

    async fn revoke(&self, id: &str, json: bool) -> anyhow::Result<Exit> {
        let grant = &self.grant(id).await?;
        let record = self.on_record.then(|| evidence::revoked(grant, &self.me.by));
        let revoked = self.approvals.revoke_on_record(&grant.id, &self.me, record, now_ms()).await?;
        if json {
            print::json(&json!({"id": grant.id, "revoked": revoked}))?;
        } else {
            print::note(if revoked { "revoked" } else { "it had ended already" });
        }
        Ok(if revoked { Exit::Done } else { Exit::Failed })
    }

    /// The grant with this handle, however many there are, or the one of those listed whose handle begins like this.
    async fn grant(&self, id: &str) -> anyhow::Result<Grant> {
        if let Some(grant) = self.approvals.grant(id, None, now_ms()).await? {
            return Ok(grant);
        }
        let mut found = self.approvals.grants(None, MOST_GRANTS, now_ms()).await?;
        // As short as a request's: see `find`.
        found.retain(|grant| id.len() >= 4 && grant.id.starts_with(id));
        match found.len() {
            0 => bail!("no grant in force has the handle '{id}'"),
            1 => Ok(found.remove(0)),
            _ => bail!("several grants begin with '{id}'; write more of the handle"),
        }
    }
}

async fn grants(approvals: &Approvals, json: bool) -> anyhow::Result<Exit> {
    // One more than is listed tells whether that is all of them; those that forbid come first.
    let mut found = approvals.grants(None, LIMIT + 1, now_ms()).await?;
    if found.len() > LIMIT {
        found.truncate(LIMIT);
        print::note(format!("only the first {LIMIT} are listed, those that forbid before those that allow"));
    }
    if json {
        print::json(&found)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        print::note("nothing is granted");
        return Ok(Exit::Done);
    }
    let row = |grant: &Grant| {
        vec![
            grant.id.clone(),
            if grant.allow { "allow" } else { "never" }.to_owned(),
            grant.reach.word().to_owned(),
            grant.tool.clone(),
            asker::in_words(&grant.pattern),
            grant.principal.user.clone().unwrap_or_else(|| "-".to_owned()),
            grant.by.clone(),
        ]
    };
    print::table(&["id", "what", "for", "tool", "covers", "who", "by"], found.iter().map(row).collect());
    Ok(Exit::Done)
}

/// What a list shows of arguments.
fn beginning(arguments: &str) -> String {
    match arguments.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &arguments[..end]),
        None => arguments.to_owned(),
    }
}

/// The request whose handle begins like this.
async fn find(approvals: &Approvals, id: &str) -> anyhow::Result<StoredRequest> {
    if let Some(found) = approvals.request(id, None, now_ms()).await? {
        return Ok(found);
    }
    let filter = RequestFilter { limit: LIMIT, ..RequestFilter::default() };
    let mut found = approvals.list(filter, now_ms()).await?;
    // Four characters are told apart by accident once in a million.
    found.retain(|stored| id.len() >= 4 && stored.request.id.starts_with(id));
    match found.len() {
        0 => bail!("no request has the handle '{id}'; `toolcrib approvals list --all` shows them"),
        1 => Ok(found.remove(0)),
        _ => bail!("several requests begin with '{id}'; write more of the handle"),
    }
}

fn word(state: RequestState) -> &'static str {
    match state {
        RequestState::Pending => "waiting",
        RequestState::Approved => "approved",
        RequestState::Denied => "denied",
        RequestState::Expired => "expired",
    }
}

/// How long ago, in one figure.
fn age(at_ms: u64) -> String {
    let seconds = now_ms().saturating_sub(at_ms) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
