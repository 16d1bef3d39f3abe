use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const SECRET: &str = "outside";

/// A folder with an allowed `data`, a tempting `data-private` beside it and links between them.
fn world() -> (TempDir, Roots) {
    let world = tempfile::tempdir().unwrap();
    let at = |path: &str| world.path().join(path);
    fs::create_dir_all(at("data/sub/deep")).unwrap();
    fs::create_dir_all(at("data-private")).unwrap();
    fs::create_dir_all(at("other")).unwrap();
    for (path, text) in [
        ("data/a.txt", "a"),
        ("data/sub/b.txt", "b"),
        ("data/%2e%2e", "percent"),
        ("data/back\\slash", "slash"),
        ("data-private/secret", SECRET),
        ("secret", SECRET),
        ("other/o.txt", "o"),
    ] {
        fs::write(at(path), text).unwrap();
    }
    for (link, target) in [
        ("data/inside", "sub/b.txt"),
        ("data/inside-dir", "sub"),
        ("data/sub/up", "../a.txt"),
        ("data/out", "../secret"),
        ("data/out-dir", "../data-private"),
        ("data/sub/far", "../../secret"),
        ("data/loop", "loop"),
        ("data/gone", "nowhere"),
        ("data/proc", "/proc/self/root"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    symlink(at("secret"), at("data/absolute")).unwrap();
    symlink(at("data/a.txt"), at("data/absolute-inside")).unwrap();
    rustix::fs::mknodat(CWD, at("data/fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let roots = Roots::new(&[Root { path: at("data"), writable: true }, Root { path: at("other"), writable: false }]);
    (world, roots)
}

fn read(roots: &Roots, path: &str) -> Result<String, Failure> {
    let mut text = String::new();
    roots.place(path)?.open_file()?.read_to_string(&mut text).map_err(|error| Failure::io(path, &error))?;
    Ok(text)
}

#[test]
fn what_is_inside_is_read() {
    #[track_caller]
    fn check(roots: &Roots, path: &str, expected: &str) {
        assert_eq!(read(roots, path).as_deref(), Ok(expected), "{path}");
    }
    let (world, roots) = world();
    check(&roots, "a.txt", "a");
    check(&roots, "./sub/./b.txt", "b");
    check(&roots, "sub//b.txt", "b");
    check(&roots, "inside", "b");
    check(&roots, "inside-dir/b.txt", "b");
    check(&roots, "sub/up", "a");
    // Nothing is decoded: these are names like any other.
    check(&roots, "%2e%2e", "percent");
    check(&roots, "back\\slash", "slash");
    let base = world.path().display();
    check(&roots, &format!("{base}/data/a.txt"), "a");
    check(&roots, &format!("/{base}/data/a.txt"), "a");
    check(&roots, &format!("{base}/other/o.txt"), "o");
}

// T11.
#[test]
fn what_is_outside_is_refused_and_says_why() {
    #[track_caller]
    fn check(roots: &Roots, path: &str, part: &str) {
        let failure = read(roots, path).unwrap_err().0;
        assert!(failure.contains(part), "{path}: {failure}");
    }
    let (world, roots) = world();
    for path in ["..", "../secret", "sub/../../secret", "sub/..", "./..", "a/../../data/a.txt"] {
        check(&roots, path, "contains '..'");
    }
    let base = world.path().display();
    check(&roots, &format!("{base}/data/../secret"), "contains '..'");
    check(&roots, &format!("{base}/data-private/secret"), "is outside the allowed folders");
    check(&roots, &format!("{base}/DATA/a.txt"), "is outside the allowed folders");
    check(&roots, &format!("{base}/secret"), &format!("{base}/data, {base}/other"));
    for path in ["/etc/passwd", "//evil/share", "/", "/proc/self/environ"] {
        check(&roots, path, "is outside the allowed folders");
    }
    for path in ["out", "out-dir/secret", "sub/far", "absolute", "absolute-inside", "proc/etc/passwd"] {
        check(&roots, path, "leads through a link out of the allowed folder");
    }
    check(&roots, "loop", "cannot be followed");
    for path in
        ["gone", "missing", "%252e", "..\\secret", "..%2fsecret", "a.txt;x", "a.txt?", "a.txt#", "~/x", "sub\r\n/x"]
    {
        check(&roots, path, "does not exist");
    }
    check(&roots, "a.txt/x", "not a directory");
    check(&roots, "%2e%2e/secret", "not a directory");
    check(&roots, "a.txt\0.png", "NUL");
    check(&roots, "", "empty");
    check(&roots, &"x".repeat(5_000), "longer than");
    check(&roots, &"x".repeat(300), "too long");
    check(&Roots::new(&[]), "a.txt", "no folder is allowed");
}

#[test]
fn only_regular_files_are_opened_and_nothing_is_waited_for() {
    let (_world, roots) = world();
    let started = Instant::now();
    for (path, part) in [("fifo", "device, pipe or socket"), ("sub", "is a directory"), (".", "is a directory")] {
        let failure = read(&roots, path).unwrap_err().0;
        assert!(failure.contains(part), "{path}: {failure}");
    }
    let devices = Roots::new(&[Root { path: "/dev".into(), writable: false }]);
    for path in ["null", "zero", "tty", "/dev/full", "/dev/random"] {
        assert!(read(&devices, path).is_err(), "{path}");
    }
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn writing_needs_a_writable_root_and_stays_inside() {
    let (world, roots) = world();
    let parent = |path: &str| roots.place(path).and_then(|place| place.open_parent_for_writing());
    assert_eq!(parent("new/er/file.txt").unwrap().1, "file.txt");
    assert!(world.path().join("data/new/er").is_dir());
    assert_eq!(parent("inside-dir/x").unwrap().1, "x");
    for (path, part) in [
        (".", "is a directory"),
        ("out-dir/x", "leads through a link"),
        ("out-dir/new/x", "leads through a link"),
        ("a.txt/x", "not a directory"),
        ("gone/x/y", ""),
    ] {
        let failure = parent(path).unwrap_err().0;
        assert!(failure.contains(part), "{path}: {failure}");
    }
    let other = world.path().join("other/x").display().to_string();
    assert!(parent(&other).unwrap_err().0.contains("may only be read"));
    assert!(!world.path().join("data-private/new").exists());
}

#[test]
fn paths_are_shown_so_that_they_can_be_given_back() {
    let (world, roots) = world();
    let other = world.path().join("other").display().to_string();
    for (path, shown) in [("sub/b.txt", "sub/b.txt"), (".", "."), (other.as_str(), other.as_str())] {
        let place = roots.place(path).unwrap();
        assert_eq!(place.show(place.relative()).trim_end_matches('/'), shown);
    }
}

#[test]
fn the_most_specific_root_decides() {
    let (world, _) = world();
    let roots = Roots::new(&[
        Root { path: world.path().join("data"), writable: false },
        Root { path: world.path().join("data/sub"), writable: true },
    ]);
    let path = |path: &str| world.path().join("data").join(path).display().to_string();
    assert!(roots.place(&path("sub/x")).unwrap().open_parent_for_writing().is_ok());
    assert!(roots.place(&path("x")).unwrap().open_parent_for_writing().is_err());
}

// A link that is swapped while it is opened: either answer is fine, the secret is not.
#[test]
fn swapping_a_folder_for_a_link_gains_nothing() {
    let (world, roots) = world();
    let data = world.path().join("data");
    fs::create_dir(data.join("swap")).unwrap();
    fs::write(data.join("swap/secret"), "inside").unwrap();
    symlink("../data-private", data.join("swap-link")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let swap = |from: &str, to: &str| fs::rename(data.join(from), data.join(to)).unwrap();
                swap("swap", "swap-real");
                swap("swap-link", "swap");
                swap("swap", "swap-link");
                swap("swap-real", "swap");
            }
        });
        let root = roots.place(".").unwrap();
        let handle = root.open_directory().unwrap();
        for round in 0..2_000 {
            let text = if round % 2 == 0 {
                read(&roots, "swap/secret").unwrap_or_default()
            } else {
                walk::open_beneath(handle.as_fd(), Path::new("swap/secret"), READ)
                    .map(|file| std::io::read_to_string(File::from(file)).unwrap())
                    .unwrap_or_default()
            };
            assert_ne!(text, SECRET);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// One thing to create: where, and what.
#[derive(Clone, Debug)]
enum Item {
    Folder(String),
    File(String),
    Link(String, String),
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("c")].prop_map(str::to_owned)
}

fn path_of(part: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn wild_path() -> impl Strategy<Value = String> {
    let part =
        prop_oneof![6 => name(), 2 => Just("..".to_owned()), 1 => Just(".".to_owned()), 1 => Just("secret".to_owned())];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.join("/"))
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        path_of(name()).prop_map(Item::Folder),
        path_of(name()).prop_map(Item::File),
        (path_of(name()), wild_path()).prop_map(|(path, target)| Item::Link(path, target)),
        (path_of(name()), wild_path()).prop_map(|(path, target)| Item::Link(path, format!("ABSOLUTE/{target}"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever lies in the folder and whatever is asked for: nothing outside is ever read, and the kernel's and our
    /// own resolution agree.
    #[test]
    fn nothing_outside_is_ever_read(
        items in prop::collection::vec(item(), 1..12),
        asked in prop::collection::vec(wild_path(), 1..12),
    ) {
        let world = tempfile::tempdir().unwrap();
        let data = world.path().join("data");
        fs::create_dir(&data).unwrap();
        for outside in ["secret", "a", "b"] {
            fs::write(world.path().join(outside), SECRET).unwrap();
        }
        for item in items {
            // Whatever cannot be created because of what is there already is left out.
            let _ = match item {
                Item::Folder(path) => fs::create_dir_all(data.join(path)),
                Item::File(path) => fs::write(data.join(path), "inside"),
                Item::Link(path, target) => {
                    let target = target.replace("ABSOLUTE", &world.path().display().to_string());
                    symlink(target, data.join(path))
                }
            };
        }
        // Writing through a link may have changed what is outside; put it back.
        for outside in ["secret", "a", "b"] {
            let _ = fs::write(world.path().join(outside), SECRET);
        }
        let roots = Roots::new(&[Root { path: data.clone(), writable: true }]);
        let root = roots.place(".").unwrap();
        let handle = root.open_directory().unwrap();
        for path in asked {
            for path in [path.clone(), data.join(&path).display().to_string()] {
                if let Ok(text) = read(&roots, &path) {
                    prop_assert_eq!(text, "inside");
                }
            }
            let kernel = open_beneath(handle.as_fd(), Path::new(&path), READ).map(|file| inode(&file));
            let own = walk::open_beneath(handle.as_fd(), Path::new(&path), READ).map(|file| inode(&file));
            match (kernel, own) {
                (Ok(kernel), Ok(own)) => prop_assert_eq!(kernel, own),
                (Err(_), Err(_)) => {}
                (kernel, own) => prop_assert!(false, "{path}: {kernel:?} {own:?}"),
            }
        }
    }
}

fn inode(handle: &OwnedFd) -> u64 {
    rustix::fs::fstat(handle).unwrap().st_ino
}
