//! `POST /v1/dataset-versions/{id}/filter`

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::DatasetVersion;
use super::splits;
use super::upload::publish;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::resolve;
use crate::api::scan::scan;
use crate::dataset::filter::{Condition, Counts, Filter, Kept, Likeness, PassRates};
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::dataset::{Columns, DatasetError};
use crate::job::rollout_set::ROLLOUTS_FILE;
use crate::job::{DatasetVersionId, FieldError, RolloutSetId};
use crate::objective::math::PASS_MARK;
use crate::spec::RowsRef;
use crate::store::{DatasetVersionRow, Location, Place, Staged, StoredFile};

/// Versions that one was appended to, one after the other.
const MOST_ANCESTORS: usize = 10_000;
const BUFFER_BYTES: usize = 1 << 18;

/// Which rows to keep. Everything that is given must hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterDataset {
    /// What columns must hold.
    #[serde(default, rename = "where")]
    #[schema(max_items = 64)]
    conditions: Vec<RowCondition>,
    /// How often a model solves the rows.
    #[serde(default)]
    pass_rate: Option<PassRateRange>,
    /// Keep one of the rows with the same prompt, the first: `exact`, the same to the letter, or `normalised`, the same words.
    #[serde(default)]
    unique: Option<UniqueBy>,
}

/// What a column must hold. A row without a value there is not kept, unless `present` is false. A text that is wholly a
/// number counts as that number, because all values of CSV are texts.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RowCondition {
    #[schema(min_length = 1, max_length = 256, example = "level")]
    column: String,
    /// Exactly this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is: Option<Value>,
    /// One of these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 1000)]
    any_of: Option<Vec<Value>>,
    /// None of these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 1000)]
    none_of: Option<Vec<Value>>,
    /// A number of at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    /// A number of at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// True: any value but null. False: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    present: Option<bool>,
}

/// How often a model solves a row: the share of its completions with a reward of at least 0.5.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PassRateRange {
    /// Completions of a model for rows of this version, or of one that it was appended to, with rewards.
    #[schema(max_length = 80, example = "rs_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    rollout_set: String,
    #[serde(default)]
    #[schema(default = 0.0, minimum = 0.0, maximum = 1.0)]
    min: f64,
    #[serde(default = "one")]
    #[schema(default = 1.0, minimum = 0.0, maximum = 1.0)]
    max: f64,
    /// Also keep the rows that the set has no completions for.
    #[serde(default)]
    keep_unsampled: bool,
    /// Write 1 minus the pass rate into this column of each row that has one, for jobs with `dataset.order` "easy_first".
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256, example = "difficulty")]
    difficulty_column: Option<String>,
}

fn one() -> f64 {
    1.0
}

/// When two rows are the same.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum UniqueBy {
    Exact,
    Normalised,
}

