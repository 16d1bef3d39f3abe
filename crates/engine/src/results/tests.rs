use std::{task::Poll, time::Duration};

use toolcrib_core::{IngestLimits, Source, ingest::ingest};

use super::*;
use crate::{
    backend::{BoxFuture, CallContext},
    store::StoreError,
};

/// Has one text, at once.
struct Shelf(String);

impl ResultStore for Shelf {
    fn put<'a>(&'a self, _: &'a str, _: String, _: u64) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(async { Ok("x".to_owned()) })
    }

    fn get<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async { Ok(Some(self.0.clone())) })
    }
}

/// A kept text of so many lines of eight bytes → whether it is read on the caller's own thread. The answer is the same.
#[tokio::test]
async fn large_texts_are_read_beside_the_async_threads() {
    async fn check(lines: usize, want_at_once: bool) {
        let reader = ResultReader::new(Arc::new(Shelf("1234567\n".repeat(lines))));
        let tool = ingest(&Source::Builtin, vec![definition()], &IngestLimits::default(), 1, &|_| Ok(())).0.remove(0);
        let arguments = serde_json::value::to_raw_value(&json!({"handle": "x", "offset": 2, "limit": 1})).unwrap();
        let context = CallContext::new(1, Duration::from_mins(1));
        let invocation = Invocation { tool: &tool, arguments: &arguments, context: &context };
        let mut reading = Box::pin(reader.read(&invocation));
        let first = std::future::poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
        assert_eq!(first.is_ready(), want_at_once, "{lines}");
        let result = match first {
            Poll::Ready(result) => result,
            Poll::Pending => reading.await,
        };
        assert!(!result.is_error() && result.to_text().contains("1234567"), "{lines}: {}", result.to_text());
    }
    check(10, true).await;
    check(AT_ONCE / 8, true).await;
    check(AT_ONCE / 8 + 1, false).await;
}
