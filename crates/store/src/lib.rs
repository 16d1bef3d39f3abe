//! toolcrib-store
