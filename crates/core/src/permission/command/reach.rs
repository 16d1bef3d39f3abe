//! Programs that do more than their name says when an option, a script or a variable tells them to: run other programs,
//! delete, or write to any file. The table of them, with why.
//!
//! A rule that allows `prog:*` does not mean those uses, unless it names the word that asks for them (`tar --to-command=*`,
//! `find * -delete`). A rule that denies or asks is uncertain about a use that runs other programs or deletes, since what
//! it means may be among them; a use that only writes does not concern it, as little as a redirection does.

use super::Word;

mod sed;

/// What a word makes the program do beyond its own business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Run other programs, load code, or delete.
    Runs,
    /// Write to a file of the caller's choice.
    Writes,
}
use Use::{Runs, Writes};

/// One entry of the table.
struct Row {
    programs: &'static [&'static str],
    /// Only behind this subcommand; empty for any.
    sub: &'static str,
    /// One-letter options, alone, in a cluster (`-xIprog`) or with a value.
    letters: &'static str,
    /// One-letter options that take the rest of a cluster as their value, so that it is not looked into.
    valued: &'static str,
    /// Long options without their dashes, which may be shortened as `getopt_long` allows.
    long: &'static [&'static str],
    /// Words as they stand, with one dash or none.
    words: &'static [&'static str],
    /// What they do.
    does: Use,
}

const ROW: Row = Row { programs: &[], sub: "", letters: "", valued: "", long: &[], words: &[], does: Runs };

