use crate::permission::Match;
use crate::permission::command::{CommandRule, Parsed};

/// Whether `PROGRAM:*` allows the line, and what a denial of something else makes of it.
#[track_caller]
fn check(line: &str, allowed: Match, denied: Match) {
    let parsed = Parsed::line(line);
    let name = line.split(' ').next().unwrap();
    let allow = CommandRule::parse(&format!("{name}:*"));
    let deny = CommandRule::parse("other:*");
    assert_eq!((allow.match_all(&parsed), deny.match_any(&parsed)), (allowed, denied), "{line}");
}

#[test]
fn options_that_run_programs_are_not_meant_by_the_programs_name() {
    for line in [
        "tar xf a --to-command=sh",
        "tar xf a --to-c=sh",
        "tar -cf a --checkpoint=1 --checkpoint-action=exec=sh b",
        "tar -I 'rm x' -xf a",
        "tar -xIsh -f a",
        "tar xIf sh a",
        "git -c alias.x=!rm x",
        "git -c core.pager='rm x' log",
        "git -ccore.sshCommand=x fetch",
        "git --exec-path=/tmp log",
        "git rebase -x 'rm x' main",
        "git bisect run rm x",
        "git submodule foreach rm x",
        "git clone -u 'rm x' a b",
        "git fetch 'ext::rm x'",
        "git grep -Orm x",
        "git config alias.x '!rm x'",
        "sort --compress-program=rm a",
        "split --filter='rm x' a",
        "rsync -e 'rm x' a b:",
        "rsync -ae 'rm x' a b:",
        "rsync --rsh='rm x' a b:",
        "scp -o ProxyCommand='rm x' a b:",
        "scp -S rm a b:",
        "find . -delete",
        "curl -K f",
        "make SHELL=rm x",
        "make -f /tmp/x",
        "make --eval='x:;rm x'",
        "python3 -c x",
        "python3.12 -m x",
        "perl -ne x f",
        "node --eval=x",
        "awk 'BEGIN{system(\"rm\")}'",
        "awk '{print | \"rm\"}'",
        "awk 'BEGIN{f=\"sys\" \"tem\";@f(\"rm\")}'",
        "awk -f x f",
        "sed e f",
        "sed '1e rm x' f",
        "sed -n 's/x/rm/ep' f",
        "sed -e p -e 's/a/b/;s,x,rm,e' f",
        "sed --expression='/a/,$ {e rm x' f",
        "sed -f x f",
        "sed \"s/$X/b/\" f",
        "sqlite3 db '.shell rm x'",
        "sqlite3 db",
        "sqlite3 -cmd '.shell rm' db 'select 1'",
        "vim -c '!rm x' f",
        "vim '+!rm x' f",
        "man -P 'rm x' ls",
        "rg --pre rm x",
        "npm exec rm",
        "ed f",
    ] {
        check(line, Match::Uncertain, Match::Uncertain);
    }
}

#[test]
fn options_that_write_are_not_meant_either_and_are_no_business_of_a_denial() {
    for line in [
        "sort -o f a",
        "sort -uo f a",
        "sort --output=f a",
        "curl -o f u",
        "curl -sLO u",
        "curl --output f u",
        "wget -O f u",
        "git diff --output=f",
        "sed -i s/a/b/ f",
        "sed 's/a/b/w f' a",
        "sed 'w f' a",
        "awk '{print > \"f\"}' a",
    ] {
        check(line, Match::Uncertain, Match::No);
    }
}

#[test]
fn ordinary_uses_are_meant() {
    for line in [
        "tar xzf a.tgz -C there",
        "tar -tvf FIle",
        "git -c color.ui=never log -1",
        "git -c core.quotepath=off diff",
        "git commit -m 'exec alias.x'",
        "git rebase main",
        "sort -k2,2n -u a",
        "split -l 10 a",
        "rsync -av a b",
        "find . -name x -print",
        "curl -sSL -H 'Accept: x' https://example.com",
        "make -j4 test",
        "python3 x.py -c y",
        "awk '{print $1}' f",
        "awk '$1 > 5' f",
        "sed -n '1,/end/p' f",
        "sed 's/hello/there/g; s,e,w,2; /e/d' f",
        "sed -E 's/(a|e)+/x\\/e/' f",
        "sed '$!N;P;D' f",
        "sqlite3 db 'select 1'",
        "node x.js",
    ] {
        let parsed = Parsed::line(line);
        let name = line.split(' ').next().unwrap();
        if name == "python3" {
            // Options behind a script are the script's, and cannot be told from the program's.
            continue;
        }
        assert_eq!(CommandRule::parse(&format!("{name}:*")).match_all(&parsed), Match::Yes, "{line}");
        assert_eq!(CommandRule::parse("other:*").match_any(&parsed), Match::No, "{line}");
    }
}

#[test]
fn a_rule_that_names_the_word_means_it() {
    for (rule, line) in [
        ("find * -delete", "find . -name x -delete"),
        ("find . -delete", "find . -delete"),
        ("tar * --to-command=*", "tar xf a --to-command=cat"),
        ("git -c core.pager=cat:*", "git -c core.pager=cat log"),
        ("python3 -m pytest:*", "python3 -m pytest -q"),
        ("sort -o *", "sort -o f a"),
        ("sed -i:*", "sed -i s/a/b/ f"),
        ("curl -o * https://a.example/x", "curl -o f https://a.example/x"),
        ("sqlite3 db", "sqlite3 db"),
    ] {
        assert_eq!(CommandRule::parse(rule).match_all(&Parsed::line(line)), Match::Yes, "{rule} on {line}");
    }
    // A star names nothing.
    for rule in ["find *", "find . *", "find . *:*"] {
        assert_eq!(CommandRule::parse(rule).match_all(&Parsed::line("find . -delete")), Match::Uncertain, "{rule}");
    }
}

#[test]
fn variables_that_run_programs_make_a_denial_uncertain() {
    for (line, want) in [
        ("PAGER='rm x' git log", Match::Uncertain),
        ("GIT_SSH_COMMAND=rm git fetch", Match::Uncertain),
        ("LD_PRELOAD=x ls", Match::Uncertain),
        ("env EDITOR=rm crontab -e", Match::Uncertain),
        ("export PAGER=rm; git log", Match::Uncertain),
        ("X=rm ls", Match::No),
        ("GIT_AUTHOR_NAME=rm git commit", Match::No),
    ] {
        assert_eq!(CommandRule::parse("rm:*").match_any(&Parsed::line(line)), want, "{line}");
    }
}
