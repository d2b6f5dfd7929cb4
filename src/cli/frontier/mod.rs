//! `anneal frontier`: what a rollout set can teach at each temperature, as a table and as a plot.
//!
//! The server computes the frontier; this module only shows it. The table and the plot are functions of the answer
//! alone.

mod plot;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::output::{print, write_plot};
use super::remote::RemoteArgs;
use crate::config::Config;
use crate::job::RolloutSetId;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "`anneal frontier --help` says what the columns mean and how to choose beta.")]
#[command(after_long_help = GUIDE)]
pub struct Args {
    /// The rollout set, rs_...
    #[arg(value_name = "ROLLOUT_SET")]
    id: RolloutSetId,
    /// The temperatures, separated by commas [default: 25 from 0.02 to 5]
    #[arg(long, value_name = "BETA,...", value_delimiter = ',', value_parser = positive)]
    betas: Vec<f64>,
    /// Completions that a group's weights have to rest on [default: 2, or three quarters of a smaller group]
    #[arg(long, value_name = "COMPLETIONS", value_parser = positive)]
    ess_floor: Option<f64>,
    /// Plot the frontier into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Set by hand for 96 columns, because wrapping would break the hanging indents.
const GUIDE: &str = "\
BOLT moves a model towards pi*(y|x) ~ pi_ref(y|x) exp(r/beta): it imitates the stored
completions of a prompt, each with the weight w = exp(r/beta) / mean exp(r/beta). All that is
shown here follows from the rewards and log-probabilities in the set; nothing is sampled or
trained. Numbers are means over the groups, a group being one prompt's G completions.

What the columns mean:
  ESS share       Effective sample size as a share of the group, (sum w)^2 / (G sum w^2): how
                  many completions the weights really use. 1 when all count alike, 1/G when a
                  single one has all the weight.
  ESS, compl.     The same in completions, and without zero-spread groups, which count all of
                  theirs whatever beta is. Judge beta by this column: it is between 1 and G.
  second moment   Mean of w^2, in each group the inverse of the ESS share: what the weights
                  cost in variance.
  target success  Mean reward under the weights, sum w r / G: what a model that fits the target
                  would reach on these completions. A large beta leaves the mean reward, a small
                  one takes the best of each group.
  log Z           Logarithm of the mean of exp(r/beta), an estimate of what normalises the target.
  support price   beta log(1/pi*(S)), S being the stored completions: what training on them
                  cannot regain, in units of reward and however many epochs it has, because the
                  target also lies on completions that were never drawn. What these are worth is
                  not known: the price is `at least` what it is if they all earn the least reward,
                  and `at most` what it is if they earn the most. `Good-Turing` estimates it by
                  the completions that were drawn once. It tends to grow with beta and with length.
  zero spread     Groups whose rewards are all equal. They cannot tell better from worse; BOLT
                  imitates them as they are, or leaves them out with `zero_spread: \"skip\"`.

How to choose beta: a smaller one aims higher and rests on fewer completions. The recommendation
is the largest listed beta that reaches 95 % of what weights can add to the mean reward of groups
whose rewards differ, or the smallest that rests on enough of their completions (--ess-floor),
whichever is larger. Then look further:
  - Target success hardly above the mean reward: lower the floor, or sample larger groups.
  - Many zero-spread groups: no beta helps. If they fail, take easier prompts or larger groups;
    if they pass, harder prompts.
  - Few distinct answers, or a high chance of new ones: larger groups do more than more epochs.
  - With several rounds the tilts add up: K rounds at beta aim where one at beta/K would.

Examples:
  anneal frontier rs_... --svg frontier.svg
  anneal frontier rs_... --betas 0.05,0.1,0.25,0.5,1 --ess-floor 3
  anneal frontier rs_... --json | jq .recommended_beta";

/// The server's answer, as far as it is shown.
#[derive(Clone, Debug, Deserialize)]
struct Frontier {
    rollout_set: String,
    groups: u64,
    completions: u64,
    coverage: Coverage,
    /// Must be there, if only as `null`.
    #[serde(deserialize_with = "Option::deserialize")]
    recommended_beta: Option<f64>,
    recommendation: Recommendation,
    ess_floor: f64,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
struct Recommendation {
    message: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Coverage {
    solve_rate: f64,
    pass_at_group: f64,
    distinct_answers: f64,
    distinct_completions: f64,
    unseen_answers: f64,
    zero_spread: f64,
    all_fail: f64,
    all_pass: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Row {
    #[serde(deserialize_with = "above_zero")]
    beta: f64,
    ess_share: f64,
    ess_share_informative: f64,
    ess_completions: f64,
    second_moment: f64,
    target_success: f64,
    log_partition: f64,
    partition_error_high: f64,
    support_price_low: f64,
    support_price_high: f64,
    support_price_good_turing: f64,
}

impl Frontier {
    /// The recommended row; none where beta makes no difference.
    fn recommended(&self) -> Option<&Row> {
        let differs = self.groups > 0 && self.coverage.zero_spread < 1.0;
        self.rows.iter().find(|row| differs && Some(row.beta) == self.recommended_beta)
    }
}

/// Asks for the frontier and shows it.
pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let mut request = json!({});
    if !args.betas.is_empty() {
        request["betas"] = json!(args.betas);
    }
    if let Some(floor) = args.ess_floor {
        request["ess_floor"] = json!(floor);
    }
    args.remote.run(config, |client, output| {
        let answer = client.post(&format!("/v1/rollout-sets/{}/frontier", args.id), &request)?;
        if output.json {
            output.line(&answer, String::new);
        } else {
            print(&table(&read(&answer)?));
        }
        if let Some(path) = &args.svg {
            let plot = plot::svg(&read(&answer)?)?;
            write_plot(path, &plot)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err(String::from("must be a number above 0")),
    }
}

fn above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let beta = f64::deserialize(deserializer)?;
    if beta > 0.0 { Ok(beta) } else { Err(serde::de::Error::custom(format!("a beta of {beta}, which is not above 0"))) }
}

fn read(answer: &Value) -> anyhow::Result<Frontier> {
    const ANOTHER: &str = "this is not the frontier that this version of `anneal` knows; is the server's the same?";
    ensure!(answer["object"] == "frontier", "{ANOTHER} (`object` is {})", answer["object"]);
    let frontier = Frontier::deserialize(answer).context(ANOTHER)?;
    ensure!(!frontier.rows.is_empty(), "the server's answer has no rows");
    Ok(frontier)
}

/// A column: two lines of heading, and what a row shows.
type Column = ([&'static str; 2], fn(&Row) -> String);

const COLUMNS: [Column; 10] = [
    (["", "beta"], |row| number(row.beta)),
    (["ESS", "share"], |row| format!("{:.3}", row.ess_share)),
    (["ESS,", "compl."], |row| format!("{:.2}", row.ess_completions)),
    (["second", "moment"], |row| significant(row.second_moment)),
    (["target", "success"], |row| significant(row.target_success)),
    (["", "log Z"], |row| significant(row.log_partition)),
    (["wrong by", "at most"], |row| significant(row.partition_error_high)),
    (["price,", "at least"], |row| significant(row.support_price_low)),
    (["price,", "at most"], |row| significant(row.support_price_high)),
    (["price,", "Good-Turing"], |row| significant(row.support_price_good_turing)),
];

/// What the command prints: coverage in words, the rows, and the conclusion.
fn table(frontier: &Frontier) -> String {
    let headings = [0, 1].map(|line| COLUMNS.map(|(heading, _)| heading[line].to_owned()));
    let cells: Vec<[String; 10]> =
        headings.into_iter().chain(frontier.rows.iter().map(|row| COLUMNS.map(|(_, show)| show(row)))).collect();
    let widths: [usize; 10] =
        std::array::from_fn(|column| cells.iter().map(|line| line[column].len()).max().unwrap_or_default());
    let marks = [""; 2].into_iter().chain(frontier.rows.iter().map(|row| {
        let recommended = frontier.recommended().is_some_and(|other| other.beta == row.beta);
        if recommended { "  <- recommended" } else { "" }
    }));
    let mut text = coverage(frontier) + "\n";
    for (line, mark) in cells.iter().zip(marks) {
        let aligned: Vec<String> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        text += &format!("{}{mark}\n", aligned.join("   "));
    }
    format!("{text}\n{}\n", conclusion(frontier))
}

fn coverage(frontier: &Frontier) -> String {
    let (groups, completions, c) = (frontier.groups, frontier.completions, &frontier.coverage);
    let lines = [
        ("rollout set", frontier.rollout_set.clone()),
        ("size", format!("{groups} groups with {completions} scored completions, {} in each", group_size(frontier))),
        ("solve rate", format!("{} of the completions have a reward of at least 0.5", percent(c.solve_rate))),
        ("pass@G", format!("{} of the groups have such a completion", percent(c.pass_at_group))),
        ("zero spread", format!("{} of the groups have equal rewards throughout", percent(c.zero_spread))),
        ("one-sided", format!("{} of the groups all fail, {} all pass", percent(c.all_fail), percent(c.all_pass))),
        (
            "distinct",
            format!(
                "{} of the answers, {} of the completions",
                percent(c.distinct_answers),
                percent(c.distinct_completions)
            ),
        ),
        ("unseen", format!("{} is the estimated chance that another answer is a new one", percent(c.unseen_answers))),
    ];
    lines.iter().map(|(label, value)| format!("{label:<13}{value}\n")).collect()
}

/// Which beta to take, or what to do when there is none.
fn conclusion(frontier: &Frontier) -> String {
    if frontier.groups == 0 {
        return String::from("The set holds no scored completions, so that there is nothing to choose by.");
    }
    let message = &frontier.recommendation.message;
    match frontier.recommended() {
        Some(row) => format!("Take beta {}: {message}.", number(row.beta)),
        None => format!("No beta is recommended: {message}."),
    }
}

/// Completions in a group; with a decimal when groups differ.
fn group_size(frontier: &Frontier) -> String {
    let (groups, completions) = (frontier.groups.max(1), frontier.completions);
    if completions.is_multiple_of(groups) {
        (completions / groups).to_string()
    } else {
        format!("about {:.1}", completions as f64 / groups as f64)
    }
}

/// A share in percent, with a decimal where it has one.
fn percent(share: f64) -> String {
    format!("{} %", trimmed(&format!("{:.1}", 100.0 * share)))
}

/// As [`significant`], without trailing zeros.
fn number(value: f64) -> String {
    let text = significant(value);
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits)),
        None => trimmed(&text).to_owned(),
    }
}

/// Four significant digits, with an exponent outside 0.0001 to 999999.
fn significant(value: f64) -> String {
    let rounded = format!("{value:.3e}");
    let exponent = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()).unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        return rounded;
    }
    let decimals = usize::try_from(3 - exponent).unwrap_or_default();
    format!("{value:.decimals$}")
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row for groups of 8 with one success in each: the closed forms for binary rewards.
    fn row(beta: f64) -> Value {
        let (p, tilt) = (0.125, (-1.0 / beta).exp());
        let weight = p + (1.0 - p) * tilt;
        let ess = weight * weight / (p + (1.0 - p) * tilt * tilt);
        json!({
            "beta": beta, "ess_share": ess / 2.0 + 0.5, "ess_share_informative": ess, "ess_completions": 8.0 * ess, "second_moment": 1.0 / ess,
            "target_success": p / weight, "log_partition": 1.0 / beta + weight.ln(), "partition_error_high": 5.0 * beta, "support_price_low": 2.0 * beta,
            "support_price_high": 4.0 * beta, "support_price_good_turing": 3.0 * beta,
        })
    }

