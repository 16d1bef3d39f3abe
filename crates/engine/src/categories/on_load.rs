//! Categories whose tools are made when they are loaded, and not before.

use std::sync::Arc;

use toolcrib_core::{
    Labels, Scope, Source,
    categories::{CategoryId, Connector},
};

use crate::{
    authoring::{FactoryError, ToolFactory, Toolbox},
    hub::{Hub, ScopedPublisher, SourceOptions},
};

/// Registers a factory as a category's tools: it is asked when the category is loaded, or when somebody looks through what could
/// be (oneringai case 72: a category that has nothing but a factory can be loaded).
///
/// The source is `connector:NAME[:ACCOUNT]` for a connector's category, else `custom:CATEGORY`; its tools are labelled with the
/// category, whatever `options` say of that.
pub fn publish_on_load(
    hub: &Hub,
    category: CategoryId,
    mut options: SourceOptions,
    factory: Arc<dyn ToolFactory>,
) -> ScopedPublisher {
    let source = match &category {
        CategoryId::Connector(Connector { name, account }) => {
            Source::Connector { name: name.clone(), account: account.clone() }
        }
        CategoryId::Plain(name) => Source::Custom(name.to_string()),
    };
    let said: Arc<str> = category.to_string().into();
    let label = |labels: &mut Arc<Labels>| Arc::make_mut(labels).category = Some(said.clone());
    label(&mut options.labels);
    options.tools.values_mut().for_each(label);
    hub.register_scoped(source, options, Arc::new(OnLoad { category, factory }))
}

struct OnLoad {
    category: CategoryId,
    factory: Arc<dyn ToolFactory>,
}

impl ToolFactory for OnLoad {
    fn tools(&self, scope: &Scope) -> Result<Toolbox, FactoryError> {
        if scope.loaded.as_ref().is_some_and(|loaded| loaded.has(&self.category)) {
            self.factory.tools(scope)
        } else {
            Ok(Toolbox::default())
        }
    }

    fn goes_by_loaded(&self) -> bool {
        true
    }
}