const TABLE: &[Row] = &[
    // tar runs a program per member, per checkpoint, per volume and as compressor, and another for remote archives.
    Row {
        programs: &["tar", "gtar", "bsdtar"],
        letters: "IF",
        valued: "fCbgHKLNTVX",
        long: &[
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
            "remove-files",
        ],
        ..ROW
    },
    // git runs what its configuration names (aliases, pagers, filters, helpers), what these options name for the other
    // end, and programs from the folder of its own ones.
    Row {
        programs: &["git"],
        long: &[
            "exec-path",
            "upload-pack",
            "receive-pack",
            "config-env",
            "git-dir",
            "ext-diff",
            "textconv",
            "open-files-in-pager",
            "extcmd",
            "template",
        ],
        ..ROW
    },
    Row { programs: &["git"], sub: "rebase", letters: "x", long: &["exec"], ..ROW },
    Row { programs: &["git"], sub: "push", long: &["exec"], ..ROW },
    Row { programs: &["git"], sub: "archive", long: &["exec", "remote"], ..ROW },
    Row { programs: &["git"], sub: "archive", letters: "o", long: &["output"], does: Writes, ..ROW },
    Row { programs: &["git"], sub: "difftool", letters: "x", ..ROW },
    Row { programs: &["git"], sub: "grep", letters: "O", valued: "efABCm", ..ROW },
    Row { programs: &["git"], sub: "clone", letters: "uc", valued: "boj", long: &["config"], ..ROW },
    Row { programs: &["git"], sub: "bisect", words: &["run"], ..ROW },
    Row { programs: &["git"], sub: "submodule", words: &["foreach"], ..ROW },
    Row {
        programs: &["git"],
        words: &["filter-branch", "difftool", "mergetool", "config", "daemon", "send-email", "instaweb"],
        ..ROW
    },
    Row { programs: &["git"], sub: "diff", long: &["output"], does: Writes, ..ROW },
    Row { programs: &["git"], sub: "log", long: &["output"], does: Writes, ..ROW },
    Row { programs: &["git"], sub: "show", long: &["output"], does: Writes, ..ROW },
    // sort compresses its scratch files with a program, and writes where -o says.
    Row { programs: &["sort", "gsort"], long: &["compress-program"], ..ROW },
    Row { programs: &["sort", "gsort"], letters: "o", valued: "kStT", long: &["output"], does: Writes, ..ROW },
    // split pipes each piece into a shell command.
    Row { programs: &["split", "gsplit"], long: &["filter"], ..ROW },
    // rsync runs its transport and the other end's rsync; -M hands options to the other end.
    Row {
        programs: &["rsync"],
        letters: "eM",
        valued: "fBT",
        long: &["rsh", "rsync-path", "remote-option", "daemon", "config", "delete", "remove-source-files"],
        ..ROW
    },
    Row {
        programs: &["rsync"],
        long: &["log-file", "write-batch", "only-write-batch", "backup-dir"],
        does: Writes,
        ..ROW
    },
    // ssh and its kin run ProxyCommand, LocalCommand and the like from options and files of options.
    Row { programs: &["ssh", "scp", "sftp", "ssh-copy-id"], letters: "oFI", valued: "bcDEeiJLlmOpQRWw", ..ROW },
    Row { programs: &["scp", "sftp"], letters: "SD", valued: "bcioFlPX", ..ROW },
    // find deletes; what it runs is read by itself.
    Row { programs: &["find"], words: &["-delete"], ..ROW },
    Row { programs: &["find"], words: &["-fprint", "-fprintf", "-fls", "-fprint0"], does: Writes, ..ROW },
    // curl and wget write what they fetch, cookies and traces anywhere; -K and -e bring in options that are not in sight.
    Row { programs: &["curl"], letters: "K", valued: "AbCdEeFHhmPQrTtUuXxYyz", long: &["config"], ..ROW },
    Row {
        programs: &["curl"],
        letters: "oOcDJ",
        valued: "AbCdEeFHhKmPQrTtUuXxYyz",
        long: &[
            "output",
            "output-dir",
            "remote-name",
            "remote-name-all",
            "dump-header",
            "cookie-jar",
            "trace",
            "trace-ascii",
            "stderr",
            "etag-save",
            "hsts",
            "alt-svc",
            "libcurl",
        ],
        does: Writes,
        ..ROW
    },
    Row {
        programs: &["wget", "wget2"],
        letters: "e",
        valued: "AaBDIiloOPQRtTUwX",
        long: &["execute", "use-askpass", "config"],
        ..ROW
    },
    Row {
        programs: &["wget", "wget2"],
        letters: "OPoa",
        valued: "ABDIeilQRtTUwX",
        long: &["output-document", "directory-prefix", "output-file", "append-output"],
        does: Writes,
        ..ROW
    },
    // make takes recipes, its shell and its makefile from the command line.
    Row {
        programs: &["make", "gmake"],
        letters: "fEC",
        valued: "IjlWo",
        long: &["file", "makefile", "eval", "directory"],
        ..ROW
    },
    // Interpreters: code, modules and preloads on the command line.
    Row { programs: &["python", "pypy"], letters: "cm", valued: "WX", ..ROW },
    Row { programs: &["perl"], letters: "eEMmxI", valued: "CFil", ..ROW },
    Row { programs: &["ruby", "lua", "luajit", "Rscript", "osascript", "elixir"], letters: "erI", ..ROW },
    Row {
        programs: &["node", "nodejs", "bun"],
        letters: "epr",
        long: &["eval", "print", "require", "import", "loader", "experimental-loader"],
        ..ROW
    },
    Row { programs: &["deno"], words: &["eval", "repl"], ..ROW },
    Row { programs: &["php"], letters: "rBRE", valued: "dcz", ..ROW },
    // awk: programs and libraries that are not in sight, or in words beside the program.
    Row {
        programs: &["awk", "gawk", "mawk", "nawk"],
        letters: "fEilLW",
        valued: "vF",
        long: &["file", "exec", "include", "load", "source"],
        ..ROW
    },
    // sed: scripts in files; -i writes in place.
    Row { programs: &["sed", "gsed"], letters: "f", valued: "el", long: &["file"], ..ROW },
    Row { programs: &["sed", "gsed"], letters: "iI", valued: "efl", long: &["in-place"], does: Writes, ..ROW },
    // sqlite3: dot commands (.shell), files of them.
    Row { programs: &["sqlite3"], words: &["-cmd", "-init", "--cmd", "--init", "-A"], ..ROW },
    Row { programs: &["psql"], letters: "cfvo", valued: "dhpU", long: &["command", "file"], ..ROW },
    Row {
        programs: &["mysql", "mariadb"],
        letters: "e",
        valued: "Duhp",
        long: &["execute", "pager", "init-command"],
        ..ROW
    },
    // Editors and pagers run commands given at the start.
    Row { programs: &["vi", "vim", "nvim", "ex", "view", "vimdiff"], letters: "cSsuU", long: &["cmd"], ..ROW },
    Row {
        programs: &["emacs"],
        letters: "lf",
        long: &["eval", "load", "funcall", "execute", "script"],
        words: &["-eval", "-load", "-script", "-funcall", "-batch"],
        ..ROW
    },
    Row { programs: &["less"], letters: "k", long: &["lesskey-file", "lesskey-src", "lesskey-content"], ..ROW },
    Row { programs: &["man"], letters: "PHC", valued: "LMmSsrRe", long: &["pager", "html", "config-file"], ..ROW },
    // Archivers and others with a command among their options.
    Row { programs: &["zip"], letters: "T", words: &["-TT"], long: &["unzip-command", "test"], ..ROW },
    Row { programs: &["cpio"], long: &["rsh-command"], ..ROW },
    Row { programs: &["ip"], words: &["exec", "-batch", "-b"], ..ROW },
    Row { programs: &["openssl"], words: &["-engine", "-provider", "-config"], ..ROW },
    Row { programs: &["cargo", "npm", "pnpm", "yarn"], long: &["config", "script-shell", "node-options"], ..ROW },
    Row { programs: &["npm", "pnpm", "yarn", "uv", "pipx"], words: &["exec", "x", "dlx", "tool"], ..ROW },
    Row {
        programs: &["cargo", "go"],
        letters: "",
        long: &["exec", "toolexec"],
        words: &["-exec", "-toolexec", "-vettool"],
        ..ROW
    },
    Row { programs: &["tcpdump"], letters: "z", valued: "BcCDEFGiIMrsTVwWyZ", ..ROW },
    Row { programs: &["rg"], long: &["pre", "hostname-bin"], ..ROW },
];

