//! What a route is to those that stand around its handler: the check of keys, the audit log and the memory of repeated
//! requests. It is said where the route is listed, and nowhere else; what parameters it takes is said where it is
//! described.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{OpenApi, RefOr};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::App;
use super::error::Problem;
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
    /// For a machine that begins to run jobs.
    Joins,
    /// For one that runs them: agents speak of their work all the time.
    Serves,
    /// Anybody may ask, with a key or without.
    Public,
    /// Anybody may ask, and says in the body who they are.
    SignsIn,
}

impl Kind {
    /// What a request asks of the caller's key; none for what everybody may see.
    pub fn scope(self, method: &Method) -> Option<Scope> {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        match self {
            Self::Public | Self::SignsIn => None,
            Self::Joins | Self::Serves => Some(Scope::Agent),
            Self::Administers => Some(Scope::Admin),
            Self::Operates => Some(if reads { Scope::Admin } else { Scope::Operator }),
            Self::Asks | Self::Completes => Some(Scope::Read),
            Self::Ordinary | Self::MakesJob | Self::Downloads => Some(if reads { Scope::Read } else { Scope::Write }),
        }
    }

    /// Whether a request wants to change something.
    pub fn changes(self, method: &Method) -> bool {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !reads && self != Self::SignsIn && self.scope(method) != Some(Scope::Read)
    }

    /// Whether the audit log names a request that was admitted.
    pub fn is_noted(self, method: &Method) -> bool {
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        ![Self::Public, Self::Serves].contains(&self) && (!reads || self == Self::Downloads)
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

/// A query parameter that an operation takes.
#[derive(Debug)]
pub struct Parameter {
    name: String,
    /// Characters of its value, at most.
    longest: Option<usize>,
}

/// The query parameters that each operation takes, by path and method.
pub type Parameters = HashMap<(String, Method), Vec<Parameter>>;

/// As the operations are described.
pub fn parameters(document: &OpenApi) -> Parameters {
    let operations = document.paths.paths.iter().flat_map(|(path, item)| {
        let methods = [
            (Method::GET, &item.get),
            (Method::PUT, &item.put),
            (Method::POST, &item.post),
            (Method::PATCH, &item.patch),
            (Method::DELETE, &item.delete),
        ];
        methods.into_iter().filter_map(|(method, operation)| Some(((path.clone(), method), taken(operation.as_ref()?))))
    });
    operations.collect()
}

fn taken(operation: &Operation) -> Vec<Parameter> {
    let parameters = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => {
            let longest = match &parameter.schema {
                Some(RefOr::T(Schema::Object(schema))) => schema.max_length,
                _ => None,
            };
            Some(Parameter { name: parameter.name.clone(), longest })
        }
        RefOr::T(_) | RefOr::Ref(_) => None,
    });
    parameters.collect()
}

/// Refuses a request with a parameter that its operation does not take, or whose value is too long: whoever misspells a
/// filter must not be shown everything.
pub async fn know_parameters(
    State(parameters): State<Arc<Parameters>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.uri().query().is_some_and(|query| !query.is_empty()) {
        let method = if request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
        let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
        if let Some(known) = path.and_then(|path| parameters.get(&(path, method))) {
            check_names(known, request.uri())?;
        }
    }
    Ok(next.run(request).await)
}

fn check_names(known: &[Parameter], uri: &axum::http::Uri) -> Result<(), Problem> {
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else {
        return Err(Problem::bad_request("invalid_parameter", "the query of the address cannot be read"));
    };
    for (name, value) in &pairs {
        let parameter = known.iter().find(|known| stands_for(&known.name, name)).ok_or_else(|| unknown(known, name))?;
        if let Some(longest) = parameter.longest.filter(|longest| value.chars().nth(*longest).is_some()) {
            let detail = format!("`{}` has at most {longest} characters", parameter.name);
            return Err(Problem::bad_request("invalid_parameter", detail));
        }
    }
    Ok(())
}

fn unknown(known: &[Parameter], name: &str) -> Problem {
    let name: String = name.chars().take(80).collect();
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(&known.name, &name), &known.name)).min();
    let meant = match near {
        Some((distance, name)) if distance <= 2 => format!("; did you mean `{name}`?"),
        Some(_) => {
            let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
            format!("; it takes {}", names.join(", "))
        }
        None => String::from("; it takes none"),
    };
    Problem::bad_request("invalid_parameter", format!("`{name}` is no parameter of this operation{meant}"))
}

/// Whether a parameter has the name of a described one, of which `metadata[key]` stands for every key and for `metadata`.
fn stands_for(known: &str, name: &str) -> bool {
    match known.split_once('[') {
        None => known == name,
        Some((base, _)) => {
            name.strip_prefix(base).is_some_and(|key| key.is_empty() || (key.starts_with('[') && key.ends_with(']')))
        }
    }
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
    fn a_parameter_that_an_operation_does_not_take_is_named_with_what_was_meant() {
        let (_, document, _) = super::super::routes().into_parts();
        let all = parameters(&document);
        let refusal = |path: &str, query: &str| {
            let uri = format!("{path}?{query}").parse().unwrap();
            check_names(&all[&(path.to_owned(), Method::GET)], &uri).err().map(|problem| problem.detail)
        };
        assert_eq!(refusal("/v1/jobs", "status=running&limit=5&metadata[a]=b&metadata%5Bc%5D=d"), None);
        let misspelt = refusal("/v1/jobs", "statuss=running").unwrap();
        assert_eq!(misspelt, "`statuss` is no parameter of this operation; did you mean `status`?");
        assert!(refusal("/v1/jobs", "colour=red").unwrap().contains("it takes limit, after, order, status"));
        for unknown in ["status[]=failed", "metadata[a=b", "metadatax=b"] {
            assert!(refusal("/v1/jobs", unknown).is_some(), "{unknown}");
        }
        let long = refusal("/v1/jobs", &format!("q={}", "é".repeat(201))).unwrap();
        assert_eq!(long, "`q` has at most 200 characters");
        assert_eq!(refusal("/v1/jobs", &format!("q={}", "é".repeat(200))), None);
        assert!(refusal("/v1/devices", "x").unwrap().ends_with("; it takes none"));
    }

    #[test]
    fn a_question_changes_nothing_and_an_operator_does() {
        assert!(!Kind::Asks.changes(&Method::POST) && !Kind::Operates.changes(&Method::GET));
        assert!(Kind::Operates.changes(&Method::PUT) && Kind::Ordinary.changes(&Method::DELETE));
    }
}
