//! A judge: a language model that reads a rubric with the completion in it, and gives a score or says yes or no.
//!
//! The model is asked over the routes of OpenAI's chat completions, at an endpoint that the operator has named. That may
//! be an Anneal server, also the one that runs the job; but a device that trains answers no requests, so that a job on
//! the only device would wait for itself, and is refused.
//!
//! A judge's answer is read strictly: a score stands in a line of its own, and a yes is a probability. What is neither is
//! asked for again, and then an error, never a zero. Judges err, can be talked round by what they judge, and answer
//! differently from time to time; their verdicts are stored with the rollouts, which is the only way to see them again.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::contract::{self, ScoreRange};
use super::outside::{Client, Deadline, Endpoint, Failure, Outside, Tries};
use super::template::Template;
use super::{Case, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str = "A language model judges by a rubric: a score in a range, or how probable its yes is.";

const MOST_SYSTEM_BYTES: usize = 64 << 10;
/// How many of the most probable tokens are asked for; the most that such endpoints give.
const TOP_TOKENS: u32 = 20;

/// Configuration of the `model` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The endpoint with its model, by its name in the operator's settings.
    #[schemars(length(min = 1, max = 64))]
    endpoint: String,
    /// What the judge is asked, with places such as `{{ sample.output_text }}` and `{{ item.answer }}`. How to answer is
    /// added to it.
    #[schemars(length(min = 1))]
    rubric: String,
    /// What the judge is told before it, as the system's message.
    #[serde(default)]
    system: Option<String>,
    /// What the reward is.
    #[serde(default)]
    mode: Mode,
    /// With `score`: the lowest and the highest score, which become the rewards 0 and 1.
    #[serde(default = "default_range")]
    score_range: ScoreRange,
    /// With `yes_logprob`: how probable yes and no must be together, so that the answer is one of them at all.
    #[serde(default = "default_least_mass")]
    #[schemars(range(min = 0.0, max = 1.0))]
    least_mass: f64,
    /// With `score`: the longest answer in tokens.
    #[serde(default = "default_max_tokens")]
    #[schemars(range(min = 1, max = 32_768))]
    max_tokens: u32,
    /// With `score`: the temperature of the judge.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: f64,
    /// How often a request is made again that failed, and how often a judge is asked again whose answer is no score.
    #[serde(default = "default_retries")]
    #[schemars(range(max = 10))]
    retries: u32,
    /// Most requests at a time; the operator's limit for the endpoint holds as well.
    #[serde(default = "default_concurrency")]
    #[schemars(range(min = 1, max = 64))]
    concurrency: usize,
    /// Seconds one request may take.
    #[serde(default = "default_request_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    request_seconds: f64,
    /// Seconds one verification may take.
    #[serde(default = "default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

/// What the reward is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The number that the judge writes, as its place in the range.
    #[default]
    Score,
    /// How probable the judge's yes is beside its no, from the log-probabilities of its first token.
    YesLogprob,
}

fn default_range() -> ScoreRange {
    ScoreRange::of(0.0, 10.0)
}

fn default_least_mass() -> f64 {
    0.5
}

fn default_max_tokens() -> u32 {
    512
}

fn default_retries() -> u32 {
    2
}

fn default_concurrency() -> usize {
    4
}

fn default_request_seconds() -> f64 {
    60.0
}

fn default_time_limit_seconds() -> f64 {
    180.0
}

