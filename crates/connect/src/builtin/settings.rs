//! Settings of the built-in tools.

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use super::Root;
use crate::net::EgressPolicy;

/// Which built-in tools there are and how far they reach.
#[derive(Clone, Debug)]
pub struct BuiltinSettings {
    /// Folders the file tools may use; relative paths count from the first. Default none, which leaves the file tools
    /// out.
    pub roots: Vec<Root>,
    /// Bounds of `read_file`.
    pub read: ReadLimits,
    /// What `run_command` may run. Default nothing, which leaves the tool out.
    pub commands: CommandSettings,
    /// Where `fetch_url` may go; none leaves the tool out. Default public addresses.
    pub fetch: Option<EgressPolicy>,
    /// The key-value tools.
    pub key_values: KeyValueSettings,
}

impl Default for BuiltinSettings {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            read: ReadLimits::default(),
            commands: CommandSettings::default(),
            fetch: Some(EgressPolicy::default()),
            key_values: KeyValueSettings::default(),
        }
    }
}

/// Most of a file that one call of `read_file` returns.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Lines. Default 2,000.
    pub lines: usize,
    /// Characters. Default 100,000.
    pub chars: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { lines: 2_000, chars: 100_000 }
    }
}

/// Which programs `run_command` may start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Commands {
    /// None.
    #[default]
    Off,
    /// Exactly these, as the call names them: `git` allows `git`, not `./git` or `/tmp/git`.
    Only(Vec<String>),
    /// Whatever the user who runs toolcrib may run.
    Any,
}

impl Commands {
    pub(crate) fn any(&self) -> bool {
        match self {
            Self::Off => false,
            Self::Only(names) => !names.is_empty(),
            Self::Any => true,
        }
    }
}

/// Settings of `run_command`.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// What may be started.
    pub allowed: Commands,
    /// Time a command gets if the call does not say. Default 60 s.
    pub default_timeout: Duration,
    /// Most time a call may ask for. Default 10 min.
    pub max_timeout: Duration,
    /// Characters of output kept of each stream, half from its beginning, half from its end. Default 30,000.
    pub output_chars: usize,
    /// The whole environment of the command. Default: [`CommandSettings::inherited_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// The binary whose `__guard` command ends the command with all it started when this process is killed outright.
    /// An absolute path. Default none: what runs then goes on.
    pub guard: Option<PathBuf>,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            allowed: Commands::Off,
            default_timeout: Duration::from_mins(1),
            max_timeout: Duration::from_mins(10),
            output_chars: 30_000,
            environment: Self::inherited_environment(),
            guard: None,
        }
    }
}

impl CommandSettings {
    /// Of this process's environment what programs need to find their way, and nothing that could hold a secret or
    /// load code: search path, home, user, language, time zone, temporary folder.
    pub fn inherited_environment() -> Vec<(OsString, OsString)> {
        const NAMES: [&str; 10] =
            ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];
        NAMES.iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect()
    }
}

/// Settings of the key-value tools.
#[derive(Clone, Debug)]
pub struct KeyValueSettings {
    /// Whose values these are. Default `default`.
    pub namespace: String,
    /// Most keys. Default 1,000.
    pub max_keys: usize,
    /// Most bytes of one value. Default 64 KiB.
    pub max_value_bytes: usize,
}

impl Default for KeyValueSettings {
    fn default() -> Self {
        Self { namespace: "default".to_owned(), max_keys: 1_000, max_value_bytes: 64 * 1024 }
    }
}
