//! How alike two texts are, as OpenAI's grader of this name measures it, from 0 to 1.
//!
//! ```text
//! fuzzy_match   1 - (Levenshtein distance in characters) / (length of the longer text)
//! rouge_n       F1 of the shared n-grams of words; 2 shared / (those of the input + those of the reference)
//! rouge_l       F1 of the longest common subsequence of words
//! bleu          exp(min(0, 1 - |reference| / |input|)) * (p1 p2 p3 p4)^(1/4), where p1 = shared / all n-grams of the
//!               input, and for n > 1 (shared + 1) / (all + 1), so that short texts have a value (Lin and Och 2004)
//! gleu          shared n-grams for n = 1 to 4 / the larger number of n-grams, arXiv 1609.08144
//! ```
//!
//! Words are runs of letters and digits in lower case. An n-gram is shared as often as the text with fewer of it has
//! it. Left out: `cosine`, which needs an embedding model, and `meteor`, which needs a thesaurus.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::template::Template;
use super::{Case, Outside, Score, Settings, Verifier};
use crate::job::field::FieldError;

/// The longest text that is compared, in characters: the work may grow with the product of both lengths.
const MAX_CHARACTERS: usize = 10_000;

pub const SUMMARY: &str = "How alike a text made of the completion and columns is to another (OpenAI's grader).";

/// Configuration of the `text_similarity` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// A name for people.
    #[serde(default)]
    name: Option<String>,
    /// What is compared, with places such as `{{ sample.output_text }}` and `{{ item.answer }}`.
    input: String,
    /// What it is compared with; a template as well.
    reference: String,
    /// How likeness is measured; always from 0 to 1.
    evaluation_metric: Metric,
    /// Seconds one verification may take.
    #[serde(default = "super::default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum Metric {
    /// By the edits of characters that make one text the other.
    #[serde(rename = "fuzzy_match")]
    FuzzyMatch,
    /// By runs of up to four words, and the length.
    #[serde(rename = "bleu")]
    Bleu,
    /// By runs of up to four words, in both directions.
    #[serde(rename = "gleu")]
    Gleu,
    /// By words.
    #[serde(rename = "rouge_1")]
    Rouge1,
    /// By runs of two words.
    #[serde(rename = "rouge_2")]
    Rouge2,
    /// By runs of three words.
    #[serde(rename = "rouge_3")]
    Rouge3,
    /// By runs of four words.
    #[serde(rename = "rouge_4")]
    Rouge4,
    /// By runs of five words.
    #[serde(rename = "rouge_5")]
    Rouge5,
    /// By the longest common subsequence of words.
    #[serde(rename = "rouge_l")]
    RougeL,
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        super::template::check_templates(pointer, &self.input, &self.reference)
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(TextSimilarity {
            input: super::template::checked_template(&self.input),
            reference: super::template::checked_template(&self.reference),
            metric: self.evaluation_metric,
        })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        super::template::template_columns(&self.input, &self.reference)
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct TextSimilarity {
    input: Template,
    reference: Template,
    metric: Metric,
}

impl Verifier for TextSimilarity {
    fn verify(&self, case: &Case<'_>) -> Score {
        let (input, reference) = match (self.input.fill(case), self.reference.fill(case)) {
            (Ok(input), Ok(reference)) => (input, reference),
            (Err(detail), _) | (_, Err(detail)) => return Score::error(detail),
        };
        let too_long = |text: &str| text.chars().take(MAX_CHARACTERS + 1).count() > MAX_CHARACTERS;
        if too_long(&reference) {
            return Score::error(format!(
                "the reference has more than the {MAX_CHARACTERS} characters that are compared"
            ));
        }
        if reference.trim().is_empty() {
            return Score::error("the reference is empty");
        }
        // However long a model goes on is nobody's mistake.
        if too_long(&input) {
            return Score::unparsable(format!("more than the {MAX_CHARACTERS} characters that are compared"));
        }
        let likeness = likeness(self.metric, &input, &reference);
        let (input, reference) = (super::quote(&input), super::quote(&reference));
        Score::ok(likeness).because(format!("{input} is alike {reference} to {likeness:.3}"))
    }
}

