//! Programs that run other programs: which command stands inside `sudo`, `env`, `xargs`, `sh -c`, `find -exec`.

use super::{Hop, MAX_DEPTH, SimpleCommand, State, Word, reach, reader};

/// How the command inside a wrapper is found. An option that is not listed makes the reading uncertain, since it might
/// take the next word.
struct Wrapper {
    /// One-letter options that take a value.
    valued: &'static str,
    /// One-letter options that take none.
    flags: &'static str,
    /// Long options that take a value in the next word; as `--name=value` they are one word.
    long_valued: &'static [&'static str],
    /// Long options that take none.
    long_flags: &'static [&'static str],
    /// Words before the command that are not options.
    operands: usize,
    hop: Hop,
}

const PLAIN: Wrapper =
    Wrapper { valued: "", flags: "", long_valued: &[], long_flags: &[], operands: 0, hop: Hop::Through };

fn wrapper(name: &str) -> Option<Wrapper> {
    Some(match name {
        "nohup" | "builtin" | "noglob" | "nocorrect" | "chronic" | "busybox" | "toybox" | "unbuffer" => PLAIN,
        "sudo" => Wrapper {
            valued: "ughpCrtTDRU",
            flags: "AbEeHnPSKklsviBN",
            long_valued: &[
                "user",
                "group",
                "host",
                "prompt",
                "close-from",
                "role",
                "type",
                "chroot",
                "chdir",
                "other-user",
                "command-timeout",
            ],
            long_flags: &[
                "askpass",
                "background",
                "preserve-env",
                "set-home",
                "non-interactive",
                "stdin",
                "login",
                "shell",
                "edit",
            ],
            hop: Hop::Outer,
            ..PLAIN
        },
        "doas" => Wrapper { valued: "uC", flags: "Lns", hop: Hop::Outer, ..PLAIN },
        "pkexec" => Wrapper { long_valued: &["user"], long_flags: &["keep-cwd"], hop: Hop::Outer, ..PLAIN },
        // Another group's rights; what follows is a shell line.
        "sg" => Wrapper { flags: "c", operands: 1, hop: Hop::Outer, ..PLAIN },
        // Another personality of the kernel.
        "setarch" => Wrapper { flags: ARCH, long_flags: ARCH_LONG, operands: 1, ..PLAIN },
        "linux64" | "linux32" | "i386" | "i486" | "i586" | "i686" | "x86_64" | "uname26" => {
            Wrapper { flags: ARCH, long_flags: ARCH_LONG, ..PLAIN }
        }
        "choom" => Wrapper { valued: "np", long_valued: &["adjust", "pid"], ..PLAIN },
        // These fetch a program when there is none of the name.
        "npx" | "bunx" | "pnpx" => Wrapper {
            valued: "p",
            flags: "yq",
            long_valued: &["package"],
            long_flags: &["yes", "no", "no-install", "quiet", "bun", "ignore-existing"],
            hop: Hop::Outer,
            ..PLAIN
        },
        // The dynamic loader runs the program it is given, with libraries of the caller's choice.
        name if name.starts_with("ld-linux")
            || name.starts_with("ld-musl")
            || name.starts_with("ld.so")
            || name.starts_with("ld64.so") =>
        {
            Wrapper {
                long_valued: &[
                    "library-path",
                    "inhibit-rpath",
                    "audit",
                    "preload",
                    "argv0",
                    "glibc-hwcaps-prepend",
                    "glibc-hwcaps-mask",
                ],
                long_flags: &["verify", "inhibit-cache", "list", "list-diagnostics", "list-tunables"],
                hop: Hop::Outer,
                ..PLAIN
            }
        }
        "chroot" => Wrapper { operands: 1, long_flags: &["skip-chdir"], hop: Hop::Outer, ..PLAIN },
        "flock" => Wrapper { valued: "wE", flags: "senuxoFv", operands: 1, hop: Hop::Outer, ..PLAIN },
        "env" => Wrapper {
            valued: "uC",
            flags: "i0v",
            long_valued: &["unset", "chdir"],
            long_flags: &["ignore-environment", "null", "debug"],
            ..PLAIN
        },
        "timeout" => Wrapper {
            valued: "sk",
            flags: "v",
            long_valued: &["signal", "kill-after"],
            long_flags: &["foreground", "preserve-status", "verbose"],
            operands: 1,
            ..PLAIN
        },
        "time" => Wrapper { valued: "fo", flags: "pvl", ..PLAIN },
        "nice" => Wrapper { valued: "n", flags: "0123456789", long_valued: &["adjustment"], ..PLAIN },
        "ionice" => Wrapper { valued: "cn", flags: "t", ..PLAIN },
        "setsid" => Wrapper { flags: "cfw", ..PLAIN },
        "stdbuf" => Wrapper { valued: "ioe", ..PLAIN },
        "caffeinate" => Wrapper { valued: "tw", flags: "dimsu", ..PLAIN },
        "taskset" => Wrapper { flags: "ac", operands: 1, ..PLAIN },
        "command" => Wrapper { flags: "pvV", ..PLAIN },
        "exec" => Wrapper { valued: "a", flags: "cl", ..PLAIN },
        "xargs" => Wrapper {
            valued: "ILnPdEsaRSJ",
            flags: "0rtpxo",
            long_valued: &[
                "max-args",
                "max-procs",
                "max-lines",
                "max-chars",
                "delimiter",
                "arg-file",
                "replace",
                "eof",
            ],
            long_flags: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"],
            ..PLAIN
        },
        "watch" => Wrapper {
            valued: "n",
            flags: "bcdegtpx",
            long_valued: &["interval"],
            long_flags: &["differences", "beep", "color", "errexit", "chgexit", "no-title", "precise", "exec"],
            ..PLAIN
        },
        _ => return None,
    })
}

