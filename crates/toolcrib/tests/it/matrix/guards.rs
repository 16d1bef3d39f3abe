//! The guards, one row each. Case numbers are those of the reference that a rule comes from.

use std::sync::Arc;

use toolcrib::{
    core::{
        breaker::BreakerPolicy,
        permission::{Action, Condition, Operator, Rule, RuleSet, condition::Written},
        select::{Allow, ListStage, Lists},
    },
    engine::{
        BoxFuture, Trust,
        admit::{RatePer, RateRule},
        intercept::{Before, HookError, Intercepted, Interceptor, Stage},
        permission::RoleLists,
    },
};

use super::{Call, Door, Guard, Step, Want, check};

const NOTE: Call = Call::of("note", "guarded");
const OTHER: Call = Call::of("note", "other");
const FRAIL: Call = Call::of("frail", "guarded");
const FAULT: Call = Call::of("frail", "fault").with(r#""fault":true"#);
const WIPE: Call = Call::of("wipe", "guarded");

/// Doors without callers who show who they are.
const NO_KEYS: &[Door] = &[Door::Direct, Door::Bridge, Door::Cli];
/// Everything but the library.
const NO_CODE: &[Door] =
    &[Door::Direct, Door::Bridge, Door::Cli, Door::Http, Door::HttpBridge, Door::McpHttp, Door::McpModern];
/// What one process counts; every call of the command line is a process.
const NOT_COUNTED: &[Door] = &[Door::Cli];

macro_rules! guards {
    ($($(#[$about:meta])* $name:ident: $guard:expr;)*) => {
        $($(#[$about])* #[test] fn $name() { check(&$guard); })*
    };
}

guards! {
    a_tool_that_does_not_exist: Guard {
        guarded: Call::of("nope", "guarded"),
        want: Want::NoSuchTool,
        says: "there is no tool",
        call_without: Some(NOTE),
        ..Guard::default()
    };
    /// Told in the same words as the row before.
    a_tool_that_is_hidden: Guard {
        config: "policy.deny = ['mcp:up/note_*']",
        settings: |settings, _| settings.assemble.policy.push(ListStage {
            name: "global".to_owned(),
            lists: Lists {
                allow: Allow::All,
                deny: vec!["mcp:up/note_*".parse().unwrap()],
                origins: "test".into(), ..Lists::default()
            },
        }),
        want: Want::NoSuchTool,
        says: "there is no tool",
        ..Guard::default()
    };
    arguments_against_the_schema: Guard {
        guarded: NOTE.with(r#""n":"many""#),
        want: Want::Invalid,
        says: "/n",
        sibling: OTHER.with(r#""n":2"#),
        call_without: Some(Call::of("loose", "guarded").with(r#""n":"many""#)),
        ..Guard::default()
    };
    /// Of two values nobody can tell which one was judged and which one runs.
    arguments_with_a_key_twice: Guard {
        guarded: NOTE.with(r#""n":1,"n":2"#),
        want: Want::Unreadable,
        says: "twice",
        recorded: false,
        sibling: OTHER.with(r#""n":2"#),
        call_without: Some(NOTE.with(r#""n":2"#)),
        ..Guard::default()
    };
    /// oneringai case 112.
    deny_list: Guard {
        config: "policy.show_denied = true\npermissions.deny = ['mcp:up/note_*']\npermissions.allow = ['mcp:up']\npermissions.trust = 'all'",
        settings: |settings, _| {
            settings.permissions.deny = vec!["mcp:up/note_*".parse().unwrap()];
            settings.permissions.allow = vec!["mcp:up".parse().unwrap()];
            settings.permissions.trust = Trust::All;
        },
        ..Guard::default()
    };
    /// openclaw-openclaude cases 43 to 48: a command behind another one counts.
    deny_list_with_a_command: Guard {
        config: "permissions.deny = ['mcp:up/shell_*(rm:*)']",
        settings: |settings, _| settings.permissions.deny = vec!["mcp:up/shell_*(rm:*)".parse().unwrap()],
        guarded: Call::of("shell", "guarded").with(r#""command":"cd /tmp && rm -rf x""#),
        sibling: Call::of("shell", "sibling").with(r#""command":"cd /tmp && ls x""#),
        ..Guard::default()
    };
    rule_with_a_condition: Guard {
        config: "permissions.rules = [{ tool = 'mcp:up/note_*', action = 'deny', note = 'main is protected', \
                 when = [{ argument = 'branch', op = 'equals', value = 'main' }] }]",
        settings: |settings, _| settings.permissions.rules = RuleSet::new(vec![Rule {
            tool: "mcp:up/note_*".parse().unwrap(),
            action: Action::Deny,
            when: vec![Condition::try_from(Written {
                argument: "branch".to_owned(),
                operator: Operator::Equals,
                value: "main".to_owned(),
                case_sensitive: false,
            }).unwrap()],
            unconditional: false,
            user: None,
            enabled: true,
            expires_at_ms: None,
            updated_at_ms: 0,
            origin: "test".to_owned(),
            note: Some("main is protected".to_owned()),
        }]),
        guarded: NOTE.with(r#""branch":"main""#),
        says: "main is protected",
        sibling: OTHER.with(r#""branch":"topic""#),
        ..Guard::default()
    };
    plan_mode: Guard {
        config: "permissions.plan = true",
        settings: |settings, _| settings.permissions.plan = true,
        says: "plan",
        ..Guard::default()
    };
    path_roots: Guard {
        config: "permissions.paths = ['{folder}']",
        settings: |settings, folder| settings.permissions.path_roots = Some(vec![folder.to_owned()]),
        guarded: NOTE.with(r#""path":"{folder}/../elsewhere""#),
        sibling: OTHER.with(r#""path":"{folder}/here""#),
        ..Guard::default()
    };
    hosts: Guard {
        config: "permissions.hosts.deny = ['evil.example']",
        settings: |settings, _| settings.permissions.hosts.deny = vec!["evil.example".parse().unwrap()],
        guarded: NOTE.with(r#""url":"https://user@EVIL.example:8443/x""#),
        says: "a denied host",
        sibling: OTHER.with(r#""url":"https://good.example/x""#),
        ..Guard::default()
    };
    /// oneringai case 105.
    role: Guard {
        config: "permissions.roles.robot = { keys = ['bot'], deny = ['mcp:up/note_*'] }\n\
                 gateway.named_keys = { bot = 'key-of-bot' }",
        settings: |settings, _| {
            let lists = RoleLists { deny: vec!["mcp:up/note_*".parse().unwrap()], ..RoleLists::default() };
            settings.permissions.roles.insert("robot".to_owned(), lists);
        },
        not_at: NO_KEYS,
        ..Guard::default()
    };
    trust_none: Guard {
        config: "permissions.trust = 'none'\npermissions.allow = ['mcp:up/look_*']",
        settings: |settings, _| {
            settings.permissions.trust = Trust::None;
            settings.permissions.allow = vec!["mcp:up/look_*".parse().unwrap()];
        },
        says: "permissions.allow",
        ..Guard::default()
    };
    /// With nobody to ask, it is refused under a handle.
    ask_list: Guard {
        config: "permissions.ask = ['mcp:up/note_*']\npermissions.allow = ['mcp:up']",
        settings: |settings, _| {
            settings.permissions.ask = vec!["mcp:up/note_*".parse().unwrap()];
            settings.permissions.allow = vec!["mcp:up".parse().unwrap()];
        },
        says: "a person's approval",
        ..Guard::default()
    };
    /// Asked about although the source is trusted.
    dangerous_tool: Guard {
        guarded: WIPE,
        says: "a person's approval",
        without: "permissions.trust = 'all'",
        settings_without: |settings, _| settings.permissions.trust = Trust::All,
        ..Guard::default()
    };
    /// T21: an approval is for the arguments that were shown; they, and they alone, run.
    approval_of_other_arguments: Guard {
        config: "permissions.ask = ['mcp:up/note_*']",
        settings: |settings, _| settings.permissions.ask = vec!["mcp:up/note_*".parse().unwrap()],
        before: &[Step::Park(OTHER), Step::Approve],
        says: "a person's approval",
        sibling: OTHER,
        ..Guard::default()
    };
    approval_that_was_used: Guard {
        config: "permissions.ask = ['mcp:up/note_*']",
        settings: |settings, _| settings.permissions.ask = vec!["mcp:up/note_*".parse().unwrap()],
        before: &[Step::Park(NOTE), Step::Approve, Step::Run(NOTE)],
        says: "a person's approval",
        ..Guard::default()
    };
    /// Whatever the arguments are.
    never: Guard {
        config: "permissions.ask = ['mcp:up/note_*']",
        settings: |settings, _| settings.permissions.ask = vec!["mcp:up/note_*".parse().unwrap()],
        before: &[Step::Park(OTHER), Step::Never],
        says: "never",
        ..Guard::default()
    };
    /// oneringai case 104.
    rate: Guard {
        config: "calls.rates = [{ tool = 'mcp:up/note_*', limit = 1, window_ms = 600000 }]",
        settings: |settings, _| settings.admission.rates.push(RateRule {
            pattern: vec!["mcp:up/note_*".parse().unwrap()],
            per: RatePer::Tool,
            limit: 1,
            window_ms: 600_000,
        }),
        not_at: NOT_COUNTED,
        before: &[Step::Run(OTHER)],
        want: Want::TooFast,
        says: "no more than 1",
        ..Guard::default()
    };
    /// oneringai §2.3.
    open_circuit: Guard {
        config: "calls.breaker.failures = 1",
        settings: |settings, _| settings.admission.breaker = Some(BreakerPolicy { failures: 1, ..BreakerPolicy::default() }),
        not_at: NOT_COUNTED,
        before: &[Step::Fault(FAULT)],
        guarded: FRAIL,
        want: Want::Unavailable,
        says: "keeps failing",
        sibling: OTHER,
        ..Guard::default()
    };
    the_same_again_and_again: Guard {
        config: "calls.repeat.refuse_after = 2",
        settings: |settings, _| settings.admission.repeat.refuse_after = 2,
        not_at: NOT_COUNTED,
        before: &[Step::Run(NOTE)],
        says: "the same result",
        sibling: OTHER,
        ..Guard::default()
    };
    /// What leaves no trace must not change anything; what only reads goes on.
    journal_that_cannot_be_written: Guard {
        before: &[Step::Run(OTHER), Step::FillDisk],
        want: Want::Unavailable,
        says: "the record of calls cannot be written",
        sibling_says: "record of calls cannot be written",
        recorded: false,
        ..Guard::default()
    };
    /// reliability §2.2.
    duplicate: Guard {
        config: "permissions.allow = ['mcp:up/wipe_*']",
        settings: |settings, _| settings.permissions.allow = vec!["mcp:up/wipe_*".parse().unwrap()],
        before: &[Step::Run(WIPE)],
        guarded: WIPE,
        want: Want::Earlier,
        says: "it was not run again",
        sibling: Call::of("wipe", "other"),
        without: "permissions.allow = ['mcp:up/wipe_*']\ncalls.duplicates_ms = 0",
        settings_without: |settings, _| {
            settings.permissions.allow = vec!["mcp:up/wipe_*".parse().unwrap()];
            settings.limits.duplicates = std::time::Duration::ZERO;
        },
        ..Guard::default()
    };
    interceptor: Guard {
        interceptor: Some(|| Arc::new(NoNotes { panics: false })),
        not_at: NO_CODE,
        says: "no notes today",
        ..Guard::default()
    };
    /// openclaw-openclaude case 117.
    interceptor_that_panics: Guard {
        interceptor: Some(|| Arc::new(NoNotes { panics: true })),
        not_at: NO_CODE,
        ..Guard::default()
    };
}

/// Lets no note pass.
struct NoNotes {
    panics: bool,
}

impl Interceptor for NoNotes {
    fn name(&self) -> &'static str {
        "no notes"
    }

    fn stage(&self) -> Stage {
        Stage::Guard
    }

    fn before<'a>(&'a self, call: &'a Intercepted<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        let note = call.tool.name().starts_with("note");
        assert!(!(note && self.panics), "scripted");
        Box::pin(std::future::ready(Ok(if note {
            Before::Deny("no notes today".to_owned())
        } else {
            Before::Continue
        })))
    }
}
