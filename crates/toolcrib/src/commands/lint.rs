//! `toolcrib lint`: what is wrong with the definitions of tools, and with the lists that choose among them.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Context;
use serde::Serialize;
use toolcrib_core::{
    Catalog, Source,
    lint::{Accepted, Baseline, Code, Finding, Input, Report, Severity, Subject, lint},
    render::Target,
    select::PolicyFinding,
};
use toolcrib_engine::View;

use crate::{
    args::{FailOn, Level, LintArgs},
    exit::Exit,
    files::read_text,
    print,
    world::World,
};

/// Largest baseline in bytes.
const MAX_BASELINE: u64 = 64 * 1024 * 1024;

#[derive(Serialize)]
struct Answer<'a> {
    tools: usize,
    findings: &'a [Finding],
    /// Findings by code, accepted ones left out.
    counts: BTreeMap<&'static str, usize>,
    /// Findings that are over the limit of their code and not in the list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    more: BTreeMap<&'static str, usize>,
    accepted: usize,
    stale_baseline: &'a [Accepted],
    failed: bool,
}

pub(crate) async fn run(args: LintArgs) -> anyhow::Result<Exit> {
    let targets = targets(&args.target)?;
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let world = World::start(&args.look.sources).await?;
    world.wait_all(args.look.wait).await;
    let view = world.inspect()?;
    let catalog = world.engine.hub().catalog();
    let report = look(&view, &catalog, targets, world.policy_findings().await);
    let tools = view.set.tools().len();
    world.warn_about_sources();
    world.stop().await;
    if let Some(path) = &args.write_baseline {
        let text = serde_json::to_string_pretty(&Baseline::of(&report.findings))? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write the baseline {}", path.display()))?;
        print::note(format!(
            "accepted from now on: {} ({})",
            print::count(report.findings.len(), "finding"),
            path.display()
        ));
        return Ok(Exit::Done);
    }
    let Report { mut findings, more } = report;
    let (accepted, stale) = baseline.map_or((0, Vec::new()), |baseline| baseline.apply(&mut findings));
    let failed = args.fail_on.severity().is_some_and(|least| findings.iter().any(|finding| finding.severity >= least));
    if args.look.json {
        print::json(&Answer {
            tools,
            findings: &findings,
            counts: counts(&findings).into_iter().map(|(code, count)| (code.word(), count)).collect(),
            more: more.iter().map(|(code, count)| (code.word(), *count)).collect(),
            accepted,
            stale_baseline: &stale,
            failed,
        })?;
    } else {
        tell(&findings, &more, args.level);
        summarise(&findings, tools, accepted, &stale);
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Everything that the scope reaches, and what is not served though it should be.
fn look(view: &View, catalog: &Catalog, targets: Vec<Target>, policy: Vec<PolicyFinding>) -> Report {
    let set = &view.set;
    let tools = set.name_map().iter().zip(set.tools());
    let hidden = |source: &Source| !view.knows(source);
    lint(&Input {
        tools: tools.map(|((exposed, id), tool)| Subject { id, exposed, definition: tool.definition() }).collect(),
        instructions: catalog
            .sources()
            .iter()
            .filter(|(source, _)| !hidden(source))
            .filter_map(|(source, entry)| Some((source, entry.instructions.as_deref()?)))
            .collect(),
        quarantined: catalog.quarantined().collect(),
        losers: set.losers.iter().collect(),
        policy,
        targets,
        shown: set.definitions.len(),
        counter: set.counter(),
    })
}

fn targets(named: &[String]) -> anyhow::Result<Vec<Target>> {
    if named.is_empty() {
        return Ok(Target::ALL.to_vec());
    }
    Ok(named.iter().map(|name| name.parse()).collect::<Result<_, _>>()?)
}

fn read_baseline(path: &Path) -> anyhow::Result<Baseline> {
    let text = read_text(path, "the baseline", MAX_BASELINE)?;
    Baseline::read(&text).with_context(|| format!("{}", path.display()))
}

fn counts(findings: &[Finding]) -> BTreeMap<Code, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.code).or_default() += 1;
    }
    counts
}

/// Two lines a finding; the remedy of a code once, with the first.
fn tell(findings: &[Finding], more: &[(Code, usize)], level: Level) {
    let mut fixed = None;
    for finding in findings.iter().filter(|finding| finding.severity >= level.severity()) {
        let place = if finding.place.is_empty() { String::new() } else { format!(" {}", print::clean(&finding.place)) };
        print::line(format!(
            "{:<7} {} {}{place}: {}",
            finding.severity.word(),
            finding.code,
            print::clean(&finding.tool),
            print::clean(&finding.message)
        ));
        if fixed != Some(finding.code) {
            print::line(format!("        fix: {}", finding.fix));
            fixed = Some(finding.code);
        }
    }
    for (code, count) in more.iter().filter(|(code, _)| code.severity() >= level.severity()) {
        print::line(format!("{:<7} {code}: {count} more", code.severity().word()));
    }
}

fn summarise(findings: &[Finding], tools: usize, accepted: usize, stale: &[Accepted]) {
    let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let mut line = format!(
        "{}: {}, {}, {} of interest",
        print::count(tools, "tool"),
        print::count(of(Severity::Error), "error"),
        print::count(of(Severity::Warning), "warning"),
        of(Severity::Info)
    );
    if accepted > 0 {
        line.push_str(&format!("; {accepted} accepted by the baseline"));
    }
    print::note(line);
    for (code, count) in counts(findings) {
        print::note(format!("  {count:>5} {code}"));
    }
    if !stale.is_empty() {
        print::note(format!("{} findings of the baseline are gone; write it anew with --write-baseline", stale.len()));
    }
}

impl FailOn {
    fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

impl Level {
    fn severity(self) -> Severity {
        match self {
            Self::Error => Severity::Error,
            Self::Warning => Severity::Warning,
            Self::Info => Severity::Info,
        }
    }
}
