//! The command line, as typed. Every command, flag and help text is in this file.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// All your agents' tools behind one counter.
///
/// Gathers MCP servers and built-in tools, shows a model few of them at a time and runs its calls.
/// Data goes to standard output, everything else to standard error.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 the tool or check reported failure, 2 usage or configuration error, 3 denied, 4 source or server unavailable.\nConfiguration: toolcrib.toml (.yaml, .json) or .mcp.json in the working directory, then the user's config folder; see docs/config.md."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Log more: -v calls and state changes, -vv everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve all tools to MCP clients.
    Serve(ServeArgs),
    /// List the tools in effect.
    Tools(ToolsArgs),
    /// Show what tool_search would answer.
    Search(SearchArgs),
    /// Show what tool_describe would answer.
    Show(ShowArgs),
    /// Call a tool through the whole call path.
    Call(CallArgs),
    /// Print the assembled tool set for a target.
    Assemble(AssembleArgs),
    /// Say why a tool is shown, deferred, hidden or quarantined.
    Explain(ExplainArgs),
    /// Check configuration, sources and store, and say what is wrong.
    Doctor(DoctorArgs),
    /// Take over the server lists of other clients.
    Import(ImportArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Where tools come from and what is done to them; on every command that assembles.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sources and policy")]
pub struct SourceArgs {
    /// Configuration file; may be given several times, later ones win. Replaces the search for one.
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// Also offer the definitions in these files (not callable): JSON tool list or JSONL.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub catalog: Vec<PathBuf>,
    /// Apply this profile of the configuration.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Only tools that this selector names; may be given several times.
    #[arg(long, value_name = "SEL")]
    pub allow: Vec<String>,
    /// No tools that this selector names; wins over --allow.
    #[arg(long, value_name = "SEL")]
    pub deny: Vec<String>,
    /// Whether tools are deferred behind the bridge: auto, on, off (off = everything inline).
    #[arg(long, value_name = "MODE", value_enum)]
    pub disclosure: Option<DisclosureMode>,
}

/// How long a one-shot command waits.
#[derive(Clone, Debug, Args)]
pub struct WaitArgs {
    /// Wait at most this many seconds for servers to start.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub wait: u64,
}

/// When tools are deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DisclosureMode {
    /// Whenever there is something to defer.
    Auto,
    /// The same.
    On,
    /// Never.
    Off,
}

/// Whom calls are trusted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrustLevel {
    /// Every call needs an allow rule.
    None,
    /// Tools of configured sources run.
    Configured,
    /// Everything runs.
    All,
}

/// `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Speak MCP on standard input and output.
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
    /// Speak MCP over HTTP on this address. Default: gateway.listen of the configuration.
    #[arg(long, value_name = "ADDR")]
    pub http: Option<String>,
    /// Whom calls are trusted to. Default: configured on stdio and loopback, else none.
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub trust: Option<TrustLevel>,
}

/// `tools`.
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// What you want to do, in a few words.
    #[arg(required = true, num_args = 1..)]
    pub query: Vec<String>,
    /// Most matches.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The tool's exposed name.
    pub name: String,
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `call`.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool's exposed name.
    pub name: String,
    /// Its arguments as a JSON object; `-` reads them from standard input.
    pub arguments: Option<String>,
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Whom calls are trusted to. Default: configured.
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub trust: Option<TrustLevel>,
    /// Print the whole result as one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `assemble`.
#[derive(Debug, Args)]
pub struct AssembleArgs {
    /// For whom: mcp.
    #[arg(long = "for", value_name = "TARGET", default_value = "mcp")]
    pub target: String,
    /// The model's context length in tokens.
    #[arg(long, value_name = "N")]
    pub context_length: Option<u64>,
    /// The model, where the target depends on it.
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Exposed name, identity (mcp:SERVER/tool) or a server's own name; * for every tool.
    pub name: String,
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Where tools come from.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// claude-desktop, claude-code, cursor, vscode, codex, or a file; all known clients if left out.
    pub from: Option<String>,
    /// The configuration to add to.
    #[arg(long, value_name = "FILE", default_value = "toolcrib.toml")]
    pub into: PathBuf,
    /// Replace servers that are already there.
    #[arg(long)]
    pub force: bool,
    /// Only say what would be done.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