/// Options of the programs that set the kernel's personality.
const ARCH: &str = "BFILRSTXZv3h";
const ARCH_LONG: &[&str] = &[
    "32bit",
    "fdpic-funcptrs",
    "short-inode",
    "addr-compat-layout",
    "addr-no-randomize",
    "whole-seconds",
    "sticky-timeouts",
    "read-implies-exec",
    "mmap-page-zero",
    "3gb",
    "4gb",
    "uname-2.6",
    "verbose",
];

/// Whether a word names an architecture, as `setarch` may be given one.
fn is_architecture(text: &str) -> bool {
    [
        "x86_64",
        "i386",
        "i486",
        "i586",
        "i686",
        "athlon",
        "linux32",
        "linux64",
        "uname26",
        "arm",
        "aarch64",
        "ppc",
        "s390",
        "mips",
        "sparc",
        "ia64",
        "parisc",
        "alpha",
        "riscv",
        "loongarch",
    ]
    .iter()
    .any(|name| text.starts_with(name))
}

/// Programs that run what they are given in ways that are not followed.
const RUNNERS: &[&str] = &[
    "ssh",
    "parallel",
    "unshare",
    "nsenter",
    "systemd-run",
    "firejail",
    "bwrap",
    "setpriv",
    "runuser",
    "su",
    "strace",
    "ltrace",
    "gdb",
    "script",
    "entr",
    "expect",
    "screen",
    "tmux",
    "at",
    "batch",
    "prlimit",
    "proot",
    "fakeroot",
    "dbus-run-session",
    "chrt",
    "numactl",
    "cgexec",
    "start-stop-daemon",
    "dtach",
    "daemonize",
    "nsjail",
    "torsocks",
    "proxychains",
    "proxychains4",
    "valgrind",
    "faketime",
    "eatmydata",
    "systemd-inhibit",
    "aa-exec",
    "runcon",
    "cpulimit",
    "nocache",
    "xvfb-run",
    "rlwrap",
    "dbus-launch",
    "run-parts",
    "tini",
    "dumb-init",
    "gosu",
    "su-exec",
    "chpst",
    "softlimit",
    "setlock",
    "capsh",
    "newgrp",
    "perf",
    "hyperfine",
    "cmd",
    "powershell",
    "pwsh",
    "fish",
    "csh",
    "tcsh",
    "source",
    ".",
];

/// Interpreters and their options that take code.
fn code_options(name: &str) -> Option<&'static [&'static str]> {
    if name.starts_with("python") || name.starts_with("pypy") {
        return Some(&["-c"]);
    }
    Some(match name {
        "perl" => &["-e", "-E"],
        "ruby" | "lua" | "luajit" | "Rscript" | "osascript" | "elixir" => &["-e"],
        "node" | "nodejs" | "bun" => &["-e", "-p", "--eval", "--print"],
        "deno" => &["eval"],
        "php" => &["-r", "-B", "-R", "-E"],
        _ => return None,
    })
}

/// The name a program goes by: what stands behind the last slash.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// GNU's programs go by a `g` in front where the system has its own of that name.
fn plain_name(name: &str) -> &str {
    const GNU: [&str; 9] = ["chroot", "env", "find", "nice", "nohup", "stdbuf", "time", "timeout", "xargs"];
    match name.strip_prefix('g') {
        Some(plain) if GNU.contains(&plain) => plain,
        _ => name,
    }
}

