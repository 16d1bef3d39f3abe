use proptest::prelude::*;

use super::*;

struct World;

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "A" => Some("alpha".into()),
            "NESTED" => Some("${A}".into()),
            "EMPTY" => Some(String::new()),
            "HOME" => Some("/home/u".into()),
            _ => None,
        }
    }

    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match path.to_str() {
            Some("/conf/key" | "/home/u/key") => Ok(b"from file\n".to_vec()),
            Some("/conf/bin") => Ok(vec![0xff]),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

#[track_caller]
fn check(text: &str, want: &str) {
    assert_eq!(expand(text, Path::new("/conf"), &World).as_deref(), Ok(want));
}

#[track_caller]
fn fails(text: &str, want: &str) {
    let error = expand(text, Path::new("/conf"), &World).unwrap_err().to_string();
    assert!(error.contains(want), "{error}");
}

#[test]
fn every_form_expands() {
    check("x ${A} y ${A}", "x alpha y alpha");
    check("${env:A}", "alpha");
    check("${NO:-d}", "d");
    check("${env:NO:-d:e}", "d:e");
    check("${EMPTY:-d}", "d");
    check("${EMPTY}", "");
    check("${NO:-}", "");
    check("${NESTED}", "${A}");
    check("$${A}", "${A}");
    check("$A $ $$", "$A $ $$");
    check("${file:key}", "from file");
    check("${file:~/key}", "from file");
    check("${workspaceFolder}/x", "/conf/x");
    check("${userHome}", "/home/u");
}

/// What everybody knows is not hidden; a variable that only begins like it is.
#[test]
fn only_well_known_places_are_no_secrets() {
    struct Env;
    impl Surroundings for Env {
        fn variable(&self, name: &str) -> Option<String> {
            Some(format!("value of {name}"))
        }
        fn read(&self, _path: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }
        fn working_dir(&self) -> Option<std::path::PathBuf> {
            None
        }
    }
    #[track_caller]
    fn check(text: &str, hidden: &[&str]) {
        assert_eq!(values(text, Path::new("/conf"), &Env), hidden, "{text}");
    }
    check("${HOME} ${env:PWD} ${USER:-x} ${workspaceFolder} ${workspaceFolderBasename} ${userHome} ${/}", &[]);
    check("${HOMEBREW_GITHUB_API_TOKEN}", &["value of HOMEBREW_GITHUB_API_TOKEN"]);
    check("${env:USER_TOKEN} ${PWD_PROD:-x}", &["value of USER_TOKEN", "value of PWD_PROD"]);
}

#[test]
fn what_leads_nowhere_is_named() {
    fails("${NO}", "environment variable NO is not set");
    fails("${file:none}", "file none cannot be used");
    fails("${file:bin}", "not UTF-8");
    fails("${input:token}", "asks in VS Code");
    fails("${cmd:rm -rf}", "${cmd:…} is not supported");
    fails("a ${A", "without its '}'");
}

proptest! {
    #[test]
    fn text_without_references_stays(text in "[^$]*") {
        prop_assert_eq!(expand(&text, Path::new("."), &World).unwrap(), text);
    }

    #[test]
    fn an_escaped_text_comes_out_as_it_was(text in "\\PC*") {
        let escaped = text.replace("${", "$${");
        prop_assert_eq!(expand(&escaped, Path::new("."), &World).unwrap(), text);
    }
}
