//! A scoring service: cases are posted to it in batches, and it answers a verdict for each.
//!
//! The configuration names the service by the name that the operator has given it, and never an address within the
//! operator's network or a secret; or it names a public https address, which is called without a signature.
//!
//! Such verdicts are the service's own. They are stored with the rollouts, which is the only way to see them again.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::{self, MOST_PARAMETER_BYTES, ScoreRange};
use super::outside::{Client, Deadline, Failure, MOST_REQUEST_BYTES, Outside, Tries, check_public};
use super::{Case, Score, Settings, Verifier};
use crate::job::field::FieldError;

pub const SUMMARY: &str = "A scoring service gives the reward: cases are posted to it as JSON, signed and in batches.";

/// Room in a request for what stands around its cases.
const ENVELOPE_BYTES: usize = MOST_PARAMETER_BYTES + 1024;

/// Configuration of the `http` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The service, by its name in the operator's settings, which have its address and its secrets.
    #[schemars(length(min = 1, max = 64))]
    service: Option<String>,
    /// Or a public https address, to which requests go unsigned.
    #[schemars(length(min = 1, max = 2048))]
    url: Option<String>,
    /// Columns of the row to send; by default the whole row.
    #[schemars(length(max = 64))]
    columns: Option<Vec<String>>,
    /// The column of the expected answer to send; by default the data set's answer column, if it has one.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Sent with every request, for a service that scores in several ways; at most 64 KiB.
    parameters: Map<String, Value>,
    /// The scores that the service gives, from the lowest to the highest, which become rewards from 0 to 1; by default
    /// its scores are the rewards.
    score_range: Option<ScoreRange>,
    /// Most cases in one request.
    #[schemars(range(min = 1, max = 256))]
    batch_size: usize,
    /// Most requests at a time; the operator's limit for the service holds as well.
    #[schemars(range(min = 1, max = 64))]
    concurrency: usize,
    /// How often a request is made again that got no answer, or one that says to try again (408, 425, 429, 5xx).
    #[schemars(range(max = 10))]
    retries: u32,
    /// Seconds one request may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    request_seconds: f64,
    /// Seconds one verification may take, which is all requests for its batch.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: None,
            url: None,
            columns: None,
            answer_column: None,
            parameters: Map::new(),
            score_range: None,
            batch_size: 16,
            concurrency: 4,
            retries: 2,
            request_seconds: 20.0,
            time_limit_seconds: 60.0,
        }
    }
}

