//! Files and standard input read within bounds, as text.

use std::{
    fs::File,
    io::{Read, stdin},
    path::Path,
};

use anyhow::{Context, bail};

/// The text of a file. `what` it is, with its article, goes into errors; `most` is the largest size in bytes.
pub(crate) fn read_text(file: &Path, what: &str, most: u64) -> anyhow::Result<String> {
    let name = format!("{what} {}", file.display());
    let open = File::open(file).with_context(|| format!("cannot open {name}"))?;
    bounded(open, &name, most)
}

/// The text on standard input.
pub(crate) fn read_stdin(what: &str, most: u64) -> anyhow::Result<String> {
    bounded(stdin().lock(), &format!("{what} on standard input"), most)
}

fn bounded(from: impl Read, name: &str, most: u64) -> anyhow::Result<String> {
    let mut text = String::new();
    from.take(most.saturating_add(1))
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {name}: it must be UTF-8 text"))?;
    if text.len() as u64 > most {
        bail!("{name} is larger than {most} bytes");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_bounded_and_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let check = |bytes: &[u8], most: u64, says: Option<&str>| {
            std::fs::write(&path, bytes).unwrap();
            let read = read_text(&path, "the file", most);
            match says {
                None => assert_eq!(read.unwrap().as_bytes(), bytes),
                Some(says) => {
                    let told = format!("{:#}", read.unwrap_err());
                    assert!(told.contains(says) && told.contains("the file /"), "{told}");
                }
            }
        };
        check(b"12345", 5, None);
        check(b"", 0, None);
        check(b"12345", 4, Some("is larger than 4 bytes"));
        check(b"\xff", 5, Some("UTF-8"));
        std::fs::remove_file(&path).unwrap();
        assert!(read_text(&path, "the file", 5).unwrap_err().to_string().contains("cannot open the file /"));
    }
}
