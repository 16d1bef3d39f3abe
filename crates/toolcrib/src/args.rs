//! The command line, as typed. Every command, flag and help text is in this file and those below it.

mod tools;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use toolcrib_core::search::RankerKind;

pub(crate) use self::tools::{GroupBy, PermissionArg, SetArgs, SwitchArgs, ToolsAction, ToolsArgs};

/// All your agents' tools behind one counter.
///
/// Gathers MCP servers and built-in tools, shows a model few of them at a time and runs its calls.
/// Data goes to standard output, everything else to standard error.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 the tool or check reported failure, 2 usage or configuration error, 3 denied, 4 source or server unavailable.\nConfiguration: toolcrib.toml (.yaml, .json) or .mcp.json in the working directory, then the user's config folder; see docs/config.md."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Log more: -v calls and state changes, -vv everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve all tools to MCP clients.
    Serve(ServeArgs),
    /// List the tools in effect; switch and label tools.
    Tools(Box<ToolsArgs>),
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
    /// Check the definitions of all tools: attacks in their texts, duplicates, what providers refuse.
    ///
    /// The codes are in docs/lint.md. Printed are errors and warnings; --level info or --json has the rest.
    Lint(LintArgs),
    /// Check configuration, sources and store, and say what is wrong.
    Doctor(LookArgs),
    /// See which plugins there are and how they stand; add, remove and check them.
    Plugins(PluginsArgs),
    /// See what waits for a person's approval, and answer it.
    Approvals(ApprovalsArgs),
    /// Show what ran, export it, or check that the record is whole.
    Audit(AuditArgs),
    /// Show how often tools ran, how they ended and how long they took.
    Stats(StatsArgs),
    /// Measure how well tools are found, on labelled queries or on what was searched for and called.
    ///
    /// With --queries or --sets it needs no configuration and starts no server. A line of --tools is {"id","name","description","parameters","server"};
    /// without "id" a tool goes by server:name, else by its name. A line of --queries is {"query","gold":[ids]}, with
    /// "grades" (id to number), "style" or "kind", "server_hint" if known. An empty "gold" says that no tool answers: whatever is found
    /// is junk. Intervals are 95 % bootstrap intervals over the queries.
    Eval(EvalArgs),
    /// Show or forget what searches have learnt from use.
    Learned(LearnedArgs),
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
pub(crate) struct SourceArgs {
    /// Configuration file; may be given several times, later ones win. Replaces the search for one.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
    /// Also offer the definitions in these files (not callable): JSON tool list or JSONL.
    /// Several files may follow one flag.
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Vec<PathBuf>,
    /// Apply this profile of the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Only tools that this selector names; may be given several times.
    #[arg(long, value_name = "SEL")]
    pub(crate) allow: Vec<String>,
    /// No tools that this selector names; wins over --allow.
    #[arg(long, value_name = "SEL")]
    pub(crate) deny: Vec<String>,
    /// Whether tools are deferred behind the bridge: auto, on, off (off = everything inline).
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) disclosure: Option<DisclosureMode>,
    /// As whom.
    #[command(flatten)]
    pub(crate) whom: WhomArgs,
}

/// As whom tools are looked at, called and served.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "As whom")]
pub(crate) struct WhomArgs {
    /// The agent, by its name in the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The agent that started this one; given several times, the outermost first.
    #[arg(long, value_name = "AGENT")]
    pub(crate) parent: Vec<String>,
    /// What part the agent plays: coordinator, orchestrator or leaf.
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// The model that will see the tools, as PROVIDER/MODEL. For `assemble` it says the context length, whose tokens are
    /// counted, how deferred tools are loaded and what strict mode takes; an unknown one gets what is safe everywhere.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The channel or group of the conversation, as CHANNEL or CHANNEL:ID.
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// Who wrote there: id:…, phone:…, username:… or name:…; may be given several times for one sender.
    #[arg(long, value_name = "KIND:VALUE")]
    pub(crate) sender: Vec<String>,
    /// The owner asks. Without --channel and --sender that is so anyway.
    #[arg(long)]
    pub(crate) owner: bool,
    /// The agent runs in a sandbox.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// What the client can do; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) capability: Vec<String>,
    /// A tool that must not be missing; may be given several times.
    #[arg(long, value_name = "SEL")]
    pub(crate) require: Vec<String>,
    /// Grant this optional tool for this run, by its identity; may be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) grant: Vec<String>,
    /// Callers come over the network, and are nobody until they show who they are.
    #[arg(skip)]
    pub(crate) remote: bool,
}

