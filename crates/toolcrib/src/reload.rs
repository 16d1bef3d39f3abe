//! Hot reload: configuration files are watched, and on a change of their content the world is brought in line.

use std::{path::PathBuf, sync::Arc, time::Duration};

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::world::World;

/// After the last sign of a change; editors write in several steps.
const QUIET: Duration = Duration::from_millis(300);
/// Look anyway this often: watching fails quietly on some file systems.
const POLL: Duration = Duration::from_secs(30);

/// Watches until aborted. SIGHUP counts as a change.
pub(crate) async fn watch(world: Arc<World>, files: Vec<PathBuf>) {
    let (poke, mut pokes) = mpsc::channel::<()>(1);
    let watcher = notify::recommended_watcher(move |_event| {
        // Full means a look is due already.
        let _ = poke.try_send(());
    });
    // Folders, not files: an editor that replaces a file would leave the watch on the old one.
    let mut watcher = watcher.ok();
    if let Some(watcher) = &mut watcher {
        for folder in files.iter().filter_map(|file| file.parent()) {
            let folder = if folder.as_os_str().is_empty() { std::path::Path::new(".") } else { folder };
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
    }
    let mut hangup = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok();
    let mut seen = contents(&files).await;
    loop {
        let forced = tokio::select! {
            _ = pokes.recv(), if watcher.is_some() => false,
            () = tokio::time::sleep(POLL) => false,
            Some(()) = async { match &mut hangup { Some(signal) => signal.recv().await, None => None } } => true,
        };
        while tokio::time::timeout(QUIET, pokes.recv()).await.is_ok_and(|poke| poke.is_some()) {}
        let now = contents(&files).await;
        if now == seen && !forced {
            continue;
        }
        seen = now;
        if let Err(error) = world.reload().await {
            tracing::error!("the changed configuration is not used, the old one stays in force: {error:#}");
        }
    }
}

async fn contents(files: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    let files = files.to_vec();
    tokio::task::spawn_blocking(move || files.iter().map(|file| std::fs::read(file).ok()).collect())
        .await
        .unwrap_or_default()
}
