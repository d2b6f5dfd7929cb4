//! `POST /v1/dataset-versions/{id}/check`

use std::time::{Duration, Instant};

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::token_lengths::{TokenLengths, token_lengths};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::resolve;
use crate::api::row_source::RowSource;
use crate::api::scan::scan;
use crate::dataset::Split;
use crate::dataset::check::{Duplicates, Leak, Leakage, Leaks, Options, Report, check};
use crate::job::DatasetVersionId;
use crate::spec::RowsRef;

/// Rows that are not compared by then are left out.
const MOST_TIME: Duration = Duration::from_secs(300);

/// What to look for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckDataset {
    /// Held-out rows to look for: a data set (`ds_...`, its latest version), a version (`dsv_...`) or a built-in; of one that
    /// is split its held-out part. By default the held-out part of this version, if it is split.
    #[serde(default)]
    #[schema(max_length = 200)]
    against: Option<String>,
    /// Words in a row that a held-out prompt must share with a prompt that is trained on. Prompts with fewer words, but at
    /// least 5, are looked for as a whole.
    #[serde(default = "default_ngram")]
    #[schema(default = 13, minimum = 5, maximum = 64)]
    ngram: usize,
    /// Rows that each list names, the first ones; counts are of all.
    #[serde(default = "default_listed")]
    #[schema(default = 20, minimum = 0, maximum = 1000)]
    listed: usize,
    /// A model by whose tokenizer and chat template the tokens of prompts and completions are counted.
    #[serde(default)]
    #[schema(max_length = 200, example = "builtin:arith-tiny")]
    model: Option<String>,
}

fn default_ngram() -> usize {
    13
}

fn default_listed() -> usize {
    20
}

/// What was found. Rows are named by their numbers, counted from 0.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetCheck {
    /// Always `dataset.check`.
    object: &'static str,
    version: String,
    /// Rows that were compared; of a version that is split, those to train on.
    rows: usize,
    /// Whether that were all: reading ends after five minutes.
    complete: bool,
    duplicates: DuplicatesFound,
    /// Held-out rows that are also trained on; null where there are none to look for.
    leakage: Option<LeakageFound>,
    /// How many tokens the rows have; null without a `model`.
    tokens: Option<TokenLengths>,
}

/// Prompts that come again. Of a version that is checked against its own held-out part these are of both parts.
#[derive(Debug, Serialize, ToSchema)]
struct DuplicatesFound {
    /// To the letter.
    exact: DuplicateRows,
    /// The same words, whatever their case, punctuation and form of characters.
    normalised: DuplicateRows,
}

/// Rows with the same prompt.
#[derive(Debug, Serialize, ToSchema)]
struct DuplicateRows {
    /// Rows that repeat an earlier one.
    rows: usize,
    /// Prompts that several rows have.
    prompts: usize,
    /// Of these, prompts with different answers.
    conflicts: usize,
    /// The first groups, each with its first ten rows.
    groups: Vec<Vec<usize>>,
}

/// Held-out rows that are also trained on.
#[derive(Debug, Serialize, ToSchema)]
struct LeakageFound {
    /// The version or the built-in that was looked for; null for the held-out part of this one.
    against: Option<String>,
    /// Held-out rows.
    rows: usize,
    /// The same prompt to the letter.
    exact: LeakedRows,
    /// The same words.
    normalised: LeakedRows,
    /// Words in a row.
    ngrams: LeakedNgrams,
}

/// Held-out rows that were found.
#[derive(Debug, Serialize, ToSchema)]
struct LeakedRows {
    rows: usize,
    listed: Vec<LeakedRow>,
}

/// Held-out rows that share words in a row with rows that are trained on.
#[derive(Debug, Serialize, ToSchema)]
struct LeakedNgrams {
    /// Words in a row.
    n: usize,
    rows: usize,
    /// Of these, rows of which at least half stands in rows that are trained on.
    half: usize,
    listed: Vec<LeakedRow>,
    /// Runs of words that more than ten held-out rows share, as instructions are; they do not count.
    common: usize,
    /// Share of the runs that was looked for; below 1 where held-out rows have more than 8 million.
    looked_for: f64,
}

