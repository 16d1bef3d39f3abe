//! toolcrib
