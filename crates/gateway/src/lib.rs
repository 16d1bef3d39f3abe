//! toolcrib-gateway
