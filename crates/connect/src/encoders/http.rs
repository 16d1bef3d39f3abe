//! An HTTP endpoint of embeddings that speaks as OpenAI's does: `{"model", "input": [texts]}` in, `{"data": [{"index",
//! "embedding"}]}` out. Requests go through the egress guard; the one host that the settings name may be private. What it is
//! sent leaves the machine, unless the endpoint is on it.

use std::time::Duration;

use reqwest::{
    Method, Request,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    ContentHash,
    search::{MAX_DIMENSIONS, Vector},
};
use toolcrib_engine::{
    BoxFuture,
    encoder::{Encoder, EncoderError},
};
use url::{Host, Url};

use crate::net::{AddressClass, EgressClient, EgressPolicy, HostRule, classify, client};

/// Most bytes of a number in an answer: all digits of a 64-bit one with sign, exponent, comma and white space.
const NUMBER_BYTES: usize = 32;
/// Most bytes of what else an answer holds. With the largest batch of the widest vectors it has 33 MB.
const REST_BYTES: usize = 256 * 1024;
/// Most texts of one request.
const MAX_BATCH: usize = 256;
/// Longest time for connecting, and for a whole request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_mins(1);

/// What an endpoint is asked, and how.
#[derive(Clone)]
pub struct HttpEncoderSettings {
    /// Where requests go, as `https://HOST/v1/embeddings`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The bearer key, if there is one.
    pub key: Option<String>,
    /// How many numbers a vector is to have; the model's own number if `None`.
    pub dimensions: Option<usize>,
    /// How long a search waits for a query's vector. Default 200 ms.
    pub query_wait: Duration,
    /// Texts of one request, at most 256. Default 64.
    pub batch: usize,
    /// Put in front of what tools say, and of queries, as some models want it. Default empty.
    pub document_prefix: String,
    /// See `document_prefix`.
    pub query_prefix: String,
}

impl HttpEncoderSettings {
    /// The defaults for a model at an endpoint.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            dimensions: None,
            query_wait: Duration::from_millis(200),
            batch: 64,
            document_prefix: String::new(),
            query_prefix: String::new(),
        }
    }
}

