//! `GET /v1/evaluations/{id}/breakdown`

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{PassRate, content};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::api::row_source::RowSource;
use crate::api::scan::scan;
use crate::dataset::numbers::number;
use crate::dataset::{Dataset, Split};
use crate::job::evaluation::RESULTS_FILE;
use crate::job::{EvaluationId, PassAtK, PromptResult};
use crate::objective::math::{RateInterval, pass_at, rate_interval};
use crate::spec::{EvaluationSplit, Work};

/// Groups of an answer; the prompts of all others are one more.
const MOST_GROUPS: usize = 100;
/// Numbers that differ more often than this are taken together in quarters.
const MOST_NUMBERS: usize = 12;
/// Characters of a value.
const MOST_VALUE: usize = 200;
/// The k of one request.
const MOST_KS: usize = 8;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BreakdownParams {
    /// A column of the rows, such as `difficulty`; a dot leads into an object. Without it all prompts are one group.
    #[param(example = "difficulty")]
    by: Option<String>,
    /// The k of pass@k separated by commas, at most 8, each no more than the evaluation's samples; those of the evaluation when absent.
    #[param(example = "1,4")]
    k: Option<String>,
}

/// An evaluation group by group of its rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct EvaluationBreakdown {
    /// Always `evaluation.breakdown`.
    object: &'static str,
    evaluation: String,
    by: Option<String>,
    /// By their values: numbers ascending, then texts. At most 100; the last one may be all others.
    groups: Vec<BreakdownGroup>,
}

/// The prompts whose rows have the same value.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
struct BreakdownGroup {
    /// As JSON, texts as they are; of numbers that differ a lot a range, `2 to 5`. Null where a row has no such column, and without `by`.
    #[schema(example = "hard")]
    value: Option<String>,
    prompts: usize,
    /// Completions with a verdict.
    samples: u64,
    /// Over the prompts of the group that have k completions with verdicts, with 95 % intervals; without a k that none has.
    #[schema(value_type = Vec<PassRate>)]
    pass_at: Vec<PassRate>,
    /// maj@k for k = `samples` of the evaluation: the share of prompts whose most frequent answer passes; null where no prompt has an answer.
    #[schema(value_type = Option<PassRate>)]
    majority: Option<PassRate>,
    /// Of all completions of the group.
    reward_mean: Option<f64>,
    tokens_mean: Option<f64>,
    /// Share of completions that were cut at the length limit.
    truncated: Option<f64>,
}

