//! Who makes a request, and what of the store they see.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::App;
use crate::job::ApiKeyId;
use crate::store::DEFAULT_PROJECT;

/// Who makes a request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub project: String,
    /// None: nobody has a key yet.
    pub key: Option<ApiKeyId>,
    /// Runs the server and sees all projects.
    pub operates: bool,
    /// May have programs run.
    pub runs_code: bool,
}

impl Caller {
    /// Whoever reaches a server that has no keys.
    pub fn anonymous() -> Self {
        Self { project: DEFAULT_PROJECT.to_owned(), key: None, operates: true, runs_code: true }
    }
}

/// The service as the caller may see it: its store holds what belongs to the caller's project and nothing else.
pub struct Access(pub App);

impl FromRequestParts<App> for Access {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let caller = parts.extensions.get::<Caller>();
        let project = caller.map_or(DEFAULT_PROJECT, |caller| &caller.project);
        let key = caller.and_then(|caller| caller.key);
        let runs_code = caller.is_some_and(|caller| caller.runs_code);
        Ok(Self(App { store: app.store.within(project), caller: key, runs_code, shared: Arc::clone(&app.shared) }))
    }
}

/// The service for agents, which run the jobs of all projects.
pub struct Agent(pub App);

impl FromRequestParts<App> for Agent {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let caller = parts.extensions.get::<Caller>().and_then(|caller| caller.key);
        Ok(Self(App { caller, ..app.clone() }))
    }
}

/// The service for routes that only `admin` keys reach: with all projects for operators, and for others with their own.
pub struct Administered(pub App);

impl FromRequestParts<App> for Administered {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        if parts.extensions.get::<Caller>().is_some_and(|caller| caller.operates) {
            return Ok(Self(app.clone()));
        }
        let Access(app) = Access::from_request_parts(parts, app).await?;
        Ok(Self(app))
    }
}