/// A held-out row, and the first row with it in it.
#[derive(Debug, Serialize, ToSchema)]
struct LeakedRow {
    row: usize,
    train_row: usize,
    /// Share of the held-out row's runs of words that stand in any row that is trained on.
    overlap: f64,
}

/// Check a version of a data set
///
/// Finds prompts that come again, to the letter and by their words, with those that have different answers; held-out
/// prompts that are also trained on, to the letter, by their words, and by words in a row; and how many tokens rows have.
/// Reads all rows, and holds hashes of them only. Send `{}` for the defaults.
#[utoipa::path(
    post,
    path = "/v1/dataset-versions/{id}/check",
    tag = "datasets",
    params(("id" = String, Path, description = "The version")),
    request_body = CheckDataset,
    responses(
        (status = 200, body = DatasetCheck),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such version", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or there is no such data set or model", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn check_dataset_version(
    Access(app): Access,
    Id(id): Id<DatasetVersionId>,
    JsonBody(body): JsonBody,
) -> Result<Json<DatasetCheck>, Problem> {
    let request: CheckDataset = read(&body)?;
    let version = app.store.dataset_version(id).await?;
    let one = |error| Problem::invalid(vec![error]);
    let own = RowsRef::Version(id);
    // One side may be empty.
    let both = version.held_out > 0 && version.held_out < version.rows;
    let train = if both {
        RowSource::of(&app.store, own, Split::Train).await?
    } else {
        RowSource::whole(&app.store, own, Split::Train).await?
    };
    let mut against = None;
    let held_out = match &request.against {
        Some(name) => {
            let found = resolve::scored_rows(&app.store, name, None, "/against").await?;
            let found = found.and_then(|found| found.check_side(Split::Eval, "/against").map(|()| found));
            let found = found.map_err(one)?.reference();
            against = Some(found.to_string());
            Some(RowSource::of(&app.store, found, Split::Eval).await?)
        }
        None if both => Some(RowSource::of(&app.store, own, Split::Eval).await?),
        None => None,
    };
    let tokens = match &request.model {
        Some(model) => Some(token_lengths(&app, id, model).await?),
        None => None,
    };
    let options = Options { ngram: request.ngram, listed: request.listed };
    let together = request.against.is_none();
    let report = scan(&app, move || -> Result<Report, Problem> {
        let (train, held_out) = (train.open()?, held_out.map(|rows| rows.open()).transpose()?);
        let deadline = Instant::now() + MOST_TIME;
        Ok(check(&train, held_out.as_ref(), together, options, || Instant::now() < deadline)?)
    });
    Ok(Json(DatasetCheck::of(id, report.await?, against, request.ngram, tokens)))
}

impl DatasetCheck {
    fn of(
        id: DatasetVersionId,
        report: Report,
        against: Option<String>,
        ngram: usize,
        tokens: Option<TokenLengths>,
    ) -> Self {
        let Report { rows, held_out, exact, normalised, leakage, complete } = report;
        Self {
            object: "dataset.check",
            version: id.to_string(),
            rows,
            complete,
            duplicates: DuplicatesFound { exact: exact.into(), normalised: normalised.into() },
            leakage: leakage.map(|Leakage { exact, normalised, ngrams }| {
                let LeakedRows { rows, listed } = ngrams.leaks.into();
                let (half, common, looked_for) = (ngrams.half, ngrams.common, ngrams.share);
                let ngrams = LeakedNgrams { n: ngram, rows, half, listed, common, looked_for };
                LeakageFound { against, rows: held_out, exact: exact.into(), normalised: normalised.into(), ngrams }
            }),
            tokens,
        }
    }
}

impl From<Duplicates> for DuplicateRows {
    fn from(found: Duplicates) -> Self {
        let Duplicates { rows, prompts, conflicts, groups } = found;
        Self { rows, prompts, conflicts, groups }
    }
}

impl From<Leaks> for LeakedRows {
    fn from(found: Leaks) -> Self {
        let leaked = |leak: Leak| {
            let Leak { row, train_row, overlap } = leak;
            LeakedRow { row, train_row, overlap }
        };
        Self { rows: found.rows, listed: found.listed.into_iter().map(leaked).collect() }
    }
}
