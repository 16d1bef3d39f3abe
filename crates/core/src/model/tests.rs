use serde_json::json;

use super::*;

fn table() -> ModelTable {
    ModelTable::with(Vec::new()).unwrap()
}

#[track_caller]
fn check(name: &str, target: Target, want: (&str, bool, bool)) {
    let model = table().model(name, target);
    assert_eq!((model.family.as_str(), model.search, model.strict), want, "{name}");
    assert!(model.known && model.context_length.is_some() && model.remark().is_none());
}

/// Standards reference §4.2 and §4.3: who loads tools by search. OpenClaude case 88: Haiku does not.
#[test]
fn families_are_known_by_name() {
    use Target::{Anthropic, Bedrock, Gemini, Mistral, Ollama, OpenAiChat, OpenAiResponses};
    check("claude-opus-4-7-20260401", Anthropic, ("claude", true, true));
    check("claude-sonnet-5", Anthropic, ("claude", true, true));
    check("claude-opus-5-20260901", Anthropic, ("claude", true, true));
    check("claude-sonnet-4-5-20250929", Anthropic, ("claude", true, true));
    check("claude-sonnet-4-20250514", Anthropic, ("claude", false, false));
    check("claude-haiku-4-5", Anthropic, ("claude-haiku", false, true));
    check("Anthropic/Claude-Opus-4-7", Anthropic, ("claude", true, true));
    check("us.anthropic.claude-opus-4-7-20260401-v1:0", Bedrock, ("claude", false, true));
    check("gpt-5.4-mini", OpenAiResponses, ("gpt", true, true));
    check("gpt-6", OpenAiResponses, ("gpt", true, true));
    check("gpt-5.4", OpenAiChat, ("gpt", false, true));
    check("gpt-5-mini", OpenAiResponses, ("gpt", false, true));
    check("gpt-4.1", OpenAiResponses, ("gpt", false, true));
    check("o3-mini", OpenAiChat, ("gpt", false, true));
    check("gpt-oss-20b", Ollama, ("gpt-oss", false, false));
    check("models/gemini-3-pro", Gemini, ("gemini", false, true));
    check("mistral-large-latest", Mistral, ("mistral", false, true));
    check("qwen3:8b", Ollama, ("qwen", false, false));
}

/// Other providers' models behind a compatible endpoint keep their own rules.
#[test]
fn schemas_go_by_the_model() {
    let lowered = |name: &str, target: Target| table().model(name, target).lower_as;
    assert_eq!(lowered("grok-4", Target::OpenAiChat), Target::Xai);
    assert_eq!(lowered("x-ai/grok-4", Target::OpenAiResponses), Target::Xai);
    assert_eq!(lowered("google/gemini-3-pro", Target::OpenAiChat), Target::Gemini);
    assert_eq!(lowered("deepseek-chat", Target::OpenAiChat), Target::DeepSeek);
    assert_eq!(lowered("gpt-4o", Target::OpenAiChat), Target::OpenAiChat);
    assert_eq!(lowered("grok-4", Target::Xai), Target::Xai);
}

#[test]
fn unknown_models_get_what_is_safe_and_it_is_said() {
    let model = table().model("house-model-1", Target::Anthropic);
    assert!(!model.known && !model.search && !model.strict && !model.images && model.context_length.is_none());
    let remark = model.remark().unwrap();
    assert!(remark.contains("house-model-1") && remark.contains("[[payloads.models]]"), "{remark}");
}

#[test]
fn entries_of_a_configuration_come_first() {
    let entry = json!({"family": "house", "match": ["house-*"], "context_length": 9000, "search": ["anthropic"]});
    let table = ModelTable::with(vec![serde_json::from_value(entry).unwrap()]).unwrap();
    let model = table.model("House-Model-1", Target::Anthropic);
    assert_eq!((model.family.as_str(), model.search, model.context_length), ("house", true, Some(9000)));
}

#[test]
fn entries_that_cannot_be_used_are_told() {
    let check = |entry: serde_json::Value, word: &str| {
        let error = ModelTable::with(vec![serde_json::from_value(entry).unwrap()]).unwrap_err().to_string();
        assert!(error.contains("house") && error.contains(word), "{error}");
    };
    check(json!({"family": "house", "match": ["h[-"]}), "h[-");
    check(json!({"family": "house", "match": [], "search": ["abacus"]}), "abacus");
    check(json!({"family": "house", "match": [], "lower_as": {"openai-chat": "abacus"}}), "abacus");
    check(json!({"family": "house", "match": [], "tokens": {"over_o200k": 0.0}}), "over_o200k");
    assert!(serde_json::from_value::<Family>(json!({"family": "house", "match": [], "contxt": 1})).is_err());
}
