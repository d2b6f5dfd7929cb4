//! A tool server: conversations are posted to it in batches, and it answers each of them (`docs/environments.md`).
//!
//! It is told everything with each request and need keep nothing. Answers are untrusted: texts and numbers have bounds, and
//! one that cannot be read is an error of its conversation and never a zero.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Answer, Asked, Environment, Failure, MOST_ANSWER_BYTES};
use crate::job::environment::EnvironmentSpec;
use crate::job::field::FieldError;
use crate::verifier::{self, Client, Deadline, MOST_REQUEST_BYTES, Outside, Tries};

/// Conversations of one request.
const BATCH: usize = 16;
/// Requests at a time, where the operator allows as many.
const CONCURRENCY: usize = 4;
/// Tries after the first.
const RETRIES: u32 = 2;

/// The client of what a spec names.
pub fn client(spec: &EnvironmentSpec, outside: &Outside) -> Result<Client, FieldError> {
    outside.client(spec.service.as_deref(), spec.url.as_deref())
}

pub struct Http {
    /// Or why there is none.
    client: Result<Client, String>,
    parameters: Map<String, Value>,
    limit: Duration,
    concurrency: usize,
}

impl Http {
    pub fn of(spec: &EnvironmentSpec, outside: &Outside) -> Self {
        Self {
            client: client(spec, outside).map_err(|error| error.detail),
            parameters: spec.parameters.clone(),
            limit: Duration::try_from_secs_f64(spec.time_limit_seconds).unwrap_or_default(),
            concurrency: outside.concurrency(spec.service.as_deref(), CONCURRENCY),
        }
    }

