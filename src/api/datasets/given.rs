//! Where the rows of a request come from: its body, a file that was uploaded before, or the hub.

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use super::import::{import, preview_import};
use super::preview::DatasetPreview;
use super::pull::{preview_pull, pull};
use super::upload::{IntakeParams, preview, receive};
use crate::api::App;
use crate::api::error::Problem;
use crate::api::extract::StreamedBody;
use crate::dataset::forms::Form;
use crate::dataset::intake::Intake;
use crate::hub::dataset::{DatasetRef, InvalidDatasetRef};
use crate::job::DatasetId;
use crate::job::id::InvalidId;
use crate::store::{DatasetVersionRow, StorageRoom, UploadedFileRow};

/// Where rows come from.
pub enum Given {
    Body(StreamedBody, Option<Form>),
    File(UploadedFileRow),
    Hub(DatasetRef),
}

impl Given {
    /// What a request names; only one of all.
    pub async fn of(
        app: &App,
        (file, source): (Option<String>, Option<String>),
        how: &IntakeParams,
        headers: &HeaderMap,
        body: StreamedBody,
    ) -> Result<Self, Problem> {
        let refused = |detail: String| Problem::bad_request("invalid_parameter", detail);
        let named = usize::from(file.is_some()) + usize::from(source.is_some());
        if named > 1 || (named > 0 && body.length > 0) {
            return Err(refused(String::from("`file`, `source` and rows in the body exclude each other")));
        }
        if let Some(file) = file {
            let id = file.parse().map_err(|error: InvalidId| refused(format!("`file`: {error}")))?;
            return Ok(Self::File(app.store.file(id).await?));
        }
        if let Some(source) = source {
            let source = source.parse().map_err(|error: InvalidDatasetRef| refused(format!("`source`: {error}")))?;
            return Ok(Self::Hub(source));
        }
        Ok(Self::Body(body, how.hint(headers)))
    }

    /// A version with the rows, whose file is in place; storing what is known of it is the caller's business.
    pub async fn version(
        self,
        app: &App,
        dataset: DatasetId,
        intake: Intake,
    ) -> Result<(DatasetVersionRow, StorageRoom), Problem> {
        match self {
            Self::Body(body, hint) => receive(app, dataset, intake, hint, body).await,
            Self::File(file) => import(app, dataset, intake, &file).await,
            Self::Hub(reference) => pull(app, dataset, intake, &reference).await,
        }
    }

    /// How the first rows would be read.
    pub async fn preview(self, app: &App, intake: Intake) -> Result<Response, Problem> {
        let shown = match self {
            Self::Body(body, hint) => preview(app, intake, hint, body).await?,
            Self::File(file) => preview_import(app, intake, &file).await?,
            Self::Hub(reference) => preview_pull(app, intake, &reference).await?,
        };
        Ok(Json(DatasetPreview::from(shown)).into_response())
    }
}
