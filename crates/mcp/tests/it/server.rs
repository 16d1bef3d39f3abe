//! The protocol as a client sees it, line by line.

mod fake;
mod flow;
mod legacy;
mod modern;
mod stdio;