impl Config {
    fn endpoint<'a>(&self, outside: &'a Outside) -> Result<(&'a Endpoint, Client), (&'static str, String)> {
        let name = &self.endpoint;
        let Some(endpoint) = outside.endpoints.get(name) else {
            let known: Vec<&str> = outside.endpoints.keys().map(String::as_str).collect();
            return Err(("not_enabled", super::outside::unnamed("endpoint", "endpoints", name, &known)));
        };
        if outside.this_server.is_some_and(|server| server.devices < 2 && server.is_at(&endpoint.url)) {
            let detail = format!(
                "the endpoint {name} is this server, whose only device answers no requests while a job has it; name an \
                 endpoint elsewhere, or run the judge on a device of its own"
            );
            return Err(("judge_without_device", detail));
        }
        let client = Client::of_endpoint(endpoint);
        client
            .map(|client| (endpoint, client))
            .map_err(|detail| ("not_usable", format!("the endpoint {name}: {detail}")))
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        let detail = "has the lowest and the highest score, the first below the second";
        fields.require(self.score_range.is_valid(), "score_range", detail);
        let fits = self.system.as_ref().is_none_or(|system| system.len() <= MOST_SYSTEM_BYTES);
        fields.require(fits, "system", format!("must have at most {MOST_SYSTEM_BYTES} bytes"));
        let mut errors = fields.finish().err().unwrap_or_default();
        if let Err(detail) = Template::parse(&self.rubric) {
            errors.push(FieldError::new(format!("{pointer}/rubric"), "invalid_template", detail));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        let at = |(code, detail)| vec![FieldError::new(format!("{pointer}/endpoint"), code, detail)];
        self.endpoint(outside).map(|_| ()).map_err(at)
    }

    fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        let found = self.endpoint(outside).map_err(|(_, detail)| detail);
        let concurrency = found.as_ref().map_or(1, |(endpoint, _)| endpoint.concurrency.min(self.concurrency).max(1));
        Arc::new(Model {
            rubric: super::template::checked_template(&self.rubric),
            judge: found.map(|(endpoint, client)| (endpoint.clone(), client)),
            concurrency,
            config: self.clone(),
        })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        let rubric = super::template::checked_template(&self.rubric);
        rubric.columns().map(|column| (String::from("rubric"), column.to_owned())).collect()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Model {
    config: Config,
    rubric: Template,
    /// Or why there is none.
    judge: Result<(Endpoint, Client), String>,
    concurrency: usize,
}

impl Verifier for Model {
    fn verify(&self, case: &Case<'_>) -> Score {
        let (endpoint, client) = match &self.judge {
            Ok(judge) => judge,
            Err(detail) => return Score::error(detail.clone()),
        };
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let rubric = match self.rubric.fill(case) {
            Ok(rubric) => rubric,
            Err(detail) => return Score::error(detail),
        };
        let limit = Duration::from_secs_f64(self.config.time_limit_seconds);
        let judged = match self.config.mode {
            Mode::Score => self.score(endpoint, client, &rubric, Deadline::before(limit)),
            Mode::YesLogprob => self.yes(endpoint, client, &rubric, Deadline::before(limit)),
        };
        judged.unwrap_or_else(|failure| match failure {
            Failure::Failed(detail) => Score::error(format!("the judge: {detail}")),
            Failure::Late(detail) => Score::timeout(limit).because(format!("the judge: {detail}")),
        })
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }
}

impl Model {
    /// Asks until the answer holds a score, a bounded number of times.
    fn score(&self, endpoint: &Endpoint, client: &Client, rubric: &str, until: Deadline) -> Result<Score, Failure> {
        let range = self.config.score_range;
        let mut messages = self.messages(&format!("{rubric}\n\n{}", how_to_score(range)));
        let mut asked = 0;
        loop {
            let limits = json!({"max_tokens": self.config.max_tokens, "temperature": self.config.temperature});
            let answer = self.ask(endpoint, client, &messages, limits, until)?;
            let text = text_of(&answer).map_err(Failure::Failed)?;
            asked += 1;
            match score_in(&text, range) {
                Ok(score) => {
                    let reward = range.reward(score).map_err(Failure::Failed)?;
                    return Ok(Score::ok(reward).because(contract::shortened(text.trim())));
                }
                Err(detail) if asked > self.config.retries => {
                    let detail = format!(
                        "{detail} (asked {asked} times); let the rubric ask for less, or raise `max_tokens`; it answered: {}",
                        super::quote(text.trim())
                    );
                    return Err(Failure::Failed(detail));
                }
                Err(_) => {
                    messages.push(json!({"role": "assistant", "content": contract::shortened(&text)}));
                    let again = format!("That holds no score in the form that was asked for. {}", how_to_score(range));
                    messages.push(json!({"role": "user", "content": again}));
                }
            }
        }
    }

    fn yes(&self, endpoint: &Endpoint, client: &Client, rubric: &str, until: Deadline) -> Result<Score, Failure> {
        let messages = self.messages(&format!("{rubric}\n\nAnswer with one word, yes or no."));
        let limits = json!({"max_tokens": 1, "temperature": 1, "logprobs": true, "top_logprobs": TOP_TOKENS});
        let answer = self.ask(endpoint, client, &messages, limits, until)?;
        yes_in(&answer, self.config.least_mass).map_err(Failure::Failed)
    }

    fn messages(&self, user: &str) -> Vec<Value> {
        let system = self.config.system.iter().map(|text| json!({"role": "system", "content": text}));
        system.chain([json!({"role": "user", "content": user})]).collect()
    }

    fn ask(
        &self,
        endpoint: &Endpoint,
        client: &Client,
        messages: &[Value],
        limits: Value,
        until: Deadline,
    ) -> Result<Value, Failure> {
        let tries = Tries { retries: self.config.retries, each: Duration::from_secs_f64(self.config.request_seconds) };
        let text = client.post(&request(endpoint, messages, limits).to_string(), tries, until)?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::Failed(format!("what it answers is no JSON ({error}): {}", super::quote(&text))))
    }
}

