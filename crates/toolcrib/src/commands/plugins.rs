//! `toolcrib plugins`: which there are, how they stand, and whether one does what it declares.

mod folder;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toolcrib_config::Loaded;
use toolcrib_connect::plugins::{
    APART, Checked, PluginReport, PluginState, PluginsReport, Unusable, are_alike, check, discover, look,
};

use crate::{
    args::{PluginsAction, PluginsArgs, SourceArgs},
    exit::Exit,
    plugins, print,
    world::{self, World},
};

/// Most tools of a plugin of which it is said why nobody sees them.
const LISTED: usize = 5;

pub(crate) async fn run(args: PluginsArgs) -> anyhow::Result<Exit> {
    let PluginsArgs { action, config, wait, json } = args;
    match action.unwrap_or(PluginsAction::List) {
        PluginsAction::List => list(config, wait, json).await,
        PluginsAction::Check { folder } => check_one(&folder, &config, json).await,
        PluginsAction::Add { folder, force } => add(&folder, force, &config, json).await,
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
    world.stop().await;
    Ok(if report.has_errors() { Exit::Failed } else { Exit::Done })
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
            vec![
                plugin.id.clone(),
                plugin.version.clone(),
                plugin.run.to_owned(),
                plugin.state.word().to_owned(),
                plugin.tally(),
                plugin.description.clone(),
            ]
        };
        print::table(&["ID", "VERSION", "RUNS", "STATE", "TOOLS", "FOR"], report.plugins.iter().map(row).collect());
    }
    for plugin in &report.plugins {
        for text in plugin.state.reason().map(str::to_owned).iter().chain(&plugin.findings) {
            print::note(print::clean(&format!("{}: {text}", plugin.id)));
        }
        // Where nothing of it is seen the state says why.
        let unseen = plugin.tools.iter().filter_map(|tool| Some((&tool.name, tool.unseen.as_ref()?)));
        let unseen: Vec<_> = unseen.filter(|_| !matches!(plugin.state, PluginState::Unseen { .. })).collect();
        for (name, reason) in unseen.iter().take(LISTED) {
            print::note(print::clean(&format!("{}/{name} is seen by nobody; {reason}", plugin.id)));
        }
        if unseen.len() > LISTED {
            print::note(format!("{}: {} more tools are seen by nobody", plugin.id, unseen.len() - LISTED));
        }
    }
    for text in report.refused.iter().map(|refused| &refused.reason).chain(&report.findings) {
        print::note(print::clean(&format!("error: {text}")));
    }
}

/// What `check` says of the plugin in a folder; `Err` is the text on a manifest that cannot be read.
async fn checked(folder: &Path, loaded: &Loaded) -> anyhow::Result<Result<Checked, String>> {
    let manifest = match look(folder).manifest {
        Ok(manifest) => manifest,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let settings = plugins::settings(loaded)?;
    let id = manifest.id.clone();
    let mut wrong = Vec::new();
    if let Some(taken) = settings.taken(&id).or_else(|| taken_by_another(&id, folder, &settings.folders)) {
        wrong.push(format!("its id {taken}{APART}"));
    }
    if let Some(Unusable { place, problem }) = settings.unusable.get(&id) {
        wrong.push(format!("what it is to be handed cannot be read ({place}): {problem}"));
    }
    let (start, launchers) = plugins::start(manifest, folder, loaded, settings)?;
    let mut checked = check(start, &launchers).await;
    checked.problems.splice(0..0, wrong);
    Ok(Ok(checked))
}

/// Whether another plugin that is configured has an id that rules could not tell from this one. One of the very same id is
/// no other unless both are configured: this one may be meant to replace it.
fn taken_by_another(id: &str, folder: &Path, folders: &[PathBuf]) -> Option<String> {
    let all = discover(folders).plugins;
    let is_configured = all.iter().any(|found| is_same(&found.folder, folder));
    let alike = |known: &str| are_alike(known, id) && (known != id || is_configured);
    let other = all.into_iter().find(|found| {
        found.manifest.as_ref().is_ok_and(|manifest| alike(&manifest.id)) && !is_same(&found.folder, folder)
    })?;
    let known = other.manifest.ok()?;
    Some(format!("is taken by plugin '{}' in {}", known.id, other.folder.display()))
}

/// Whether two paths lead to the same place, links and all.
fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    real(a) == real(b)
}

