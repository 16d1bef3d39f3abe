//! What is said locally about a tool: by the configuration, the operator, or the program that registered it. Nothing of
//! it ever comes from the tool itself, so policies may go by it.

pub mod word;

use std::sync::{Arc, LazyLock};

use crate::{ContentHash, permission::Action, select::Removal, shortlist::Condition};

/// The namespace of tools that are in no other (oneringai §2.1).
pub const DEFAULT_NAMESPACE: &str = "default";

/// Local statements about one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// Whether the tool is offered at all. A tool that is switched off is taken away by the first stage of selection.
    /// Default true.
    pub enabled: bool,
    /// The set it belongs to; `None` is [`DEFAULT_NAMESPACE`]. `namespace:NAME` selects it.
    pub namespace: Option<Arc<str>>,
    /// What it is for; `category:NAME` selects it.
    pub category: Option<Arc<str>>,
    /// Free words; `tag:NAME` selects by them.
    pub tags: Arc<[String]>,
    /// Higher comes first where not all tools can be shown. Default 0 (oneringai §2.1).
    pub priority: i32,
    /// What must hold for it to be worth showing ([`crate::shortlist`]).
    pub conditions: Arc<[Condition]>,
    /// Whether it is never deferred.
    pub always: bool,
    /// Whether it is shown only where an allow list or a grant names it (openclaw §1.2).
    pub optional: bool,
    /// What happens to calls of it where no list and no rule of the user's says otherwise. `Deny` also hides it and is
    /// not lifted by anything.
    pub permission: Option<Action>,
    /// What a client must be able to do for it to be of use; hidden from others (openclaw case 17).
    pub capabilities: Arc<[String]>,
    /// Why it cannot be offered at the moment, whoever asks: something it needs is not there.
    pub unavailable: Option<Arc<Removal>>,
    /// Where this is said, for explanations: a file and key, a command. Empty = the program that registered the tool.
    pub origin: Arc<str>,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            enabled: true,
            namespace: None,
            category: None,
            tags: Arc::from([]),
            priority: 0,
            conditions: Arc::from([]),
            always: false,
            optional: false,
            permission: None,
            capabilities: Arc::from([]),
            unavailable: None,
            origin: Arc::from(""),
        }
    }
}

/// Shared by all tools of which nothing is said.
static NOTHING: LazyLock<Arc<Labels>> = LazyLock::new(Arc::default);

impl Labels {
    /// The labels of a tool of which nothing is said.
    pub fn nothing() -> Arc<Self> {
        NOTHING.clone()
    }

    /// The namespace's name.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    /// Whether the tool is offered to nobody: it is switched off, lacks something, or every call of it is refused.
    pub fn is_off(&self) -> bool {
        !self.enabled || self.unavailable.is_some() || self.permission == Some(Action::Deny)
    }

    /// Hash over everything here; of a condition that a program brings its name counts.
    pub fn hash(&self) -> ContentHash {
        let flags = [u8::from(self.enabled), u8::from(self.always), u8::from(self.optional)];
        let permission = self.permission.map_or("", Action::word);
        let unavailable = self.unavailable.as_ref().map(|why| [&*why.rule, &why.origin, &why.fix].join("\u{1f}"));
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        let texts = [
            self.namespace(),
            self.category.as_deref().unwrap_or_default(),
            &self.tags.join("\u{1f}"),
            &self.priority.to_string(),
            &conditions.join("\u{1f}"),
            permission,
            &self.capabilities.join("\u{1f}"),
            &unavailable.unwrap_or_default(),
            &self.origin,
        ];
        let hashes = texts.iter().map(|text| ContentHash::of_bytes(text.as_bytes()));
        ContentHash::of_hashes(hashes.chain([ContentHash::of_bytes(&flags)]))
    }
}