/// The body of a request: what the operator says of the endpoint goes before what the verifier says.
fn request(endpoint: &Endpoint, messages: &[Value], limits: Value) -> Value {
    let mut body = Map::new();
    body.insert(String::from("model"), Value::from(endpoint.model.as_str()));
    body.insert(String::from("messages"), Value::from(messages));
    if let Value::Object(limits) = limits {
        body.extend(limits);
    }
    // Two names of one thing; newer models know this one alone.
    if endpoint.parameters.contains_key("max_completion_tokens") {
        body.shift_remove("max_tokens");
    }
    body.extend(endpoint.parameters.clone());
    Value::Object(body)
}

fn how_to_score(range: ScoreRange) -> String {
    let (lowest, highest) = (range.lowest(), range.highest());
    format!(
        "End your answer with a line of its own in the form `Score: N`, where N is a number from {lowest} to {highest}."
    )
}

fn text_of(answer: &Value) -> Result<String, String> {
    let message = &answer["choices"][0]["message"];
    match &message["content"] {
        Value::String(text) => Ok(text.clone()),
        _ => Err(format!("its answer has no text at choices.0.message.content: {}", super::quote(&answer.to_string()))),
    }
}

/// The score in an answer: a number alone, or in the last line after `Score:`.
fn score_in(answer: &str, range: ScoreRange) -> Result<f64, String> {
    let plain = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '#');
    let last = answer.lines().rev().map(|line| line.trim_matches(plain)).find(|line| !line.is_empty());
    let Some(last) = last else { return Err(String::from("its answer is empty")) };
    let missing = || String::from("its answer does not end with a line `Score: N`");
    let number = match last.get(..5).filter(|word| word.eq_ignore_ascii_case("score")) {
        Some(_) => last[5..].trim_start_matches(plain).strip_prefix(':').ok_or_else(missing)?,
        // Whoever writes nothing else means it.
        None if answer.trim_matches(plain) == last => last,
        None => return Err(missing()),
    };
    let number = number.trim_matches(plain).trim_end_matches('.');
    let number = match number.split_once('/') {
        None => number,
        Some((number, most)) if most.trim().parse() == Ok(range.highest()) => number.trim_end(),
        Some(_) => return Err(missing()),
    };
    // What else a number may be for Rust, `inf` and `1e3`, is none for people.
    let written = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    if !number.chars().all(written) {
        return Err(missing());
    }
    let score: f64 = number.parse().map_err(|_| missing())?;
    range.reward(score).map(|_| score)
}

/// How probable the first token is a yes, of all that is a yes or a no.
fn yes_in(answer: &Value, least_mass: f64) -> Result<Score, String> {
    let first = &answer["choices"][0]["logprobs"]["content"][0];
    let Some(top) = first["top_logprobs"].as_array().filter(|top| !top.is_empty()) else {
        return Err(String::from(
            "it gives no log-probabilities of its first token (choices.0.logprobs.content.0.top_logprobs); take an \
             endpoint that does, or `mode` `score`",
        ));
    };
    let (mut yes, mut no, mut seen) = (0.0, 0.0, Vec::new());
    for token in top.iter().chain([first]) {
        let (Some(text), Some(logprob)) = (token["token"].as_str(), token["logprob"].as_f64()) else {
            return Err(String::from("an entry of its log-probabilities has no `token` or no `logprob`"));
        };
        // The token that was drawn may be one of the most probable.
        if seen.contains(&text) {
            continue;
        }
        seen.push(text);
        let probability = logprob.min(0.0).exp();
        let word: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        match word.as_str() {
            "yes" => yes += probability,
            "no" => no += probability,
            _ => {}
        }
    }
    let mass: f64 = yes + no;
    if mass <= 0.0 || mass < least_mass {
        let drawn = first["token"].as_str().unwrap_or_default();
        return Err(format!(
            "only {:.1} % of its first token is a yes or a no (`least_mass` is {least_mass}); it begins with {}",
            100.0 * mass,
            super::quote(drawn)
        ));
    }
    Ok(Score::ok(yes / mass).because(format!("the probability of yes is {yes:.4} and of no {no:.4}")))
}

