//! TLS for outgoing requests: ring, the platform's certificates.
//!
//! The configuration is built here and handed to the HTTP client, so nothing depends on a process-wide provider. On a
//! machine without certificates plain `http` goes on working and `https` fails with the fix.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

pub(crate) struct Tls {
    pub(crate) config: ClientConfig,
    /// Why no certificate can be verified, if so.
    pub(crate) problem: Option<String>,
}

pub(crate) fn configure() -> Result<Tls, rustls::Error> {
    let builder = || {
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()
    };
    let (mut config, problem) = match builder()?.with_platform_verifier() {
        Ok(builder) => (builder.with_no_client_auth(), None),
        Err(error) => {
            let config = builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
            (config, Some(format!("{error}; install the system's CA certificates (package ca-certificates)")))
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Tls { config, problem })
}
