//! How many tokens rows have for a model, counted in a process of its own: tokenizers and templates come with models.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::Problem;
use crate::api::imports::Pull;
use crate::api::resolve::{self, ModelFiles};
use crate::api::row_source::RowSource;
use crate::api::sandbox::{self, End, Task};
use crate::dataset::{Dataset, Split};
use crate::job::spec::PromptSpec;
use crate::job::{DatasetVersionId, FieldError};
use crate::spec::RowsRef;
use crate::text::ModelText;

/// Rows whose tokens are counted, which stand for all.
const MOST_ROWS: usize = 20_000;
/// Rows that are not counted by then are left out.
const MOST_TIME: Duration = Duration::from_secs(30);
/// Rows that are told of at a time.
const AT_ONCE: usize = 256;
/// Rows are taken in steps of this prime, so that those that are counted are from all over the file.
const STEP: usize = 1_299_709;

/// How many tokens rows have.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenLengths {
    /// The model by whose tokenizer and chat template they were counted.
    model: String,
    /// Rows that were counted, from all over the file: at most 20,000.
    rows: usize,
    /// Of these, rows that no prompt can be made of.
    failed: usize,
    /// Rows with as many tokens as the model's context has, or more.
    over_context: usize,
    /// Tokens of the model's context.
    context: usize,
    /// With the chat template around them, if the model has one.
    prompts: Histogram,
    /// Null where no row has a completion.
    completions: Option<Histogram>,
}

/// Numbers of tokens.
#[derive(Debug, Serialize, ToSchema)]
struct Histogram {
    min: u32,
    mean: f64,
    median: u32,
    /// Of 100 rows 90 have no more.
    p90: u32,
    p99: u32,
    max: u32,
    /// By powers of two, from the shortest to the longest.
    buckets: Vec<Bucket>,
}

/// Rows with about as many tokens.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct Bucket {
    from: u32,
    /// The last number that is counted here.
    to: u32,
    rows: usize,
}

/// Counts the tokens of a version's rows for the model of that name.
pub async fn token_lengths(app: &App, id: DatasetVersionId, name: &str) -> Result<TokenLengths, Problem> {
    let failed = |detail: String| Problem::invalid(vec![FieldError::new("/model", "model_text_failed", detail)]);
    let model = resolve::model(app.finder(Pull::Never), name, 0, ("/model", "unknown_model")).await?;
    let model = model.map_err(|error| Problem::invalid(vec![error]))?;
    let rows = RowSource::whole(&app.store, RowsRef::Version(id), Split::Train).await?;
    let task = Counting { model: model.files, rows };
    let (counted, end) = sandbox::ask(app.store.own_project(), &task, MOST_TIME).await?;
    match end {
        End::Died(how) if counted.is_empty() => return Err(failed(how)),
        End::TimedOut if counted.is_empty() => {
            return Err(failed(String::from("its tokenizer or chat template takes too long")));
        }
        End::Done | End::TimedOut | End::Died(_) => {}
    }
    let counted: Result<Vec<Counted>, String> = counted.into_iter().collect();
    Ok(summary(name, counted.map_err(failed)?))
}

/// Rows whose tokens are to be counted.
#[derive(Debug, Serialize, Deserialize)]
pub struct Counting {
    model: ModelFiles,
    rows: RowSource,
}

/// Tokens of some rows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    context: usize,
    failed: usize,
    prompts: Vec<u32>,
    completions: Vec<u32>,
}

impl Task for Counting {
    const NAME: &'static str = "token-lengths";
    /// Or why the model's tokenizer or template cannot be used.
    type Answer = Result<Counted, String>;

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
        // Those that do not fit are counted as well.
        let prompter = match texts.prompter(&spec, usize::MAX) {
            Ok(prompter) => prompter,
            Err(error) => return tell(&Err(error.to_string())),
        };
        let dataset = self.rows.open()?;
        let places = places(&dataset);
        for some in places.chunks(AT_ONCE) {
            let context = inspection.config.max_position_embeddings;
            let mut counted = Counted { context, ..Counted::default() };
            for number in some.iter().map(|place| dataset.number(*place)) {
                let row = dataset.row(number).map_err(io::Error::other)?;
                let Ok(prompt) = prompter.render(number, &row) else {
                    counted.failed += 1;
                    continue;
                };
                counted.prompts.push(prompt.tokens.len() as u32);
                let completion = row.completion.as_ref().map(|text| texts.tokenizer.encode(text));
                counted.completions.extend(completion.and_then(Result::ok).map(|tokens| tokens.len() as u32));
            }
            tell(&Ok(counted))?;
        }
        Ok(())
    }
}

/// Places of rows from all over a data set, each once.
fn places(dataset: &Dataset) -> Vec<usize> {
    let count = dataset.len();
    // Without a common divisor the steps come to every row before they come to one again.
    let step = if count.is_multiple_of(STEP) { 1 } else { STEP % count.max(1) };
    (0..count.min(MOST_ROWS)).scan(0, |place, _| Some(std::mem::replace(place, (*place + step) % count))).collect()
}

fn summary(model: &str, counted: Vec<Counted>) -> TokenLengths {
    let context = counted.first().map_or(0, |some| some.context);
    let failed = counted.iter().map(|some| some.failed).sum();
    let (mut prompts, mut completions) = (Vec::new(), Vec::new());
    for some in counted {
        prompts.extend(some.prompts);
        completions.extend(some.completions);
    }
    TokenLengths {
        model: model.to_owned(),
        rows: prompts.len() + failed,
        failed,
        over_context: prompts.iter().filter(|tokens| **tokens as usize >= context).count(),
        context,
        completions: (!completions.is_empty()).then(|| histogram(completions)),
        prompts: histogram(prompts),
    }
}

fn histogram(mut lengths: Vec<u32>) -> Histogram {
    lengths.sort_unstable();
    let at = |share: f64| {
        let place = (share * lengths.len() as f64).ceil() as usize;
        lengths.get(place.saturating_sub(1)).copied().unwrap_or(0)
    };
    let mean = lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / lengths.len().max(1) as f64;
    // 0, 1, 2 to 3, 4 to 7, ...
    let buckets = lengths.chunk_by(|one, other| bits(*one) == bits(*other)).map(|some| {
        let bits = bits(some[0]);
        let from = if bits == 0 { 0 } else { 1 << (bits - 1) };
        Bucket { from, to: from.saturating_mul(2).saturating_sub(1), rows: some.len() }
    });
    let buckets = buckets.collect();
    Histogram { min: at(0.0), mean, median: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0), buckets }
}

/// Binary digits of a number.
fn bits(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::builtin::BuiltinSet;

    #[test]
    fn lengths_are_summed_up() {
        let found = histogram(vec![7, 1, 4, 5, 0, 100]);
        assert_eq!((found.min, found.median, found.p90, found.max, found.mean), (0, 4, 100, 100, 19.5));
        let bucket = |from, to, rows| Bucket { from, to, rows };
        assert_eq!(found.buckets, [bucket(0, 0, 1), bucket(1, 1, 1), bucket(4, 7, 3), bucket(64, 127, 1)]);
        assert_eq!((histogram(Vec::new()).max, histogram(Vec::new()).mean), (0, 0.0));
    }

    #[test]
    fn rows_are_taken_from_all_over_and_none_twice() {
        let dataset = BuiltinSet::Arithmetic.open(Split::Train);
        let mut places = places(&dataset);
        let count = dataset.len().min(MOST_ROWS);
        assert!(places[..10].iter().max().unwrap() - places[..10].iter().min().unwrap() > dataset.len() / 3);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count);
    }
}
