//! `toolcrib explain`: why a tool is shown, deferred, hidden or quarantined.

use crate::{args::ExplainArgs, exit::Exit, print, world::World};

pub(crate) async fn run(args: ExplainArgs) -> anyhow::Result<Exit> {
    let world = World::start(&args.look.sources).await?;
    world.wait_for_tool(&args.name, args.look.wait).await;
    let found = world.engine.explain(&world.scope, &args.name)?;
    if args.look.json {
        let list: Vec<serde_json::Value> = found
            .iter()
            .map(|explanation| {
                let mut value = serde_json::to_value(explanation).unwrap_or_default();
                value["sentence"] = explanation.sentence().into();
                value
            })
            .collect();
        print::json(&list)?;
    } else {
        for explanation in &found {
            print::line(print::clean(&explanation.sentence()));
        }
    }
    if found.is_empty() {
        let view = world.view()?;
        let near = toolcrib_core::bridge::suggest(&args.name, view.set.names());
        let near = if near.is_empty() { String::new() } else { format!(" Closest names: {}.", near.join(", ")) };
        print::note(format!("No source offers a tool called '{}'.{near}", args.name));
        world.warn_about_sources();
    }
    world.stop().await;
    Ok(if found.is_empty() { Exit::Failed } else { Exit::Done })
}
