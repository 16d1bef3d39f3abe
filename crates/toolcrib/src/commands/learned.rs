//! `toolcrib learned`: what searches have learnt from use, and how to forget it.

use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::usage::{MAX_PAIRS, Prior};
use toolcrib_engine::ExperienceStore;

use crate::{args::LearnedArgs, callers::now_ms, exit::Exit, print, settings, stores, world};

pub(crate) async fn run(args: LearnedArgs) -> anyhow::Result<Exit> {
    let config = world::load(&args.config)?.config;
    let stores = stores::open_existing(&config)?;
    let store = stores.experience.as_ref();
    let learning = settings::learning(&config);
    if args.forget {
        return forget(store, &args).await;
    }
    if learning.is_none() {
        print::note("Nothing is learnt or used at present: search.learn is off.");
    }
    let half_life = learning.unwrap_or_default().half_life_ms();
    let now = now_ms();
    let pairs = Prior::from_pairs(store.experience(&args.tenant, MAX_PAIRS).await?, half_life, now).pairs(now);
    let shown: Vec<_> = pairs.iter().take(args.limit).collect();
    let date = |at_ms: u64| {
        let time = Timestamp::from_millisecond(i64::try_from(at_ms).unwrap_or(i64::MAX)).unwrap_or_default();
        time.strftime("%Y-%m-%d").to_string()
    };
    if args.json {
        let list: Vec<_> = shown
            .iter()
            .map(|pair| json!({"word": pair.word, "tool": pair.tool, "times": pair.weight, "last_ms": pair.at_ms}))
            .collect();
        print::json(
            &json!({"tenant": args.tenant, "pairs": pairs.len(), "learning": learning.is_some(), "list": list}),
        )?;
    } else if pairs.is_empty() {
        print::note(format!("Nothing was learnt{}.", of(&args.tenant)));
    } else {
        let row = |pair: &&toolcrib_core::usage::Pair| {
            vec![pair.word.clone(), pair.tool.clone(), format!("{:.2}", pair.weight), date(pair.at_ms)]
        };
        print::table(&["WORD", "TOOL", "TIMES", "LAST"], shown.iter().map(row).collect());
        print::note(format!("{} of {} pairs{}.", shown.len(), pairs.len(), of(&args.tenant)));
    }
    let others: Vec<String> = store.experienced().await?.into_iter().map(|(name, _)| name).collect();
    let others: Vec<String> =
        others.into_iter().filter(|name| *name != args.tenant).map(|name| print::clean(&name)).collect();
    if !others.is_empty() && !args.json {
        print::note(format!("Other tenants that have learnt: {}.", others.join(", ")));
    }
    Ok(Exit::Done)
}

async fn forget(store: &dyn ExperienceStore, args: &LearnedArgs) -> anyhow::Result<Exit> {
    let gone = store.forget_experience(&args.tenant).await?;
    if args.json {
        print::json(&json!({"tenant": args.tenant, "forgotten": gone}))?;
    } else {
        print::note(format!("Forgot {gone} pairs{}. Running processes forget within a minute.", of(&args.tenant)));
    }
    Ok(Exit::Done)
}

fn of(tenant: &str) -> String {
    if tenant.is_empty() { String::new() } else { format!(" of tenant {}", print::clean(tenant)) }
}
