//! One operation of the API: its route, what opens it, what it takes and gives, and what answers it. The router and the
//! OpenAPI document are both made from it, so that neither can say what the other does not.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{Method, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use super::{Answer, Api, ApiCaller, ApiService, Code, Problem, intake, wire::Object};
use crate::{
    guard::{self, Principal},
    settings::{KeyScope, KeyScopes},
};

/// Makes the schema of a type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Reads a body.
pub(super) type ReadBody<B> = fn(&[u8]) -> Result<B, Problem>;

/// What an operation answers with when all is well.
pub(super) enum Content {
    /// JSON of this schema.
    Json(SchemaOf),
    /// JSON, or a stream of events with data of the second schema.
    JsonOrEvents(SchemaOf, SchemaOf),
    /// Plain text.
    Text,
}

/// One operation.
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Its name in generated clients.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// What opens it; `None`: any key.
    pub(super) needs: Option<KeyScope>,
    /// What the variable part of the path is.
    pub(super) part: Option<&'static str>,
    pub(super) query: Option<SchemaOf>,
    /// Headers that it reads, with what they are for.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) body: Option<SchemaOf>,
    pub(super) content: Content,
    /// Problems besides those that all have.
    pub(super) problems: &'static [Code],
    pub(super) handler: MethodRouter<Arc<Api>>,
}

/// Who asks, as the guards left it with the request.
pub(super) type Who = (Extension<Principal>, Extension<KeyScopes>);

pub(super) fn caller(who: &Who) -> ApiCaller {
    ApiCaller { principal: who.0.0.0.as_deref().map(str::to_owned), scopes: who.1.0 }
}

type Shared = State<Arc<Api>>;
type Part = Result<Path<String>, PathRejection>;

impl Operation {
    /// With a handler of its own.
    pub(super) fn new(
        method: Method,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        content: Content,
        handler: MethodRouter<Arc<Api>>,
    ) -> Self {
        Self {
            method,
            path,
            id,
            summary,
            needs: None,
            part: None,
            query: None,
            headers: &[],
            body: None,
            content,
            problems: &[],
            handler,
        }
    }

