//! Every environment variable that toolcrib itself reads. (Those that files refer to are up to the files.)

/// A variable and the key it sets.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The key path it sets; empty for those that are read elsewhere.
    pub key: &'static str,
    /// What it does.
    pub purpose: &'static str,
}

/// All of them.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "TOOLCRIB_CONFIG",
        key: "",
        purpose: "Configuration files, separated as in PATH; used when no --config is given.",
    },
    Variable { name: "TOOLCRIB_PROFILE", key: "profile", purpose: "The default profile." },
    Variable { name: "TOOLCRIB_STORE", key: "store.path", purpose: "The SQLite file." },
    Variable { name: "TOOLCRIB_LISTEN", key: "gateway.listen", purpose: "Address to listen on." },
    Variable { name: "TOOLCRIB_TRUST", key: "permissions.trust", purpose: "none, configured or all." },
    Variable { name: "TOOLCRIB_DISCLOSURE", key: "disclosure.enabled", purpose: "auto, on or off." },
    Variable { name: "TOOLCRIB_LOG", key: "", purpose: "Log filter, such as info or toolcrib=debug." },
];
