//! Plugin folders as wholes: put in place in one step, so that whoever watches never sees half of one, and taken away.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use toolcrib_connect::plugins::FILE;

/// Most files of a plugin that is added, and most bytes of them all.
const FILES: usize = 10_000;
const BYTES: u64 = 256 * 1024 * 1024;
/// What is not part of a plugin.
const LEFT_OUT: [&str; 4] = [".git", "__pycache__", ".venv", ".DS_Store"];

/// Copies a folder whose manifest was checked as `manifest`; what was at `target` is replaced. Links are copied as the files
/// they lead to within the folder. Nothing is put in place if the manifest has changed meanwhile.
pub(super) fn copy_whole(from: &Path, target: &Path, manifest: &[u8]) -> anyhow::Result<()> {
    let home = target.parent().context("the target has no folder")?;
    let root = from.canonicalize().with_context(|| format!("cannot read {}", from.display()))?;
    if home.canonicalize().is_ok_and(|home| home.starts_with(&root)) {
        bail!(
            "{} holds the folder of plugins it would be copied to; add a folder that is a plugin alone",
            root.display()
        );
    }
    let mut room = (FILES, BYTES);
    // Hidden, so that it is no plugin yet.
    let staging = tempfile::Builder::new().prefix(".adding-").tempdir_in(home)?;
    let copy = staging.path().join("plugin");
    copy_folder(&root, &root, &copy, &mut room)?;
    // What the plugin's own code did while it was checked included.
    if fs::read(copy.join(FILE)).ok().as_deref() != Some(manifest) {
        bail!("{} has changed while it was checked; nothing is added", root.join(FILE).display());
    }
    let old = staging.path().join("old");
    if target.symlink_metadata().is_ok() {
        fs::rename(target, &old).with_context(|| format!("cannot move {} away", target.display()))?;
    }
    if let Err(error) = fs::rename(&copy, target) {
        let _ = fs::rename(&old, target);
        return Err(error).with_context(|| format!("cannot put the plugin in place as {}", target.display()));
    }
    Ok(())
}

fn copy_folder(root: &Path, from: &Path, to: &Path, room: &mut (usize, u64)) -> anyhow::Result<()> {
    fs::create_dir(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        let path = entry.path().canonicalize().with_context(|| format!("cannot read {}", entry.path().display()))?;
        if !path.starts_with(root) {
            bail!("{} leads out of the plugin's folder; copy what it leads to", entry.path().display());
        }
        let (meta, target) = (path.metadata()?, to.join(&name));
        if meta.is_dir() && entry.file_type()?.is_dir() {
            copy_folder(root, &path, &target, room)?;
        } else if meta.is_file() {
            let Some(left) = room.0.checked_sub(1).zip(room.1.checked_sub(meta.len())) else {
                bail!("the plugin has more than {FILES} files or {BYTES} bytes");
            };
            *room = left;
            // Permissions go along: programs stay executable.
            fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
        } else {
            bail!(
                "{} is neither a file nor a folder of its own; take it out or copy what it leads to",
                entry.path().display()
            );
        }
    }
    Ok(())
}

/// Takes a plugin's folder away; of a link only the link.
pub(super) fn remove_whole(folder: &Path) -> anyhow::Result<()> {
    let meta = folder.symlink_metadata().with_context(|| format!("cannot read {}", folder.display()))?;
    let gone = if meta.is_symlink() { fs::remove_file(folder) } else { fs::remove_dir_all(folder) };
    gone.with_context(|| format!("cannot remove {}", folder.display()))
}
