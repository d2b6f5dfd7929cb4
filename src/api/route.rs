//! What a route is to those that stand around its handler: the check of keys, the audit log and the memory of repeated
//! requests. It is said where the route is listed, and nowhere else.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::App;
use crate::job::Scope;

/// What the requests to a path are, beside what their methods say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// GET reads; other methods change something.
    #[default]
    Ordinary,
    /// As ordinary; a POST makes a job, and its handler knows a repeated one itself.
    MakesJob,
    /// A POST that only asks, because its question does not fit into an address.
    Asks,
    /// As `Asks`, and it ends with its client: nobody else wants the answer, and others wait for the device.
    Completes,
    /// Reads what may leave with whoever reads it: weights, rows, completions.
    Downloads,
    /// For those who administer a project; operators see all of them.
    Administers,
    /// As `Administers`; only operators change anything.
    Operates,
    /// Anybody may ask, with a key or without.
    Public,
}

impl Kind {
    /// What a request asks of the caller's key; none for what everybody may see.
    pub fn scope(self, method: &Method) -> Option<Scope> {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        match self {
            Self::Public => None,
            Self::Administers => Some(Scope::Admin),
            Self::Operates => Some(if reads { Scope::Admin } else { Scope::Operator }),
            Self::Asks | Self::Completes => Some(Scope::Read),
            Self::Ordinary | Self::MakesJob | Self::Downloads => Some(if reads { Scope::Read } else { Scope::Write }),
        }
    }

    /// Whether a request wants to change something.
    pub fn changes(self, method: &Method) -> bool {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !reads && self.scope(method) != Some(Scope::Read)
    }

    /// Whether the audit log names a request that was admitted.
    pub fn is_noted(self, method: &Method) -> bool {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        self != Self::Public && (!reads || self == Self::Downloads)
    }

    /// Of a request that was routed; ordinary where nothing is there.
    pub fn of(request: &Request) -> Self {
        request.extensions().get().copied().unwrap_or_default()
    }
}

/// The kinds of all paths that have one of their own, by their templates.
pub type Kinds = HashMap<String, Kind>;

/// Routes with their descriptions and kinds.
#[derive(Default)]
pub struct Routes {
    router: OpenApiRouter<App>,
    kinds: Kinds,
}

impl Routes {
    /// Adds what one or more methods do at an ordinary path.
    pub fn routes(self, routes: UtoipaMethodRouter<App>) -> Self {
        self.of(Kind::Ordinary, routes)
    }

    /// Adds what one or more methods do at a path; all routes of a path are of one kind.
    pub fn of(mut self, kind: Kind, routes: UtoipaMethodRouter<App>) -> Self {
        for path in routes.1.paths.keys() {
            let earlier = self.kinds.insert(path.clone(), kind);
            assert!(earlier.is_none_or(|earlier| earlier == kind), "{path} is listed as two kinds");
        }
        Self { router: self.router.routes(routes), kinds: self.kinds }
    }

    pub fn merge(mut self, other: Self) -> Self {
        self.kinds.extend(other.kinds);
        Self { router: self.router.merge(other.router), kinds: self.kinds }
    }

    /// The handlers, their descriptions, and the kinds.
    pub fn into_parts(self) -> (Router<App>, OpenApi, Kinds) {
        let (router, document) = self.router.split_for_parts();
        (router, document, self.kinds)
    }
}

/// Puts a request's kind beside it, for all that stands further in.
pub async fn mark(State(kinds): State<Arc<Kinds>>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let kind = path.and_then(|path| kinds.get(path.as_str())).copied().unwrap_or_default();
    request.extensions_mut().insert(kind);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_asks_for_the_least_that_it_needs() {
        let (_, _, kinds) = super::super::routes().into_parts();
        let table = [
            ("GET", "/healthz", None),
            ("GET", "/metrics", Some(Scope::Read)),
            ("GET", "/v1/jobs", Some(Scope::Read)),
            ("POST", "/v1/jobs", Some(Scope::Write)),
            ("DELETE", "/v1/jobs/{id}", Some(Scope::Write)),
            ("POST", "/v1/rollout-sets/{id}/frontier", Some(Scope::Read)),
            ("POST", "/v1/verifiers", Some(Scope::Write)),
            ("POST", "/v1/verifiers/{id}/test", Some(Scope::Read)),
            ("GET", "/v1/api-keys", Some(Scope::Admin)),
            ("GET", "/v1/projects", Some(Scope::Admin)),
            ("PUT", "/v1/projects/{id}", Some(Scope::Operator)),
        ];
        for (method, path, scope) in table {
            assert_eq!(kinds[path].scope(&method.parse().unwrap()), scope, "{method} {path}");
        }
        assert_eq!(Kind::default().scope(&Method::GET), Some(Scope::Read), "what is not there is no secret to readers");
    }

    #[test]
    fn a_question_changes_nothing_and_an_operator_does() {
        assert!(!Kind::Asks.changes(&Method::POST) && !Kind::Operates.changes(&Method::GET));
        assert!(Kind::Operates.changes(&Method::PUT) && Kind::Ordinary.changes(&Method::DELETE));
    }
}