/// What all one-shot commands take.
#[derive(Clone, Debug, Args)]
pub(crate) struct LookArgs {
    /// Where tools come from.
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Wait at most this many seconds for servers to start.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) wait: u64,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `plugins`.
#[derive(Debug, Args)]
pub(crate) struct PluginsArgs {
    /// What to do; without anything, plugins are listed.
    #[command(subcommand)]
    pub(crate) action: Option<PluginsAction>,
    /// Configuration file; may be given several times, later ones win.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Vec<PathBuf>,
    /// Wait at most this many seconds for plugins to start.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, global = true)]
    pub(crate) wait: u64,
    /// Print one JSON document.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do about plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginsAction {
    /// List them: how they run, how they stand, what is odd about them.
    List,
    /// Check the plugin in a folder, and copy it to where plugins are.
    ///
    /// That is the first of plugins.folders that holds plugins; where none is configured, your own folder of plugins. What
    /// `check` finds wrong with it is told, and nothing is copied.
    Add {
        /// The folder.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Replace the plugin of that id.
        #[arg(long)]
        force: bool,
    },
    /// Delete a plugin's folder from where plugins are.
    Remove {
        /// Its id.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Start the plugin in a folder and hold what it offers against its manifest. Calls nothing.
    ///
    /// Also told: an id that is taken, and what it requires and is not there.
    Check {
        /// The folder.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

/// When tools are deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DisclosureMode {
    /// Whenever there is something to defer.
    Auto,
    /// The same.
    On,
    /// Never.
    Off,
}

/// Whom calls are trusted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustLevel {
    /// Every call needs an allow rule.
    None,
    /// Tools of configured sources run.
    Configured,
    /// Everything runs.
    All,
}

/// `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where tools come from.
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Speak MCP on standard input and output.
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Speak MCP over HTTP on this address. Default: gateway.listen of the configuration.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// Whom calls are trusted to. Default: configured on stdio and loopback, else none.
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) trust: Option<TrustLevel>,
}

/// `search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What you want to do, in a few words; or select:NAME,NAME, the beginning of a name (slack__), +word for a word that
    /// must be there, SERVER: words.
    #[arg(required = true, num_args = 1..)]
    pub(crate) query: Vec<String>,
    /// One more query in the same search; may be given several times.
    #[arg(long, value_name = "QUERY")]
    pub(crate) also: Vec<String>,
    /// Most matches of each query.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Pass over this many matches.
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<usize>,
    /// The server to stay in, or words about it.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Only tools of this source (mcp:github), kind of source (builtin, mcp, plugin) or label.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Only tools with this tag.
    #[arg(long, value_name = "TAG")]
    pub(crate) category: Option<String>,
    /// Only tools that say that they change nothing.
    #[arg(long)]
    pub(crate) readonly: bool,
    /// Say of each match why it was found.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The tool's exposed name.
    pub(crate) name: String,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// `call`.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool's exposed name.
    pub(crate) name: String,
    /// Its arguments as a JSON object; `-` reads them from standard input.
    pub(crate) arguments: Option<String>,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Whom calls are trusted to. Default: configured.
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) trust: Option<TrustLevel>,
    /// Idempotency key: with the same key a call runs once, and its result is given again.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

/// `approvals`.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// What to do; without anything, what waits is listed.
    #[command(subcommand)]
    pub(crate) action: Option<ApprovalsAction>,
    /// Configuration file; may be given several times, later ones win.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do about approvals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsAction {
    /// List requests; those that wait, unless --all.
    List {
        /// Also those that were answered or expired.
        #[arg(long)]
        all: bool,
    },
    /// Show one request with everything it is about.
    Show {
        /// The request's handle, or the start of it.
        id: String,
    },
    /// Let the call run.
    Approve {
        /// The request's handle, or the start of it.
        id: String,
        /// How far: this call once, the caller's session, or until revoked.
        #[arg(long = "for", value_name = "REACH", value_enum, default_value_t = ReachArg::Once)]
        reach: ReachArg,
        /// Take the wider pattern with this number, as `show` lists them, instead of exactly these arguments.
        #[arg(long, value_name = "N")]
        pattern: Option<usize>,
    },
    /// Refuse the call.
    Deny {
        /// The request's handle, or the start of it.
        id: String,
        /// How far: this call, the caller's session, or always (never ask again).
        #[arg(long = "for", value_name = "REACH", value_enum, default_value_t = ReachArg::Once)]
        reach: ReachArg,
    },
    /// Wait for requests and print each as it comes; on a terminal, ask for the answer.
    Watch,
    /// List what has been granted.
    Grants,
    /// Take back what was granted.
    Revoke {
        /// The grant's handle, or the start of it.
        id: String,
    },
    /// Give a suspended tool what it waits for.
    Reply {
        /// What the tool goes by: its correlation id.
        correlation: String,
        /// The answer; `-` reads it from standard input.
        text: String,
    },
}

