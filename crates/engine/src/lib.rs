//! toolcrib-engine