    /// Takes nothing.
    pub(super) fn plain<A: Serialize + JsonSchema + 'static>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        answer: impl for<'a> Fn(&'a dyn ApiService, &'a ApiCaller) -> Answer<'a, A> + Clone + Send + Sync + 'static,
    ) -> Self {
        let handler = async move |State(api): Shared, who: Who, request: Request| {
            if let Err(problem) = intake::no_query(request.uri()) {
                return problem.into_response();
            }
            let caller = caller(&who);
            answered(answer(&*api.service, &caller).await)
        };
        Self::new(Method::GET, path, id, summary, json::<A>(), on(MethodFilter::GET, handler))
    }

    /// Takes a query.
    pub(super) fn query<Q, A>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        answer: impl for<'a> Fn(&'a dyn ApiService, &'a ApiCaller, Q) -> Answer<'a, A> + Clone + Send + Sync + 'static,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let handler = async move |State(api): Shared, who: Who, request: Request| match intake::query(request.uri()) {
            Ok(query) => {
                let caller = caller(&who);
                answered(answer(&*api.service, &caller, query).await)
            }
            Err(problem) => problem.into_response(),
        };
        let operation = Self::new(Method::GET, path, id, summary, json::<A>(), on(MethodFilter::GET, handler));
        Self { query: Some(Q::json_schema), ..operation }
    }

    /// Takes a body.
    pub(super) fn body<B, A>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        answer: impl for<'a> Fn(&'a dyn ApiService, &'a ApiCaller, B) -> Answer<'a, A> + Clone + Send + Sync + 'static,
    ) -> Self
    where
        B: DeserializeOwned + JsonSchema + Send + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let handler = async move |State(api): Shared, who: Who, request: Request| {
            let (parts, body) = request.into_parts();
            let read = async {
                intake::no_query(&parts.uri)?;
                intake::json::<Object<B>>(&api.bytes(&parts.headers, body).await?).map(|body| body.0)
            };
            match read.await {
                Ok(body) => {
                    let caller = caller(&who);
                    answered(answer(&*api.service, &caller, body).await)
                }
                Err(problem) => problem.into_response(),
            }
        };
        let operation = Self::new(Method::POST, path, id, summary, json::<A>(), on(MethodFilter::POST, handler));
        Self { body: Some(schema::<B>), ..operation }
    }

    /// Takes what the path names.
    pub(super) fn part<A: Serialize + JsonSchema + 'static>(
        (path, part): (&'static str, &'static str),
        id: &'static str,
        summary: &'static str,
        answer: impl for<'a> Fn(&'a dyn ApiService, &'a ApiCaller, String) -> Answer<'a, A> + Clone + Send + Sync + 'static,
    ) -> Self {
        let handler =
            async move |State(api): Shared, who: Who, named: Part, request: Request| match read_part(named, &request) {
                Ok(named) => {
                    let caller = caller(&who);
                    answered(answer(&*api.service, &caller, named).await)
                }
                Err(problem) => problem.into_response(),
            };
        let operation = Self::new(Method::DELETE, path, id, summary, json::<A>(), on(MethodFilter::DELETE, handler));
        Self { part: Some(part), ..operation }
    }

    /// Takes what the path names, and a body that `read` reads.
    pub(super) fn part_and_body<B, A>(
        (method, filter): (Method, MethodFilter),
        (path, part): (&'static str, &'static str),
        id: &'static str,
        summary: &'static str,
        (body_schema, read): (SchemaOf, ReadBody<B>),
        answer: impl for<'a> Fn(&'a dyn ApiService, &'a ApiCaller, String, B) -> Answer<'a, A>
        + Clone
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        B: Send + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let handler = async move |State(api): Shared, who: Who, named: Part, request: Request| {
            let reading = async {
                let named = read_part(named, &request)?;
                let (parts, body) = request.into_parts();
                Ok((named, read(&api.bytes(&parts.headers, body).await?)?))
            };
            match reading.await {
                Ok((named, body)) => {
                    let caller = caller(&who);
                    answered(answer(&*api.service, &caller, named, body).await)
                }
                Err(problem) => Problem::into_response(problem),
            }
        };
        let operation = Self::new(method, path, id, summary, json::<A>(), on(filter, handler));
        Self { part: Some(part), body: Some(body_schema), ..operation }
    }

    /// Opened by keys with this scope only.
    pub(super) fn needs(self, scope: KeyScope) -> Self {
        Self { needs: Some(scope), ..self }
    }

    /// May end in these problems too.
    pub(super) fn problems(self, problems: &'static [Code]) -> Self {
        Self { problems, ..self }
    }

    /// Puts the operation into a router, behind its scope: that is checked before anything of a request is read.
    pub(super) fn mount(self, router: Router<Arc<Api>>) -> Router<Arc<Api>> {
        let mut handler = self.handler;
        if let Some(scope) = self.needs {
            handler = handler.route_layer(middleware::from_fn(
                move |Extension(scopes): Extension<KeyScopes>, request: Request, next: Next| async move {
                    match guard::needs(scopes, scope) {
                        Ok(()) => next.run(request).await,
                        Err(problem) => problem.into_response(),
                    }
                },
            ));
        }
        router.route(self.path, handler)
    }
}

/// The schema of a type, as a reference where it has a name.
pub(super) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn json<T: JsonSchema>() -> Content {
    Content::Json(schema::<T>)
}

fn read_part(named: Part, request: &Request) -> Result<String, Problem> {
    intake::no_query(request.uri())?;
    match named {
        Ok(Path(named)) => Ok(named),
        Err(rejection) => Err(Problem::new(Code::NotRead, format!("the path cannot be read: {rejection}"))),
    }
}

/// An answer as a response.
pub(super) fn answered<A: Serialize>(answer: Result<A, Problem>) -> Response {
    match answer {
        Ok(answer) => (StatusCode::OK, Json(answer)).into_response(),
        Err(problem) => problem.into_response(),
    }
}
