//! Tools that differ by who asks: each user has those of the accounts that they connected.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use toolcrib::{
    core::{Scope, Source},
    engine::{
        Engine, EngineSettings, Hub, HubLimits, SourceOptions,
        authoring::{About, FactoryError, NoArguments, ToolFactory, Toolbox, tool_fn},
    },
};

/// Which services each user has connected.
#[derive(Default)]
struct Accounts(Mutex<BTreeMap<String, BTreeSet<&'static str>>>);

struct AccountTools(Arc<Accounts>);

impl ToolFactory for AccountTools {
    fn tools(&self, scope: &Scope) -> Result<Toolbox, FactoryError> {
        let accounts = self.0.0.lock().map_err(|_| FactoryError::new("the list of accounts cannot be read"))?;
        let connected = scope.user.as_ref().and_then(|user| accounts.get(user)).into_iter().flatten();
        let mut tools = Toolbox::builder();
        for &service in connected {
            let about = About::new(format!("{service}_inbox"), format!("Counts unread messages in {service}.")).reads();
            tools = tools.tool(tool_fn(about, move |_: NoArguments, _context| async move {
                Ok(format!("{service}: 3 unread"))
            }));
        }
        Ok(tools.build()?)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let accounts = Arc::new(Accounts::default());
    let hub = Hub::new(HubLimits::default());
    let source = Source::Custom("mail".into());
    let publisher = hub.register_scoped(source, SourceOptions::default(), Arc::new(AccountTools(accounts.clone())));
    let engine = Engine::new(hub, EngineSettings::default(), None, vec![]);
    let names = |user: &str| -> Result<String, Box<dyn std::error::Error>> {
        let view = engine.view(&Scope { user: Some(user.into()), ..Scope::default() })?;
        Ok(view.set.names().collect::<Vec<_>>().join(" "))
    };

    println!("ann: [{}], bob: [{}]", names("ann")?, names("bob")?);
    accounts.0.lock().map_err(|_| "poisoned")?.entry("ann".into()).or_default().extend(["chat", "post"]);
    publisher.refresh_where(|scope| scope.user.as_deref() == Some("ann"));
    println!("ann: [{}], bob: [{}]", names("ann")?, names("bob")?);
    Ok(())
}
