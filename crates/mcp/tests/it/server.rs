//! The protocol as a client sees it, line by line.

mod asking;
mod elicit;
mod fake;
mod flow;
mod legacy;
mod modern;
mod stdio;