async fn check_one(folder: &Path, config: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let loaded = world::load(config)?;
    let checked = match checked(folder, &loaded).await? {
        Ok(checked) => checked,
        Err(problem) => {
            if json {
                print::json(&serde_json::json!({"problems": [problem]}))?;
            } else {
                print::line(print::clean(&problem));
            }
            return Ok(Exit::Failed);
        }
    };
    let Checked { id, version, run, declared, offered, took_ms, started, problems, lacking, conditions, stderr } =
        &checked;
    if json {
        print::json(&checked)?;
    } else {
        print::line(if *started {
            format!(
                "plugin '{id}' {version} ({run}): offers {} of {} declared tools, ready after {took_ms} ms",
                offered.len(),
                declared.len()
            )
        } else {
            format!("plugin '{id}' {version} ({run}): not started, because something that it requires is not there")
        });
        for text in problems.iter().chain(lacking).chain(conditions) {
            print::line(print::clean(&format!("  {text}")));
        }
        if checked.is_sound() {
            print::line("  It does what its manifest says.");
        } else if !problems.is_empty() {
            for line in stderr {
                print::note(print::clean(&format!("  its standard error: {line}")));
            }
        }
    }
    Ok(if checked.is_sound() { Exit::Done } else { Exit::Failed })
}

async fn add(from: &Path, force: bool, config: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let loaded = world::load(config)?;
    let id = look(from).manifest?.id.clone();
    let manifest = std::fs::read(from.join(toolcrib_connect::plugins::FILE))
        .with_context(|| format!("cannot read {}", from.display()))?;
    let home = home(&loaded.config)?;
    let target = home.join(&id);
    let others = discover(&plugins::folders(&loaded.config)).plugins;
    let other = others
        .iter()
        .find(|found| found.manifest.as_ref().is_ok_and(|known| known.id == id) && !is_same(&found.folder, &target));
    if let Some(other) = other {
        bail!("plugin '{id}' cannot be added: there is one in {} already; remove that first", other.folder.display());
    }
    if target.symlink_metadata().is_ok() && !force {
        bail!("{} is there already; --force replaces it", target.display());
    }
    if is_same(from, &target) {
        bail!("{} is where the plugin would be put; it is there already", from.display());
    }
    let checked = checked(from, &loaded).await?.map_err(anyhow::Error::msg)?;
    if !checked.problems.is_empty() {
        bail!(
            "plugin '{id}' is not added, because something is wrong with it:\n  {}\n`toolcrib plugins check {}` shows more",
            print::clean(&checked.problems.join("\n  ")),
            from.display()
        );
    }
    std::fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    folder::copy_whole(from, &target, &manifest)?;
    let config = &loaded.config.plugins;
    if json {
        print::json(&serde_json::json!({
            "added": id,
            "folder": target,
            "enabled": config.enabled,
            "lacking": checked.lacking,
        }))?;
        return Ok(Exit::Done);
    }
    print::line(format!("added plugin '{id}' {} as {}", checked.version, target.display()));
    if config.folders.is_none() {
        print::note(
            "No configuration names plugins.folders, so it is in your own folder of plugins, for every toolcrib of yours.",
        );
    }
    if !config.enabled {
        let own = toolcrib_config::discover::config_home(&toolcrib_config::Process);
        let own = own.map_or_else(|| "toolcrib.toml".into(), |home| home.join("toolcrib/toolcrib.toml"));
        // Of another client's file only the servers count.
        let ours = loaded.files.iter().rfind(|file| file.file_name().is_none_or(|name| name != ".mcp.json"));
        let file = ours.unwrap_or(&own);
        print::note(format!("Plugins are off; set plugins.enabled = true in {}.", file.display()));
    }
    for text in &checked.lacking {
        print::note(print::clean(&format!("Not usable as it is: {text}")));
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
    if folders.iter().any(|folder| is_same(folder, &plugin.folder)) {
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
