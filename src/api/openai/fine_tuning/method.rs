//! What is learnt and how: the `method` of a request as objective, verifier and settings of a job spec.

use serde_json::{Map, Value, json};

use super::hyperparameters::{BASIC, Hyperparameters, REINFORCEMENT};
use crate::api::openai::grader;
use crate::job::FieldError;
use crate::objective;

/// Parts of a job spec that a method of ours may carry as they are.
const SECTIONS: [&str; 7] = ["checkpoints", "eval", "optimizer", "resources", "rollouts", "sampling", "train"];
/// Completions per prompt at a compute multiplier of 1.
const GROUP_SIZE: f64 = 8.0;

/// Methods of ours: the objectives under their own names, but for what `supervised` is already.
fn objectives() -> impl Iterator<Item = &'static str> {
    objective::catalog().iter().filter(|objective| !objective.needs.completions).map(|objective| objective.name)
}

/// A method that was read.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub objective: Value,
    /// A configuration, or the id of a stored one.
    pub verifier: Option<Value>,
    pub sections: Map<String, Value>,
    pub hyperparameters: Hyperparameters,
    /// Where the hyperparameters stand in the request.
    hyperparameters_at: String,
    /// How often every row comes up when nothing is said.
    auto_epochs: u64,
}

impl Method {
    /// Reads `method`, or `hyperparameters` beside it where there is none.
    pub fn read(method: Option<&Value>, legacy: Option<&Value>) -> Result<Self, Vec<FieldError>> {
        let one = |pointer: &str, code, detail: String| Err(vec![FieldError::new(pointer.to_owned(), code, detail)]);
        let Some(method) = method.filter(|method| !method.is_null()) else {
            return Self::supervised(legacy, "/hyperparameters");
        };
        if legacy.is_some_and(|legacy| !legacy.is_null()) {
            let detail = "goes into `method` where there is one";
            return one("/hyperparameters", "conflict", detail.to_owned());
        }
        let known = || ["supervised", "reinforcement"].into_iter().chain(objectives()).collect::<Vec<_>>().join(", ");
        let name = match method.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(_) => return one("/method/type", "wrong_type", format!("must be one of: {}", known())),
            None => return one("/method/type", "missing_field", format!("name the method: {}", known())),
        };
        let empty = json!({});
        let settings = method.get(name).filter(|settings| !settings.is_null()).unwrap_or(&empty);
        let pointer = format!("/method/{name}");
        let Some(fields) = settings.as_object() else {
            return one(&pointer, "wrong_type", String::from("must be an object"));
        };
        let stray = method.as_object().into_iter().flatten().find(|(key, value)| {
            let own = *key == "type" || *key == name;
            !own && !value.is_null()
        });
        if let Some((stray, _)) = stray {
            return one(&format!("/method/{stray}"), "unknown_field", format!("the method is `{name}`"));
        }
        match name {
            "supervised" => {
                only(fields, &["hyperparameters"], &pointer)?;
                Self::supervised(fields.get("hyperparameters"), &format!("{pointer}/hyperparameters"))
            }
            "reinforcement" => Self::reinforcement(fields, &pointer),
            "dpo" => one("/method/type", "unsupported_method", format!("`dpo` is not run here; there are {}", known())),
            name => match objectives().find(|known| *known == name) {
                Some(name) => Self::objective(name, fields, &pointer),
                None => {
                    let name: String = name.chars().take(80).collect();
                    one("/method/type", "unknown_value", format!("`{name}` is no method; there are {}", known()))
                }
            },
        }
    }

    fn supervised(hyperparameters: Option<&Value>, at: &str) -> Result<Self, Vec<FieldError>> {
        Ok(Self {
            name: "supervised",
            objective: json!({"type": "sft"}),
            verifier: None,
            sections: Map::new(),
            hyperparameters: Hyperparameters::read(hyperparameters, BASIC, at)?,
            hyperparameters_at: at.to_owned(),
            auto_epochs: 3,
        })
    }

    fn reinforcement(fields: &Map<String, Value>, pointer: &str) -> Result<Self, Vec<FieldError>> {
        only(fields, &["grader", "hyperparameters"], pointer)?;
        let Some(value) = fields.get("grader") else {
            let detail = "completions must be graded; add a grader such as string_check";
            return Err(vec![FieldError::new(format!("{pointer}/grader"), "missing_field", detail)]);
        };
        let verifier = grader::read(value, &format!("{pointer}/grader"))?;
        let at = format!("{pointer}/hyperparameters");
        let hyperparameters = Hyperparameters::read(fields.get("hyperparameters"), REINFORCEMENT, &at)?;
        let mut objective = json!({"type": "grpo"});
        if let Some(multiplier) = hyperparameters.compute_multiplier {
            objective["group_size"] = json!((GROUP_SIZE * multiplier).round().clamp(2.0, 1024.0) as u64);
        }
        let mut eval = Map::new();
        if let Some(interval) = hyperparameters.eval_interval {
            eval.insert(String::from("every_steps"), json!(interval));
        }
        if let Some(samples) = hyperparameters.eval_samples {
            eval.insert(String::from("samples"), json!(samples));
            let pass_at = if samples == 1 { json!([1]) } else { json!([1, samples]) };
            eval.insert(String::from("pass_at"), pass_at);
        }
        let sections = Map::from_iter((!eval.is_empty()).then(|| (String::from("eval"), Value::Object(eval))));
        Ok(Self {
            name: "reinforcement",
            objective,
            verifier: Some(verifier.resolved()),
            sections,
            hyperparameters,
            hyperparameters_at: at,
            auto_epochs: 1,
        })
    }

    /// The fields that no other part claims are the objective's.
    fn objective(name: &'static str, fields: &Map<String, Value>, pointer: &str) -> Result<Self, Vec<FieldError>> {
        let mut rest = fields.clone();
        rest.shift_remove("type");
        let grader = rest.shift_remove("grader").map(|value| grader::read(&value, &format!("{pointer}/grader")));
        let verifier = match (grader.transpose()?, rest.shift_remove("verifier")) {
            (Some(_), Some(_)) => {
                let detail = "is the same as `grader`; leave one out";
                return Err(vec![FieldError::new(format!("{pointer}/verifier"), "conflict", detail)]);
            }
            (Some(config), None) => Some(config.resolved()),
            (None, verifier) => verifier,
        };
        let at = format!("{pointer}/hyperparameters");
        let hyperparameters = Hyperparameters::read(rest.shift_remove("hyperparameters").as_ref(), BASIC, &at)?;
        let sections = SECTIONS.iter().filter_map(|name| rest.shift_remove_entry(*name)).collect();
        let mut objective = json!({"type": name});
        if let Some(fields) = objective.as_object_mut() {
            fields.extend(rest);
        }
        Ok(Self { name, objective, verifier, sections, hyperparameters, hyperparameters_at: at, auto_epochs: 1 })
    }

    /// How often every row comes up; none when the number of steps is given instead.
    pub fn epochs(&self) -> Option<u64> {
        let steps = self.sections.get("train").is_some_and(|train| train.get("steps").is_some());
        if steps { None } else { Some(self.hyperparameters.n_epochs.unwrap_or(self.auto_epochs)) }
    }

    /// Adds the method to a spec over `rows` rows.
    pub fn apply(&self, spec: &mut Map<String, Value>, rows: u64) -> Result<(), Vec<FieldError>> {
        spec.insert(String::from("objective"), self.objective.clone());
        if let Some(verifier) = &self.verifier {
            spec.insert(String::from("verifier"), verifier.clone());
        }
        spec.extend(self.sections.clone());
        let h = &self.hyperparameters;
        let mut errors = Vec::new();
        let mut set = |name: &str, given: bool, path: (&str, &str), value: Option<Value>| {
            let (section, field) = path;
            let own = self.sections.get(section).is_some_and(|section| section.get(field).is_some());
            let Some(value) = value.filter(|_| given || !own) else { return };
            if own {
                let detail = format!("is the same as `{section}.{field}`; leave one out");
                errors.push(FieldError::new(format!("{}/{name}", self.hyperparameters_at), "conflict", detail));
            }
            // A section that is no object is refused when the spec is read.
            let section = spec.entry(section).or_insert_with(|| json!({}));
            if let Some(section) = section.as_object_mut() {
                section.insert(field.to_owned(), value);
            }
        };
        let own = self.sections.get("train").and_then(|train| train["prompts_per_step"].as_u64());
        let steps = h.steps(rows, h.n_epochs.unwrap_or(self.auto_epochs), own.unwrap_or_else(|| h.batch(rows)));
        set("n_epochs", h.n_epochs.is_some(), ("train", "steps"), Some(json!(steps)));
        set("batch_size", h.batch_size.is_some(), ("train", "prompts_per_step"), Some(json!(h.batch(rows))));
        let rate = h.learning_rate().map(|rate| json!(rate));
        set("learning_rate_multiplier", rate.is_some(), ("optimizer", "learning_rate"), rate);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Where in the request stands what a pointer into the job spec points at.
    pub fn pointer(&self, spec: &str) -> String {
        let hyperparameter = |name: &str| format!("{}/{name}", self.hyperparameters_at);
        let own = |part: &str| self.sections.get(part).is_some();
        let base = format!("/method/{}", self.name);
        match spec {
            "/dataset/train" => return String::from("/training_file"),
            "/dataset/eval" => return String::from("/validation_file"),
            "/name" => return String::from("/suffix"),
            "/train/steps" if !own("train") => return hyperparameter("n_epochs"),
            "/train/prompts_per_step" if !own("train") => return hyperparameter("batch_size"),
            "/optimizer/learning_rate" if !own("optimizer") => return hyperparameter("learning_rate_multiplier"),
            "/objective/group_size" if self.name == "reinforcement" => return hyperparameter("compute_multiplier"),
            "/eval/every_steps" if self.name == "reinforcement" => return hyperparameter("eval_interval"),
            "/eval/samples" | "/eval/pass_at" if self.name == "reinforcement" => return hyperparameter("eval_samples"),
            _ => {}
        }
        if let Some(rest) = spec.strip_prefix("/objective") {
            return format!("{base}{rest}");
        }
        if let Some(rest) = spec.strip_prefix("/verifier") {
            return format!("{base}/grader{rest}");
        }
        let section = spec.trim_start_matches('/').split('/').next().unwrap_or_default();
        if SECTIONS.contains(&section) { format!("{base}{spec}") } else { spec.to_owned() }
    }
}

