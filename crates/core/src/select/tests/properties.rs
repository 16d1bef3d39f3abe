//! What holds for every policy and every scope.

use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;

use super::{
    Allow, Cap, Layer, Lists, ModelRule, Named, Policy, Role, Scope, Selector, Sender, TOOLS, catalog_of, select,
};
use crate::{
    Catalog, ContentHash, SourceState,
    assemble::{AssembleSettings, assemble},
    name::{Conflict, NameSettings, Prefix, exposed_name},
    select::Model,
    selector::{
        Groups,
        matcher::{Matcher, Side, Subject},
    },
};

fn selector() -> impl Strategy<Value = Selector> {
    let texts = [
        "*",
        "readonly",
        "group:fs",
        "group:plugins",
        "group:mcp",
        "group:agents",
        "mcp:github",
        "mcp:*",
        "mcp:bridge/search",
        "mcp:Bridge/Search",
        "mcp:bridge/SEARCH",
        "mcp:*/read_file",
        "mcp:bridge/s*",
        "read_file",
        "READ_FILE",
        "Bash",
        "search",
        "bridge__*",
        "*_file",
        "s*h",
        "labs",
        "plugin:labs/draw",
        "builtin/read_file",
        "builtin",
        "[rs]e*",
        "?raw",
        "connector:x",
        "tag:t",
        "*e*a*",
    ];
    proptest::sample::select(texts.to_vec()).prop_map(|text| text.parse().unwrap())
}

fn some() -> impl Strategy<Value = Vec<Selector>> {
    proptest::collection::vec(selector(), 0..4)
}

fn allow() -> impl Strategy<Value = Allow> {
    prop_oneof![3 => Just(Allow::All), 1 => Just(Allow::None), 4 => some().prop_map(|list| Allow::from_list(Some(list)))]
}

fn lists() -> impl Strategy<Value = Lists> {
    (allow(), some(), some(), some()).prop_map(|(allow, also_allow, deny, unless_allowed)| Lists {
        allow,
        also_allow,
        deny,
        unless_allowed,
        origins: "test".into(),
    })
}

fn layer() -> impl Strategy<Value = Layer> {
    (lists(), lists(), lists(), lists(), proptest::option::of(lists()), any::<bool>()).prop_map(
        |(lists, model, channel, sender, sandbox, profiled)| Layer {
            lists,
            models: [("openai".to_owned(), ModelRule { profile: None, lists: model })].into(),
            channels: [("slack".to_owned(), channel)].into(),
            senders: [("*".to_owned(), sender)].into(),
            sandbox,
            profile: profiled.then(|| "coding".to_owned()),
            ..Layer::default()
        },
    )
}

fn policy() -> impl Strategy<Value = Policy> {
    (layer(), layer(), some(), some(), some()).prop_map(|(everyone, agent, optional, owner, capability)| {
        let named = |selectors| Named { selectors, origin: "test".into() };
        let mut policy = Policy::default();
        policy.everyone = everyone;
        policy.agents.insert("a".into(), agent);
        policy.agents.insert("*".into(), Layer::default());
        policy.optional = named(optional);
        policy.owner_only = named(owner);
        policy.capabilities.insert("c".into(), named(capability));
        policy
    })
}

fn scope() -> impl Strategy<Value = Scope> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let role =
        proptest::sample::select(vec![None, Some(Role::Leaf), Some(Role::Orchestrator), Some(Role::Coordinator)]);
    (
        flags,
        role,
        allow(),
        some(),
        proptest::sample::select(vec![None, Some("minimal"), Some("messaging"), Some("full")]),
    )
        .prop_map(|((agent, model, channel, sender, owner, boxed), role, allow, deny, profile)| Scope {
            agent: agent.then(|| "a".to_owned()),
            model: model.then(|| Model::new("openai/gpt")),
            channel: channel.then(|| "slack:1".to_owned()),
            sender: sender.then(Sender::default),
            owner,
            sandbox: boxed,
            role,
            profile: profile.map(str::to_owned),
            caps: vec![Cap { allow, deny, origin: "test".into() }],
            ..Scope::default()
        })
}

fn names() -> impl Strategy<Value = NameSettings> {
    let conflicts = vec![Conflict::First, Conflict::Priority, Conflict::Reject, Conflict::Namespace];
    (proptest::sample::select(conflicts), any::<bool>()).prop_map(|(conflict, bare)| NameSettings {
        conflict,
        prefix: if bare { Prefix::None } else { Prefix::Source },
        ..NameSettings::default()
    })
}