impl Config {
    fn client(&self, outside: &Outside) -> Result<Client, FieldError> {
        outside.client(self.service.as_deref(), self.url.as_deref())
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut errors = contract::check(pointer, self.columns.as_deref(), &self.parameters, self.score_range);
        let mut refuse = |field: &str, code, detail: &str| {
            errors.push(FieldError::new(format!("{pointer}/{field}"), code, detail));
        };
        match (&self.service, &self.url) {
            (None, None) => refuse("service", "missing_field", "name a `service` of the operator's, or a public `url`"),
            (Some(_), Some(_)) => {
                refuse("url", "conflict", "is for what is no `service` of the operator's; leave one out")
            }
            (Some(_), None) => {}
            (None, Some(url)) => {
                if let Err(refusal) = check_public(url) {
                    refuse("url", refusal.code(), &refusal.to_string());
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        self.client(outside).map(|_| ()).map_err(|error| vec![error.below(pointer)])
    }

    fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        let client = self.client(outside).map_err(|error| error.detail);
        Arc::new(Http {
            config: self.clone(),
            client,
            concurrency: outside.concurrency(self.service.as_deref(), self.concurrency),
        })
    }

    fn compares_answer(&self) -> bool {
        self.answer_column.is_some()
    }

    // All of it is handed on.
    fn reads_row(&self) -> bool {
        true
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn columns(&self) -> Vec<(String, String)> {
        contract::columns(self.answer_column.as_deref(), self.columns.as_deref())
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Http {
    config: Config,
    /// Or why there is none.
    client: Result<Client, String>,
    concurrency: usize,
}

impl Verifier for Http {
    fn verify(&self, case: &Case<'_>) -> Score {
        self.verify_many(std::slice::from_ref(case)).pop().unwrap_or_else(|| Score::error("there is no verdict"))
    }

    fn verify_many(&self, cases: &[Case<'_>]) -> Vec<Score> {
        let client = match &self.client {
            Ok(client) => client,
            Err(detail) => return vec![Score::error(detail.clone()); cases.len()],
        };
        let until = Deadline::before(self.limit());
        let mut scores: Vec<Option<Score>> = vec![None; cases.len()];
        let mut batch = Batch::default();
        for (place, case) in cases.iter().enumerate() {
            let config = &self.config;
            match contract::told(case, config.answer_column.as_deref(), config.columns.as_deref()) {
                Ok(told) => {
                    let text = Value::Object(told).to_string();
                    if !batch.has_room(&text) {
                        self.ask(client, std::mem::take(&mut batch), until, &mut scores);
                    }
                    batch.add(place, text);
                }
                Err(detail) => scores[place] = Some(Score::error(detail)),
            }
        }
        self.ask(client, batch, until, &mut scores);
        scores.into_iter().map(|score| score.unwrap_or_else(|| Score::error("there is no verdict"))).collect()
    }

    fn batch(&self) -> usize {
        self.config.batch_size
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }
}

/// Cases that go into one request.
#[derive(Default)]
struct Batch {
    places: Vec<usize>,
    texts: Vec<String>,
    bytes: usize,
}

impl Batch {
    fn has_room(&self, text: &str) -> bool {
        self.places.is_empty() || self.bytes + text.len() + ENVELOPE_BYTES < MOST_REQUEST_BYTES
    }

    fn add(&mut self, place: usize, text: String) {
        self.places.push(place);
        self.bytes += text.len() + 1;
        self.texts.push(text);
    }
}

impl Http {
    fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.config.time_limit_seconds)
    }

    /// Posts a batch and puts the verdicts in their places.
    fn ask(&self, client: &Client, batch: Batch, until: Deadline, scores: &mut [Option<Score>]) {
        if batch.places.is_empty() {
            return;
        }
        let parameters = Value::Object(self.config.parameters.clone());
        let body = format!(r#"{{"cases":[{}],"parameters":{parameters}}}"#, batch.texts.join(","));
        let tries = Tries { retries: self.config.retries, each: Duration::from_secs_f64(self.config.request_seconds) };
        let verdicts = match client.post(&body, tries, until) {
            Ok(text) => read(&text, batch.places.len(), self.config.score_range)
                .unwrap_or_else(|detail| vec![Score::error(format!("the service: {detail}")); batch.places.len()]),
            Err(Failure::Failed(detail)) => vec![Score::error(format!("the service: {detail}")); batch.places.len()],
            Err(Failure::Late(detail)) => {
                vec![Score::timeout(self.limit()).because(format!("the service: {detail}")); batch.places.len()]
            }
        };
        for (place, verdict) in batch.places.into_iter().zip(verdicts) {
            scores[place] = Some(verdict);
        }
    }
}

/// The verdicts in the text of an answer, one for each case.
fn read(text: &str, cases: usize, range: Option<ScoreRange>) -> Result<Vec<Score>, String> {
    let answer = contract::read(text).map_err(|detail| format!("what it answers cannot be read: {detail}"))?;
    let Some(scores) = answer.get("scores").and_then(Value::as_array) else {
        return Err(String::from("it answers no object with a list `scores`"));
    };
    if scores.len() != cases {
        let detail =
            format!("it answers {} scores for {cases} cases; it must answer one for each, in order", scores.len());
        return Err(detail);
    }
    Ok(scores.iter().map(|score| contract::verdict(score, range)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::outside::scripted::{Reply, Request, Scripted, fine};
    use super::*;
    use crate::verifier;

    fn built(config: Value, outside: &Outside) -> Arc<dyn Verifier> {
        let config = verifier::Config::parse(&config, "").unwrap();
        config.refused(outside, "").unwrap();
        config.build(outside)
    }

    fn scores(verifier: &dyn Verifier, completions: &[&str]) -> Vec<Score> {
        let row = json!({"answer": "4", "level": 2});
        let case = |completion| Case { prompt: "2+2=", completion, answer: Some("4"), row: row.as_object().unwrap() };
        verifier.verify_many(&completions.iter().map(|completion| case(completion)).collect::<Vec<_>>())
    }

    fn told(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static, more: Value) -> Vec<(String, String)> {
        let server = Scripted::start(script);
        let mut config = json!({"type": "http", "service": "here", "retries": 0});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let scores = scores(built(config, &server.allowed()).as_ref(), &["4", "5", "four"]);
        assert!(scores.iter().all(|score| score.is_scored() || score.detail.is_some()), "{scores:?}");
        scores.into_iter().map(|s| (s.status.as_str().to_owned(), s.detail.unwrap_or_default())).collect()
    }

    #[test]
    fn a_batch_is_one_request_and_each_case_gets_its_verdict() {
        let server = Scripted::start(|_, request| {
            let body = request.json();
            let of =
                |case: &Value| json!({"reward": f64::from(case["completion"] == case["answer"]), "reason": "because"});
            let scores: Vec<Value> = body["cases"].as_array().unwrap().iter().map(of).collect();
            fine(json!({"scores": scores}))
        });
        let config =
            json!({"type": "http", "service": "here", "columns": ["level"], "parameters": {"style": "strict"}});
        let verifier = built(config, &server.allowed());
        assert_eq!(
            scores(verifier.as_ref(), &["4", "5"]),
            [Score::ok(1.0).because("because"), Score::ok(0.0).because("because")]
        );
        let [request] = server.requests().try_into().unwrap();
        let case = |completion| json!({"prompt": "2+2=", "completion": completion, "answer": "4", "row": {"level": 2}});
        assert_eq!(request.json(), json!({"cases": [case("4"), case("5")], "parameters": {"style": "strict"}}));
        assert_eq!((verifier.batch(), verifier.concurrency()), (16, 4));
    }

    #[test]
    fn bad_answers_are_errors_with_their_reason_and_never_zeros() {
        let all = |expected: &str, told: Vec<(String, String)>| {
            for (status, detail) in told {
                assert!(status == "error" && detail.contains(expected), "{expected}: {status}: {detail}");
            }
        };
        all("answers 500: broken", told(|_, _| Some((500, String::new(), String::from("broken"))), json!({})));
        let away = "location: http://169.254.169.254/\r\n";
        all("is not followed", told(move |_, _| Some((307, away.to_owned(), String::new())), json!({})));
        all("answers 2 scores for 3 cases", told(|_, _| fine(r#"{"scores": [1, 0]}"#), json!({})));
        all("answers 4 scores for 3 cases", told(|_, _| fine(r#"{"scores": [1, 0, 1, 1]}"#), json!({})));
        all("no JSON", told(|_, _| fine("<html>"), json!({})));
        all("list `scores`", told(|_, _| fine("[1, 0, 1]"), json!({})));
        all("list `scores`", told(|_, _| fine(r#"{"scores": 1}"#), json!({})));
        all("does not lie between", told(|_, _| fine(r#"{"scores": [7, 8, 9]}"#), json!({"score_range": [0, 5]})));
        all("no answer within", told(|_, _| None, json!({"request_seconds": 0.2})));
    }

    #[test]
    fn a_slow_service_is_a_timeout_before_its_thread_is_given_up() {
        let began = std::time::Instant::now();
        for (status, detail) in told(|_, _| None, json!({"time_limit_seconds": 1})) {
            assert!(status == "timeout" && detail.contains("the service"), "{status}: {detail}");
        }
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn one_score_that_is_no_number_costs_no_other_case() {
        let told = told(|_, _| fine(r#"{"scores": [1.0, NaN, {"error": "gone"}]}"#), json!({}));
        let statuses: Vec<&str> = told.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(statuses, ["ok", "error", "error"]);
        assert!(told[1].1.contains("NaN") && told[2].1.contains("gone"));
    }

    #[test]
    fn what_does_not_fit_into_a_request_goes_into_another() {
        let server = Scripted::start(|_, request| {
            let count = request.json()["cases"].as_array().unwrap().len();
            fine(json!({"scores": vec![1; count]}))
        });
        let verifier = built(json!({"type": "http", "service": "here"}), &server.allowed());
        let long = "x".repeat(1 << 20);
        let mut completions = vec![long.as_str(); 10];
        let too_long = "x".repeat((1 << 20) + 1);
        completions.push(&too_long);
        let scores = scores(verifier.as_ref(), &completions);
        assert!(scores[..10].iter().all(|score| *score == Score::ok(1.0)));
        assert!(!scores[10].is_scored());
        assert_eq!(server.requests().len(), 2);
    }

    #[test]
    fn what_is_not_enabled_or_not_clear_is_refused_where_it_stands() {
        let refusal = |value: Value, outside: &Outside| {
            let parsed = verifier::Config::parse(&value, "/v");
            let errors = parsed.and_then(|config| config.refused(outside, "/v")).unwrap_err();
            (errors[0].pointer.clone(), errors[0].code)
        };
        let nothing = Outside::default();
        let at = |field: &str, code| (format!("/v/{field}"), code);
        assert_eq!(refusal(json!({"type": "http", "service": "a"}), &nothing), at("service", "not_enabled"));
        assert_eq!(refusal(json!({"type": "http"}), &nothing), at("service", "missing_field"));
        let both = json!({"type": "http", "service": "a", "url": "https://example.org/"});
        assert_eq!(refusal(both, &nothing), at("url", "conflict"));
        let public = |url: &str| json!({"type": "http", "url": url});
        assert_eq!(refusal(public("http://example.org/"), &nothing), at("url", "insecure_url"));
        assert_eq!(refusal(public("https://127.0.0.1/"), &nothing), at("url", "no_public_address"));
        let strict = Outside { named_services_only: true, ..Outside::default() };
        assert_eq!(refusal(public("https://example.org/"), &strict), at("url", "not_enabled"));
        let broken: Outside =
            serde_json::from_value(json!({"services": {"a": {"url": "https://a.example/", "secret_file": "/absent"}}}))
                .unwrap();
        assert_eq!(refusal(json!({"type": "http", "service": "a"}), &broken), at("service", "not_usable"));
        let range = json!({"type": "http", "service": "a", "score_range": [1, 1]});
        assert_eq!(refusal(range, &nothing), at("score_range", "out_of_range"));
        // What was enabled when a job was submitted may be gone when it runs.
        let gone = verifier::Config::parse(&json!({"type": "http", "service": "a"}), "").unwrap().build(&nothing);
        assert!(!scores(gone.as_ref(), &["4"])[0].is_scored());
    }
}