    /// What is answered to conversations, of which `told` is what the server is told.
    fn ask(&self, told: &[String]) -> Result<Vec<Result<Answer, Failure>>, Failure> {
        let failed = |detail: &str| Failure::Failed(format!("the environment: {detail}"));
        let client = self.client.as_ref().map_err(|detail| failed(detail))?;
        let parameters = Value::Object(self.parameters.clone());
        let body = format!(r#"{{"conversations":[{}],"parameters":{parameters}}}"#, told.join(","));
        let tries = Tries { retries: RETRIES, each: self.limit };
        let text = client.post(&body, tries, Deadline::before(self.limit)).map_err(|failure| match failure {
            verifier::Failure::Late(detail) => Failure::Late(format!("the environment: {detail}")),
            verifier::Failure::Failed(detail) => failed(&detail),
        })?;
        let answer: Value =
            serde_json::from_str(&text).map_err(|error| failed(&format!("it answers no JSON ({error})")))?;
        let Some(answers) = answer["answers"].as_array() else {
            return Err(failed("it answers no object with a list `answers`"));
        };
        if answers.len() != told.len() {
            let detail = format!(
                "it answers {} times for {} conversations; it must answer each, in order",
                answers.len(),
                told.len()
            );
            return Err(failed(&detail));
        }
        Ok(answers.iter().map(|answer| read(answer).map_err(|detail| failed(&detail))).collect())
    }
}

impl Environment for Http {
    fn answer(&self, asked: &[Asked]) -> Vec<Result<Answer, Failure>> {
        let told: Vec<String> = asked.iter().map(|one| told(one).to_string()).collect();
        let ask = |told: &[String]| self.ask(told).unwrap_or_else(|failure| vec![Err(failure); told.len()]);
        // Long ones are asked about alone, where all do not fit together.
        if told.iter().map(String::len).sum::<usize>() > MOST_REQUEST_BYTES / 2 {
            return told.iter().flat_map(|one| ask(std::slice::from_ref(one))).collect();
        }
        ask(&told)
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    fn heeds_last(&self) -> bool {
        true
    }

    fn time_limit(&self) -> Duration {
        self.limit
    }
}

/// What is told of a conversation.
fn told(asked: &Asked) -> Value {
    let speakers = ["assistant", "environment"].into_iter().cycle();
    let turns: Vec<Value> =
        asked.said.iter().zip(speakers).map(|(text, speaker)| json!({"role": speaker, "content": text})).collect();
    json!({"prompt": asked.prompt, "row": *asked.row, "turns": turns, "last": asked.is_last})
}

/// An answer as it came.
fn read(answer: &Value) -> Result<Answer, String> {
    if let Some(detail) = answer["error"].as_str() {
        return Err(detail.chars().take(500).collect());
    }
    let reward = match &answer["reward"] {
        Value::Null => None,
        other => Some(other.as_f64().ok_or_else(|| String::from("its `reward` is no number"))?),
    };
    match (&answer["content"], answer["done"].as_bool().unwrap_or(false)) {
        (_, true) => Ok(Answer { text: None, reward }),
        (Value::String(text), false) if text.len() <= MOST_ANSWER_BYTES && !text.is_empty() => {
            Ok(Answer { text: Some(text.clone()), reward })
        }
        (Value::String(text), false) => {
            Err(format!("its `content` has {} bytes; it may have 1 to {MOST_ANSWER_BYTES}", text.len()))
        }
        (_, false) => Err(String::from("it answers neither a text `content` nor `\"done\": true`")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::verifier::scripted::{Reply, Request, Scripted, fine};

    fn asked(said: &[&str], is_last: bool) -> Asked {
        let row = json!({"answer": "4"}).as_object().unwrap().clone();
        let said = said.iter().map(|text| (*text).to_owned()).collect();
        Asked { prompt: String::from("2+2="), row: Arc::new(row), said, is_last }
    }

    fn answers(
        script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
        limit: f64,
        count: usize,
    ) -> (Vec<Result<Answer, Failure>>, Vec<Value>) {
        let server = Scripted::start(script);
        let spec = json!({"type": "http", "service": "here", "parameters": {"level": 2}, "time_limit_seconds": limit});
        let http = Http::of(&serde_json::from_value(spec).unwrap(), &server.allowed());
        let told = http.answer(&vec![asked(&["5", "no", "3"], false); count]);
        (told, server.requests().iter().map(Request::json).collect())
    }

    #[test]
    fn conversations_are_told_whole_and_answered_in_order() {
        let script = |_: usize, _: &Request| {
            fine(json!({"answers": [{"content": "no"}, {"done": true, "reward": 0.5}, {"content": "x", "reward": -1}]}))
        };
        let (told, requests) = answers(script, 20.0, 3);
        let over = Answer { reward: Some(0.5), ..Answer::OVER };
        assert_eq!(told, [Ok(Answer::says("no")), Ok(over), Ok(Answer { reward: Some(-1.0), ..Answer::says("x") })]);
        let turn = |role: &str, content: &str| json!({"role": role, "content": content});
        let turns = [turn("assistant", "5"), turn("environment", "no"), turn("assistant", "3")];
        let one = json!({"prompt": "2+2=", "row": {"answer": "4"}, "turns": turns, "last": false});
        assert_eq!(requests, [json!({"conversations": [one, one, one], "parameters": {"level": 2}})]);
    }

    #[test]
    fn a_server_that_lies_or_hangs_costs_its_conversations_their_verdicts_and_no_more() {
        let failed = |answer: Value| match answers(move |_, _| fine(&answer), 20.0, 1).0.remove(0) {
            Err(Failure::Failed(detail)) => detail,
            other => panic!("{other:?}"),
        };
        assert!(failed(json!([1])).contains("list `answers`"));
        assert!(failed(json!({"answers": []})).contains("0 times for 1 conversations"));
        assert!(failed(json!({"answers": [{}]})).contains("neither a text"));
        assert!(failed(json!({"answers": [{"content": ""}]})).contains("0 bytes"));
        assert!(failed(json!({"answers": [{"content": "x".repeat(MOST_ANSWER_BYTES + 1)}]})).contains("bytes"));
        assert!(failed(json!({"answers": [{"done": true, "reward": "much"}]})).contains("no number"));
        assert!(failed(json!({"answers": [{"error": "the sandbox is gone"}]})).contains("the sandbox is gone"));
        let mixed = json!({"answers": [{"content": "ok"}, {"error": "gone"}]});
        let (told, _) = answers(move |_, _| fine(&mixed), 20.0, 2);
        assert!(told[0].is_ok() && told[1].is_err(), "{told:?}");
        let (told, _) = answers(|_, _| None, 0.5, 1);
        assert!(matches!(&told[0], Err(Failure::Late(_))), "{told:?}");
    }
}
