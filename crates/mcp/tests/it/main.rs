//! Tests of the public interface.

mod server;
