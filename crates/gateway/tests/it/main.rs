//! The gateway as a client sees it: bytes over a socket.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod elicit;
mod fake;
mod framing;
mod guards;
mod http;
mod legacy;
mod lifecycle;
mod modern;
mod waiting;