/// An endpoint of embeddings.
pub struct HttpEncoder {
    id: String,
    name: String,
    host: String,
    url: Url,
    bearer: Option<HeaderValue>,
    // Most bytes of an answer.
    max_bytes: usize,
    settings: HttpEncoderSettings,
    client: EgressClient,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl HttpEncoder {
    /// Checks the settings; nothing is sent yet. Reads the platform's certificates: some milliseconds.
    ///
    /// A key goes by https, or by http to a private address, to a name without a dot (of this machine or its own network) and
    /// to names under `localhost`.
    ///
    /// # Errors
    /// When the address or the key cannot be used, or a key would travel unencrypted to anywhere else.
    pub fn new(settings: HttpEncoderSettings) -> Result<Self, EncoderError> {
        let fail = |cause: String| EncoderError::new(cause);
        let url: Url = settings.url.parse().map_err(|error| fail(format!("the address cannot be used: {error}")))?;
        let name = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")).map(str::to_owned);
        let Some(name) = name else { return Err(fail("the address is no https address".to_owned())) };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fail("the address holds a user name or password; use a key".to_owned()));
        }
        let here = match url.host() {
            Some(Host::Ipv4(address)) => classify(address.into()) != AddressClass::Public,
            Some(Host::Ipv6(address)) => classify(address.into()) != AddressClass::Public,
            // A name without a dot is one of this machine or of its own network.
            Some(Host::Domain(name)) => !name.contains('.') || name.ends_with(".localhost"),
            None => false,
        };
        if url.scheme() == "http" && settings.key.is_some() && !here {
            return Err(fail(format!("the key would travel unencrypted to {name}; use https")));
        }
        let bearer = match &settings.key {
            Some(key) => {
                let bearer = HeaderValue::from_str(&format!("Bearer {key}"));
                let mut bearer = bearer.map_err(|_| fail("the key holds what no header may hold".to_owned()))?;
                bearer.set_sensitive(true);
                Some(bearer)
            }
            None => None,
        };
        let host = match url.port() {
            Some(port) => format!("{name}:{port}"),
            None => name.clone(),
        };
        let port = url.port_or_known_default().unwrap_or(443);
        let rule: HostRule = format!("{name}:{port}").parse().map_err(|error| fail(format!("the address: {error}")))?;
        let width = settings.dimensions.unwrap_or(MAX_DIMENSIONS).min(MAX_DIMENSIONS);
        let max_bytes = settings.batch.clamp(1, MAX_BATCH) * width * NUMBER_BYTES + REST_BYTES;
        let policy = EgressPolicy {
            private_hosts: vec![rule],
            // Whoever has to be asked elsewhere is to be named.
            max_redirects: 0,
            max_bytes,
            connect_timeout: CONNECT_TIMEOUT,
            timeout: TIMEOUT,
            ..EgressPolicy::default()
        };
        let client = client(policy).map_err(|error| fail(error.to_string()))?;
        // Vectors of another model, width or prefix are no use; the key makes no difference.
        let told =
            [url.as_str(), &settings.model, &settings.document_prefix, &settings.query_prefix].map(str::to_owned);
        let told = serde_json::to_string(&(told, settings.dimensions)).unwrap_or_default();
        Ok(Self {
            id: format!("http:{}", ContentHash::of_bytes(told.as_bytes()).base32(26)),
            name: format!("the model '{}' at {host}", clean(&settings.model)),
            host,
            url,
            bearer,
            max_bytes,
            settings,
            client,
        })
    }

    async fn encode(&self, prefix: &str, texts: Vec<String>) -> Result<Vec<Vector>, EncoderError> {
        let host = &self.host;
        let count = texts.len();
        let input: Vec<String> = texts.into_iter().map(|text| format!("{prefix}{text}")).collect();
        let mut body = json!({"model": self.settings.model, "input": input, "encoding_format": "float"});
        if let Some(dimensions) = self.settings.dimensions {
            body["dimensions"] = dimensions.into();
        }
        let mut request = Request::new(Method::POST, self.url.clone());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(bearer) = &self.bearer {
            request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        }
        *request.body_mut() = Some(body.to_string().into());
        let fetched = self.client.fetch(request).await.map_err(|error| EncoderError::new(error.to_string()))?;
        let fail = |cause: String| EncoderError::new(format!("{host} {cause}"));
        if !fetched.status.is_success() {
            // What it says may repeat what it was sent.
            let hint = match fetched.status.as_u16() {
                401 | 403 => "; check search.encoder.key",
                404 => "; check search.encoder.url and the model's name",
                429 => "; it is asked too often",
                _ => "",
            };
            return Err(fail(format!("answered {}{hint}", fetched.status)));
        }
        if fetched.truncated {
            return Err(fail(format!("sent more than {} bytes; set search.encoder.batch lower", self.max_bytes)));
        }
        let answer: Answer = serde_json::from_slice(&fetched.body).map_err(|error| {
            fail(format!("sent what is no list of embeddings (at line {} column {})", error.line(), error.column()))
        })?;
        if answer.data.len() != count {
            return Err(fail(format!("sent {} embeddings for {count} texts", answer.data.len())));
        }
        let mut vectors: Vec<Option<Vector>> = vec![None; count];
        for (at, one) in answer.data.into_iter().enumerate() {
            let vector = Vector::new(&one.embedding).map_err(|error| fail(format!("sent no embedding: {error}")))?;
            if let Some(wanted) = self.settings.dimensions.filter(|wanted| *wanted != vector.dimensions()) {
                return Err(fail(format!("sent {} numbers instead of {wanted}", vector.dimensions())));
            }
            match vectors.get_mut(one.index.unwrap_or(at)) {
                Some(place @ None) => *place = Some(vector),
                _ => return Err(fail("sent embeddings that belong to no text".to_owned())),
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}

/// A name as people are shown it.
fn clean(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

impl Encoder for HttpEncoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        self.settings.batch.clamp(1, MAX_BATCH)
    }

    fn query_wait(&self) -> Duration {
        self.settings.query_wait
    }

    fn encode_documents(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>> {
        Box::pin(self.encode(&self.settings.document_prefix, texts))
    }

    fn encode_queries(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>> {
        Box::pin(self.encode(&self.settings.query_prefix, texts))
    }
}