/// Break an evaluation down
///
/// pass@k, maj@k, lengths and truncation for each value of a column of the rows. A column of many different numbers is
/// taken in quarters of the prompts.
#[utoipa::path(
    get,
    path = "/v1/evaluations/{id}/breakdown",
    tag = "evaluations",
    params(("id" = String, Path, description = "The evaluation"), BreakdownParams),
    responses(
        (status = 200, body = EvaluationBreakdown),
        (status = 400, description = "A parameter is invalid, or no row has the column", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such evaluation", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The evaluation is not complete", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn break_evaluation_down(
    Access(app): Access,
    Id(id): Id<EvaluationId>,
    Params(params): Params<BreakdownParams>,
) -> Result<Json<EvaluationBreakdown>, Problem> {
    let row = app.store.evaluation(id).await?;
    let found = content(&row)?;
    let samples = found.summary.samples;
    let own: Vec<u32> = found.summary.pass_at.iter().map(|rate| rate.k).collect();
    let ks = ks(params.k.as_deref(), &own, samples)?;
    let results = found.artifact.file(RESULTS_FILE)?;
    let Work::Evaluate(evaluating) = &row.job.resolved.work else {
        return Err(io::Error::other("the job of an evaluation does something else").into());
    };
    let split = match evaluating.split {
        Some(EvaluationSplit::Train) => Split::Train,
        Some(EvaluationSplit::Eval) | None => Split::Eval,
    };
    let source = match &params.by {
        Some(_) => Some(RowSource::whole(&app.store, evaluating.rows, split).await?),
        None => None,
    };
    let (place, by) = (app.store.place().clone(), params.by.clone());
    let read = scan(&app, move || -> Result<_, Problem> {
        let rows = source.as_ref().map(RowSource::open).transpose()?;
        let column = by.as_deref().zip(rows.as_ref());
        let prompts = read(BufReader::new(place.read(&results)?), column)?;
        if let (Some(by), false) = (&by, prompts.iter().any(|(value, _)| value.is_some())) {
            let detail = format!("`by`: no row of the evaluation has the column `{by}`");
            return Err(Problem::bad_request("invalid_parameter", detail));
        }
        Ok(groups(prompts, &ks, samples))
    });
    let groups = read.await?;
    Ok(Json(EvaluationBreakdown { object: "evaluation.breakdown", evaluation: id.to_string(), by: params.by, groups }))
}

fn ks(asked: Option<&str>, own: &[u32], samples: u32) -> Result<Vec<u32>, Problem> {
    let Some(asked) = asked else { return Ok(own.to_vec()) };
    let numbers: Vec<Option<u32>> = asked.split(',').map(|k| k.trim().parse().ok()).collect();
    let fits = |k: &Option<u32>| k.is_some_and(|k| (1..=samples).contains(&k));
    if numbers.len() > MOST_KS || !numbers.iter().all(fits) {
        let detail = format!("`k` is 1 to {MOST_KS} numbers of 1 to {samples}, the evaluation's samples");
        return Err(Problem::bad_request("invalid_parameter", detail));
    }
    Ok(numbers.into_iter().flatten().collect())
}

/// The prompts with the values of their rows in a column.
fn read(
    results: impl BufRead,
    column: Option<(&str, &Dataset)>,
) -> Result<Vec<(Option<Value>, PromptResult)>, Problem> {
    let mut prompts = Vec::new();
    for line in results.lines() {
        let result: PromptResult = serde_json::from_str(&line?).map_err(io::Error::other)?;
        let value = match column {
            Some((by, rows)) => {
                let row = rows.row(result.row).map_err(io::Error::other)?;
                let mut names = by.split('.');
                let first = names.next().and_then(|name| row.fields.get(name));
                names.try_fold(first, |value, name| Some(value?.get(name))).flatten().filter(|v| !v.is_null()).cloned()
            }
            None => None,
        };
        prompts.push((value, result));
    }
    Ok(prompts)
}

/// What stands in for a value: where it is in the order, and what it is called.
type Key = (Rank, Option<String>);

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Rank {
    Number(f64),
    Text,
    Missing,
    Others,
}

fn groups(prompts: Vec<(Option<Value>, PromptResult)>, ks: &[u32], samples: u32) -> Vec<BreakdownGroup> {
    let quarters = quarters(prompts.iter().filter_map(|(value, _)| value.as_ref()));
    let key = |value: Option<Value>| -> Key {
        match value {
            None => (Rank::Missing, None),
            Some(value) => match (worth(&value), &quarters) {
                (Some(number), Some(quarters)) => quarter(quarters, number),
                (number, _) => {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    let rank = number.map_or(Rank::Text, Rank::Number);
                    (rank, Some(text.chars().take(MOST_VALUE).collect()))
                }
            },
        }
    };
    let mut found: Vec<(Key, Vec<PromptResult>)> = Vec::new();
    let mut places: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for (value, result) in prompts {
        let key = key(value);
        let place = *places.entry(key.1.clone()).or_insert(found.len());
        if place == found.len() {
            found.push((key, Vec::new()));
        }
        found[place].1.push(result);
    }
    if found.len() > MOST_GROUPS {
        found.sort_by_key(|(_, results)| std::cmp::Reverse(results.len()));
        let others = found.split_off(MOST_GROUPS - 1).into_iter().flat_map(|(_, results)| results).collect();
        found.push(((Rank::Others, Some(String::from("all others"))), others));
    }
    found.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    found.into_iter().map(|((_, value), results)| BreakdownGroup::of(value, &results, ks, samples)).collect()
}

/// The number that a value is, also as a text: all values of CSV are texts.
fn worth(value: &Value) -> Option<f64> {
    number(value)?.as_f64()
}

/// The bounds of four quarters of numbers, if there are only numbers and many of them.
fn quarters<'a>(values: impl Iterator<Item = &'a Value>) -> Option<[f64; 5]> {
    let mut numbers = values.map(worth).collect::<Option<Vec<f64>>>()?;
    numbers.sort_by(f64::total_cmp);
    let mut distinct = numbers.clone();
    distinct.dedup();
    let at = |part: usize| numbers[(numbers.len() - 1) * part / 4];
    (distinct.len() > MOST_NUMBERS).then(|| [0, 1, 2, 3, 4].map(at))
}

fn quarter(bounds: &[f64; 5], number: f64) -> Key {
    let place = (1..4).filter(|place| number > bounds[*place]).count();
    (Rank::Number(bounds[place]), Some(format!("{} to {}", bounds[place], bounds[place + 1])))
}

impl BreakdownGroup {
    fn of(value: Option<String>, results: &[PromptResult], ks: &[u32], samples: u32) -> Self {
        let counts: Vec<(u32, u32)> = results.iter().map(|result| (result.samples, result.passed)).collect();
        // Of a k for which no prompt has enough completions nothing is known.
        let told = |k: &u32| counts.iter().any(|(completions, _)| completions >= k);
        let measured: Vec<u32> = ks.iter().copied().filter(told).collect();
        let has_answers = results.iter().any(|result| result.majority.is_some());
        let majorities: Vec<f64> = results.iter().map(|result| result.majority.unwrap_or_default()).collect();
        let completions: u64 = results.iter().map(|result| u64::from(result.samples)).sum();
        let share = |sum: f64| (completions > 0).then(|| sum / completions as f64);
        let majority = || {
            let RateInterval { mean, low, high } = rate_interval(&majorities);
            PassRate::from(PassAtK::new(samples, mean, low, high))
        };
        Self {
            value,
            prompts: results.len(),
            samples: completions,
            pass_at: pass_at(&measured, &counts).into_iter().map(PassRate::from).collect(),
            majority: has_answers.then(majority),
            reward_mean: share(results.iter().map(|result| result.reward_sum).sum()),
            tokens_mean: share(results.iter().map(|result| result.tokens as f64).sum()),
            truncated: share(results.iter().map(|result| f64::from(result.truncated)).sum()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(row: usize, passed: u32) -> PromptResult {
        PromptResult {
            row,
            row_sha256: String::new(),
            prompt: String::new(),
            samples: 4,
            passed,
            unparsable: 0,
            majority: Some(f64::from(u32::from(passed > 2))),
            majority_at: Default::default(),
            distinct_answers: Some(1),
            reward_sum: f64::from(passed),
            tokens: 8,
            truncated: 1,
            completions: Vec::new(),
        }
    }

    fn values(groups: &[BreakdownGroup]) -> Vec<(Option<&str>, usize)> {
        groups.iter().map(|group| (group.value.as_deref(), group.prompts)).collect()
    }

    #[test]
    fn groups_are_told_apart_by_their_values_and_stand_in_order() {
        let column = [json!(10), json!("b"), json!(2), Value::Null, json!("a"), json!(2), json!({"x": 1})];
        let prompts = column.into_iter().enumerate();
        let prompts = prompts.map(|(row, value)| (Some(value).filter(|v| !v.is_null()), result(row, row as u32 % 5)));
        let found = groups(prompts.collect(), &[1, 4], 4);
        let expected =
            [(Some("2"), 2), (Some("10"), 1), (Some("a"), 1), (Some("b"), 1), (Some("{\"x\":1}"), 1), (None, 1)];
        assert_eq!(values(&found), expected);
        assert!(groups(vec![(None, result(0, 1))], &[5], 5)[0].pass_at.is_empty(), "nothing is known of pass@5");
        // Rows 2 and 5 pass twice and never: pass@1 is (0.5 + 0) / 2, pass@4 (1 + 0) / 2.
        let rates: Vec<(u32, f64)> = found[0].pass_at.iter().map(|rate| (rate.k, rate.mean)).collect();
        assert_eq!(rates, [(1, 0.25), (4, 0.5)]);
        assert_eq!((found[0].samples, found[0].tokens_mean, found[0].truncated), (8, Some(2.0), Some(0.25)));
        assert_eq!((found[0].reward_mean, found[0].majority.as_ref().unwrap().mean), (Some(0.25), 0.0));
    }

    #[test]
    fn many_numbers_come_in_quarters_and_many_texts_with_others() {
        let of = |value: fn(usize) -> Value| (0..200).map(|row| (Some(value(row)), result(row, 1))).collect();
        let found = groups(of(|row| json!(row)), &[1], 4);
        let expected =
            [(Some("0 to 49"), 50), (Some("49 to 99"), 50), (Some("99 to 149"), 50), (Some("149 to 199"), 50)];
        assert_eq!(values(&found), expected);
        let found = groups(of(|row| json!(format!("t{}", row.min(150)))), &[1], 4);
        assert_eq!((found.len(), found[MOST_GROUPS - 1].value.as_deref()), (MOST_GROUPS, Some("all others")));
        assert_eq!(found.iter().map(|group| group.prompts).sum::<usize>(), 200);
        assert!(values(&found).contains(&(Some("t150"), 50)), "the largest are kept");
    }

    #[test]
    fn only_what_was_sampled_can_be_asked_for() {
        assert_eq!(ks(Some("1, 4"), &[1], 4).unwrap(), [1, 4]);
        assert_eq!(ks(None, &[1, 2], 4).unwrap(), [1, 2]);
        for wrong in ["0", "5", "one", "", "1,1,1,1,1,1,1,1,1"] {
            assert_eq!(ks(Some(wrong), &[1], 4).unwrap_err().code, "invalid_parameter", "{wrong}");
        }
    }
}