/// How far an answer reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReachArg {
    /// This call.
    Once,
    /// Until the caller's session ends.
    Session,
    /// Until it is revoked.
    Always,
}

/// `audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Configuration file; may be given several times, later ones win.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
    /// Only this tool (mcp:SERVER/tool), or this source (mcp:SERVER/).
    #[arg(long, value_name = "ID")]
    pub(crate) tool: Option<String>,
    /// Only calls that ended so: ok, tool_error, denied, invalid, timed_out, cancelled, unavailable, unknown.
    #[arg(long, value_name = "WORD")]
    pub(crate) outcome: Option<String>,
    /// Only calls of this user.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only from this age (90s, 15m, 2h, 7d) or time on.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// The last so many records.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) limit: usize,
    /// Go on printing records as they come.
    #[arg(long, conflicts_with_all = ["export", "verify"])]
    pub(crate) follow: bool,
    /// Write all records that match to a new file, one JSON object a line; - writes to standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    pub(crate) export: Option<String>,
    /// Check that no record was changed, removed or inserted.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Configuration file; may be given several times, later ones win.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
    /// Calls from this age (90s, 15m, 2h, 7d) or time on.
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    pub(crate) since: String,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `assemble`.
#[derive(Debug, Args)]
pub(crate) struct AssembleArgs {
    /// For whom: mcp, anthropic, openai-chat, openai-responses, gemini, gemini-parameters, bedrock, mistral, ollama,
    /// deepseek, xai or groq.
    #[arg(long = "for", value_name = "TARGET", default_value = "mcp")]
    pub(crate) target: String,
    /// The model's context length in tokens.
    #[arg(long, value_name = "N")]
    pub(crate) context_length: Option<u64>,
    /// Instead of the set, print what differs between two: each a file that `assemble --json` wrote, or a scope such as
    /// profile=coding or agent=lead,model=openai/gpt-5 on top of the other flags.
    #[arg(
        long, value_names = ["A", "B"], num_args = 2,
        conflicts_with_all = ["transcript", "previous", "for_task", "budget"]
    )]
    pub(crate) diff: Vec<String>,
    /// The conversation so far: messages of any provider, as JSON or one a line; - reads them from standard input. Deferred
    /// tools that it shows to be known are appended (docs/conversations.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<PathBuf>,
    /// The `turn` that the last answer held, as JSON. What was shown stays in its place, and what changed is told.
    #[arg(long, value_name = "FILE")]
    pub(crate) previous: Option<PathBuf>,
    /// Show the tools that answer this from the start, best first, at most ten of them.
    #[arg(long, value_name = "TEXT")]
    pub(crate) for_task: Option<String>,
    /// Most tokens that all definitions may take. Without --for-task and --transcript as many tools are shown as fit.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// `lint`.
#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Hold the tools against this target only; may be given several times. Default: all targets.
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,
    /// End with 1 if there is a finding of this severity or a worse one.
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Error)]
    pub(crate) fail_on: FailOn,
    /// Print findings of this severity and worse ones. --json has all.
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = Level::Warning)]
    pub(crate) level: Level,
    /// Leave out the findings that this file accepts.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Accept all findings as they are: write them to this file and end.
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// What makes `lint` fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors.
    Error,
    /// Warnings and errors.
    Warning,
    /// Anything.
    Info,
    /// Nothing.
    Never,
}

/// What `lint` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Errors.
    Error,
    /// Warnings too.
    Warning,
    /// Everything.
    Info,
}

/// `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Exposed name, identity (mcp:SERVER/tool) or a server's own name; * for every tool.
    pub(crate) name: String,
    /// Also say what would become of a call with these arguments, a JSON object: whether it runs, asks or is refused.
    #[arg(long, value_name = "JSON")]
    pub(crate) with: Option<String>,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// `eval`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["queries", "sets", "from_traffic"]))]
