//! Whether a plugin does what its manifest says: started outside of any host, asked what it offers, ended. Calls nothing.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use toolcrib_core::{Source, ingest::ingest};
use toolcrib_engine::HubLimits;

use super::{
    host::Launchers,
    manifest::{Manifest, Requirements},
    needs::{self, Lack},
    offer::Offer,
    running::{Listener, News, Start, Vitals},
};

/// Pieces of news that are kept; a plugin that talks more is as well known by these.
const NEWS: usize = 64;

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The plugin's id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// How it runs.
    pub run: &'static str,
    /// Its declared tools.
    pub declared: Vec<String>,
    /// Those of them that it offers.
    pub offered: Vec<String>,
    /// Milliseconds until it had said what it offers.
    pub took_ms: u64,
    /// Whether it was started; it is not where it lacks something as a whole.
    pub started: bool,
    /// What is wrong with it; nothing, if it does what it declares.
    pub problems: Vec<String>,
    /// What it, or one of its tools, requires and is not there, with what would help.
    pub lacking: Vec<String>,
    /// What clients have to be able to do to see some of it.
    pub conditions: Vec<String>,
    /// What it wrote to standard error.
    pub stderr: Vec<String>,
}

struct Ear(mpsc::Sender<News>);

impl Listener for Ear {
    fn hear(&self, news: News) {
        // Full: enough is known.
        let _ = self.0.try_send(news);
    }
}

impl Checked {
    /// Whether it can be used as it is.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.lacking.is_empty()
    }
}

/// What is required and not there: as a whole, and of single tools; then what clients must be able to do.
fn needs_of(start: &Start) -> (Vec<String>, Vec<String>, Vec<String>) {
    let Start { manifest, settings, .. } = start;
    let of = |whose: &str, requires: &Requirements| -> Vec<String> {
        let lacks = needs::lacking(&manifest.id, requires, settings, |_| false);
        lacks.map(|Lack { rule, fix }| format!("{whose}{rule}; {fix}")).collect()
    };
    let condition = |whose: &str, requires: &Requirements| {
        let capabilities: Vec<&str> = requires.capabilities.iter().map(String::as_str).collect();
        let text = format!("{whose} is seen only by clients that have the capability {}", capabilities.join(" and "));
        (!capabilities.is_empty()).then_some(text)
    };
    let whole = of("", &manifest.requires);
    let (mut single, mut conditions) = (Vec::new(), Vec::from_iter(condition("it", &manifest.requires)));
    for tool in &manifest.tools {
        single.extend(of(&format!("'{}': ", tool.name), &tool.requires));
        conditions.extend(condition(&format!("'{}'", tool.name), &tool.requires));
    }
    (whole, single, conditions)
}

/// Starts the plugin and holds what it offers against its manifest; one that lacks something as a whole is not started, as no
/// host would. The listener of `start` is not used.
pub async fn check(start: Start, launchers: &Launchers) -> Checked {
    let manifest = start.manifest.clone();
    let (whole, single, conditions) = needs_of(&start);
    let mut checked = Checked {
        id: manifest.id.clone(),
        version: manifest.version.clone(),
        run: manifest.run.word(),
        declared: manifest.tools.iter().map(|tool| tool.name.clone()).collect(),
        offered: Vec::new(),
        took_ms: 0,
        started: whole.is_empty(),
        problems: Vec::new(),
        lacking: whole.into_iter().chain(single).collect(),
        conditions,
        stderr: Vec::new(),
    };
    if checked.started {
        try_out(start, launchers, &mut checked).await;
    }
    checked
}

async fn try_out(start: Start, launchers: &Launchers, checked: &mut Checked) {
    let manifest = start.manifest.clone();
    let (news, mut heard) = mpsc::channel(NEWS);
    let patience = start.manifest.start_timeout * 2;
    let start = Start { listener: Arc::new(Ear(news)), ..start };
    let began = Instant::now();
    let running = launchers.launch(start);
    let mut problems = Vec::new();
    let said = async {
        loop {
            match heard.recv().await {
                Some(News::Ready(items)) => return Ok(Some(items)),
                Some(News::OptedOut) => return Ok(None),
                Some(News::Down(reason)) => return Err(reason),
                Some(News::Odd(text)) => problems.push(text),
                Some(News::Starting) => {}
                None => return Err("it said nothing".to_owned()),
            }
        }
    };
    let said = timeout(patience, said).await;
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let said = said.unwrap_or_else(|_| Err("it did not say what it offers".to_owned()));
    let Vitals { stderr, .. } = running.vitals();
    running.stop().await;
    // What it said up to its end counts too.
    while let Ok(news) = heard.try_recv() {
        if let News::Odd(text) = news {
            problems.push(text);
        }
    }
    let mut offered = Vec::new();
    match said {
        Err(reason) => problems.push(reason),
        Ok(None) => problems.push("it wants to offer nothing".to_owned()),
        Ok(Some(items)) => {
            problems.extend(compare(&manifest, &items));
            let offers = |name: &str| items.iter().any(|item| item["name"].as_str().map(str::trim) == Some(name));
            offered = manifest.tools.iter().map(|tool| tool.name.clone()).filter(|name| offers(name)).collect();
        }
    }
    problems.dedup();
    (checked.offered, checked.took_ms, checked.problems, checked.stderr) = (offered, took_ms, problems, stderr);
}

fn compare(manifest: &Manifest, items: &[Value]) -> Vec<String> {
    let offer = Offer::of(manifest, items);
    let mut problems = offer.odd;
    for tool in &manifest.tools {
        let item = items.iter().find(|item| item["name"].as_str().map(str::trim) == Some(&*tool.name));
        let Some(item) = item else { continue };
        let differs = |declared: &Option<Value>, key: &str| {
            let offered = item.get(key).filter(|schema| !schema.is_null());
            declared.as_ref().zip(offered).is_some_and(|(declared, offered)| declared != offered)
        };
        for (declared, key) in [(&tool.input_schema, "inputSchema"), (&tool.output_schema, "outputSchema")] {
            if differs(declared, key) {
                problems.push(format!("'{}': its {key} is not the manifest's, which counts", tool.name));
            }
        }
        if tool.input_schema.is_none() && item.get("inputSchema").is_none_or(Value::is_null) {
            problems.push(format!(
                "'{}' has no schema of its arguments, neither in the manifest nor in the offer",
                tool.name
            ));
        }
    }
    let limits = HubLimits::default();
    let sound = |value: &Value| limits.check_schema(value);
    let source = Source::Plugin(manifest.id.clone());
    let (_, refused) = ingest(&source, offer.definitions, &limits.ingest, limits.tools_per_source, &sound);
    problems.extend(
        refused.into_iter().map(|refused| format!("'{}' would not be served: {}", refused.name, refused.reason)),
    );
    problems
}