/// git's settings under which programs are named, or from which other settings come.
const GIT_KEYS: &[&str] = &[
    "alias.",
    "core.",
    "pager.",
    "diff.",
    "merge.",
    "filter.",
    "credential",
    "gpg.",
    "sequence.",
    "interactive.",
    "include",
    "remote.",
    "url.",
    "submodule.",
    "uploadpack",
    "receive",
    "protocol.",
    "browser.",
    "man.",
    "mergetool.",
    "difftool.",
    "web.",
    "instaweb.",
    "sendemail.",
    "ssh.",
    "http",
    "hook",
    "trailer.",
    "tar.",
    "guitool.",
    "safe.",
    "init.templatedir",
    "extensions.",
    "fetch.",
    "gui.",
    "help.",
];

/// git's settings among those that only change how things look.
const GIT_HARMLESS: &[&str] = &[
    "core.quotepath",
    "core.abbrev",
    "core.autocrlf",
    "core.safecrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.longpaths",
    "core.symlinks",
    "diff.renames",
    "diff.algorithm",
    "diff.context",
    "diff.noprefix",
    "diff.mnemonicprefix",
    "merge.conflictstyle",
    "fetch.prune",
    "help.autocorrect=0",
];

/// Variables that make programs run others, or load code.
const VARIABLES: &[&str] = &[
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "SHELL",
    "RSYNC_RSH",
    "CVS_RSH",
    "TAR_OPTIONS",
    "TAPE",
    "RMT_COMMAND",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "SUDO_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_EDITOR",
    "RUSTC_WRAPPER",
    "RUSTC",
    "CC",
    "CXX",
    "IFS",
    "PATH",
    "AWKPATH",
    "VIMINIT",
    "EXINIT",
    "CURL_HOME",
    "WGETRC",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
];

/// Whether setting a variable may have programs run others.
pub(super) fn may_run(variable: &str) -> bool {
    let harmless = variable.starts_with("GIT_AUTHOR_") || variable.starts_with("GIT_COMMITTER_");
    VARIABLES.contains(&variable)
        || ["LD_", "DYLD_", "GIT_", "npm_config_", "CARGO_", "BASH_FUNC"]
            .iter()
            .any(|start| variable.starts_with(start))
            && !harmless
}

