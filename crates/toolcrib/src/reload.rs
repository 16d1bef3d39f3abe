//! Hot reload: configuration files and plugin folders are watched, and on a change of their content the world is brought
//! in line.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;
use toolcrib_config::{Process, Surroundings};

use crate::{
    args::SourceArgs,
    world::{World, config_files},
};

/// After the last sign of a change; editors write in several steps.
const QUIET: Duration = Duration::from_millis(300);
/// Not waited for longer than this, quiet or not.
const RESTLESS: Duration = Duration::from_secs(3);
/// Look anyway this often: watching fails quietly on some file systems.
const POLL: Duration = Duration::from_secs(30);

/// Watches until aborted. SIGHUP counts as a change. Where no files were named, one that appears later counts too.
pub(crate) async fn watch(world: Arc<World>, flags: SourceArgs) {
    let (poke, mut pokes) = mpsc::channel::<()>(1);
    let watcher = notify::recommended_watcher(move |_event| {
        // Full means a look is due already.
        let _ = poke.try_send(());
    });
    let mut watcher = watcher.ok();
    if let Some(watcher) = &mut watcher {
        for folder in folders(&flags) {
            let _ = watcher.watch(&folder, RecursiveMode::NonRecursive);
        }
    }
    let mut hangup = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok();
    let mut watched = BTreeSet::new();
    let mut seen = contents(&flags).await;
    // What changed between the start and now was seen by nobody; this does nothing if nothing did.
    if let Err(error) = world.reload().await {
        tracing::error!("the changed configuration is not used, the old one stays in force: {error:#}");
    }
    tell(&world);
    loop {
        if let Some(watcher) = &mut watcher {
            for folder in world.plugins.host.folders().await {
                if !watched.contains(&folder) && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                    watched.insert(folder);
                }
            }
        }
        let forced = tokio::select! {
            _ = pokes.recv(), if watcher.is_some() => false,
            () = tokio::time::sleep(POLL) => false,
            Some(()) = async { match &mut hangup { Some(signal) => signal.recv().await, None => None } } => true,
        };
        // Something may write into a watched folder all the time.
        let latest = tokio::time::Instant::now() + RESTLESS;
        while tokio::time::Instant::now() < latest
            && tokio::time::timeout(QUIET, pokes.recv()).await.is_ok_and(|poke| poke.is_some())
        {}
        let now = contents(&flags).await;
        if now == seen && !forced && !world.plugins.host.has_changed().await {
            continue;
        }
        seen = now;
        if let Err(error) = world.reload().await {
            tracing::error!("the changed configuration is not used, the old one stays in force: {error:#}");
        } else {
            tell(&world);
        }
    }
}

/// Looks the policy over beside everything else.
fn tell(world: &Arc<World>) {
    let world = Arc::downgrade(world);
    tokio::spawn(async move {
        if let Some(world) = world.upgrade() {
            world.tell_oddities().await;
        }
    });
}

/// Folders, not files: an editor that replaces a file would leave the watch on the old one.
fn folders(flags: &SourceArgs) -> Vec<PathBuf> {
    let files = config_files(flags).unwrap_or_default();
    let mut folders: Vec<PathBuf> = files.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect();
    if flags.config.is_empty() {
        folders.push(PathBuf::new());
    }
    for folder in &mut folders {
        if folder.as_os_str().is_empty() {
            *folder = PathBuf::from(".");
        }
    }
    folders.sort();
    folders.dedup();
    folders
}

async fn contents(flags: &SourceArgs) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let flags = flags.clone();
    let read = move || {
        let files = config_files(&flags).unwrap_or_default();
        files
            .into_iter()
            .map(|file| {
                let text = Process.read(&file).ok();
                (file, text)
            })
            .collect()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}