/// Looks into a command whose words and assignments are read, and finds what it runs.
pub(super) fn build(mut command: SimpleCommand, depth: usize, state: &mut State) -> SimpleCommand {
    let Some(program) = command.words.first() else { return command };
    let name = plain_name(base_name(&program.text)).to_owned();
    if !program.known || name.is_empty() {
        state.doubt();
        return command;
    }
    if depth >= MAX_DEPTH {
        state.doubt();
        return command;
    }
    command.reach = reach::of(&name, &command.words);
    if let Some(wrapper) = wrapper(&name) {
        unwrap(&mut command, &wrapper, &name, depth, state);
        return command;
    }
    match name.as_str() {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "rbash" => shell(&mut command, depth, state),
        "eval" | "trap" => {
            state.doubt();
            let words = &command.words[1..];
            let words = if name == "trap" { &words[..words.len().min(1)] } else { words };
            let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            command.inner = reader::script(&text, depth + 1, state);
            command.hop = Hop::Both;
        }
        "alias" | "let" | "enable" | "bind" | "fc" | "emulate" | "zmodload" | "autoload" => state.doubt(),
        // `hash -p /bin/rm foo` gives a program another name.
        "hash" => {
            if command.words[1..].iter().any(|word| !word.known || is_option(&word.text, "-p")) {
                state.doubt();
            }
        }
        // `-C` takes a command.
        "compgen" | "complete" | "mapfile" | "readarray"
            if command.words[1..].iter().any(|word| !word.known || is_option(&word.text, "-C")) =>
        {
            state.doubt();
            let mut inner = Vec::new();
            for (at, word) in command.words.iter().enumerate().skip(1).filter(|(_, word)| is_option(&word.text, "-C")) {
                let value = word.text.split_once('C').map(|(_, value)| value).filter(|value| !value.is_empty());
                let text = value.or_else(|| command.words.get(at + 1).map(|next| next.text.as_str()));
                inner.extend(text.map(|text| reader::script(text, depth + 1, state)).unwrap_or_default());
            }
            command.inner = inner;
            command.hop = Hop::Both;
        }
        // Given a subscript they evaluate it, substitutions included.
        "printf" | "test" | "[" | "read" | "unset" | "declare" | "typeset" | "local" | "export" | "readonly"
        | "mapfile" | "readarray" | "wait" | "getopts" => {
            if command.words[1..].iter().any(|word| word.text.contains("$(") || word.text.contains('`')) {
                state.doubt();
            }
            // Set for all that follows.
            let set = command.words[1..].iter().filter_map(|word| word.text.split_once('='));
            let set = set.map(|(name, _)| name.to_owned()).filter(|name| reach::may_run(name));
            command.assignments.extend(set);
        }
        "find" | "fd" | "fdfind" => execs(&mut command, depth, state),
        _ => {
            let arguments = &command.words[1..];
            let mut code = false;
            if let Some(options) = code_options(&name) {
                // Without a script to run it reads its standard input.
                let input = arguments.iter().all(|word| word.text.starts_with('-') && word.text != "--version");
                let given = arguments.iter().any(|word| options.iter().any(|option| is_option(&word.text, option)));
                if input && !given {
                    command.reach.push((0, reach::Use::Runs));
                }
                code = input || given;
            }
            command.opaque = code || RUNNERS.contains(&name.as_str());
        }
    }
    command
}

/// `-c`, `-cCODE`, `-Bc`, `--eval`, `--eval=CODE`.
fn is_option(word: &str, option: &str) -> bool {
    if let Some(letter) = option.strip_prefix('-').filter(|rest| rest.len() == 1) {
        return word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter));
    }
    word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Finds the command behind a wrapper's options, assignments and operands.