    fn answer(betas: &[f64], recommended: Option<f64>) -> Value {
        json!({
            "object": "frontier", "rollout_set": "rs_1", "groups": 4, "completions": 32,
            "coverage": {
                "solve_rate": 0.125, "pass_at_group": 0.75, "distinct_answers": 0.5, "distinct_completions": 1.0,
                "unseen_answers": 0.0625, "zero_spread": 0.25, "all_fail": 0.25, "all_pass": 0.0,
            },
            "recommended_beta": recommended, "ess_floor": 2.0, "recommendation": {"message": "there are reasons"},
            "rows": betas.iter().map(|beta| row(*beta)).collect::<Vec<_>>(),
        })
    }

    pub(super) fn frontier(betas: &[f64], recommended: Option<f64>) -> Frontier {
        read(&answer(betas, recommended)).unwrap()
    }

    #[test]
    fn the_table_of_a_fixed_answer() {
        let expected = "\
rollout set  rs_1
size         4 groups with 32 scored completions, 8 in each
solve rate   12.5 % of the completions have a reward of at least 0.5
pass@G       75 % of the groups have such a completion
zero spread  25 % of the groups have equal rewards throughout
one-sided    25 % of the groups all fail, 0 % all pass
distinct     50 % of the answers, 100 % of the completions
unseen       6.2 % is the estimated chance that another answer is a new one

         ESS     ESS,   second    target             wrong by     price,    price,        price,
beta   share   compl.   moment   success     log Z    at most   at least   at most   Good-Turing
 0.1   0.563     1.00    7.995    0.9997     7.921     0.5000     0.2000    0.4000        0.3000
 0.5   0.710     3.36    2.380    0.5135    0.5870      2.500      1.000     2.000         1.500  <- recommended
   2   0.981     7.70    1.039    0.1906   0.07797      10.00      4.000     8.000         6.000

Take beta 0.5: there are reasons.
";
        assert_eq!(table(&frontier(&[0.1, 0.5, 2.0], Some(0.5))), expected);
    }

