//! A real endpoint of embeddings on loopback that answers, or does not, as a test tells it to.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As it should.
    Well,
    /// As it should, the last text first.
    Backwards,
    /// As it should, after a time.
    Slowly(Duration),
    /// With this status.
    Status(u16),
    /// With one embedding too few.
    OneTooFew,
    /// With embeddings of another width.
    OtherWidth,
    /// With a number that is none.
    NoNumber,
    /// With two embeddings of the first text.
    Twice,
    /// With an embedding without numbers.
    Empty,
    /// With what is no JSON.
    Garbage,
    /// Without an end.
    Endlessly,
    /// By sending elsewhere.
    Elsewhere,
}

#[derive(Default)]
struct Seen {
    texts: Vec<String>,
    requests: Vec<Value>,
    keys: Vec<Option<String>>,
}

pub(crate) struct Endpoint {
    pub(crate) url: String,
    shared: Arc<(Mutex<Mode>, Mutex<Seen>)>,
    task: JoinHandle<()>,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Endpoint {
    pub(crate) async fn start() -> Self {
        let shared = Arc::new((Mutex::new(Mode::Well), Mutex::new(Seen::default())));
        let router = Router::new().route("/v1/embeddings", post(answer)).with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.shared.0.lock() = mode;
    }

    /// Every text that it was asked for, in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.shared.1.lock().texts.clone()
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.1.lock().requests.clone()
    }

    pub(crate) fn keys(&self) -> Vec<Option<String>> {
        self.shared.1.lock().keys.clone()
    }
}

/// What the endpoint's model knows: words of three subjects.
const SUBJECTS: [&[&str]; 3] =
    [&["memo", "write", "keeps"], &["delete", "drops", "share", "create"], &["names", "fonts"]];

pub(crate) fn embedding(text: &str) -> Vec<f64> {
    let text = text.to_lowercase();
    let count = |words: &&[&str]| words.iter().filter(|word| text.contains(**word)).count() as f64;
    SUBJECTS.iter().map(count).chain([0.1]).collect()
}

async fn answer(
    State(shared): State<Arc<(Mutex<Mode>, Mutex<Seen>)>>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let texts: Vec<String> =
        request["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    {
        let mut seen = shared.1.lock();
        seen.texts.extend(texts.iter().cloned());
        seen.requests.push(request);
        seen.keys.push(headers.get(header::AUTHORIZATION).map(|key| key.to_str().unwrap().to_owned()));
    }
    let mode = *shared.0.lock();
    let mut data: Vec<Value> =
        texts.iter().enumerate().map(|(index, text)| json!({"index": index, "embedding": embedding(text)})).collect();
    match mode {
        Mode::Well => {}
        Mode::Backwards => data.reverse(),
        Mode::Slowly(time) => tokio::time::sleep(time).await,
        Mode::Status(status) => {
            let text = format!("no: {texts:?} {:?}", headers.get(header::AUTHORIZATION));
            return (StatusCode::from_u16(status).unwrap(), text).into_response();
        }
        Mode::OneTooFew => {
            data.pop();
        }
        Mode::OtherWidth => data.iter_mut().for_each(|one| one["embedding"] = json!([1.0, 2.0])),
        Mode::NoNumber => data[0]["embedding"][0] = Value::Null,
        Mode::Twice => data.iter_mut().for_each(|one| one["index"] = 0.into()),
        Mode::Empty => data[0]["embedding"] = json!([]),
        Mode::Garbage => return "<html>".into_response(),
        Mode::Endlessly => {
            let chunk = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
            return Body::from_stream(chunk).into_response();
        }
        Mode::Elsewhere => {
            return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/v2/embeddings")]).into_response();
        }
    }
    Json(json!({"object": "list", "data": data})).into_response()
}
