//! What every request passes before anything reads it: Host, Origin, fetch metadata, key (T9).

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use subtle::{Choice, ConstantTimeEq};

use crate::{
    api::{Code, Problem},
    settings::{AccessKey, GatewaySettings, KeyScope, KeyScopes},
};

/// Who a request comes from: the name of the key it showed, `None` where no keys are configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal(pub Option<Arc<str>>);

/// The rules, prepared.
pub(crate) struct Guard {
    // Lower case, with the port as a client sends it.
    hosts: Vec<String>,
    origins: Vec<String>,
    keys: Vec<AccessKey>,
    operator_keys: Vec<AccessKey>,
}

impl Guard {
    pub(crate) fn new(settings: &GatewaySettings, address: SocketAddr) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        hosts.extend(settings.hosts.iter().map(|host| host.to_ascii_lowercase()));
        let origins = settings.origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Self { hosts, origins, keys: settings.keys.clone(), operator_keys: settings.operator_keys.clone() }
    }

    fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(Principal, KeyScopes), Refusal> {
        self.check_host(uri, headers)?;
        self.check_origin(headers)?;
        if headers.get_all("sec-fetch-site").iter().any(|site| site.as_bytes().eq_ignore_ascii_case(b"cross-site")) {
            return Err(Refusal::new(Code::CrossSite, "a web page of another site may not use this server"));
        }
        self.check_key(headers)
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = match single(headers, &header::HOST) {
            Ok(Some(host)) => host.to_ascii_lowercase(),
            Ok(None) => return Err(Refusal::new(Code::NotRead, "the Host header is missing")),
            Err(()) => return Err(Refusal::new(Code::NotRead, "the Host header is given twice or is not plain text")),
        };
        if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(&host)) {
            return Err(Refusal::new(Code::NotRead, "the Host header and the request target name different hosts"));
        }
        if !self.hosts.contains(&host) {
            return Err(Refusal::new(
                Code::HostNotServed,
                "this Host is not served here; if it should be, add it, with its port, to the gateway's hosts",
            ));
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let origin = match single(headers, &header::ORIGIN) {
            Ok(None) => return Ok(()),
            Ok(Some(origin)) => origin.to_ascii_lowercase(),
            Err(()) => {
                return Err(Refusal::new(Code::CrossSite, "the Origin header is given twice or is not plain text"));
            }
        };
        let own = ["http://", "https://"]
            .iter()
            .filter_map(|scheme| origin.strip_prefix(scheme))
            .any(|authority| self.hosts.iter().any(|host| host == authority));
        if own || self.origins.contains(&origin) {
            return Ok(());
        }
        Err(Refusal::new(
            Code::CrossSite,
            "this Origin may not use the server; if it should, add it to the gateway's origins",
        ))
    }

    fn check_key(&self, headers: &HeaderMap) -> Result<(Principal, KeyScopes), Refusal> {
        let shown = single(headers, &header::AUTHORIZATION).ok().flatten().and_then(bearer).unwrap_or_default();
        // Every key is compared, whatever the earlier ones said.
        let mut found = None;
        for key in self.keys.iter().chain(&self.operator_keys) {
            let same: Choice = key.secret.as_bytes().ct_eq(shown.as_bytes());
            if bool::from(same) {
                found = Some((Principal(Some(Arc::from(key.name.as_str()))), key.scopes));
            }
        }
        match found {
            Some(found) => Ok(found),
            // Operators' keys close nothing to others: they only open more.
            None if self.keys.is_empty() => Ok((Principal(None), KeyScopes::CALLER)),
            None => Err(Refusal::new(Code::KeyNeeded, "a valid key is needed: Authorization: Bearer KEY")),
        }
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A header's one value; `Err` when there are more, or it is not visible ASCII.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(());
    }
    first.to_str().map(Some).map_err(|_| ())
}

struct Refusal(Code, &'static str);

impl Refusal {
    fn new(code: Code, text: &'static str) -> Self {
        Self(code, text)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(code, text) = self;
        let mut response = Problem::new(code, text).into_response();
        if code == Code::KeyNeeded {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The problem of a key that does not open what was asked for.
pub(crate) fn needs(scopes: KeyScopes, scope: KeyScope) -> Result<(), Problem> {
    if scopes.has(scope) {
        return Ok(());
    }
    let word = scope.word();
    let fix = match scope {
        KeyScope::Read | KeyScope::Call => format!("add \"{word}\" to the key's scopes in gateway.named_keys"),
        KeyScope::Approve | KeyScope::Operate => {
            "configure gateway.operator_keys, or a key with that scope in gateway.named_keys, and send it as \
             Authorization: Bearer KEY"
                .to_owned()
        }
    };
    Err(Problem::new(Code::ScopeNeeded, format!("this needs a key with the scope \"{word}\"; {fix}")))
}

/// Lets those pass who may look at tools and call them.
pub(crate) async fn callers_only(Extension(scopes): Extension<KeyScopes>, request: Request, next: Next) -> Response {
    match needs(scopes, KeyScope::Read).and_then(|()| needs(scopes, KeyScope::Call)) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Lets a request pass or answers it.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    // hyper prefers Transfer-Encoding where a Content-Length is given too and does not show the latter. Ending the
    // connection after such a request leaves nothing to be misread as a second one (T24; RFC 9112, 6.1).
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let mut response = match guard.admit(request.uri(), request.headers()) {
        Ok((principal, scopes)) => {
            request.extensions_mut().insert(principal);
            request.extensions_mut().insert(scopes);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if chunked {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[cfg(test)]
mod tests;
