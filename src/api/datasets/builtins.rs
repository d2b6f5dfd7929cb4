//! `GET /v1/datasets/builtins`

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, Params};
use crate::dataset::builtin::{BuiltinError, BuiltinSet};
use crate::dataset::{Dataset, Split};
use crate::job::FieldError;

/// Rows of each split that are shown.
const SHOWN: usize = 2;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BuiltinParams {
    /// Only this one, with its parameters if it has any.
    #[param(max_length = 200, example = "builtin:countdown?difficulty=3&seed=7")]
    name: Option<String>,
}

/// A data set that is part of the program.
#[derive(Debug, Serialize, ToSchema)]
pub struct BuiltinDataset {
    /// What specs name it by, with the parameters that differ from the defaults.
    #[schema(example = "builtin:countdown")]
    id: String,
    /// Always `dataset.builtin`.
    object: &'static str,
    /// What is asked.
    summary: &'static str,
    /// What grows with the parameter `difficulty`, 1 to 10; null where there are no parameters.
    difficulty: Option<&'static str>,
    /// The verifier that judges its completions, as a spec writes it.
    #[schema(value_type = Object)]
    verifier: Value,
    /// Rows to train on.
    train_rows: usize,
    /// Rows that are held out; none is among those to train on, under any seed or difficulty.
    eval_rows: usize,
    /// `sha256:` and the digest of its rows.
    digest: String,
    /// The first rows of each split.
    examples: Vec<BuiltinRow>,
}

/// A row of a built-in data set.
#[derive(Debug, Serialize, ToSchema)]
struct BuiltinRow {
    /// `train` or `eval`.
    split: &'static str,
    /// The whole row.
    #[schema(value_type = Object)]
    row: Value,
}

impl From<BuiltinSet> for BuiltinDataset {
    fn from(set: BuiltinSet) -> Self {
        let [train, eval] = [Split::Train, Split::Eval].map(|split| set.open(split));
        let (train_rows, eval_rows) = (train.len(), eval.len());
        let first = |split, rows: Dataset| {
            (0..SHOWN).filter_map(move |index| {
                let row = Value::Object((*rows.row(index).ok()?.fields).clone());
                Some(BuiltinRow { split, row })
            })
        };
        Self {
            id: set.to_string(),
            object: "dataset.builtin",
            summary: set.summary(),
            difficulty: set.difficulty(),
            verifier: set.verifier(),
            train_rows,
            eval_rows,
            digest: format!("sha256:{}", set.sha256()),
            examples: first("train", train).chain(first("eval", eval)).collect(),
        }
    }
}

/// List built-in data sets
///
/// The data sets that are part of the program, with the verifiers that judge them and a few rows. Those of tasks are made
/// by rule and take parameters behind their names: `difficulty` (1 to 10; 1), `seed` (0) and `rows` (1 to 1000000 to train
/// on; 10000; a tenth as many are held out). Name one with its parameters to see its rows.
#[utoipa::path(
    get,
    path = "/v1/datasets/builtins",
    tag = "datasets",
    params(BuiltinParams),
    responses(
        (status = 200, body = List<BuiltinDataset>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "There is no such data set, or it has no such parameter", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_builtin_datasets(
    Params(params): Params<BuiltinParams>,
) -> Result<Json<List<BuiltinDataset>>, Problem> {
    let sets: Vec<BuiltinSet> = match params.name {
        None => BuiltinSet::all().collect(),
        Some(name) => vec![name.parse().map_err(|error: BuiltinError| {
            Problem::invalid(vec![FieldError::new("/name", error.code(), error.to_string())])
        })?],
    };
    let described = blocking(move || sets.into_iter().map(BuiltinDataset::from).collect::<Vec<_>>()).await?;
    Ok(Json(List::new(described, u32::MAX, |set| set.id.clone())))
}
