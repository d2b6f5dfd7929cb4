//! Who makes a request, and what of the store they see.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::App;
use crate::store::DEFAULT_PROJECT;

/// Who makes a request; put beside it by the check of keys.
#[derive(Clone, Debug)]
pub struct Caller {
    pub project: String,
}

/// The service as the caller may see it: its store holds what belongs to the caller's project and nothing else.
pub struct Access(pub App);

impl FromRequestParts<App> for Access {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let project = parts.extensions.get::<Caller>().map_or(DEFAULT_PROJECT, |caller| &caller.project);
        Ok(Self(App { store: app.store.within(project), ..app.clone() }))
    }
}
