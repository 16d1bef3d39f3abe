//! `toolcrib plugins`: which there are, how they stand, and whether one does what it declares.

mod folder;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toolcrib_connect::plugins::{Checked, PluginReport, PluginsReport, are_alike, check, discover, look};

use crate::{
    args::{PluginsAction, PluginsArgs, SourceArgs},
    exit::Exit,
    plugins, print,
    world::{self, World},
};

pub(crate) async fn run(args: PluginsArgs) -> anyhow::Result<Exit> {
    let PluginsArgs { action, config, wait, json } = args;
    match action.unwrap_or(PluginsAction::List) {
        PluginsAction::List => list(config, wait, json).await,
        PluginsAction::Check { folder } => check_one(&folder, &config, json).await,
        PluginsAction::Add { folder, force } => add(&folder, force, &config, json),
        PluginsAction::Remove { id } => remove(&id, &config, json),
    }
}

async fn list(config: Vec<PathBuf>, wait: u64, json: bool) -> anyhow::Result<Exit> {
    let world = World::start(&SourceArgs { config, ..SourceArgs::default() }).await?;
    world.wait_all(wait).await;
    let report = world.plugins.host.report().await;
    if json {
        print::json(&report)?;
    } else {
        people(&report);
    }
    let down = report.plugins.iter().any(|plugin| plugin.state.word() == "down") || !report.refused.is_empty();
    world.stop().await;
    Ok(if down { Exit::Failed } else { Exit::Done })
}

fn people(report: &PluginsReport) {
    if !report.enabled {
        print::note("Plugins are off; set plugins.enabled = true in the configuration.");
        return;
    }
    if report.plugins.is_empty() {
        print::note("There are no plugins.");
    } else {
        let row = |plugin: &PluginReport| {
            let seen = plugin.tools.iter().filter(|tool| tool.unseen.is_none()).count();
            vec![
                plugin.id.clone(),
                plugin.version.clone(),
                plugin.run.to_owned(),
                plugin.state.word().to_owned(),
                format!("{seen} of {}", plugin.tools.len()),
                plugin.description.clone(),
            ]
        };
        print::table(&["ID", "VERSION", "RUNS", "STATE", "TOOLS", "FOR"], report.plugins.iter().map(row).collect());
    }
    for plugin in &report.plugins {
        for text in plugin.state.reason().map(str::to_owned).iter().chain(&plugin.findings) {
            print::note(print::clean(&format!("{}: {text}", plugin.id)));
        }
    }
    for text in report.refused.iter().map(|refused| &refused.reason).chain(&report.findings) {
        print::note(print::clean(&format!("error: {text}")));
    }
}

async fn check_one(folder: &Path, config: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let loaded = world::load(config)?;
    let found = look(folder);
    let checked = match found.manifest {
        Err(error) => {
            if json {
                print::json(&serde_json::json!({"problems": [error.to_string()]}))?;
            } else {
                print::line(print::clean(&error.to_string()));
            }
            return Ok(Exit::Failed);
        }
        Ok(manifest) => {
            let (start, launchers) = plugins::start(manifest, folder, &loaded)?;
            check(start, &launchers).await
        }
    };
    if json {
        print::json(&checked)?;
    } else {
        let Checked { id, version, run, declared, offered, took_ms, problems, stderr } = &checked;
        print::line(format!(
            "plugin '{id}' {version} ({run}): offers {} of {} declared tools, ready after {took_ms} ms",
            offered.len(),
            declared.len()
        ));
        for problem in problems {
            print::line(print::clean(&format!("  {problem}")));
        }
        if problems.is_empty() {
            print::line("  It does what its manifest says.");
        } else {
            for line in stderr {
                print::note(print::clean(&format!("  its standard error: {line}")));
            }
        }
    }
    Ok(if checked.problems.is_empty() { Exit::Done } else { Exit::Failed })
}

fn add(from: &Path, force: bool, config: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let loaded = world::load(config)?;
    let manifest = look(from).manifest?;
    let id = &manifest.id;
    let mut servers = loaded.config.servers.iter().filter(|(_, server)| server.is_enabled());
    if servers.any(|(name, _)| are_alike(name, id)) {
        bail!(
            "plugin '{id}' cannot be added: its id is the name of a configured server; give one of them another name"
        );
    }
    let home = home(&loaded.config)?;
    let target = home.join(id);
    let others = discover(&plugins::folders(&loaded.config)).plugins;
    let other = others
        .iter()
        .find(|found| found.manifest.as_ref().is_ok_and(|known| known.id == *id) && found.folder != target);
    if let Some(other) = other {
        bail!("plugin '{id}' cannot be added: there is one in {} already; remove that first", other.folder.display());
    }
    if target.exists() && !force {
        bail!("{} is there already; --force replaces it", target.display());
    }
    std::fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    folder::copy_whole(from, &target)?;
    if json {
        print::json(&serde_json::json!({"added": id, "folder": target, "enabled": loaded.config.plugins.enabled}))?;
    } else {
        print::line(format!("added plugin '{id}' {} as {}", manifest.version, target.display()));
        if !loaded.config.plugins.enabled {
            print::note("Plugins are off; set plugins.enabled = true in the configuration.");
        }
    }
    Ok(Exit::Done)
}

/// The folder that plugins are added to: the first one that holds plugins rather than being one.
fn home(config: &toolcrib_config::Config) -> anyhow::Result<PathBuf> {
    let is_plugin = |folder: &&String| Path::new(folder).join(toolcrib_connect::plugins::FILE).is_file();
    match &config.plugins.folders {
        Some(folders) => {
            let home = folders.iter().find(|folder| !is_plugin(folder));
            home.map(Into::into).context("plugins.folders names no folder that holds plugins; add one to it")
        }
        None => plugins::own_folder().context("there is no home folder; set plugins.folders"),
    }
}

fn remove(id: &str, config: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let loaded = world::load(config)?;
    let folders = plugins::folders(&loaded.config);
    let found = discover(&folders).plugins;
    let Some(plugin) = found.iter().find(|found| found.manifest.as_ref().is_ok_and(|manifest| manifest.id == id))
    else {
        print::note(format!("There is no plugin '{id}' in {}.", list_of(&folders)));
        return Ok(Exit::Failed);
    };
    if folders.contains(&plugin.folder) {
        bail!(
            "plugin '{id}' is configured by its own folder, which is left alone; take {} out of plugins.folders",
            plugin.folder.display()
        );
    }
    folder::remove_whole(&plugin.folder)?;
    if json {
        print::json(&serde_json::json!({"removed": id, "folder": plugin.folder}))?;
    } else {
        print::line(format!("removed plugin '{id}' ({})", plugin.folder.display()));
    }
    Ok(Exit::Done)
}

fn list_of(folders: &[PathBuf]) -> String {
    let texts: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if texts.is_empty() { "any folder".to_owned() } else { texts.join(", ") }
}