    #[test]
    fn the_last_sentence_says_what_to_do() {
        let last = |frontier: &Frontier| table(frontier).lines().last().unwrap_or_default().to_owned();
        assert_eq!(last(&frontier(&[0.1, 0.2], None)), "No beta is recommended: there are reasons.");
        let mut empty = frontier(&[0.1, 0.5], Some(0.1));
        empty.groups = 0;
        assert!(last(&empty).contains("no scored completions") && !table(&empty).contains("<- recommended"));
    }

    #[test]
    fn columns_stay_aligned_at_extreme_betas() {
        let text = table(&frontier(&[1e-5, 0.3, 1e5], Some(0.3)));
        let rows: Vec<&str> =
            text.lines().skip(9).take(5).map(|line| line.trim_end_matches("  <- recommended")).collect();
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    }

    #[test]
    fn numbers_keep_four_digits() {
        let shown = [0.0, 0.25, 1234.56, 123_456.7, 1e6, 1.5e-5, -0.031_25, 0.999_96].map(number);
        assert_eq!(shown, ["0", "0.25", "1235", "123457", "1e6", "1.5e-5", "-0.03125", "1"]);
    }

    #[test]
    fn another_servers_answer_is_refused_with_the_reason() {
        let reason = |change: &dyn Fn(&mut Value)| {
            let mut value = answer(&[0.1], None);
            change(&mut value);
            format!("{:#}", read(&value).unwrap_err())
        };
        let without = |object: &mut Value, key: &str| object.as_object_mut().and_then(|o| o.remove(key)).map(drop);
        assert!(reason(&|v| v["object"] = json!("list")).contains("`object` is \"list\""));
        assert!(reason(&|v| without(v, "recommended_beta").unwrap()).contains("missing field `recommended_beta`"));
        assert!(reason(&|v| without(&mut v["rows"][0], "ess_share").unwrap()).contains("missing field `ess_share`"));
        assert!(reason(&|v| v["rows"][0]["support_price_low"] = Value::Null).contains("expected f64"));
        assert!(reason(&|v| v["rows"][0]["beta"] = json!(0.0)).contains("not above 0"));
        assert!(reason(&|v| v["rows"] = json!([])).contains("no rows"));
    }

    #[test]
    fn only_positive_numbers_are_temperatures() {
        assert_eq!(positive(" 0.25 "), Ok(0.25));
        for text in ["0", "-1", "inf", "nan", "warm", ""] {
            assert!(positive(text).is_err(), "{text}");
        }
    }
}
