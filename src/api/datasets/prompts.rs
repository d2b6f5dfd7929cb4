//! `GET /v1/dataset-versions/{id}/prompts`

use std::io;
use std::time::Duration;

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::imports::Pull;
use crate::api::resolve::{self, ModelFiles};
use crate::api::row_source::RowSource;
use crate::api::sandbox::{self, End, Task};
use crate::dataset::Split;
use crate::job::spec::PromptSpec;
use crate::job::{DatasetVersionId, FieldError};
use crate::spec::RowsRef;
use crate::text::ModelText;

/// The longest that prompts are made for a request.
const MOST_TIME: Duration = Duration::from_secs(20);
/// A page ends with the row with which it passes this many bytes, however many were asked for.
const PAGE_BYTES: usize = 4 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PromptParams {
    /// The model or checkpoint that is to read them; by default `builtin:arith-tiny`.
    #[param(max_length = 200, example = "builtin:arith-tiny")]
    model: Option<String>,
    /// The first row, counted from 0.
    #[serde(default)]
    offset: usize,
    /// Rows, 1 to 50; fewer where prompts are long.
    #[param(minimum = 1, maximum = 50)]
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    20
}

/// A row as a model reads it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RowPrompt {
    /// Always `dataset.prompt`.
    #[serde(default = "object")]
    object: String,
    /// The number of the row, counted from 0.
    row: usize,
    /// The prompt with the model's chat template around it; null where none can be made.
    text: Option<String>,
    /// The text of each token.
    pieces: Vec<String>,
    /// Why no prompt can be made.
    error: Option<String>,
}

fn object() -> String {
    String::from("dataset.prompt")
}

/// See rows as a model reads them
///
/// Each row as the prompt that a job without a `prompt` section of its own makes of it, token by token.
#[utoipa::path(
    get,
    path = "/v1/dataset-versions/{id}/prompts",
    tag = "datasets",
    params(("id" = String, Path, description = "The version"), PromptParams),
    responses(
        (status = 200, body = List<RowPrompt>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such version", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "No such model, or its tokenizer or template cannot be used", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_row_prompts(
    Access(app): Access,
    Id(id): Id<DatasetVersionId>,
    Params(params): Params<PromptParams>,
) -> Result<Json<List<RowPrompt>>, Problem> {
    let wrong = |code, detail: String| Problem::invalid(vec![FieldError::new("/model", code, detail)]);
    let version = app.store.dataset_version(id).await?;
    let name = params.model.as_deref().unwrap_or("builtin:arith-tiny");
    let model = resolve::model(app.finder(Pull::Never), name, 0, ("/model", "unknown_model")).await?;
    let model = model.map_err(|error| Problem::invalid(vec![error]))?;
    let rows = RowSource::whole(&app.store, RowsRef::Version(id), Split::Train).await?;
    let task = RowPrompts { model: model.files, rows, offset: params.offset, limit: params.limit };
    let (prompts, end) = sandbox::ask(app.store.own_project(), &task, MOST_TIME).await?;
    match end {
        End::Died(how) if prompts.is_empty() => return Err(wrong("model_text_failed", how)),
        End::TimedOut if prompts.is_empty() => {
            return Err(wrong("model_text_failed", String::from("its tokenizer or chat template takes too long")));
        }
        End::Done | End::TimedOut | End::Died(_) => {}
    }
    let prompts: Result<Vec<RowPrompt>, String> = prompts.into_iter().collect();
    let prompts = prompts.map_err(|why| wrong("model_text_failed", why))?;
    let has_more = prompts.last().is_some_and(|last| last.row + 1 < version.rows as usize);
    Ok(Json(List::with_more(prompts, has_more, |prompt| prompt.row.to_string())))
}

/// Rows that are to become prompts for a model.
#[derive(Debug, Serialize, Deserialize)]
pub struct RowPrompts {
    model: ModelFiles,
    rows: RowSource,
    offset: usize,
    limit: usize,
}

impl Task for RowPrompts {
    const NAME: &'static str = "row-prompts";
    /// Or why the model's tokenizer or template cannot be used.
    type Answer = Result<RowPrompt, String>;

    fn perform(&self, mut tell: impl FnMut(&Self::Answer) -> io::Result<()>) -> io::Result<()> {
        let inspection = match self.model.inspect() {
            Ok(inspection) => inspection,
            Err(error) => return tell(&Err(error.to_string())),
        };
        let spec = PromptSpec::default();
        let texts = match ModelText::of(&inspection, &spec) {
            Ok(texts) => texts,
            Err(error) => return tell(&Err(error.to_string())),
        };
        let prompter = match texts.prompter(&spec, inspection.config.max_position_embeddings) {
            Ok(prompter) => prompter,
            Err(error) => return tell(&Err(error.to_string())),
        };
        let dataset = self.rows.open()?;
        let end = dataset.len().min(self.offset.saturating_add(self.limit));
        let mut bytes = 0;
        for number in self.offset..end {
            let row = dataset.row(number).map_err(io::Error::other)?;
            let rendered = prompter.render(number, &row).and_then(|prompt| {
                let pieces = prompt.tokens.iter().map(|token| texts.tokenizer.decode(&[*token], false));
                Ok((prompt.text, pieces.collect::<Result<Vec<String>, _>>()?))
            });
            let (text, pieces, error) = match rendered {
                Ok((text, pieces)) => (Some(text), pieces, None),
                Err(error) => (None, Vec::new(), Some(error.to_string())),
            };
            bytes += text.as_ref().map_or(0, String::len) + pieces.iter().map(|piece| piece.len() + 4).sum::<usize>();
            tell(&Ok(RowPrompt { object: object(), row: number, text, pieces, error }))?;
            if bytes > PAGE_BYTES {
                break;
            }
        }
        Ok(())
    }
}
