//! Every entry of a configuration that names tools, outside of the lists of the policy: for whoever checks it.

use globset::Glob;
use toolcrib_config::Loaded;
use toolcrib_core::{
    Source, ToolId,
    categories::Patterns,
    select::{Mention, Mentioned},
};

/// The entries of what is in force. One that cannot be read stops the start; it is passed over here.
pub(crate) fn mentions(loaded: &Loaded) -> Vec<Mention> {
    let mut found = Found { loaded, mentions: Vec::new() };
    found.servers();
    found.permissions();
    found.calls();
    let config = &loaded.config;
    for (name, tool) in &config.names.aliases {
        if let Ok(tool) = tool.parse::<ToolId>() {
            found.push(&format!("names.aliases.{name}"), Mentioned::Tool(tool), None);
        }
    }
    for (name, members) in &config.groups {
        found.selectors(&format!("groups.{name}"), members);
    }
    found.categories();
    let (shown, payloads) = (&config.disclosure, &config.payloads);
    for (key, list) in [
        ("disclosure.always", &shown.always),
        ("disclosure.defer", &shown.defer),
        ("payloads.strict", &payloads.strict),
        ("payloads.programmatic", &payloads.programmatic),
        ("payloads.eager_streaming", &payloads.eager_streaming),
        ("payloads.asynchronous", &payloads.asynchronous),
    ] {
        found.selectors(key, list);
    }
    for name in payloads.hosted.keys() {
        found.selector(&format!("payloads.hosted.{name}"), &format!("mcp:{name}"));
    }
    found.mentions
}

/// What is said of an entry that was to deny or to ask.
const RESTRICTS_NOTHING: &str = "it restricts nothing";

struct Found<'a> {
    loaded: &'a Loaded,
    mentions: Vec<Mention>,
}

impl Found<'_> {
    fn push(&mut self, key: &str, names: Mentioned, so: Option<&'static str>) {
        self.mentions.push(Mention { origin: self.loaded.origins.text(key), names, so });
    }

    fn selector(&mut self, key: &str, text: &str) {
        if let Ok(selector) = text.parse() {
            self.push(key, Mentioned::Selector(selector), None);
        }
    }

    fn selectors(&mut self, key: &str, list: &[String]) {
        for text in list {
            self.selector(key, text);
        }
    }

    fn patterns(&mut self, key: &str, list: &[String], so: Option<&'static str>) {
        for pattern in list.iter().filter_map(|text| text.parse().ok()) {
            self.push(key, Mentioned::Pattern(pattern), so);
        }
    }

    fn categories(&mut self) {
        let categories = &self.loaded.config.categories;
        if !categories.enabled {
            return;
        }
        for (key, list) in [("categories.pinned", &categories.pinned), ("categories.auto_load", &categories.auto_load)]
        {
            for id in list.iter().filter_map(|text| text.parse().ok()) {
                self.push(key, Mentioned::Category(id), None);
            }
        }
        let (only, except) = (categories.only.as_deref().unwrap_or_default(), &categories.except);
        for (key, list, so) in
            [("categories.only", only, None), ("categories.except", except, Some("it keeps nothing back"))]
        {
            for text in list {
                if let Ok(patterns) = Patterns::parse([text.as_str()]) {
                    self.push(key, Mentioned::Categories(patterns, text.clone()), so);
                }
            }
        }
        for text in categories.connectors.iter().flatten() {
            if let Ok(connector) = text.strip_prefix("connector:").unwrap_or(text).parse() {
                self.push("categories.connectors", Mentioned::Connector(connector), None);
            }
        }
        for (name, said) in &categories.category {
            self.selectors(&format!("categories.category.{name}.tools"), &said.tools);
        }
    }

    fn servers(&mut self) {
        let loaded = self.loaded;
        for (name, server) in loaded.config.servers.iter().filter(|(_, server)| server.is_enabled()) {
            let source = Source::Mcp(name.clone());
            for tool in server.tools.keys() {
                let id = ToolId::new(source.clone(), tool.as_str());
                self.push(&format!("servers.{name}.tools.{tool}"), Mentioned::Tool(id), None);
            }
            let lists = [("include", server.include.as_deref().unwrap_or_default()), ("exclude", &server.exclude)];
            for (key, list) in lists {
                let globs = list.iter().filter_map(|text| Some(Glob::new(text).ok()?.compile_matcher()));
                for glob in globs {
                    self.push(&format!("servers.{name}.{key}"), Mentioned::Own(source.clone(), glob), None);
                }
            }
        }
    }

    fn permissions(&mut self) {
        let permissions = &self.loaded.config.permissions;
        self.patterns("permissions.allow", &permissions.allow, None);
        self.patterns("permissions.deny", &permissions.deny, Some(RESTRICTS_NOTHING));
        self.patterns("permissions.ask", &permissions.ask, Some(RESTRICTS_NOTHING));
        for (index, rule) in permissions.rules.iter().enumerate().filter(|(_, rule)| rule.enabled) {
            let restricts = rule.action != toolcrib_config::model::RuleAction::Allow;
            let so = restricts.then_some(RESTRICTS_NOTHING);
            self.patterns(&format!("permissions.rules[{index}]"), std::slice::from_ref(&rule.tool), so);
        }
        for (index, risk) in permissions.risks.iter().enumerate() {
            self.selector(&format!("permissions.risks[{index}]"), &risk.tool);
        }
        for (name, role) in &permissions.roles {
            self.patterns(&format!("permissions.roles.{name}.allow"), &role.allow, None);
            self.patterns(&format!("permissions.roles.{name}.deny"), &role.deny, Some(RESTRICTS_NOTHING));
        }
    }

    fn calls(&mut self) {
        let calls = &self.loaded.config.calls;
        for (index, rate) in calls.rates.iter().enumerate() {
            self.selector(&format!("calls.rates[{index}]"), &rate.tool);
        }
        for (index, timeout) in calls.timeouts.iter().enumerate() {
            self.selector(&format!("calls.timeouts[{index}]"), &timeout.tool);
        }
        for (index, rule) in calls.breakers.iter().enumerate() {
            for text in rule.tool.iter().chain(&rule.source) {
                self.selector(&format!("calls.breakers[{index}]"), text);
            }
        }
        for (index, rule) in calls.concurrency.tools.iter().enumerate() {
            self.selector(&format!("calls.concurrency.tools[{index}]"), &rule.tool);
        }
        for name in calls.concurrency.sources.keys() {
            self.selector(&format!("calls.concurrency.sources.{name}"), name);
        }
        for (key, list) in [
            ("calls.exclusive", &calls.exclusive),
            ("calls.background", &calls.background),
            ("calls.idempotent", &calls.idempotent),
        ] {
            self.selectors(key, list);
        }
    }
}
