//! What an endpoint is sent, what is taken of its answers, and addresses that are not asked at all.

use toolcrib_connect::encoders::{HttpEncoder, HttpEncoderSettings};
use toolcrib_core::search::Vector;
use toolcrib_engine::encoder::Encoder as _;

use super::endpoint::{Endpoint, Mode, embedding};

fn vector(text: &str) -> Vector {
    let parts: Vec<f32> = embedding(text).into_iter().map(|part| part as f32).collect();
    Vector::new(&parts).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn texts_come_back_as_vectors_in_their_order() {
    let endpoint = Endpoint::start().await;
    let settings = HttpEncoderSettings {
        key: Some("k-123".into()),
        document_prefix: "passage: ".into(),
        query_prefix: "query: ".into(),
        ..HttpEncoderSettings::new(&endpoint.url, "m")
    };
    let encoder = HttpEncoder::new(settings.clone()).unwrap();
    for mode in [Mode::Well, Mode::Backwards] {
        endpoint.set(mode);
        let vectors = encoder.encode_documents(texts(&["memo", "names"])).await.unwrap();
        assert_eq!(vectors, [vector("memo"), vector("names")]);
    }
    encoder.encode_queries(texts(&["fonts"])).await.unwrap();
    assert_eq!(endpoint.texts()[3..], ["passage: names", "query: fonts"]);
    assert_eq!(endpoint.keys()[0].as_deref(), Some("Bearer k-123"));
    let request = &endpoint.requests()[0];
    assert_eq!((&request["model"], request.get("dimensions")), (&"m".into(), None));
    let id = |settings: HttpEncoderSettings| HttpEncoder::new(settings).unwrap().id().to_owned();
    assert_eq!(id(HttpEncoderSettings { key: None, ..settings.clone() }), encoder.id(), "the key makes no difference");
    assert_ne!(id(HttpEncoderSettings { model: "n".into(), ..settings.clone() }), encoder.id());
    assert_ne!(id(HttpEncoderSettings { query_prefix: String::new(), ..settings.clone() }), encoder.id());
    assert_ne!(id(HttpEncoderSettings { dimensions: Some(4), ..settings }), encoder.id());
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_without_what_was_sent() {
    let endpoint = Endpoint::start().await;
    let settings = |dimensions| HttpEncoderSettings {
        key: Some("k-hunter2".into()),
        dimensions,
        ..HttpEncoderSettings::new(&endpoint.url, "m")
    };
    let encoder = HttpEncoder::new(settings(None)).unwrap();
    for (mode, want) in [
        (Mode::Status(401), "401 Unauthorized; check search.encoder.key"),
        (Mode::Status(404), "404"),
        (Mode::Status(429), "too often"),
        (Mode::Status(500), "answered 500"),
        (Mode::OneTooFew, "sent 1 embeddings for 2 texts"),
        (Mode::NoNumber, "no list of embeddings"),
        (Mode::Twice, "belong to no text"),
        (Mode::Empty, "no numbers"),
        (Mode::Garbage, "no list of embeddings"),
        (Mode::Endlessly, "more than 8650752 bytes; set search.encoder.batch lower"),
        (Mode::Elsewhere, "redirects"),
    ] {
        endpoint.set(mode);
        let error = encoder.encode_queries(texts(&["my own words", "b"])).await.unwrap_err().to_string();
        assert!(error.contains(want), "{mode:?}: {error}");
        assert!(!error.contains("hunter2") && !error.contains("own words"), "{mode:?}: {error}");
    }
    endpoint.set(Mode::Well);
    let error = HttpEncoder::new(settings(Some(9))).unwrap().encode_queries(texts(&["b"])).await.unwrap_err();
    assert!(error.to_string().contains("4 numbers instead of 9"), "{error}");
    assert_eq!(endpoint.requests().last().unwrap()["dimensions"], 9);
}

#[track_caller]
fn refused(url: &str, key: Option<&str>, want: &str) {
    let settings = HttpEncoderSettings { key: key.map(str::to_owned), ..HttpEncoderSettings::new(url, "m") };
    let error = HttpEncoder::new(settings).err().unwrap().to_string();
    assert!(error.contains(want), "{url}: {error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn addresses_and_keys_that_cannot_be_used_are_refused() {
    refused("api.test/v1/embeddings", None, "address");
    refused("ftp://api.test/v1", None, "no https address");
    refused("https://me:hunter2@api.test/v1", None, "use a key");
    refused("http://api.test/v1", Some("hunter2"), "unencrypted to api.test");
    refused("https://api.test/v1", Some("hunter2\n"), "the key");
    for (url, key) in [
        ("https://api.test/v1", Some("k")),
        ("http://localhost:11434/v1/embeddings", Some("k")),
        ("http://[::1]:8080/v1", Some("k")),
        ("http://10.0.0.7/v1", Some("k")),
        ("http://ollama:11434/v1", None),
        ("http://api.test/v1", None),
    ] {
        let settings = HttpEncoderSettings { key: key.map(str::to_owned), ..HttpEncoderSettings::new(url, "m") };
        assert!(HttpEncoder::new(settings).is_ok(), "{url}");
    }
}
