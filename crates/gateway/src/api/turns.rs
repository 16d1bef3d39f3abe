//! `POST /v1/turns`: the calls in a provider's response are run like any others, and answered in the provider's shape.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};

use super::{
    Api, Problem,
    calls::{Around, Underway},
    intake,
    operation::{Who, caller},
    wire::{Call, Ended, Object, Turn, TurnDone},
};

/// A response that was read.
pub struct AskedCalls {
    /// Its calls, each with its id.
    pub calls: Vec<(String, Call)>,
    /// How many of them may run together, group after group. Adds up to their number.
    pub groups: Vec<usize>,
    /// Writes the answers, given how the calls ended, in their order.
    pub answer: Box<dyn FnOnce(Vec<Ended>) -> TurnDone + Send>,
}

pub(super) async fn take(State(api): State<Arc<Api>>, who: Who, request: Request) -> Response {
    match answer(&api, who, request).await {
        Ok(done) => Json(done).into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn answer(api: &Arc<Api>, who: Who, request: Request) -> Result<TurnDone, Problem> {
    let (parts, body) = request.into_parts();
    intake::no_query(&parts.uri)?;
    let around = Around::read(&parts.headers)?;
    let Object(turn) = intake::json::<Object<Turn>>(&api.bytes(&parts.headers, body).await?)?;
    let caller = caller(&who);
    let AskedCalls { calls, groups, answer } = api.service.turn(&caller, turn).await?;
    let keyed: Vec<(Call, Option<String>)> =
        calls.into_iter().map(|(id, call)| (call, around.key.as_deref().map(|key| format!("{key}/{id}")))).collect();
    let count = keyed.len();
    let ended = Underway::begin(api, caller, around, keyed, groups, false)?.all_ended(count).await?;
    Ok(answer(ended))
}