#[cfg(test)]
mod tests {
    use super::super::outside::ThisServer;
    use super::super::outside::scripted::{Reply, Request, Scripted, fine};
    use super::*;
    use crate::verifier;

    #[test]
    fn a_score_is_a_number_alone_or_in_the_last_line() {
        let range = ScoreRange::of(0.0, 10.0);
        for (answer, score) in [
            ("7", 7.0),
            (" 7.5\n", 7.5),
            ("It is right.\nScore: 8", 8.0),
            ("It is right.\n\n**Score: 8/10**\n", 8.0),
            ("**Score:** 8.", 8.0),
            ("score : 0", 0.0),
            ("Score: 2\nNo, wait.\nSCORE: +10", 10.0),
        ] {
            assert_eq!(score_in(answer, range), Ok(score), "{answer:?}");
        }
        for prose in [
            "",
            "\n \n",
            "It is good.",
            "Score: 8\nThat was hard to say.",
            "I give it 8\n8 of 10",
            "The score is 8",
            "Scores: 8",
            "Score: eight",
            "Score: 8 or 9",
            "Score: 8/5",
            "Score: inf",
            "Score: NaN",
            "Score: 1e1",
            "Score: 11",
            "Score: -1",
            "Score:",
            "Sc\u{f6}re: 8",
        ] {
            assert!(score_in(prose, range).is_err(), "{prose:?}");
        }
    }

    fn told(top: &[(&str, f64)], drawn: (&str, f64)) -> Value {
        let top: Vec<Value> = top.iter().map(|(token, p)| json!({"token": token, "logprob": p.ln()})).collect();
        let first = json!({"token": drawn.0, "logprob": drawn.1.ln(), "top_logprobs": top});
        json!({"choices": [{"message": {"content": drawn.0}, "logprobs": {"content": [first]}}]})
    }

    #[test]
    fn the_probability_of_yes_is_that_of_all_its_writings_beside_no() {
        let answer = told(&[("Yes", 0.5), (" yes", 0.1), ("No", 0.2), ("Maybe", 0.1)], ("Yes", 0.5));
        let score = yes_in(&answer, 0.5).unwrap();
        assert!((score.reward - 0.75).abs() < 1e-12, "{score:?}");
        let beyond = yes_in(&told(&[("No", 0.6)], ("yes", 0.2)), 0.5).unwrap();
        assert!((beyond.reward - 0.25).abs() < 1e-12, "{beyond:?}");
    }

    #[test]
    fn a_judge_that_says_neither_yes_nor_no_gives_no_reward() {
        let prose = yes_in(&told(&[("The", 0.9), ("yes", 0.05)], ("The", 0.9)), 0.5).unwrap_err();
        assert!(prose.contains("5.0 %") && prose.contains("The"), "{prose}");
        assert!(yes_in(&told(&[("The", 0.9)], ("The", 0.9)), 0.0).is_err());
        assert!(yes_in(&json!({"choices": [{"message": {"content": "yes"}}]}), 0.5).unwrap_err().contains("mode"));
        let broken =
            json!({"choices": [{"logprobs": {"content": [{"token": "a", "top_logprobs": [{"token": "yes"}]}]}}]});
        assert!(yes_in(&broken, 0.5).is_err());
    }

    #[test]
    fn the_operators_parameters_go_before_those_of_the_verifier() {
        let endpoint: Endpoint = serde_json::from_value(json!({
            "url": "https://a.example/v1", "model": "m", "parameters": {"max_completion_tokens": 9, "temperature": 1}
        }))
        .unwrap();
        let body = request(&endpoint, &[json!({"role": "user"})], json!({"max_tokens": 5, "temperature": 0.0}));
        let expected =
            json!({"model": "m", "messages": [{"role": "user"}], "temperature": 1, "max_completion_tokens": 9});
        assert_eq!(body, expected);
    }