fn served(policy: &Policy, names: NameSettings, scope: &Scope) -> BTreeSet<String> {
    let settings = AssembleSettings { policy: policy.clone(), names, ..AssembleSettings::default() };
    let set = assemble(&catalog_of(TOOLS), scope, &settings).unwrap();
    set.tools().iter().map(|tool| tool.id().to_string()).collect()
}

proptest! {
    #[test]
    fn a_ready_list_says_what_its_selectors_say(list in some(), grant in any::<bool>()) {
        let groups = Groups::default();
        let side = if grant { Side::Grant } else { Side::Restrict };
        let matcher = Matcher::new(&list, &groups, side);
        for tool in catalog_of(TOOLS).tools() {
            let exposed = exposed_name(tool.id(), &NameSettings::default());
            let holds = |selector: &Selector| match side {
                Side::Grant => selector.grants(tool, &exposed, &groups),
                Side::Restrict => selector.matches(tool, &exposed, &groups),
            };
            let want = list.iter().position(holds).map(|index| u32::try_from(index).unwrap());
            let got = matcher.enter(tool.source()).first(&Subject::new(tool, &exposed));
            prop_assert_eq!(got, want, "{} in {:?}", tool.id(), list);
        }
    }

    #[test]
    fn no_child_has_more_than_its_parent_could_hand_on(
        policy in policy(), parent in scope(), own in scope(), names in names(),
    ) {
        let hands_on = Scope {
            role: parent.role.filter(|role| *role != Role::Coordinator),
            ..parent.clone()
        };
        let above = served(&policy, names, &hands_on);
        let child = Scope { parent: Some(Arc::new(parent)), ..own };
        let below = served(&policy, names, &child);
        prop_assert!(below.is_subset(&above), "{below:?} in {above:?}");
        let grandchild = Scope { owner: true, ..Arc::new(child).child(None) };
        prop_assert!(served(&policy, names, &grandchild).is_subset(&above));
    }

    #[test]
    fn every_stage_only_removes(policy in policy(), scope in scope(), more in lists()) {
        let names = NameSettings::default();
        let kept = |policy: &Policy| -> BTreeSet<String> {
            let selection = select(&catalog_of(TOOLS), policy, &names, &scope).unwrap();
            selection.kept.iter().map(|claim| claim.tool.id().to_string()).collect()
        };
        let before = kept(&policy);
        // A list more, anywhere; without additions, which are what widens a profile or names optional tools.
        let only = Lists { also_allow: Vec::new(), allow: Allow::All, ..more.clone() };
        let mut narrower = policy.clone();
        narrower.everyone.lists.deny.extend(only.deny.clone());
        prop_assert!(kept(&narrower).is_subset(&before));
        let mut narrower = policy.clone();
        narrower.optional.selectors.extend(only.deny.clone());
        prop_assert!(kept(&narrower).is_subset(&before));
        let mut narrower = policy.clone();
        narrower.owner_only.selectors.extend(only.deny.clone());
        prop_assert!(kept(&narrower).is_subset(&before));
        let mut narrower = policy;
        narrower.push(super::ListStage { name: "more".into(), lists: more });
        prop_assert!(kept(&narrower).is_subset(&before));
    }

    #[test]
    fn the_same_tools_give_the_same_bytes(
        policy in policy(), scope in scope(), names in names(),
        order in Just(TOOLS.to_vec()).prop_shuffle(), down in 0..TOOLS.len(),
    ) {
        let settings = AssembleSettings { policy, names, ..AssembleSettings::default() };
        let bytes = |catalog: &Catalog| -> (String, ContentHash) {
            let set = assemble(catalog, &scope, &settings).unwrap();
            let text: Vec<String> = set.definitions.iter().map(ToString::to_string).collect();
            (text.join("\n"), set.hash)
        };
        let catalog = catalog_of(TOOLS);
        let want = bytes(&catalog);
        // Sources that come in another order, and all of it made again, as after a restart.
        prop_assert_eq!(&bytes(&catalog_of(&order)), &want);
        // A server that is down keeps its place.
        let source = TOOLS[down].0.parse().unwrap();
        let mut entry = crate::SourceEntry::clone(&catalog.sources()[&source]);
        entry.state = SourceState::Down { reason: "gone".into() };
        entry.stale = true;
        prop_assert_eq!(&bytes(&catalog.with_source(source, Some(Arc::new(entry)))), &want);
    }
}
