//! Which rows of a version are held out, said when it is uploaded.

use std::io;

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::dataset::Columns;
use crate::dataset::split::SplitRule;
use crate::store::{DatasetVersionRow, Location};

/// How rows are held out.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetSplit {
    /// Share of the rows that is held out for evaluation.
    #[schema(minimum = 0.0, maximum = 0.9)]
    pub eval: f64,
    /// The column that says which rows belong together; null where prompts do.
    pub by: Option<String>,
    /// Rows to train on.
    pub train_rows: u64,
    /// Rows that are held out.
    pub eval_rows: u64,
}

impl DatasetSplit {
    /// That of a version, if it is split.
    pub fn of(version: &DatasetVersionRow) -> Option<Self> {
        // What is stored was checked.
        let SplitRule { eval, by } = serde_json::from_value(version.split.clone()?).ok()?;
        let (train_rows, eval_rows) = (version.rows - version.held_out, version.held_out);
        Some(Self { eval, by, train_rows, eval_rows })
    }
}

/// The rule in a query, if there is one.
pub fn asked(split: Option<&str>) -> Result<Option<SplitRule>, Problem> {
    let wrong = |detail: String| Problem::bad_request("invalid_parameter", format!("`split` {detail}"));
    split.map(str::parse).transpose().map_err(wrong)
}

/// The rule of the newest version, which the next has as well unless another is asked for.
pub fn kept(latest: &DatasetVersionRow) -> Result<Option<SplitRule>, Problem> {
    let rule = latest.split.clone().map(serde_json::from_value).transpose();
    Ok(rule.map_err(io::Error::other)?)
}

/// Splits a version whose file is in place, and is not for long when this fails.
pub async fn split(app: &App, version: &mut DatasetVersionRow, rule: Option<SplitRule>) -> Result<(), Problem> {
    let Some(rule) = rule.and_then(SplitRule::holding) else { return Ok(()) };
    let location = Location::dataset(version.id);
    let columns: Columns = serde_json::from_value(version.columns.clone()).map_err(io::Error::other)?;
    let (place, file) = (app.store.place().clone(), location.clone().holding(&version.sha256));
    let (rule, counting) = (rule.clone(), rule);
    let counted = blocking(move || -> Result<u64, Problem> { Ok(counting.count(place.read(&file)?, &columns)?) });
    match counted.await? {
        Ok(held_out) => {
            version.split = Some(serde_json::to_value(rule).map_err(io::Error::other)?);
            version.held_out = held_out;
            Ok(())
        }
        Err(problem) => {
            app.store.place().remove(&location).await;
            Err(problem)
        }
    }
}