    fn config(more: Value) -> verifier::Config {
        let mut config = json!({"type": "model", "endpoint": "here", "rubric": "Is {{ sample.output_text }} {{ item.want }}?",
                                "retries": 1});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        verifier::Config::parse(&config, "/v").unwrap()
    }

    fn judged(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static, more: Value) -> (Score, Vec<Request>) {
        let server = Scripted::start(script);
        let verifier = config(more).build(&server.allowed());
        let row = json!({"want": "four"});
        let score = verifier.verify(&Case { prompt: "", completion: "4", answer: None, row: row.as_object().unwrap() });
        (score, server.requests())
    }

    fn says(text: &str) -> Reply {
        fine(json!({"choices": [{"message": {"role": "assistant", "content": text}}]}))
    }

    #[test]
    fn a_judge_gets_the_rubric_and_its_score_becomes_a_reward() {
        let (score, requests) =
            judged(|_, _| says("It is.\nScore: 4"), json!({"score_range": [1, 5], "system": "Be fair."}));
        assert_eq!(score, Score::ok(0.75).because("It is.\nScore: 4"));
        let (path, body) = (&requests[0].path, requests[0].json());
        assert_eq!(
            (path.as_str(), &body["model"], &body["max_tokens"]),
            ("/v1/chat/completions", &json!("a-judge"), &json!(512))
        );
        assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be fair."}));
        let asked = body["messages"][1]["content"].as_str().unwrap();
        assert!(asked.starts_with("Is 4 four?\n\n") && asked.contains("from 1 to 5"), "{asked}");
    }

    #[test]
    fn a_judge_that_answers_prose_is_asked_again_and_is_then_an_error() {
        let (score, requests) =
            judged(|number, _| says(if number == 0 { "Well done!" } else { "Score: 10" }), json!({}));
        assert_eq!((score.reward, requests.len()), (1.0, 2));
        let again = requests[1].json();
        assert_eq!(again["messages"][1], json!({"role": "assistant", "content": "Well done!"}));
        let (score, requests) = judged(|_, _| says("Well done!"), json!({}));
        assert_eq!((score.status.as_str(), requests.len()), ("error", 2));
        let detail = score.detail.unwrap();
        assert!(detail.contains("asked 2 times") && detail.contains("Well done!"), "{detail}");
    }

    #[test]
    fn other_bad_answers_are_errors_too() {
        for (reply, expected) in [
            (fine("<html>"), "no JSON"),
            (fine("{}"), "no text"),
            (fine(json!({"choices": [{"message": {"content": null}}]})), "no text"),
            (Some((401, String::new(), String::from("who are you?"))), "401: who are you?"),
            (says("Score: 11"), "does not lie between"),
        ] {
            let (score, _) = judged(move |_, _| reply.clone(), json!({}));
            let detail = score.detail.unwrap();
            assert!(score.status.as_str() == "error" && detail.contains(expected), "{detail}");
        }
        let (score, _) = judged(|_, _| says("yes"), json!({"mode": "yes_logprob"}));
        assert!(score.status.as_str() == "error" && score.detail.unwrap().contains("log-probabilities"));
        let answer = told(&[("Yes", 0.75), ("No", 0.25)], ("Yes", 0.75));
        let (score, requests) = judged(move |_, _| fine(&answer), json!({"mode": "yes_logprob"}));
        assert!((score.reward - 0.75).abs() < 1e-12, "{score:?}");
        assert_eq!(requests[0].json()["top_logprobs"], 20);
        let (score, _) = judged(|_, _| None, json!({"time_limit_seconds": 0.5}));
        assert_eq!(score.status.as_str(), "timeout");
    }

    #[test]
    fn a_judge_that_could_never_answer_is_refused() {
        let server = Scripted::start(|_, _| None);
        let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
        let refused = |devices| {
            let outside = Outside { this_server: Some(ThisServer { address, devices }), ..server.allowed() };
            config(json!({})).refused(&outside, "/v")
        };
        assert_eq!(refused(1).unwrap_err()[0].code, "judge_without_device");
        assert_eq!(refused(2), Ok(()));
        let unnamed = config(json!({})).refused(&Outside::default(), "/v").unwrap_err();
        assert_eq!((unnamed[0].pointer.as_str(), unnamed[0].code), ("/v/endpoint", "not_enabled"));
        assert_eq!(config(json!({})).required_columns(), [(String::from("rubric"), String::from("want"))]);
    }
}