fn unwrap(command: &mut SimpleCommand, wrapper: &Wrapper, name: &str, depth: usize, state: &mut State) {
    command.hop = wrapper.hop;
    let mut at = 1;
    let mut operands = wrapper.operands;
    let mut options = true;
    while let Some(word) = command.words.get(at) {
        let text = word.text.as_str();
        if !word.known {
            // It may be an option, the operand or the program.
            state.doubt();
        }
        if options && text.starts_with('-') {
            if text == "--" {
                options = false;
            } else if text != "-" || name != "env" {
                at += usize::from(option_takes_next(text, wrapper, state));
            }
        } else if matches!(name, "env" | "sudo" | "doas" | "time") && text.contains('=') {
            let variable = text.split('=').next().unwrap_or_default().to_owned();
            command.assignments.push(variable);
            options = false;
        } else if operands > 0 && (name != "setarch" || is_architecture(text)) {
            operands -= 1;
            options = matches!(name, "taskset" | "setarch" | "sg");
            // `flock FILE -c TEXT`.
            if name == "flock" && command.words.get(at + 1).is_some_and(|word| word.text.starts_with('-')) {
                state.doubt();
            }
        } else {
            break;
        }
        at += 1;
    }
    // GNU time puts its report into a file.
    command.writes |=
        name == "time" && command.words[1..at.min(command.words.len())].iter().any(|w| w.text.starts_with("-o"));
    if at >= command.words.len() {
        return;
    }
    if matches!(name, "watch" | "sg") {
        if !command.words[at..].iter().all(|word| word.known) {
            state.doubt();
        }
        let text = command.words[at..].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        command.inner = reader::script(&text, depth + 1, state);
        return;
    }
    if name == "env" && command.words[1..at].iter().any(|w| w.text.starts_with("-C") || w.text.starts_with("--chdir")) {
        state.doubt();
    }
    if name == "xargs" {
        // The program itself may come from the input: `xargs -I X X`.
        let program = command.words[at].text.as_str();
        let replaced = command.words[1..at]
            .iter()
            .map(|word| {
                ["--replace=", "-I", "-i", "-J"].iter().find_map(|p| word.text.strip_prefix(p)).unwrap_or(&word.text)
            })
            .any(|mark| !mark.is_empty() && program.contains(mark));
        if replaced || program.contains("{}") {
            state.doubt();
        }
    }
    let open_ended = name == "xargs" || command.open_ended;
    let inner = SimpleCommand { words: command.words[at..].to_vec(), open_ended, ..SimpleCommand::default() };
    command.inner = vec![build(inner, depth + 1, state)];
}

/// Whether an option has its value in the next word.
fn option_takes_next(text: &str, wrapper: &Wrapper, state: &mut State) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let valued = wrapper.long_valued.contains(&name);
        if !valued && !wrapper.long_flags.contains(&name) {
            state.doubt();
        }
        return valued && !value;
    }
    for (position, letter) in text.char_indices().skip(1) {
        if wrapper.valued.contains(letter) {
            return position + letter.len_utf8() == text.len();
        }
        if !wrapper.flags.contains(letter) {
            state.doubt();
        }
    }
    false
}

/// A shell: with `-c` its script, with neither `-c` nor a file whatever it reads.
fn shell(command: &mut SimpleCommand, depth: usize, state: &mut State) {
    let mut script = false;
    let mut at = 1;
    while let Some(word) = command.words.get(at) {
        let text = word.text.as_str();
        if !word.known {
            state.doubt();
        }
        let Some(letters) = text.strip_prefix(['-', '+']).filter(|_| text != "--" && text != "-") else { break };
        match letters.strip_prefix('-') {
            Some("rcfile" | "init-file") => {
                state.doubt();
                at += 1;
            }
            Some("login" | "norc" | "noprofile" | "posix" | "restricted" | "verbose" | "version" | "help") => {}
            Some(_) => state.doubt(),
            None => {
                script |= text.starts_with('-') && letters.contains('c');
                if letters.contains('s') {
                    command.opaque = true;
                    command.reach.push((0, reach::Use::Runs));
                }
                if letters.contains(['o', 'O']) {
                    at += 1;
                }
            }
        }
        at += 1;
    }
    if command.words.get(at).is_some_and(|word| word.text == "--" || word.text == "-") {
        at += 1;
    }
    match command.words.get(at) {
        Some(text) if script => {
            if !text.known {
                state.doubt();
            }
            command.hop = Hop::Through;
            command.inner = reader::script(&text.text, depth + 1, state);
        }
        Some(_) => {}
        None => {
            command.opaque = true;
            command.reach.push((0, reach::Use::Runs));
        }
    }
    // Arguments that come later may be the script.
    if command.open_ended {
        command.opaque = true;
        state.doubt();
    }
}

/// The commands of `find -exec … ;` and `fd -x …`.
fn execs(command: &mut SimpleCommand, depth: usize, state: &mut State) {
    let starts: Vec<usize> = command
        .words
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, word)| {
            matches!(
                word.text.as_str(),
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
            )
        })
        .map(|(index, _)| index + 1)
        .collect();
    let mut inner = Vec::new();
    for start in starts {
        let words: Vec<Word> = command.words[start..]
            .iter()
            .take_while(|word| word.text != ";" && word.text != "+")
            // The place of a found path: anything.
            .map(|word| Word { known: word.known && !word.text.contains("{}"), text: word.text.clone() })
            .collect();
        if !words.is_empty() {
            inner.push(build(SimpleCommand { words, ..SimpleCommand::default() }, depth + 1, state));
        }
    }
    if !inner.is_empty() {
        command.hop = Hop::Both;
        command.inner = inner;
    }
    if command.words[1..].iter().any(|word| matches!(word.text.as_str(), "-fprint" | "-fprintf" | "-fls" | "-fprint0"))
    {
        command.writes = true;
    }
}
