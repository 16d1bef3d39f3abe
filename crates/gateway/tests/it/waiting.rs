//! Requests that wait for results: they are bounded, and do not hold up the end.

use std::{future, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use toolcrib_gateway::{
    AccessKey,
    api::{
        Answer, ApiCall, ApiCaller, ApiService, BoxFuture,
        wire::{Deliveries, Ended},
    },
};

use crate::{
    fake::Running,
    http::{Socket, request},
};

/// Has nothing for anybody; who waits, waits for ever.
struct Nothing {
    waiting: Semaphore,
}

impl ApiService for Nothing {
    fn call<'a>(&'a self, _: &'a ApiCaller, _: ApiCall) -> BoxFuture<'a, Ended> {
        Box::pin(future::pending())
    }

    fn deliveries<'a>(&'a self, _: &'a ApiCaller, wait_ms: u64, _: Option<String>) -> Answer<'a, Deliveries> {
        Box::pin(async move {
            if wait_ms == 0 {
                return Ok(Deliveries { deliveries: Vec::new() });
            }
            self.waiting.add_permits(1);
            future::pending().await
        })
    }
}

async fn ask(gateway: &Running, key: &str, query: &str) -> Socket {
    let (host, bearer) = (gateway.host(), format!("Bearer {key}"));
    let mut socket = Socket::open(gateway).await;
    let headers = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
    socket.send(request("GET", &format!("/v1/deliveries{query}"), &headers, "")).await;
    socket
}

#[tokio::test]
async fn one_caller_has_32_places_to_wait_in_and_nobody_waits_after_shutdown() {
    const PLACES: usize = 32;
    let service = Arc::new(Nothing { waiting: Semaphore::new(0) });
    let keys = ["ann", "bob"].map(|name| AccessKey::caller(name.to_owned(), name.to_owned()));
    let configure = |settings: &mut toolcrib_gateway::GatewaySettings| {
        settings.keys = keys.to_vec();
        settings.drain = Duration::from_hours(1);
    };
    let mut gateway = Running::start_with(configure, |bound| bound.with_api(service.clone())).await;
    let mut waiting = Vec::new();
    for _ in 0..PLACES {
        waiting.push(ask(&gateway, "ann", "?wait_ms=30000").await);
    }
    let all = u32::try_from(PLACES).unwrap();
    service.waiting.acquire_many(all).await.unwrap().forget();
    let refused = ask(&gateway, "ann", "?wait_ms=1").await.answer().await.unwrap();
    assert_eq!(refused.status, 429);
    assert!(refused.body.contains("too_many") && refused.header("retry-after") == Some("1"), "{}", refused.body);
    // What does not wait needs no place, and another caller has its own.
    assert_eq!(ask(&gateway, "ann", "").await.answer().await.unwrap().status, 200);
    waiting.push(ask(&gateway, "bob", "?wait_ms=30000").await);
    service.waiting.acquire().await.unwrap().forget();
    // Who goes away leaves its place.
    drop(waiting.remove(0));
    loop {
        let mut next = ask(&gateway, "ann", "?wait_ms=30000").await;
        tokio::select! {
            permit = service.waiting.acquire() => {
                permit.unwrap().forget();
                waiting.push(next);
                break;
            }
            answer = next.answer() => assert_eq!(answer.unwrap().status, 429),
        }
    }
    gateway.shutdown.cancel();
    gateway.ended().await;
    for mut socket in waiting {
        let answer = socket.answer().await.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"deliveries":[]}"#));
    }
}
