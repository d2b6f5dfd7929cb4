//! The parameters that both kinds of completions have. What the sampler cannot do is refused by name, unless the value
//! asks for nothing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::refused;
use crate::api::error::Problem;
use crate::api::extract::read_fields;
use crate::job::FieldError;
use crate::job::inference::{CompletionInput, Order};
use crate::job::metadata::check_metadata;

/// The reason why a parameter is refused that the OpenAI API has and this one does not.
pub const UNSUPPORTED: &str = "unsupported_parameter";

const MOST_STOPS: usize = 4;
const MOST_STOP_BYTES: usize = 256;
const MOST_USER_BYTES: usize = 512;

/// One text, or several.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
pub enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    pub fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// What a stream holds besides the text.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamOptions {
    /// A last chunk before `[DONE]` has the tokens of the whole request and no choices.
    #[serde(default)]
    pub include_usage: bool,
    /// Chunks are never padded.
    #[serde(default)]
    #[expect(dead_code, reason = "clients send it, and it asks for nothing that could be seen")]
    include_obfuscation: Option<bool>,
}

/// The parameters of a request, whichever kind it is.
pub struct Parameters {
    pub max_tokens: Option<u32>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub n: Option<u32>,
    pub stop: Option<Texts>,
    pub seed: Option<i64>,
    pub logprobs: bool,
    pub top_logprobs: u32,
    pub echo: bool,
    pub stream: Option<bool>,
    pub stream_options: Option<StreamOptions>,
    pub user: Option<String>,
    pub metadata: Option<BTreeMap<String, String>>,
}

impl Parameters {
    /// Checks what the document does not say and makes the order; the client's mistakes otherwise.
    pub fn order(self, project: &str, model: &str, input: CompletionInput) -> Result<(Order, Streamed), Problem> {
        let mut errors = Vec::new();
        let mut require = |holds: bool, field: &str, detail: String| {
            if !holds {
                errors.push(FieldError::new(format!("/{field}"), "out_of_range", detail));
            }
        };
        let samples = self.n.unwrap_or(1);
        let (temperature, top_p) = (self.temperature.unwrap_or(1.0), self.top_p.unwrap_or(1.0));
        let stop = self.stop.map(Texts::into_vec).unwrap_or_default();
        let streamed = Streamed {
            is: self.stream == Some(true),
            usage: self.stream_options.as_ref().is_some_and(|options| options.include_usage),
        };
        require(stop.len() <= MOST_STOPS, "stop", format!("must be at most {MOST_STOPS} texts"));
        let lengths = stop.iter().all(|text| (1..=MOST_STOP_BYTES).contains(&text.len()));
        require(lengths, "stop", format!("each text must have 1 to {MOST_STOP_BYTES} bytes"));
        let options = self.stream_options.is_none() || streamed.is;
        require(options, "stream_options", String::from("is only for `stream` true"));
        let user = self.user.is_none_or(|user| user.len() <= MOST_USER_BYTES);
        require(user, "user", format!("must have at most {MOST_USER_BYTES} bytes"));
        errors.extend(self.metadata.and_then(|pairs| check_metadata(&pairs).err()).unwrap_or_default());
        if !errors.is_empty() {
            return Err(refused(errors));
        }
        let order = Order {
            project: project.to_owned(),
            model: model.to_owned(),
            input,
            samples,
            max_tokens: self.max_tokens,
            temperature,
            // The smallest set with any mass at all is the most probable token.
            top_p: top_p.max(1e-9),
            stop,
            seed: self.seed.map_or_else(|| uuid::Uuid::new_v4().as_u64_pair().1, i64::cast_unsigned),
            logprobs: self.logprobs,
            top_logprobs: self.top_logprobs,
            echo: self.echo,
        };
        Ok((order, streamed))
    }
}

/// How the answer travels.
#[derive(Clone, Copy, Debug)]
pub struct Streamed {
    pub is: bool,
    pub usage: bool,
}

/// A parameter that is taken only with a value that asks for nothing.
pub struct Neutral {
    pub name: &'static str,
    pub asks_nothing: fn(&Value) -> bool,
    /// What to do instead.
    pub detail: &'static str,
}

/// Parameters that neither kind supports.
const NEUTRAL: &[Neutral] = &[
    Neutral { name: "frequency_penalty", asks_nothing: is_zero, detail: "only 0 is supported" },
    Neutral { name: "presence_penalty", asks_nothing: is_zero, detail: "only 0 is supported" },
    Neutral { name: "logit_bias", asks_nothing: is_empty, detail: "is not supported; leave it out" },
    Neutral { name: "safety_identifier", asks_nothing: Value::is_string, detail: "must be a text" },
    Neutral { name: "service_tier", asks_nothing: is_usual, detail: "only `auto` and `default` are supported" },
];

/// Reads a body as a request after taking out what asks for nothing; the client's mistakes otherwise.
pub fn read<T: DeserializeOwned + ToSchema + 'static>(mut body: Value, also: &[Neutral]) -> Result<T, Problem> {
    drop_nulls(&mut body);
    if let Some(fields) = body.as_object_mut() {
        let known = NEUTRAL.iter().chain(also);
        let mut errors = Vec::new();
        for Neutral { name, asks_nothing, detail } in known {
            if let Some(value) = fields.shift_remove(*name)
                && !asks_nothing(&value)
            {
                errors.push(FieldError::new(format!("/{name}"), UNSUPPORTED, format!("`{name}`: {detail}")));
            }
        }
        if !errors.is_empty() {
            return Err(refused(errors));
        }
    }
    read_fields(&body).map_err(refused)
}

/// To clients a field that is null is one that is not there.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub fn is_zero(value: &Value) -> bool {
    value.as_f64() == Some(0.0)
}

pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub fn is_false(value: &Value) -> bool {
    value == &Value::Bool(false)
}

fn is_usual(value: &Value) -> bool {
    value == "auto" || value == "default"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[test]
    fn what_asks_for_nothing_is_taken_and_what_asks_for_more_is_refused_by_name() {
        let neutral = json!({"frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}, "service_tier": "auto",
                             "anything": null});
        read::<Nothing>(neutral, &[]).unwrap();
        for (field, value) in [("frequency_penalty", json!(0.5)), ("logit_bias", json!({"1": 2}))] {
            let problem = read::<Nothing>(json!({field: value}), &[]).unwrap_err();
            assert_eq!((problem.status.as_u16(), problem.code), (400, UNSUPPORTED));
            assert_eq!(problem.errors[0].pointer, format!("/{field}"));
        }
        let unknown = read::<Nothing>(json!({"best": 1}), &[]).unwrap_err();
        assert_eq!((unknown.code, unknown.errors[0].pointer.as_str()), ("invalid_request", "/best"));
    }
}
