//! What answers a model between its turns: the member `environment` of `sampling`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::field::{FieldError, Fields};

/// What stands around a calculation, and around its result, unless a spec says otherwise.
const CALL: [&str; 2] = ["<calculator>", "</calculator>"];
const RESULT: [&str; 2] = ["<result>", "</result>"];
const RETRY: &str = "That is not right. Try again.";
/// Bytes of a mark around a call or its result.
const MOST_MARK: usize = 64;
/// The column of a row that says how many turns it has at most.
pub const TURNS_COLUMN: &str = "turns";

/// What answers the model when a turn of it ends, so that completions have several turns: at an end-of-sequence token or at
/// one of `sampling.stop`. What it writes stands in the completion, counts in `sampling.max_new_tokens` and is read by the
/// model, and is not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentSpec {
    pub r#type: EnvironmentKind,
    /// Most turns of the model. A row may say fewer in a column `turns`.
    #[serde(default = "default_turns")]
    #[schemars(range(min = 1, max = 64))]
    pub turns: u32,
    /// What the verifier judges.
    #[serde(default)]
    pub judge: Judged,
    /// Who answers a turn that ended as a message does, where prompts go through a chat template. Behind a stop text the turn
    /// goes on with the answer as it stands, and so it does in models without a template.
    #[serde(default)]
    pub role: Answerer,
    /// `calculator`: what stands before and behind an expression. The latter ends a turn. By default `<calculator>` and
    /// `</calculator>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<[String; 2]>,
    /// `calculator`: what is written before and behind a result. By default `<result>` and `</result>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<[String; 2]>,
    /// `retry`: what is said of an answer that the verifier does not pass; `{detail}` stands for its reason, which may give
    /// the right answer away. By default `That is not right. Try again.`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub retry: Option<String>,
    /// `http`: a service that the operator has named in `[verifiers.services]`; either this or `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub service: Option<String>,
    /// `http`: a public address that begins with `https://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub url: Option<String>,
    /// `http`: whatever the service is to be told with every request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// `http`: seconds until an answer must have come, over all tries.
    #[serde(default = "default_time_limit_seconds")]
    #[schemars(range(min = 0.1, max = 600.0))]
    pub time_limit_seconds: f64,
}

/// What an environment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentKind {
    /// Writes the value of the expression in the last call of a turn behind it.
    Calculator,
    /// Has the verifier judge each turn, and asks for another where it does not pass.
    Retry,
    /// Asks a service over HTTP.
    Http,
}

/// What of a completion of several turns is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// What the model wrote last.
    #[default]
    LastTurn,
    /// All turns with the answers between them.
    Conversation,
}

/// The role of a message that answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answerer {
    #[default]
    User,
    Tool,
}

impl Answerer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Tool => "tool",
        }
    }
}

fn default_turns() -> u32 {
    4
}

fn default_time_limit_seconds() -> f64 {
    30.0
}

impl EnvironmentSpec {
    /// What stands before and behind an expression.
    pub fn call(&self) -> [&str; 2] {
        self.call.as_ref().map_or(CALL, |marks| marks.each_ref().map(String::as_str))
    }

    /// What is written before and behind a result.
    pub fn result(&self) -> [&str; 2] {
        self.result.as_ref().map_or(RESULT, |marks| marks.each_ref().map(String::as_str))
    }

    /// What is said of an answer that does not pass.
    pub fn retry(&self, detail: &str) -> String {
        let said = self.retry.as_deref().unwrap_or(RETRY).replace("{detail}", detail);
        if said.is_empty() { RETRY.to_owned() } else { said }
    }

