use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolcrib_core::{IngestLimits, Source, Tool, ToolResult, ingest::ingest};
use toolcrib_engine::{
    BoxFuture, CallContext, Invocation,
    pending::{Prompter, ResumeAs, Shown, Suspender, Suspension, UserInput, UserInputDelivery, UserPrompt},
};

/// Delivers as the prompt says.
struct Post;

impl UserInputDelivery for Post {
    fn deliver<'a>(&'a self, prompt: &'a UserPrompt, _: &'a CallContext) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            match prompt.text.as_str() {
                "fail" => Err("no stamps".into()),
                "no id" => Ok(String::new()),
                "panic" => panic!("scripted"),
                "hang" => std::future::pending().await,
                text => Ok(format!("letter about {text}")),
            }
        })
    }
}

fn tool() -> Tool {
    ingest(&Source::Builtin, vec![UserInput::definition()], &IngestLimits::default(), 1, &|_| Ok(())).0.remove(0)
}

async fn ask(arguments: Value, suspender: &Suspender) -> ToolResult {
    let (tool, context) = (tool(), CallContext::new(1, Duration::from_mins(1)));
    let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
    let invocation = Invocation { tool: &tool, arguments: &arguments, context: &context };
    UserInput::new(Arc::new(Post)).run(&invocation, suspender).await
}

/// oneringai case 126: what fails the call, and with what words.
#[tokio::test(start_paused = true)]
async fn case_126_prompt_delivery_and_id_are_required() {
    for (arguments, part) in [
        (json!({}), "question is missing"),
        (json!({"prompt": " \n"}), "question is missing"),
        (json!({"prompt": 7}), "question is missing"),
        (json!({"prompt": "x".repeat(8_001)}), "too long"),
        (json!({"prompt": "fail"}), "no stamps"),
        (json!({"prompt": "no id"}), "without a correlation id"),
        (json!({"prompt": "panic"}), "application's code failed"),
        (json!({"prompt": "hang"}), "in time"),
    ] {
        let cell = Suspender::accepting();
        let result = ask(arguments.clone(), &cell).await;
        assert!(result.is_error() && result.to_text().contains(part), "{}", result.to_text());
        assert!(cell.take().is_none(), "suspended all the same");
    }
}

#[tokio::test]
async fn case_126_the_answer_comes_back_as_the_result_of_the_call() {
    let cell = Suspender::accepting();
    assert!(!ask(json!({"prompt": "tea"}), &cell).await.is_error());
    let metadata = json!({"prompt": "tea"});
    let expected = Suspension { resume_as: ResumeAs::ToolResult, metadata, ..Suspension::new("letter about tea") };
    assert_eq!(cell.take(), Some(expected));
}

/// Shows the prompt and says this.
struct Screen(Option<Shown>);

impl Prompter for Screen {
    fn show<'a>(&'a self, _: &'a UserPrompt) -> BoxFuture<'a, Shown> {
        Box::pin(async move {
            match &self.0 {
                Some(Shown::Answered(text)) if text == "panic" => panic!("scripted"),
                Some(shown) => shown.clone(),
                None => std::future::pending().await,
            }
        })
    }
}

/// (what comes of showing it) → (what the tool says, whether the call waits outside instead).
#[tokio::test(start_paused = true)]
async fn where_the_prompt_can_be_shown_the_answer_is_the_result() {
    for (shown, part, waits) in [
        (Some(Shown::Answered("green".into())), "green", false),
        (Some(Shown::Declined), "does not want to answer", false),
        (Some(Shown::Unreachable("gone".into())), "was delivered", true),
        (Some(Shown::Answered("panic".into())), "was delivered", true),
        (None, "was delivered", true),
    ] {
        let cell = Suspender::accepting().asking_through(Arc::new(Screen(shown.clone())));
        let result = ask(json!({"prompt": "tea"}), &cell).await;
        assert!(!result.is_error() && result.to_text().contains(part), "{shown:?}: {}", result.to_text());
        assert_eq!(cell.take().is_some(), waits, "{shown:?}");
    }
}

/// A question nobody would wait on is not delivered.
#[tokio::test]
async fn only_one_question_of_a_turn_is_asked() {
    let turn = Suspender::accepting();
    ask(json!({"prompt": "tea"}), &turn).await;
    assert!(ask(json!({"prompt": "panic"}), &turn).await.to_text().contains("was not asked"));
    assert!(ask(json!({"prompt": "panic"}), &Suspender::default()).await.to_text().contains("was not asked"));
    assert_eq!(turn.take().unwrap().correlation, "letter about tea");
}
