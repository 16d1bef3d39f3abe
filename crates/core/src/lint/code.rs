//! The codes: what each check is called, how bad what it finds is, and what to do about it.

use std::{fmt, fmt::Write, str::FromStr};

use serde::{Serialize, Serializer};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Costs quality or tokens, or might be an attack.
    Warning,
    /// A tool is lost, or looks like an attack.
    Error,
}

impl Severity {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

struct Row {
    word: &'static str,
    severity: Severity,
    what: &'static str,
    fix: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident, $severity:ident, $word:literal, $what:literal, $fix:literal;)*) => {
        /// A check. The words are stable: baselines and scripts hold them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $what] $code,)*
        }

        impl Code {
            /// All of them, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            fn row(self) -> Row {
                match self {
                    $(Self::$code => Row { word: $word, severity: Severity::$severity, what: $what, fix: $fix },)*
                }
            }
        }
    };
}

codes! {
    Quarantined, Error, "quarantined", "The definition was refused and is not served.",
        "do what the reason says, at the server that sends the definition";
    NameTaken, Error, "name-taken", "Another tool has the same exposed name, so this one is not served.",
        "rename one of the two servers, exclude one of the tools, or set names.conflict to namespace";
    HiddenCharacters, Error, "hidden-characters", "A text holds characters that nobody sees: control, zero-width, bidirectional or tag characters (threat T14).",
        "have the server remove them; until then treat the tool as hostile";
    MixedScriptName, Error, "mixed-script-name", "A name mixes Latin letters with look-alikes of another alphabet (threat T4).",
        "have the server use one alphabet; a look-alike is a classic way to pose as another tool";
    OverridesInstructions, Error, "overrides-instructions", "A text tells the model to ignore its instructions or gives it new ones (threat T1).",
        "do not serve this tool before somebody has read its definition; exclude it or deny it";
    HidesFromUser, Error, "hides-from-user", "A text tells the model to keep something from the user (threat T1).",
        "do not serve this tool before somebody has read its definition; exclude it or deny it";
    AsksForSecrets, Error, "asks-for-secrets", "A text tells the model to read or pass on files that hold secrets (threat T1).",
        "do not serve this tool before somebody has read its definition; exclude it or deny it";
    PromptMarkup, Error, "prompt-markup", "A text imitates the marks by which prompts are built (threat T1).",
        "have the server say it in plain words";
    TargetRefuses, Error, "target-refuses", "A provider would refuse the tool; it is left out there.",
        "do what the reason says, at the server that sends the definition";
    PolicyUnservable, Error, "policy-unservable", "Somebody cannot be served: a profile or group that there is not, or a tool that must be there and is not.",
        "correct the name, or what removes the tool; until then that caller is refused";
    PolicyUnmatched, Warning, "policy-unmatched", "An entry of a list names no tool.",
        "correct the spelling or remove the entry; a denial that names nothing denies nothing";
    PolicyShadowed, Warning, "policy-shadowed", "An entry allows only tools that a denial beside it or an earlier stage has removed.",
        "remove the entry, or what removes its tools; stages only remove, so a later one cannot give back";
    PolicyRemovesEverything, Warning, "policy-removes-everything", "Lists that apply together leave no tool.",
        "widen one of the lists that are named";
    PolicyUnsafe, Warning, "policy-unsafe", "An entry gives more than anybody should want: everything to strangers, or tools that may do damage.",
        "name the tools that are meant";
    ConfusableNames, Warning, "confusable-names", "Two names differ only by case, separators or look-alike characters (threat T4).",
        "rename one of them; models mix them up and people cannot tell them apart";
    NameShortened, Warning, "name-shortened", "The name is too long and was cut; the model sees a hash at its end.",
        "give the server a shorter name in the configuration, or shorten the tool's own";
    NoDescription, Warning, "no-description", "The tool has no description, or a placeholder; it is found and chosen by its name alone.",
        "have the server say in one sentence what the tool does and when to use it";
    ClaimsPrecedence, Warning, "claims-precedence", "A text wants the tool called before or instead of all others (threat T1).",
        "have the server say when the tool fits instead; until then watch what it is called for";
    NamesOtherTool, Warning, "names-other-tool", "A text gives directions about a tool of another source (threat T3).",
        "check that the other tool is meant to be used so; a server should speak of its own tools";
    AsksForConversation, Warning, "asks-for-conversation", "A text wants the conversation or the system prompt passed on (threat T1).",
        "check where it goes; deny the tool if it need not know";
    EncodedText, Warning, "encoded-text", "A text holds a long encoded run that nobody can read.",
        "have the server remove it, or put it where the model does not read it";
    Duplicate, Warning, "duplicate", "Another tool has the same description and the same arguments.",
        "exclude one of them; the model cannot choose between them and pays for both";
    NearDuplicate, Warning, "near-duplicate", "Another tool has nearly the same description and arguments.",
        "exclude one of them, or have the descriptions say how they differ";
    BudgetHog, Warning, "budget-hog", "The tool takes a large share of the tokens of all tools.",
        "shorten its description and schema, or keep it deferred (disclosure.defer)";
    UndeclaredRequired, Warning, "undeclared-required", "The schema requires an argument that it does not declare.",
        "have the server declare the argument or not require it; some providers refuse the tool";
    BadDefault, Warning, "bad-default", "A default does not fit its own schema.",
        "have the server mend the default; models copy it";
    OutputNotObject, Warning, "output-not-object", "The schema of results is not that of an object; some clients then refuse the whole list.",
        "have the server wrap the result in an object";
    TooManyTools, Warning, "too-many-tools", "A request would hold more tools than the provider takes.",
        "turn disclosure on, or deny some";
    PolicyUnavailable, Info, "policy-unavailable", "The tools that an entry names are not here at the moment.",
        "nothing, if they are to come; otherwise do what the reason says";
    PolicyRedundant, Info, "policy-redundant", "An entry adds nothing beside another one.",
        "remove it";
    PolicyUnreachable, Info, "policy-unreachable", "No profile, agent or caller is shown these tools.",
        "allow them somewhere, or exclude them at their server";
    NameChanged, Info, "name-changed", "The name holds characters that no provider takes, so the model sees another one.",
        "have the server name it with letters, digits, _ and -";
    UselessDescription, Info, "useless-description", "The description says nothing that the name does not.",
        "have the server say what the tool does, with what, and when to use it";
    UndescribedParameters, Info, "undescribed-parameters", "Arguments have no description.",
        "have the server say what each argument is and in which form";
    UntypedParameter, Info, "untyped-parameter", "Arguments say nothing about what they take.",
        "have the server give each argument a type";
    LargeEnum, Info, "large-enum", "An argument lists very many values, all of which a model is shown.",
        "take a text and validate it at the server, or offer a tool that lists the values";
    TargetLoses, Info, "target-loses", "Providers do not take parts of the schema; what is done about it is told.",
        "nothing, if the description says enough; arguments are always checked against the original";
}

impl Code {
    /// The word by which it goes.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// How bad its findings are.
    pub fn severity(self) -> Severity {
        self.row().severity
    }

    /// What it finds.
    pub fn what(self) -> &'static str {
        self.row().what
    }

    /// What to do about it.
    pub fn fix(self) -> &'static str {
        self.row().fix
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Code {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|code| code.word() == word).ok_or(())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// The codes as a table in Markdown.
pub fn markdown() -> String {
    let mut out = "| code | severity | what it finds | what to do |\n|---|---|---|---|\n".to_owned();
    for code in Code::ALL {
        let _ = writeln!(out, "| `{code}` | {} | {} | {} |", code.severity(), code.what(), code.fix());
    }
    out
}