fn only(fields: &Map<String, Value>, known: &[&str], pointer: &str) -> Result<(), Vec<FieldError>> {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let detail = format!("there are {}", known.join(", "));
            Err(vec![FieldError::new(format!("{pointer}/{key}"), "unknown_field", detail)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(method: Value, rows: u64) -> Value {
        let method = Method::read(Some(&method), None).unwrap();
        let mut spec = Map::new();
        method.apply(&mut spec, rows).unwrap();
        Value::Object(spec)
    }

    #[test]
    fn methods_become_specs() {
        let legacy = Method::read(None, Some(&json!({"n_epochs": 2, "batch_size": 5}))).unwrap();
        let mut supervised = Map::new();
        legacy.apply(&mut supervised, 12).unwrap();
        assert_eq!(
            Value::Object(supervised),
            json!({"objective": {"type": "sft"}, "train": {"steps": 5, "prompts_per_step": 5}})
        );
        let reinforcement = json!({"type": "reinforcement", "reinforcement": {
            "grader": {"type": "numeric", "name": "n"},
            "hyperparameters": {"compute_multiplier": 0.5, "eval_interval": 3, "eval_samples": 2,
                                "learning_rate_multiplier": 3.0}}});
        let spec_of = spec(reinforcement, 40);
        assert_eq!(spec_of["objective"], json!({"type": "grpo", "group_size": 4}));
        assert_eq!(spec_of["verifier"]["type"], "numeric");
        assert_eq!(spec_of["train"], json!({"steps": 3, "prompts_per_step": 16}));
        assert_eq!(spec_of["eval"], json!({"every_steps": 3, "samples": 2, "pass_at": [1, 2]}));
        let bolt = json!({"type": "bolt", "bolt": {"beta": 0.5, "verifier": "vf_1", "sampling": {"top_k": 5},
                                                   "train": {"steps": 7, "updates_per_rollout": 2}}});
        let spec_of = spec(bolt, 40);
        assert_eq!(spec_of["objective"], json!({"type": "bolt", "beta": 0.5}));
        assert_eq!((&spec_of["verifier"], &spec_of["sampling"]), (&json!("vf_1"), &json!({"top_k": 5})));
        assert_eq!(spec_of["train"], json!({"steps": 7, "updates_per_rollout": 2, "prompts_per_step": 16}));
    }

    #[test]
    fn what_is_not_run_is_refused_by_name() {
        let refusal = |method: Value| {
            let error = Method::read(Some(&method), None).unwrap_err().remove(0);
            (error.pointer, error.code)
        };
        let grader = json!({"type": "python", "source": "", "name": "n"});
        for (method, pointer, code) in [
            (json!({"type": "dpo", "dpo": {}}), "/method/type", "unsupported_method"),
            (json!({"type": "magic"}), "/method/type", "unknown_value"),
            (json!({}), "/method/type", "missing_field"),
            (json!({"type": "bolt", "p3o": {}}), "/method/p3o", "unknown_field"),
            (json!({"type": "reinforcement"}), "/method/reinforcement/grader", "missing_field"),
            (
                json!({"type": "reinforcement", "reinforcement": {"grader": grader}}),
                "/method/reinforcement/grader/type",
                "unsupported_grader",
            ),
            (json!({"type": "supervised", "supervised": {"beta": 1}}), "/method/supervised/beta", "unknown_field"),
        ] {
            assert_eq!(refusal(method), (pointer.to_owned(), code));
        }
    }

    #[test]
    fn every_objective_is_a_method_but_for_what_supervised_is() {
        for objective in objective::catalog() {
            let read = Method::read(Some(&json!({"type": objective.name})), None);
            assert_eq!(read.is_ok(), objective.name != "sft", "{}", objective.name);
        }
    }

    #[test]
    fn a_number_given_twice_is_refused() {
        let bolt = json!({"type": "bolt", "bolt": {"train": {"steps": 7}, "hyperparameters": {"n_epochs": 2}}});
        let method = Method::read(Some(&bolt), None).unwrap();
        let errors = method.apply(&mut Map::new(), 40).unwrap_err();
        assert_eq!((errors[0].pointer.as_str(), errors[0].code), ("/method/bolt/hyperparameters/n_epochs", "conflict"));
    }

    #[test]
    fn errors_point_into_the_request() {
        let read = |method: Value| Method::read(Some(&method), None).unwrap();
        let bolt = read(json!({"type": "bolt", "bolt": {"train": {}}}));
        let supervised = read(json!({"type": "supervised"}));
        for (method, spec, request) in [
            (&bolt, "/objective/beta", "/method/bolt/beta"),
            (&bolt, "/verifier", "/method/bolt/grader"),
            (&bolt, "/train/steps", "/method/bolt/train/steps"),
            (&bolt, "/sampling/top_p", "/method/bolt/sampling/top_p"),
            (&supervised, "/train/steps", "/method/supervised/hyperparameters/n_epochs"),
            (&supervised, "/dataset/train", "/training_file"),
            (&supervised, "/model", "/model"),
        ] {
            assert_eq!(method.pointer(spec), request);
        }
    }
}
