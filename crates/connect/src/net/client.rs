//! Sending requests through the guard.

use std::{error::Error, sync::Arc, time::Duration};

use futures_util::StreamExt;
use reqwest::{
    Client, Method, Request, Response, StatusCode,
    header::{
        ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
        LOCATION, USER_AGENT,
    },
};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{
    policy::{EgressPolicy, Reach, UrlRefusal},
    resolver::{Blocked, GuardedResolver},
    tls,
};

/// Headers that may follow a redirect to another origin; every other header might hold a credential.
const HARMLESS: [HeaderName; 4] = [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, USER_AGENT];

/// Why a request brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The address, or one it redirects to, may not be requested.
    #[error("{0}")]
    Refused(#[from] UrlRefusal),
    /// The name leads to addresses that may not be reached.
    #[error("{0}; only hosts named in builtin.fetch.allow_hosts may be reached there")]
    Blocked(String),
    /// Redirected too often.
    #[error("more than {0} redirects")]
    TooManyRedirects(usize),
    /// A redirect that cannot be followed.
    #[error("{0}")]
    BadRedirect(&'static str),
    /// No answer in time.
    #[error("{host} did not answer within {} s", .limit.as_secs_f32())]
    TimedOut {
        /// Who was asked.
        host: String,
        /// The limit that passed.
        limit: Duration,
    },
    /// The connection could not be made or broke.
    #[error("cannot get an answer from {host}: {cause}")]
    Unreachable {
        /// Who was asked.
        host: String,
        /// Why not.
        cause: String,
    },
    /// The body is compressed although that was not asked for.
    #[error("{host} sent a body encoded as '{encoding}', which was not asked for and is not decoded")]
    Encoded {
        /// Who was asked.
        host: String,
        /// The encoding.
        encoding: String,
    },
    /// HTTPS does not work on this machine.
    #[error("https does not work here: {0}")]
    Tls(String),
}

/// An answer with its body.
#[derive(Debug)]
pub struct Fetched {
    /// Where the answer came from, after redirects.
    pub url: Url,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, at most [`EgressPolicy::max_bytes`].
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub truncated: bool,
    /// Where the answer sends the reader, if that is another host and [`EgressClient::fetch_from_host`] was asked: not
    /// requested, but allowed by the policy. The body is left unread then.
    pub elsewhere: Option<Url>,
}

/// How far redirects are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Wherever the policy allows.
    Anywhere,
    /// As long as they stay with the host that was asked.
    SameHost,
}

/// An HTTP client that goes only where its policy allows. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EgressClient {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    policy: Arc<EgressPolicy>,
    // One for each way of resolving names: connections are never shared between them.
    public: Client,
    named: Client,
    tls_problem: Option<String>,
}

/// Builds a client. Reads the platform's certificates: some milliseconds.
pub fn client(policy: EgressPolicy) -> Result<EgressClient, EgressError> {
    let policy = Arc::new(policy);
    let tls = tls::configure().map_err(|error| EgressError::Tls(error.to_string()))?;
    let build = |reach| {
        Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(policy.connect_timeout)
            .user_agent(&policy.user_agent)
            .dns_resolver(Arc::new(GuardedResolver { policy: policy.clone(), reach }))
            .tls_backend_preconfigured(tls.config.clone())
            .build()
            .map_err(|error| EgressError::Tls(causes(&error)))
    };
    let (public, named) = (build(Reach::Public)?, build(Reach::Named)?);
    Ok(EgressClient { inner: Arc::new(Inner { policy, public, named, tls_problem: tls.problem }) })
}

impl EgressClient {
    /// The policy this client follows.
    pub fn policy(&self) -> &EgressPolicy {
        &self.inner.policy
    }

    /// Sends a request, follows redirects, reads the body up to the cap. Dropping the future closes the connection.
    pub async fn fetch(&self, request: Request) -> Result<Fetched, EgressError> {
        self.fetch_following(request, Follow::Anywhere).await
    }

    /// The same, but a redirect is only followed to the same host and port, or from `http` to `https` on their usual
    /// ports; any other is left to whoever asked, in [`Fetched::elsewhere`]. For requests that somebody allowed by
    /// their host: that leave means no other one.
    pub async fn fetch_from_host(&self, request: Request) -> Result<Fetched, EgressError> {
        self.fetch_following(request, Follow::SameHost).await
    }

