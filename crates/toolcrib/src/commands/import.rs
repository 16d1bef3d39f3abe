//! `toolcrib import`: take over the server lists of other clients.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use toolcrib_config::{
    Process, Surroundings,
    import::{ClientKind, Found, Taken, merge, read},
};

use crate::{args::ImportArgs, exit::Exit, print};

pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    let files = files(args.from.as_deref())?;
    let mut found: Vec<Found> = Vec::new();
    let mut broken = false;
    for file in &files {
        let bytes = match Process.read(file) {
            Ok(bytes) => bytes,
            // Of the places a client may use only some exist.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && args.from.as_deref() != file.to_str() => {
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        match read(file, &bytes) {
            Ok(servers) if servers.servers.is_empty() => print::note(format!("{}: no servers", file.display())),
            Ok(servers) => found.push(servers),
            Err(error) => {
                broken = true;
                print::note(format!("error: {error}"));
            }
        }
    }
    if found.is_empty() {
        let places: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        print::note(format!("Nothing to import: no servers in {}.", places.join(", ")));
        return Ok(Exit::Failed);
    }
    let before = match fs::read_to_string(&args.into) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", args.into.display())),
    };
    if args.into.extension().is_some_and(|extension| extension != "toml") {
        bail!("--into {} is not a .toml file, and only those are edited", args.into.display());
    }
    let (after, report) = merge(&before, &found, args.force)?;
    if !args.dry_run && after != before {
        write_whole(&args.into, &after)?;
    }
    if args.json {
        print::json(&report)?;
    } else {
        for server in &report {
            let what = match &server.taken {
                Taken::Added => "added".to_owned(),
                Taken::Replaced => "replaced".to_owned(),
                Taken::Kept => "kept as it is (--force replaces it)".to_owned(),
                Taken::Refused(reason) => format!("refused: {reason}"),
            };
            print::line(format!("{}: {what} (from {})", print::clean(&server.name), server.file.display()));
            if server.differs {
                let other = server
                    .other
                    .as_ref()
                    .map_or("what was there".to_owned(), |file| format!("that of {}", file.display()));
                print::note(match server.taken {
                    Taken::Replaced => format!("  it differs from {other}, which is left out now"),
                    _ => format!(
                        "  it differs from {other} and is left out; give one of the two another name to have both"
                    ),
                });
            }
            if !server.left_out.is_empty() {
                print::note(format!("  left out, because nothing here reads it: {}", server.left_out.join(", ")));
            }
            for name in &server.set_variables {
                print::note(format!("  set the environment variable {name}; VS Code asked for it"));
            }
            for key in &server.plain_secrets {
                print::note(format!("  {key} holds a secret in plain text; better: \"${{env:NAME}}\""));
            }
        }
        if args.dry_run {
            print::note("Nothing was written (--dry-run).");
        }
    }
    Ok(if broken { Exit::Failed } else { Exit::Done })
}

fn files(from: Option<&str>) -> anyhow::Result<Vec<PathBuf>> {
    let project = std::env::current_dir()?;
    let places = |kinds: &[ClientKind]| -> anyhow::Result<Vec<PathBuf>> {
        let home = Process.variable("HOME").map(PathBuf::from);
        let home = home.context("HOME is not set, so no client's files can be found; name a file")?;
        Ok(kinds.iter().flat_map(|kind| kind.locations(&home, &project)).collect())
    };
    match from {
        None => places(&ClientKind::ALL),
        Some(word) => match ClientKind::from_word(word) {
            Some(kind) => places(&[kind]),
            None if Path::new(word).is_file() => Ok(vec![PathBuf::from(word)]),
            None => {
                let words: Vec<_> = ClientKind::ALL.iter().map(|kind| kind.word()).collect();
                bail!("'{word}' is neither a file nor a known client ({})", words.join(", "));
            }
        },
    }
}

/// Writes beside the file and renames, so that a crash leaves the old or the new one. May hold secrets: owner only.
fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file =
        tempfile::NamedTempFile::new_in(folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
