//! `tools`, as typed.

use clap::{Args, Subcommand, ValueEnum};

use super::LookArgs;

/// `tools`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArgs {
    /// What to do; without anything, the tools in effect are listed.
    #[command(subcommand)]
    pub(crate) action: Option<ToolsAction>,
    /// List them in groups, those that are switched off counted beside.
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) group_by: Option<GroupBy>,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// What to do about tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsAction {
    /// Switch tools on again. Lists and rules of the policy stay as they are.
    Enable(SwitchArgs),
    /// Switch tools off, for everybody: they are neither shown nor called.
    Disable(SwitchArgs),
    /// Say what tools are for, which come first, and whether calls of them are asked about.
    ///
    /// What is said holds over restarts and whatever the server publishes. A gateway that is running hears of it within two
    /// seconds.
    Set(SetArgs),
}

/// `tools enable`, `tools disable`.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// The tools: exposed names, identities (mcp:SERVER/tool), globs, sources, namespace:NAME, category:NAME, tag:NAME.
    #[arg(required = true, value_name = "SEL")]
    pub(crate) selectors: Vec<String>,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// `tools set`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("labels").required(true).multiple(true)
    .args(["namespace", "category", "tag", "no_tags", "priority", "permission", "reset"]))]
pub(crate) struct SetArgs {
    /// The tools, as for `enable`.
    #[arg(required = true, value_name = "SEL")]
    pub(crate) selectors: Vec<String>,
    /// The set they belong to.
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// What they are for; '' takes the category away.
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Option<String>,
    /// A tag in place of those there are; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Vec<String>,
    /// No tags.
    #[arg(long, conflicts_with = "tag")]
    pub(crate) no_tags: bool,
    /// Higher comes first where not all can be shown.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// What happens to calls where no list and no rule says otherwise. deny also hides the tools.
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) permission: Option<PermissionArg>,
    /// Take back first what was said before: the tools are again as their source says.
    #[arg(long)]
    pub(crate) reset: bool,
    /// Where tools come from, how long to wait, how to print.
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// By what tools are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// By where they come from.
    Source,
    /// By what they are for.
    Category,
    /// By the set they belong to.
    Namespace,
}

/// What happens to calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionArg {
    /// They run.
    Allow,
    /// A person is asked.
    Ask,
    /// They do not.
    Deny,
}
