//! TLS for HTTP upstreams: the platform's certificates, one named crypto provider, nothing process-wide.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// A configuration for `https`; for plain `http` one that trusts nobody, which costs nothing to build.
pub(super) fn client_config(https: bool) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let builder =
        if https { builder.with_platform_verifier()? } else { builder.with_root_certificates(RootCertStore::empty()) };
    Ok(builder.with_no_client_auth())
}
