//! How a store describes itself.

/// What a store is, for the descriptions and schemas of the five tools and for the overview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreSpec {
    /// What calls name it by: `[a-z][a-z0-9_]{0,31}`.
    pub id: String,
    /// Its name for people. Default (empty): the id.
    pub display_name: String,
    /// What it keeps, in one sentence.
    pub description: String,
    /// When to use it, in one sentence. May be empty.
    pub usage_hint: String,
    /// The fields that `store_set` takes, as a list in words: `text, tags? (list of words)`. May be empty: any.
    pub fields: String,
    /// What `store_list` filters by, in words. May be empty: nothing.
    pub filters: String,
    /// What else it can do.
    pub actions: Vec<ActionSpec>,
}

/// Something a store does besides keeping entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionSpec {
    /// What calls name it by: as a store's id.
    pub name: String,
    /// What it does, in one sentence.
    pub description: String,
    /// Its parameters in words. May be empty: none.
    pub params: String,
    /// Whether it may destroy something: it then runs with `confirm: true` only, and a person is asked where calls that
    /// may destroy something are.
    pub destructive: bool,
}

/// A store whose description cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    /// The id or an action's name.
    #[error("'{0}' cannot name a store or an action: use 1 to 32 of a-z, 0-9 and _, beginning with a letter")]
    Name(String),
    /// Two actions of one store have the same name.
    #[error("store '{store}' declares the action '{action}' twice; name each once")]
    ActionTwice {
        /// The store.
        store: String,
        /// The action.
        action: String,
    },
    /// Something is too long to be put before a model.
    #[error("{what} of store '{store}' has {length} characters, at most {most} are shown to a model; shorten it")]
    TooLong {
        /// The store.
        store: String,
        /// Which text.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The longest allowed.
        most: usize,
    },
    /// It says nothing.
    #[error("store '{0}' has no description; say in one sentence what it keeps")]
    Silent(String),
    /// Too many actions.
    #[error("store '{store}' declares {count} actions, at most {most} are allowed")]
    TooManyActions {
        /// The store.
        store: String,
        /// How many it declares.
        count: usize,
        /// How many may be.
        most: usize,
    },
}

/// Longest text of a description, hint, or list of fields.
const MAX_TEXT: usize = 600;
/// Most actions of one store.
const MAX_ACTIONS: usize = 24;

impl StoreSpec {
    /// The name shown to people.
    pub fn shown_name(&self) -> &str {
        if self.display_name.trim().is_empty() { &self.id } else { &self.display_name }
    }

    /// The action of this name.
    pub fn action(&self, name: &str) -> Option<&ActionSpec> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// Whether the store can be used as it describes itself.
    pub fn check(&self) -> Result<(), BadSpec> {
        check_name(&self.id)?;
        if self.description.trim().is_empty() {
            return Err(BadSpec::Silent(self.id.clone()));
        }
        let texts = [
            ("the display name", &self.display_name),
            ("the description", &self.description),
            ("the usage hint", &self.usage_hint),
            ("the list of fields", &self.fields),
            ("the list of filters", &self.filters),
        ];
        for (what, text) in texts {
            self.check_text(what, text)?;
        }
        if self.actions.len() > MAX_ACTIONS {
            let (store, count) = (self.id.clone(), self.actions.len());
            return Err(BadSpec::TooManyActions { store, count, most: MAX_ACTIONS });
        }
        for (nth, action) in self.actions.iter().enumerate() {
            check_name(&action.name)?;
            self.check_text("the description of an action", &action.description)?;
            self.check_text("the list of an action's parameters", &action.params)?;
            if self.actions[..nth].iter().any(|other| other.name == action.name) {
                return Err(BadSpec::ActionTwice { store: self.id.clone(), action: action.name.clone() });
            }
        }
        Ok(())
    }

    fn check_text(&self, what: &'static str, text: &str) -> Result<(), BadSpec> {
        let length = text.chars().count();
        if length <= MAX_TEXT {
            return Ok(());
        }
        Err(BadSpec::TooLong { store: self.id.clone(), what, length, most: MAX_TEXT })
    }
}

fn check_name(name: &str) -> Result<(), BadSpec> {
    let good = (1..=32).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if good { Ok(()) } else { Err(BadSpec::Name(name.chars().take(64).collect())) }
}