    async fn fetch_following(&self, request: Request, follow: Follow) -> Result<Fetched, EgressError> {
        let limit = self.inner.policy.timeout;
        let deadline = Instant::now() + limit;
        let (response, elsewhere) = self.send_until(request, deadline, follow).await?;
        let host = host_of(response.url());
        if elsewhere.is_some() {
            let (url, status, headers) = (response.url().clone(), response.status(), response.headers().clone());
            return Ok(Fetched { url, status, headers, body: Vec::new(), truncated: false, elsewhere });
        }
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|value| *value != "identity") {
            let encoding = String::from_utf8_lossy(encoding.as_bytes()).chars().take(40).collect();
            return Err(EgressError::Encoded { host, encoding });
        }
        let (url, status, headers) = (response.url().clone(), response.status(), response.headers().clone());
        let max_bytes = self.inner.policy.max_bytes;
        let mut body = Vec::new();
        let mut truncated = false;
        let mut chunks = response.bytes_stream();
        loop {
            let chunk = match timeout_at(deadline, chunks.next()).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(Some(Err(error))) => return Err(EgressError::Unreachable { host, cause: causes(&error) }),
                Ok(None) => break,
                Err(_) => return Err(EgressError::TimedOut { host, limit }),
            };
            let room = max_bytes - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                truncated = true;
                break;
            }
        }
        Ok(Fetched { url, status, headers, body, truncated, elsewhere })
    }

    /// Sends a request and follows redirects; the body is the caller's to read and to bound.
    pub async fn send(&self, request: Request) -> Result<Response, EgressError> {
        let deadline = Instant::now() + self.inner.policy.timeout;
        self.send_until(request, deadline, Follow::Anywhere).await.map(|(response, _)| response)
    }

    /// The last answer, and the redirect in it that was not followed.
    async fn send_until(
        &self,
        mut request: Request,
        deadline: Instant,
        follow: Follow,
    ) -> Result<(Response, Option<Url>), EgressError> {
        let policy = &self.inner.policy;
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut redirects = 0;
        loop {
            let reach = policy.check(request.url())?;
            if request.url().scheme() == "https"
                && let Some(problem) = &self.inner.tls_problem
            {
                return Err(EgressError::Tls(problem.clone()));
            }
            let client = match reach {
                Reach::Public => &self.inner.public,
                Reach::Named => &self.inner.named,
            };
            let host = host_of(request.url());
            let again = request.try_clone();
            let head = Head {
                method: request.method().clone(),
                headers: request.headers().clone(),
                url: request.url().clone(),
            };
            let response = match timeout_at(deadline, client.execute(request)).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(failure(&error, host, policy.connect_timeout)),
                Err(_) => return Err(EgressError::TimedOut { host, limit: policy.timeout }),
            };
            let Some(target) = redirect_target(&response)? else { return Ok((response, None)) };
            if follow == Follow::SameHost && !is_same_host(response.url(), &target) {
                policy.check(&target)?;
                return Ok((response, Some(target)));
            }
            redirects += 1;
            if redirects > policy.max_redirects {
                return Err(EgressError::TooManyRedirects(policy.max_redirects));
            }
            request = redirected(head, again, response.status(), target)?;
        }
    }
}

struct Head {
    method: Method,
    headers: HeaderMap,
    url: Url,
}

fn redirect_target(response: &Response) -> Result<Option<Url>, EgressError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let location =
        location.to_str().map_err(|_| EgressError::BadRedirect("the redirect's address is not plain text"))?;
    let target = response.url().join(location);
    target.map(Some).map_err(|_| EgressError::BadRedirect("the redirect's address cannot be understood"))
}

/// Whether a redirect stays where it was: the same scheme, host and port, or `https` in place of `http` on their usual
/// ports. Another port is another service.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let upgrade = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.origin() == to.origin() || upgrade && from.host().is_some() && from.host() == to.host()
}

/// The request that follows a redirect (RFC 9110 §15.4), less what may not leave its origin.
fn redirected(head: Head, again: Option<Request>, status: StatusCode, target: Url) -> Result<Request, EgressError> {
    let same_origin = head.url.origin() == target.origin();
    let becomes_get = match status.as_u16() {
        303 => head.method != Method::HEAD,
        301 | 302 => head.method == Method::POST,
        _ => false,
    };
    let mut next = if becomes_get {
        Request::new(Method::GET, target)
    } else {
        let mut again =
            again.ok_or(EgressError::BadRedirect("a redirect asks for a body that was already streamed"))?;
        if again.body().is_some() && !same_origin {
            return Err(EgressError::BadRedirect("a redirect would send the request's body to another origin"));
        }
        *again.url_mut() = target;
        again
    };
    let mut headers = head.headers;
    if becomes_get {
        headers.remove(CONTENT_TYPE);
    }
    if !same_origin {
        let names: Vec<HeaderName> = headers.keys().filter(|name| !HARMLESS.contains(name)).cloned().collect();
        for name in names {
            headers.remove(name);
        }
    }
    *next.headers_mut() = headers;
    Ok(next)
}

/// The host and port of an address: all of it that errors show, since paths and queries may hold secrets.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn failure(error: &reqwest::Error, host: String, connect_timeout: Duration) -> EgressError {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(blocked) = cause.downcast_ref::<Blocked>() {
            return EgressError::Blocked(blocked.to_string());
        }
        source = cause.source();
    }
    if error.is_timeout() {
        return EgressError::TimedOut { host, limit: connect_timeout };
    }
    EgressError::Unreachable { host, cause: causes(error) }
}

/// The innermost cause: the outer ones repeat the whole address, query included.
fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = cause.to_string();
    if text.contains("://") { "the request failed".to_owned() } else { text }
}

#[cfg(test)]
mod tests;