/// The words of a command that make its program do more, by their place. Place 0 is the program itself, where it reads
/// commands from its input.
pub(super) fn of(name: &str, words: &[Word]) -> Vec<(usize, Use)> {
    let mut found = Vec::new();
    // Versions: python3.12, lua5.4.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is = |program: &&str| **program == *name || **program == *plain;
    for row in TABLE.iter().filter(|row| row.programs.iter().any(is)) {
        if !row.sub.is_empty() && !words.iter().skip(1).any(|word| word.text == row.sub) {
            continue;
        }
        for (at, word) in words.iter().enumerate().skip(1) {
            if row.hits(&word.text) || at == 1 && row.is_old_cluster(&word.text) {
                found.push((at, row.does));
            }
        }
    }
    match plain {
        "git" => git(words, &mut found),
        "sed" | "gsed" => sed::read(words, &mut found),
        "awk" | "gawk" | "mawk" | "nawk" => awk(words, &mut found),
        "make" | "gmake" => each(words, &mut found, |text| !text.starts_with('-') && text.contains('=')),
        "vi" | "vim" | "nvim" | "ex" | "view" | "vimdiff" | "less" => {
            each(words, &mut found, |text| text.starts_with('+'));
        }
        "sqlite" => {
            let script = |text: &str| {
                let lower = text.to_lowercase();
                lower.lines().any(|line| {
                    line.trim_start().starts_with('.') && !line.starts_with("./") && !line.starts_with("..")
                }) || ["load_extension", "edit(", "writefile", "fts3_tokenizer"].iter().any(|call| lower.contains(call))
            };
            each(words, &mut found, script);
            // Without a statement it reads its input.
            if words.iter().skip(1).filter(|word| !word.text.starts_with('-')).count() < 2 {
                found.push((0, Runs));
            }
        }
        "ed" | "red" | "ftp" | "gnuplot" | "bc" | "psql" | "mysql" | "mariadb" if words.len() < 2 => {
            found.push((0, Runs));
        }
        "ed" => found.push((0, Runs)),
        _ => {}
    }
    found.sort_by_key(|(at, _)| *at);
    found.dedup();
    found
}

fn each(words: &[Word], found: &mut Vec<(usize, Use)>, runs: impl Fn(&str) -> bool) {
    found.extend(words.iter().enumerate().skip(1).filter(|(_, word)| runs(&word.text)).map(|(at, _)| (at, Runs)));
}

impl Row {
    fn hits(&self, text: &str) -> bool {
        if self.words.contains(&text) {
            return true;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            return !name.is_empty() && self.long.iter().any(|option| option.starts_with(name));
        }
        text.strip_prefix('-').is_some_and(|cluster| {
            cluster
                .chars()
                .find(|letter| self.letters.contains(*letter) || self.valued.contains(*letter))
                .is_some_and(|letter| self.letters.contains(letter))
        })
    }

    /// `tar xIf`: the first word without a dash, whose values all follow it.
    fn is_old_cluster(&self, text: &str) -> bool {
        self.programs.contains(&"tar") && !text.starts_with('-') && text.contains(|c| self.letters.contains(c))
    }
}

fn git(words: &[Word], found: &mut Vec<(usize, Use)>) {
    for (at, word) in words.iter().enumerate().skip(1) {
        let setting = match word.text.as_str() {
            "-c" => words.get(at + 1).map(|next| (at + 1, next.text.as_str(), next.known)),
            text => text.strip_prefix("-c").filter(|rest| !rest.starts_with('-')).map(|rest| (at, rest, word.known)),
        };
        if let Some((at, text, known)) = setting {
            let lower = text.to_lowercase();
            let runs = GIT_KEYS.iter().any(|key| lower.starts_with(key))
                && !GIT_HARMLESS
                    .iter()
                    .any(|key| lower.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')));
            if runs || !known {
                found.push((at, Runs));
            }
        }
        // `ext::sh -c …` as an address.
        if word.text.contains("ext::") {
            found.push((at, Runs));
        }
    }
}

/// awk's program may pipe, call `system`, write with `print >`, and call functions by a name it has put together.
fn awk(words: &[Word], found: &mut Vec<(usize, Use)>) {
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        let program = !text.starts_with('-') && !found.iter().any(|(at, _)| *at > 0);
        if ["system", "|", "getline", "@"].iter().any(|way| text.contains(way)) || program && at == 1 && !word.known {
            found.push((at, Runs));
        } else if text.contains("print") && text.contains('>') {
            found.push((at, Writes));
        }
    }
}

#[cfg(test)]
mod tests;
