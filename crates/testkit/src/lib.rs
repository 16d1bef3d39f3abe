//! toolcrib-testkit