/// Filter a version of a data set
///
/// Makes the next version of its data set with those rows that are kept, as they are and in their order. The version says
/// what it was made of (`parent`) and how (`made`), and is split in the same way, so that each row stays on its side.
#[utoipa::path(
    post,
    path = "/v1/dataset-versions/{id}/filter",
    tag = "datasets",
    params(("id" = String, Path, description = "The version")),
    request_body = FilterDataset,
    responses(
        (status = 201, body = DatasetVersion),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such version", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, the rollout set is of other rows, or no row is kept", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn filter_dataset_version(
    Access(app): Access,
    Id(id): Id<DatasetVersionId>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<DatasetVersion>), Problem> {
    let request: FilterDataset = read(&body)?;
    request.check()?;
    let parent = app.store.dataset_version(id).await?;
    let counts = match &request.pass_rate {
        Some(range) => Some(pass_rates(&app, &parent, &range.rollout_set).await?),
        None => None,
    };
    let filtering = Filtering {
        place: app.store.place().clone(),
        file: Location::dataset(id).holding(&parent.sha256),
        columns: serde_json::from_value(parent.columns.clone()).map_err(io::Error::other)?,
        filter: request.filter(counts),
    };
    let _room = app.store.storage_room(parent.bytes).await?;
    let (rows, summary, kept) = scan(&app, move || filtering.write()).await?;
    let mut version = publish(rows, parent.dataset, summary, None).await?;
    splits::split(&app, &mut version, splits::kept(&parent)?).await?;
    version.parent = Some(id);
    version.made = Some(json!({"filter": body, "rows": kept.rows, "kept": kept.kept}));
    if let Err(error) = app.store.add_dataset_version(&version).await {
        app.store.place().remove(&Location::dataset(version.id)).await;
        return Err(error.into());
    }
    Ok((StatusCode::CREATED, Json(app.store.dataset_version(version.id).await?.into())))
}

impl FilterDataset {
    fn check(&self) -> Result<(), Problem> {
        let faults = self.conditions.iter().enumerate().filter_map(|(at, condition)| {
            let fault = Condition::from(condition.clone()).fault()?;
            Some(FieldError::new(format!("/where/{at}"), "invalid_value", fault))
        });
        let mut errors: Vec<FieldError> = faults.collect();
        if self.conditions.is_empty() && self.pass_rate.is_none() && self.unique.is_none() {
            let detail = "would keep every row; give `where`, `pass_rate` or `unique`";
            errors.push(FieldError::new("/where", "missing_field", detail));
        }
        if self.pass_rate.as_ref().is_some_and(|range| range.min > range.max) {
            errors.push(FieldError::new("/pass_rate/max", "out_of_range", "is at least `min`"));
        }
        if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
    }

    fn filter(self, counts: Option<Counts>) -> Filter {
        let rates = self.pass_rate.zip(counts).map(|(range, counts)| PassRates {
            counts,
            min: range.min,
            max: range.max,
            keep_unsampled: range.keep_unsampled,
            difficulty_column: range.difficulty_column,
        });
        Filter {
            conditions: self.conditions.into_iter().map(Condition::from).collect(),
            rates,
            unique: self.unique.map(|unique| match unique {
                UniqueBy::Exact => Likeness::Exact,
                UniqueBy::Normalised => Likeness::Normalised,
            }),
        }
    }
}

impl From<RowCondition> for Condition {
    fn from(condition: RowCondition) -> Self {
        let RowCondition { column, is, any_of, none_of, at_least, at_most, present } = condition;
        Self { column, is, any_of, none_of, at_least, at_most, present }
    }
}

/// How often each row of a version was solved in a rollout set.
async fn pass_rates(app: &App, version: &DatasetVersionRow, set: &str) -> Result<Counts, Problem> {
    const POINTER: &str = "/pass_rate/rollout_set";
    let wrong = |code, detail: String| Problem::invalid(vec![FieldError::new(POINTER, code, detail)]);
    let id: RolloutSetId = set.parse().map_err(|_| wrong("not_found", format!("`{set}` is no rollout set, rs_...")))?;
    let row = resolve::found(app.store.rollout_set(id).await, POINTER)?;
    let row = row.map_err(|error| Problem::invalid(vec![error]))?;
    let rows = app.store.job(row.job).await?.work().rows();
    if !is_of(app, version, rows).await? {
        let detail = format!("{id} holds completions for rows of {rows}; sample a set for {}", version.id);
        return Err(wrong("rollouts_of_other_rows", detail));
    }
    let detail =
        format!("the rollout set {id} is not ready; wait for its job {}, which is {}", row.job, row.job_status);
    let content = row.content.ok_or_else(|| wrong("rollout_set_not_ready", detail))?;
    if content.summary.reward_mean.is_none() {
        return Err(wrong("no_rewards", String::from("the rollout set was made without a `verifier`")));
    }
    let (place, file) = (app.store.place().clone(), content.artifact.file(ROLLOUTS_FILE)?);
    scan(app, move || count(place.read(&file)?)).await
}

/// Whether rows that completions were sampled for have the same numbers in a version: they are its own, or those of one
/// that rows were appended to.
async fn is_of(app: &App, version: &DatasetVersionRow, rows: RowsRef) -> Result<bool, Problem> {
    let RowsRef::Version(wanted) = rows else { return Ok(false) };
    let mut version = version.clone();
    for _ in 0..MOST_ANCESTORS {
        if version.id == wanted {
            return Ok(true);
        }
        let appended = version.made.as_ref().is_some_and(|made| made.get("append").is_some());
        let Some(parent) = version.parent.filter(|_| appended) else { break };
        version = app.store.dataset_version(parent).await?;
    }
    Ok(false)
}

/// Counts completions, and those that pass, by their rows. Blocks.
fn count(file: impl Read) -> io::Result<Counts> {
    #[derive(Deserialize)]
    struct Head {
        row: usize,
        reward: Option<f64>,
    }
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let (mut counts, mut line) = (Counts::new(), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        let Head { row, reward } = serde_json::from_slice(&line)?;
        if let Some(reward) = reward {
            let (completions, passed) = counts.entry(row).or_default();
            *completions += 1;
            *passed += u32::from(reward >= PASS_MARK);
        }
        line.clear();
    }
    Ok(counts)
}

/// A file of rows of which some are kept.
struct Filtering {
    place: Place,
    file: StoredFile,
    columns: Columns,
    filter: Filter,
}

impl Filtering {
    /// Writes the rows that are kept, and checks them on the way. Blocks.
    fn write(&self) -> Result<(Staged, Summary, Kept), Problem> {
        let rows = self.place.stage();
        let mut target = BufWriter::with_capacity(BUFFER_BYTES, rows.create()?);
        let mut validator = Validator::new(self.columns.clone(), Limits::default());
        let mut broken = None;
        let add = |bytes: &[u8]| {
            target.write_all(bytes)?;
            validator.feed(bytes).map_err(|error| {
                broken = Some(error.clone());
                io::Error::other(error)
            })
        };
        let kept = self.filter.copy(self.place.read(&self.file)?, &self.columns, add);
        if let Some(error) = broken {
            return Err(error.into());
        }
        let kept = kept?;
        if kept.kept == 0 {
            let detail = format!("keeps none of the {} rows; ask for less", kept.rows);
            let pointer = if self.filter.conditions.is_empty() { "/pass_rate" } else { "/where" };
            return Err(Problem::invalid(vec![FieldError::new(pointer, DatasetError::Empty.code(), detail)]));
        }
        target.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok((rows, validator.finish()?, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_are_counted_by_their_rows() {
        let lines = [(3, Some(1.0)), (3, Some(0.4)), (1, Some(0.5)), (1, None)];
        let file: String = lines
            .iter()
            .map(|(row, reward)| json!({"row": row, "reward": reward, "x": 1}).to_string() + "\n")
            .collect();
        assert_eq!(count(file.as_bytes()).unwrap(), Counts::from([(3, (2, 1)), (1, (1, 1))]));
    }

    #[test]
    fn what_asks_for_nothing_is_refused_by_its_pointer() {
        let refused = |body: Value| -> Vec<String> {
            let refused = read::<FilterDataset>(&body).and_then(|request| request.check()).unwrap_err();
            refused.errors.into_iter().map(|error| error.pointer).collect()
        };
        assert_eq!(refused(json!({})), ["/where"]);
        assert_eq!(refused(json!({"where": [{"column": "a", "is": 1}, {"column": "b"}]})), ["/where/1"]);
        assert_eq!(refused(json!({"pass_rate": {"rollout_set": "rs_1", "min": 0.9, "max": 0.1}})), ["/pass_rate/max"]);
        assert_eq!(refused(json!({"pass_rate": {"rollout_set": "rs_1", "max": 1.1}})), ["/pass_rate/max"]);
        assert!(read::<FilterDataset>(&json!({"unique": "exact"})).unwrap().check().is_ok());
    }
}