pub(crate) struct EvalArgs {
    /// The tools to search, JSONL or a saved tool list; several files make one catalog.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "queries")]
    pub(crate) tools: Vec<PathBuf>,
    /// The queries and which tools answer them, JSONL.
    #[arg(long, value_name = "FILE", requires = "tools")]
    pub(crate) queries: Option<PathBuf>,
    /// Measure every set in this folder, each a folder with tools.jsonl and queries.jsonl, and their plain mean.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) sets: Option<PathBuf>,
    /// Take the queries from the record of calls: a search, and the tools that then ran in the same session. Searches
    /// the tools of the configuration.
    #[arg(long)]
    pub(crate) from_traffic: bool,
    /// With --from-traffic: only from this age (90s, 15m, 2h, 7d) or time on.
    #[arg(long, value_name = "WHEN", requires = "from_traffic", conflicts_with_all = ["sets", "queries"])]
    pub(crate) since: Option<String>,
    /// With --from-traffic: only of this tenant.
    #[arg(long, value_name = "NAME", requires = "from_traffic", conflicts_with_all = ["sets", "queries"])]
    pub(crate) tenant: Option<String>,
    /// With --from-traffic: also write the set to this new folder, as --sets reads it.
    #[arg(long, value_name = "FOLDER", requires = "from_traffic", conflicts_with_all = ["sets", "queries"])]
    pub(crate) write: Option<PathBuf>,
    /// The rankers to measure, separated by commas: hybrid, lexical, bm25. Default: hybrid. The reference, bm25, ranks by
    /// words alone; others answer as tool_search does.
    #[arg(long, value_name = "NAME", value_parser = ranker, value_delimiter = ',')]
    pub(crate) ranker: Vec<RankerKind>,
    /// Measure two rankers and test, query by query, how B differs from A.
    #[arg(long, value_names = ["A", "B"], num_args = 2, value_parser = ranker, conflicts_with = "ranker")]
    pub(crate) compare: Vec<RankerKind>,
    /// Give each query's "server_hint" along, as the server argument of tool_search does.
    #[arg(long)]
    pub(crate) hints: bool,
    /// Learn from half of the queries as if they were past use, and measure the other half without and with that.
    #[arg(long, conflicts_with = "compare")]
    pub(crate) learn: bool,
    /// Measure the default ranker without and with the encoder of the configuration (search.encoder).
    #[arg(long, conflicts_with_all = ["compare", "learn", "ranker"])]
    pub(crate) encoder: bool,
    /// The same with the static model in this folder.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["compare", "learn", "ranker", "encoder"])]
    pub(crate) encoder_folder: Option<PathBuf>,
    /// Also list the first N queries that found nothing right among their first five hits.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["compare", "learn", "json", "encoder", "encoder_folder"])]
    pub(crate) misses: usize,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

fn ranker(name: &str) -> Result<RankerKind, String> {
    name.parse().map_err(|error: toolcrib_core::search::UnknownRanker| error.to_string())
}

/// `learned`.
#[derive(Debug, Args)]
pub(crate) struct LearnedArgs {
    /// Configuration file; may be given several times, later ones win.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
    /// Of this tenant. Default: the tenant without a name, the only one on a machine of one user.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) tenant: String,
    /// The strongest so many pairs.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Forget all of it.
    #[arg(long)]
    pub(crate) forget: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// claude-desktop, claude-code, cursor, vscode, codex, or a file; all known clients if left out.
    pub(crate) from: Option<String>,
    /// The configuration to add to.
    #[arg(long, value_name = "FILE", default_value = "toolcrib.toml")]
    pub(crate) into: PathBuf,
    /// Replace servers that are already there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Lets several files follow one `--catalog`, as a shell's `*.json` writes them, without taking what is no file: clap's own
/// lists would swallow a query or a tool's name.
pub(crate) fn spread_catalogs(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut spread = Vec::new();
    let mut in_list = false;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--catalog" {
            in_list = true;
            spread.push(word);
            spread.extend(words.next());
        } else if in_list && Path::new(&word).is_file() {
            spread.push(OsString::from("--catalog"));
            spread.push(word);
        } else {
            in_list = false;
            spread.push(word);
        }
    }
    spread
}
