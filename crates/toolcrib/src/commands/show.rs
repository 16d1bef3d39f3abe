//! `toolcrib show`: what `tool_describe` would answer.

use serde_json::json;
use toolcrib_core::bridge;

use crate::{args::ShowArgs, exit::Exit, print, world::World};

pub(crate) async fn run(args: ShowArgs) -> anyhow::Result<Exit> {
    let world = World::start(&args.look.sources).await?;
    world.wait_for_tool(&args.name, args.look.wait).await;
    let request = bridge::read_describe(&json!({"names": [args.name]}))?;
    let view = world.engine.view_to_describe(&world.scope, &request.names).await?;
    let reply = bridge::describe_reply(&request, &view.set);
    let found = &reply.value["found"][0];
    if args.look.json {
        print::json(&reply.value)?;
    } else if reply.nothing_found {
        let entry = &reply.value["not_found"][0];
        print::note(
            entry["error"].as_str().or_else(|| reply.value["errors"][0]["error"].as_str()).unwrap_or("not found"),
        );
        print::note(format!("`toolcrib explain '{}'` says whether it is hidden or quarantined.", args.name));
    } else {
        print::line(format!(
            "{} ({})",
            found["name"].as_str().unwrap_or_default(),
            found["server"].as_str().unwrap_or_default()
        ));
        print::line(print::clean(found["description"].as_str().unwrap_or_default()));
        print::line(serde_json::to_string_pretty(&found["inputSchema"])?);
    }
    world.stop().await;
    Ok(if reply.nothing_found { Exit::Failed } else { Exit::Done })
}