fn likeness(metric: Metric, input: &str, reference: &str) -> f64 {
    let (a, b) = (words(input), words(reference));
    let rouge = |n| {
        let (shared, ours, theirs) = ngrams(&a, &b, n);
        f1(shared, ours, theirs)
    };
    match metric {
        Metric::FuzzyMatch => strsim::normalized_levenshtein(input, reference),
        Metric::Rouge1 => rouge(1),
        Metric::Rouge2 => rouge(2),
        Metric::Rouge3 => rouge(3),
        Metric::Rouge4 => rouge(4),
        Metric::Rouge5 => rouge(5),
        Metric::RougeL => f1(common_subsequence(&a, &b), a.len(), b.len()),
        Metric::Bleu => bleu(&a, &b),
        Metric::Gleu => gleu(&a, &b),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// How many n-grams two texts share, and how many each has.
fn ngrams(a: &[String], b: &[String], n: usize) -> (usize, usize, usize) {
    let mut counts: HashMap<&[String], usize> = HashMap::new();
    for gram in b.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    let mut shared = 0;
    for gram in a.windows(n) {
        if let Some(left) = counts.get_mut(gram).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    (shared, a.windows(n).len(), b.windows(n).len())
}

fn f1(shared: usize, a: usize, b: usize) -> f64 {
    if a + b == 0 { 0.0 } else { 2.0 * shared as f64 / (a + b) as f64 }
}

/// The length of the longest common subsequence, by rows of the usual table.
fn common_subsequence(a: &[String], b: &[String]) -> usize {
    let mut above = vec![0; b.len() + 1];
    for word in a {
        let mut row = vec![0; b.len() + 1];
        for (at, other) in b.iter().enumerate() {
            row[at + 1] = if word == other { above[at] + 1 } else { row[at].max(above[at + 1]) };
        }
        above = row;
    }
    above[b.len()]
}

fn bleu(input: &[String], reference: &[String]) -> f64 {
    let (shared, all, _) = ngrams(input, reference, 1);
    if shared == 0 {
        return 0.0;
    }
    let mut log = (shared as f64 / all as f64).ln();
    for n in 2..=4 {
        let (shared, all, _) = ngrams(input, reference, n);
        log += ((shared + 1) as f64 / (all + 1) as f64).ln();
    }
    let brevity = (1.0 - reference.len() as f64 / input.len() as f64).min(0.0);
    (log / 4.0 + brevity).exp()
}

fn gleu(input: &[String], reference: &[String]) -> f64 {
    let (mut shared, mut ours, mut theirs) = (0, 0, 0);
    for n in 1..=4 {
        let (s, a, b) = ngrams(input, reference, n);
        (shared, ours, theirs) = (shared + s, ours + a, theirs + b);
    }
    let larger = ours.max(theirs);
    if larger == 0 { 0.0 } else { shared as f64 / larger as f64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    const ALL: [&str; 9] =
        ["fuzzy_match", "bleu", "gleu", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"];

    fn score(metric: &str, input: &str, reference: &str) -> Score {
        let config = json!({"type": "text_similarity", "name": "n", "input": "{{ sample.output_text }}",
                            "reference": "{{ item.want }}", "evaluation_metric": metric});
        let row = json!({"want": reference});
        let case = Case { prompt: "", completion: input, answer: None, row: row.as_object().unwrap() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn every_metric_is_one_for_equal_texts_and_zero_for_texts_with_nothing_in_common() {
        for metric in ALL {
            assert_eq!(score(metric, "one two three four five", "one two three four five").reward, 1.0, "{metric}");
            assert_eq!(score(metric, "xyz", "abc").reward, 0.0, "{metric}");
            assert_eq!(score(metric, "", "abc").reward, 0.0, "{metric}");
            assert_eq!(score(metric, "a", " ").status, ScoreStatus::Error, "{metric}");
        }
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        let near = |metric: &str, input: &str, reference: &str, expected: f64| {
            let reward = score(metric, input, reference).reward;
            assert!((reward - expected).abs() < 1e-12, "{metric}: {reward} instead of {expected}");
        };
        near("fuzzy_match", "kitten", "sitting", 1.0 - 3.0 / 7.0);
        near("rouge_1", "The cat sat.", "the cat lay down", 2.0 * 2.0 / 7.0);
        near("rouge_2", "the cat sat", "the cat lay down", 2.0 / 5.0);
        near("rouge_l", "a b c d", "a c x d", 3.0 / 4.0);
        // 1- to 4-grams: 2 of 3 shared, 1 of 2, none of 1, none; the input is one word shorter.
        let precisions: f64 = (2.0 / 3.0) * (2.0 / 3.0) * (1.0 / 2.0) * 1.0;
        near("bleu", "the cat sat", "the cat lay down", (1.0 - 4.0_f64 / 3.0).exp() * precisions.powf(0.25));
        near("gleu", "the cat sat", "the cat lay down", 3.0 / 10.0);
        // A repeated word is shared as often as the other text has it.
        near("rouge_1", "the the the the", "the cat", 2.0 / 6.0);
    }

    #[test]
    fn what_is_not_run_is_refused_and_what_is_too_long_is_not_judged() {
        let config = json!({"type": "text_similarity", "input": "a", "reference": "a", "evaluation_metric": "cosine"});
        let refused = verifier::Config::parse(&config, "/v").unwrap_err();
        assert_eq!((refused[0].pointer.as_str(), refused[0].code), ("/v/evaluation_metric", "unknown_value"));
        assert!(refused[0].detail.contains("cosine") && refused[0].detail.contains("rouge_l"), "{}", refused[0].detail);
        let long = "a".repeat(MAX_CHARACTERS + 1);
        assert_eq!(score("fuzzy_match", &long, "a").status, ScoreStatus::Unparsable);
        assert_eq!(score("fuzzy_match", "a", &long).status, ScoreStatus::Error);
        assert!(score("fuzzy_match", &long[1..], "a").is_scored());
    }
}