    /// The text that ends a turn besides those of `sampling.stop`.
    pub fn stop(&self) -> Option<&str> {
        (self.r#type == EnvironmentKind::Calculator).then(|| self.call()[1])
    }

    /// The most turns with a row.
    pub fn turns_of(&self, row: &Map<String, Value>) -> u32 {
        let own = row.get(TURNS_COLUMN).and_then(Value::as_u64).filter(|turns| *turns > 0);
        own.map_or(self.turns, |own| self.turns.min(u32::try_from(own).unwrap_or(u32::MAX)))
    }

    /// Checks what the bounds of single fields do not say; errors point below `pointer`.
    pub fn check(&self, pointer: &str, has_verifier: bool) -> Result<(), Vec<FieldError>> {
        use EnvironmentKind::{Calculator, Http, Retry};
        let mut fields = Fields::below(pointer);
        let said = [
            ("call", self.call.is_some(), Calculator),
            ("result", self.result.is_some(), Calculator),
            ("retry", self.retry.is_some(), Retry),
            ("service", self.service.is_some(), Http),
            ("url", self.url.is_some(), Http),
            ("parameters", !self.parameters.is_empty(), Http),
        ];
        for (name, is_said, of) in said {
            let belongs = !is_said || of == self.r#type;
            fields.require(belongs, name, format!("is for environments of type `{}`; leave it out", of.as_str()));
        }
        let long = |marks: &Option<[String; 2]>| marks.iter().flatten().any(|mark| mark.len() > MOST_MARK);
        let empty = self.call.iter().flatten().any(String::is_empty);
        fields.require(!long(&self.call) && !empty, "call", format!("holds two texts of 1 to {MOST_MARK} bytes"));
        fields.require(!long(&self.result), "result", format!("holds two texts of at most {MOST_MARK} bytes"));
        if self.r#type == Http {
            let one = self.service.is_some() != self.url.is_some();
            fields.require(one, "service", "name a `service` of the operator's or a public `url`, and not both");
        }
        let judges = self.r#type != Retry || has_verifier;
        fields.require(judges, "type", "`retry` asks the verifier; name one in `verifier`");
        fields.finish()
    }
}

impl EnvironmentKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calculator => "calculator",
            Self::Retry => "retry",
            Self::Http => "http",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(value: Value, has_verifier: bool) -> Vec<String> {
        let spec: EnvironmentSpec = serde_json::from_value(value).unwrap();
        let errors = spec.check("/e", has_verifier).err().into_iter().flatten();
        errors.map(|error| error.pointer).collect()
    }

    #[test]
    fn what_belongs_to_another_type_is_refused_where_it_stands() {
        assert!(refused(json!({"type": "calculator"}), false).is_empty());
        assert_eq!(refused(json!({"type": "calculator", "retry": "no", "url": "x"}), true), ["/e/retry", "/e/url"]);
        assert_eq!(refused(json!({"type": "calculator", "call": ["", "x"]}), true), ["/e/call"]);
        assert_eq!(refused(json!({"type": "retry"}), false), ["/e/type"]);
        assert_eq!(refused(json!({"type": "http"}), true), ["/e/service"]);
        assert_eq!(refused(json!({"type": "http", "service": "a", "url": "https://a.example"}), true), ["/e/service"]);
        assert!(refused(json!({"type": "http", "service": "a", "parameters": {"k": 1}}), false).is_empty());
        assert!(serde_json::from_value::<EnvironmentSpec>(json!({"type": "python"})).is_err());
    }

    #[test]
    fn a_row_may_have_fewer_turns_and_never_more() {
        let spec: EnvironmentSpec = serde_json::from_value(json!({"type": "calculator", "turns": 3})).unwrap();
        let of = |row: Value| spec.turns_of(row.as_object().unwrap());
        assert_eq!([of(json!({})), of(json!({"turns": 2})), of(json!({"turns": 9}))], [3, 2, 3]);
        assert_eq!([of(json!({"turns": 0})), of(json!({"turns": "two"})), of(json!({"turns": -1}))], [3, 3, 3]);
    }

    #[test]
    fn a_spec_says_what_it_was_told_and_no_more() {
        let spec: EnvironmentSpec = serde_json::from_value(json!({"type": "retry", "retry": "No: {detail}"})).unwrap();
        let written = serde_json::to_value(&spec).unwrap();
        let expected = json!({"type": "retry", "turns": 4, "judge": "last_turn", "role": "user", "retry": "No: {detail}",
                              "time_limit_seconds": 30.0});
        assert_eq!(written, expected);
        assert_eq!(spec.retry("7 is not 8"), "No: 7 is not 8");
        let bare = EnvironmentSpec { retry: Some(String::from("{detail}")), ..spec };
        assert_eq!([bare.retry("why"), bare.retry("")], ["why", RETRY]);
    }
}
