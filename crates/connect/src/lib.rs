//! toolcrib-connect
