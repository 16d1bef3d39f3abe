//! The tool manager, and the view of everything.

use toolcrib::{
    core::ToolId,
    engine::{
        Engine, EngineBuilder, EngineSettings, PermissionSettings,
        admit::Admission,
        manager::{
            Adjustment, CatalogEntry, Entry, Event, Filter, Manager, Namespace, OnConflict, Registration, Selecting,
            ViewFilter,
        },
    },
};

use super::{Row, rows};

pub(super) fn classes() -> Vec<(&'static str, Vec<Row>)> {
    vec![("ToolManager", manager()), ("ToolRegistry", view())]
}

fn manager() -> Vec<Row> {
    rows! {
        ["constructor" => Manager::new, "over a hub; nothing is global"]
        ["register" => Manager::insert, "what happens to a taken place is said by `OnConflict`; a permission is never loosened by it; cases 1 to 3 and 19"]
        ["registerMany" => Manager::extend as (&Manager, Vec<Registration>, OnConflict), "all or nothing"]
        ["registerConnectorTools" => Manager::extend as (&Manager, Vec<Registration>, OnConflict), "with `Source::Connector`"]
        ["unregister" => Manager::remove, "case 4"]
        ["clear" => Manager::clear, ""]
        ["enable" => Manager::set_enabled, "case 5"]
        ["disable" => Manager::set_enabled, "case 5"]
        ["toggle" => Manager::toggle, "the new state; none where there is no such tool"]
        ["isEnabled" => Manager::is_enabled, ""]
        ["setEnabled" => Manager::set_enabled_many as (&Manager, Vec<&ToolId>, bool), "names that mean nothing are told"]
        ["setNamespace" => field Adjustment.namespace, "through `Manager::update`"]
        ["enableNamespace" => Namespace::set_enabled, ""]
        ["disableNamespace" => Namespace::set_enabled, ""]
        ["getNamespaces" => Manager::namespaces, "empty ones vanish"]
        ["createNamespace" => Namespace::extend as (&Namespace<'_>, Vec<Registration>, OnConflict), ""]
        ["setPriority" => field Adjustment.priority, "through `Manager::update`"]
        ["getPriority" => Entry::labels, "a field"]
        ["setPermission" => field Adjustment.permission, "through `Manager::update`"]
        ["getPermission" => Entry::labels, "a field"]
        ["get" => Manager::get, ""]
        ["has" => Manager::contains, ""]
        ["getEnabled" => Filter::enabled, "for `Manager::query`; cases 6 and 9"]
        ["getEnabledRegistrations" => Manager::query, ""]
        ["getAll" => Manager::entries, ""]
        ["getByNamespace" => field Filter.namespace, ""]
        ["getByCategory" => field Filter.category, ""]
        ["getRegistration" => Manager::get, "labels and state of its source with it"]
        ["list" => Manager::entries, ""]
        ["listEnabled" => Filter::enabled, "case 6"]
        ["listCompact" => Entry::compact, "`Compact`"]
        ["selectForContext" => Selecting::when, "cases 7 to 10; a program's own condition that panics costs its own tool only"]
        ["selectByCapability" => Selecting::matching as (Selecting, &str), "ranked; cases 12 and 13"]
        ["selectWithinBudget" => Selecting::within, "counted once, not at each selection"]
        ["recordExecution" => none, "the path of calls counts; nobody reports to it"]
        ["getStats" => Manager::stats, ""]
        ["setToolContext" => none, "the context comes with the call; case 136"]
        ["mergeToolContext" => none, "the context comes with the call"]
        ["getToolContext" => none, "the context comes with the call"]
        ["setPermissionManager" => type PermissionSettings, "every engine has them; `Trust::All` must be named to be had"]
        ["getPermissionManager" => Engine::settings, ""]
        ["hasPermissionEnforcement" => none, "always"]
        ["setEvidenceMiddleware" => EngineBuilder::evidence, ""]
        ["execute" => Engine::call, "cases 21 to 36"]
        ["executeWithOutcome" => Engine::call_report, ""]
        ["hasToolFunction" => Manager::contains, ""]
        ["getToolDefinition" => Manager::get, ""]
        ["registerTool" => Manager::insert, "`Toolbox` for typed tools"]
        ["unregisterTool" => Manager::remove, ""]
        ["listTools" => Manager::entries, ""]
        ["getCircuitBreakerStates" => Admission::breakers, "cases 38 to 45"]
        ["getToolCircuitBreakerMetrics" => Admission::breakers, "with counts"]
        ["resetToolCircuitBreaker" => Admission::reset, ""]
        ["setCircuitBreakerConfig" => Admission::configure, "keeps what was counted"]
        ["getState" => Manager::state, "with a version; cases 15 to 18"]
        ["loadState" => Manager::apply, "with a report; cases 15 to 18"]
        ["destroy" => Manager::shutdown, "case 39"]
        ["toolExecutionTimeout" => field EngineSettings.limits, "`CallLimits`; cases 34 and 35"]
        ["events" => type Event, "`Manager::subscribe`"]
    }
}

fn view() -> Vec<Row> {
    rows! {
        ["getBuiltInTools" => Engine::entries, "`Filter::kind` = `builtin`"]
        ["getConnectorTools" => field Filter.source, ""]
        ["getAllConnectorTools" => field Filter.kind, "`connector`"]
        ["getAllTools" => field ViewFilter.tools, "no filter"]
        ["getToolsByService" => field Filter.service, ""]
        ["getToolsByConnector" => field Filter.source, "by account, or all of them by `service`"]
        ["isConnectorTool" => field CatalogEntry.kind, ""]
    }
}
