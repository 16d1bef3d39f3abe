//! Hot reload: configuration files and plugin folders are watched, and on a change of their content the world is brought
//! in line.

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt,
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
    let mut watched = Watched::default();
    let mut seen = contents(&flags).await;
    // What changed between the start and now was seen by nobody; this does nothing if nothing did.
    if let Err(error) = world.reload().await {
        tracing::error!("the changed configuration is not used, the old one stays in force: {error:#}");
    }
    tell(&world);
    loop {
        if let Some(watcher) = &mut watcher {
            watched.follow(watcher, &world.plugins.host.folders().await);
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

/// Folders of plugins that are watched, each with what it was then: the same path may lead to another folder later.
#[derive(Default)]
struct Watched(BTreeMap<PathBuf, Option<(u64, u64)>>);

impl Watched {
    /// Watches these and no others any more.
    fn follow(&mut self, watcher: &mut impl Watcher, wanted: &[PathBuf]) {
        let identity = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        self.0.retain(|path, known| {
            let stays = wanted.contains(path) && known.is_some() && *known == identity(path);
            if !stays {
                // Fails where the folder is gone, and the watch with it.
                let _ = watcher.unwatch(path);
            }
            stays
        });
        for path in wanted {
            // Before the watch: if it is replaced in between, the next look finds another.
            let now = identity(path);
            if !self.0.contains_key(path) && watcher.watch(path, RecursiveMode::NonRecursive).is_ok() {
                self.0.insert(path.clone(), now);
            }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::{Config, EventHandler, WatcherKind};

    use super::*;

    /// Notes what it is told to watch.
    #[derive(Debug, Default)]
    struct Noting(Vec<String>);

    impl Watcher for Noting {
        fn new<F: EventHandler>(_: F, _: Config) -> notify::Result<Self> {
            Ok(Self::default())
        }

        fn watch(&mut self, path: &Path, _: RecursiveMode) -> notify::Result<()> {
            self.0.push(format!("+{}", path.file_name().unwrap().display()));
            if path.exists() { Ok(()) } else { Err(notify::Error::path_not_found()) }
        }

        fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
            self.0.push(format!("-{}", path.file_name().unwrap().display()));
            Ok(())
        }

        fn kind() -> WatcherKind {
            WatcherKind::NullWatcher
        }
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_was_replaced_is_watched_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| root.path().join(name);
        let (mut watcher, mut watched) = (Noting::default(), Watched::default());
        let mut check = |wanted: &[&str], told: &[&str]| {
            let wanted: Vec<PathBuf> = wanted.iter().map(|name| folder(name)).collect();
            watched.follow(&mut watcher, &wanted);
            assert_eq!(std::mem::take(&mut watcher.0), told);
            watched.0.len()
        };
        for name in ["a", "b"] {
            fs::create_dir(folder(name)).unwrap();
        }
        assert_eq!(check(&["a", "b"], &["+a", "+b"]), 2);
        assert_eq!(check(&["a", "b"], &[]), 2);
        // Not there yet, and then there.
        assert_eq!(check(&["a", "b", "c"], &["+c"]), 2);
        fs::create_dir(folder("c")).unwrap();
        assert_eq!(check(&["a", "b", "c"], &["+c"]), 3);
        // Replaced in one step, as `plugins add --force` does.
        fs::create_dir(folder("new")).unwrap();
        fs::rename(folder("a"), folder("old")).unwrap();
        fs::rename(folder("new"), folder("a")).unwrap();
        assert_eq!(check(&["a", "b", "c"], &["-a", "+a"]), 3);
        // Removed, and no longer asked for.
        fs::remove_dir(folder("b")).unwrap();
        assert_eq!(check(&["a", "c"], &["-b"]), 2);
        assert_eq!(check(&[], &["-a", "-c"]), 0);
    }
}
