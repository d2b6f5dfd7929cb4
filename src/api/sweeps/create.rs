//! `POST /v1/sweeps`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{Sweep, SweepBudget, SweepHalving};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::imports::Pull;
use crate::api::jobs::fork::apply;
use crate::api::jobs::resolve::{Resolution, resolve};
use crate::clock;
use crate::job::metric::{Metric, When, metric};
use crate::job::sweep::expansion::{Configuration, Random, Variant, Variation};
use crate::job::sweep::halving::Halving;
use crate::job::sweep::measure::Measure;
use crate::job::{FieldError, JobId, SweepId};
use crate::store::{NewJob, NewSweep, NewTrial, Work};

/// Bytes of the specs of all trials.
const MOST_BYTES: usize = 32 << 20;
/// How often its specs are resolved, where what they name changes meanwhile.
const TRIES: usize = 5;
/// Characters of a name.
const MOST_NAME: usize = 200;

/// A sweep to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSweep {
    /// A name for people.
    #[schema(max_length = 200)]
    name: Option<String>,
    /// The spec of a job, as `POST /v1/jobs` takes it.
    #[schema(value_type = Object)]
    spec: Value,
    /// Named JSON Patches on the spec. With several kinds of changes every combination is tried.
    #[serde(default)]
    #[schema(value_type = Vec<SweepVariant>)]
    variants: Vec<Variant>,
    /// Values by JSON pointers into the spec.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"/optimizer/learning_rate": [0.0001, 0.0003]}))]
    grid: BTreeMap<String, Vec<Value>>,
    /// Draws from ranges.
    #[schema(value_type = Option<SweepDraws>)]
    random: Option<Random>,
    /// Each configuration is tried with each of these.
    #[schema(example = json!([1, 2, 3]))]
    seeds: Vec<u64>,
    /// What else a trial gets with its seed, by JSON pointers into the spec: a value for each of `seeds`, in their order. It comes after
    /// all other changes.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"/model": ["builtin:arith-tiny", "builtin:arith-tiny", "builtin:arith-scratch"]}))]
    by_seed: BTreeMap<String, Vec<Value>>,
    /// How many of its jobs are queued or on a device at once, at most.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1000)]
    at_once: u32,
    /// When and by what configurations are given up.
    #[schema(value_type = Option<SweepHalving>)]
    halving: Option<Halving>,
    /// What all its jobs together may use of the devices.
    budget: Option<SweepBudget>,
    /// Where a finished job of this project has the same resolved spec and was made by this version of the program, it answers, and
    /// nothing is done again. Trials of the sweep that come to the same are one job, but for sweeps with `halving`.
    #[serde(default)]
    reuse: bool,
}

/// A JSON Patch with a name.
#[derive(ToSchema)]
#[allow(dead_code)]
struct SweepVariant {
    name: String,
    /// Operations of RFC 6902.
    #[schema(value_type = Vec<Object>)]
    patch: Vec<Value>,
}

/// Draws from ranges, which depend on `seed` alone.
#[derive(ToSchema)]
#[allow(dead_code)]
struct SweepDraws {
    #[schema(minimum = 1, maximum = 1000)]
    count: u32,
    /// 0 where it is left out.
    seed: Option<u64>,
    /// By JSON pointers into the spec: `low`, `high`, with `log` evenly in the logarithm, with `whole` whole numbers.
    #[schema(value_type = Object, example = json!({"/optimizer/learning_rate": {"low": 1e-5, "high": 1e-3, "log": true}}))]
    ranges: BTreeMap<String, Value>,
}

fn one() -> u32 {
    1
}

/// Create a sweep
///
/// Makes a job for every configuration and seed, at most 1000 in all, and puts the first `at_once` of them into the queue; the
/// others are `paused` and follow, in their order, as these end. Every spec is checked before a job is made. A job of a sweep
/// is a job like others: follow, pause, cancel and fork it by its id. With an `Idempotency-Key` header the same request can be
/// repeated for 24 hours without making a second sweep.
#[utoipa::path(
    post,
    path = "/v1/sweeps",
    tag = "sweeps",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat")),
    request_body = CreateSweep,
    responses(
        (status = 201, body = Sweep),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Data, a verifier or a suite that it names kept changing meanwhile (`names_changed`), or a request with this key is under way", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, there would be too many trials (`too_many_trials`), or a changed spec is invalid (`invalid_trial`; `errors` names the change)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "The project may not have so many jobs", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_sweep(Access(app): Access, JsonBody(body): JsonBody) -> Result<(StatusCode, Json<Sweep>), Problem> {
    let asked: CreateSweep = read(&body)?;
    check(&asked)?;
    let (name, at_once, halving) = (asked.name.clone(), asked.at_once, asked.halving.clone());
    let budget_seconds = asked.budget.map(|budget| budget.device_seconds);
    let plan = Plan::of(asked)?;
    let id = SweepId::generate();
    // A model that is brought for them is not what the request's key stands for.
    let trials = app.store.on_the_way(plan.trials(&app, &plan.variation, &BTreeMap::new(), |_| true)).await?;
    let configurations = json!(plan.configurations);
    let sweep = NewSweep { id, name, request: body, configurations, at_once, halving, budget_seconds, trials };
    let row = app.store.add_sweep(sweep, clock::now()).await?;
    let trials = app.store.trials(id).await?;
    Ok((StatusCode::CREATED, Json(Sweep::of(row, Some(trials)))))
}

/// What a request comes to.
pub(super) struct Plan {
    name: Option<String>,
    spec: Value,
    pub(super) variation: Variation,
    pub(super) configurations: Vec<Configuration>,
    halving: Option<Halving>,
    reuse: bool,
}

impl Plan {
    fn of(asked: CreateSweep) -> Result<Self, Problem> {
        let CreateSweep { name, spec, variants, grid, random, seeds, by_seed, halving, reuse, .. } = asked;
        let variation = Variation { variants, grid, random, seeds, by_seed };
        let configurations = variation.configurations().map_err(Problem::invalid)?;
        let plan = Self { name, spec, variation, configurations, halving, reuse };
        plan.check_size(&plan.variation)?;
        Ok(plan)
    }

    /// Refuses seeds, with what they bring along, whose trials would take more room than a sweep is worth.
    pub(super) fn check_size(&self, of: &Variation) -> Result<(), Problem> {
        let bytes = |value: &Value| value.to_string().len();
        let patches: usize = self.configurations.iter().flat_map(|one| &one.patch).map(bytes).sum();
        let own: usize = of.by_seed.values().flatten().map(bytes).sum();
        let specs = bytes(&self.spec).saturating_mul(self.configurations.len()).saturating_add(patches);
        let own = own.saturating_mul(self.configurations.len());
        let all = specs.saturating_mul(of.seeds.len()).saturating_add(own);
        if all > MOST_BYTES {
            let detail = format!(
                "its specs come to {} KiB over all trials, and take at most {}; put large values into data, or vary less",
                all >> 10,
                MOST_BYTES >> 10
            );
            return Err(Problem::invalid(vec![FieldError::new("", "too_large", detail)]));
        }
        Ok(())
    }

    /// That of a sweep that is there, by its request.
    pub(super) fn again(request: &Value) -> Result<Self, Problem> {
        Self::of(read(request)?)
    }

    /// Trials of the seeds of `of`, of the configurations that are wanted; of those that are `pinned` the specs are these, but
    /// for what comes with a seed. Those of the same seed stand together, so that what is there early can be compared. A name
    /// stands for the same in all of them.
    pub(super) async fn trials(
        &self,
        app: &App,
        of: &Variation,
        pinned: &BTreeMap<u32, Value>,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<Vec<NewTrial>, Problem> {
        for _ in 0..TRIES {
            if let Some(trials) = self.trials_of_one_moment(app, of, pinned, &is_wanted).await? {
                return Ok(trials);
            }
        }
        let detail =
            "data, a verifier or a suite that its spec names kept changing; ask again, or name a version, as `dsv_...`";
        Err(Problem::new(StatusCode::CONFLICT, "names_changed", detail))
    }

    /// None where a name has come to stand for something else meanwhile.
    async fn trials_of_one_moment(
        &self,
        app: &App,
        of: &Variation,
        pinned: &BTreeMap<u32, Value>,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<Option<Vec<NewTrial>>, Problem> {
        let mut trials = Vec::with_capacity(self.configurations.len() * of.seeds.len());
        let (mut names, mut known) = (Names::default(), BTreeMap::new());
        for (at, seed) in of.seeds.iter().enumerate() {
            for (place, configuration) in (0_u32..).zip(&self.configurations).filter(|(place, _)| is_wanted(*place)) {
                let (base, changes) = match pinned.get(&place) {
                    Some(base) => (base, configuration.unchanged()),
                    None => (&self.spec, configuration.clone()),
                };
                let job = self.job(app, base, &of.with_seed(&changes, at), *seed).await?;
                if !names.agree(&job.spec, &job.essence) {
                    return Ok(None);
                }
                let work = self.work(app, job).await?;
                let work = if self.reuse && self.halving.is_none() { once(&mut known, work) } else { work };
                trials.push(NewTrial { configuration: place, seed: *seed, work });
            }
        }
        Ok(Some(trials))
    }

    /// The job of a trial.
    async fn job(&self, app: &App, base: &Value, configuration: &Configuration, seed: u64) -> Result<NewJob, Problem> {
        let mut spec = base.clone();
        for (operation, pointer) in configuration.patch.iter().zip(&configuration.pointers) {
            if !pointer.starts_with("/variants") {
                make_room(&mut spec, operation["path"].as_str().unwrap_or_default());
            }
            apply(&mut spec, vec![operation.clone()], |_| pointer.clone())
                .map_err(|error| Problem::invalid(vec![error]).with_code("patch_failed"))?;
        }
        if !spec.is_object() {
            let pointer = configuration.pointers.last().cloned().unwrap_or_default();
            let error = FieldError::new(pointer, "wrong_type", "leaves no object to be a spec");
            return Err(Problem::invalid(vec![error]).with_code("patch_failed"));
        }
        spec["seed"] = json!(seed);
        let own = format!("{}, seed {seed}", configuration.label);
        let called = self.name.as_ref().map_or(own.clone(), |name| format!("{name}: {own}"));
        spec["name"] = json!(called.chars().take(MOST_NAME).collect::<String>());
        let resolved = match resolve(app, Pull::Begin, spec).await {
            Ok(resolved) => resolved,
            Err(problem) => {
                let mut base = base.clone();
                base["seed"] = json!(seed);
                let of_base = resolve(app, Pull::Describe, base).await.err().map(|problem| problem.errors);
                return Err(invalid_trial(problem, configuration, seed, &of_base.unwrap_or_default()));
            }
        };
        if let Some(halving) = &self.halving {
            check_rungs(halving, &resolved, &configuration.label)?;
        }
        Ok(resolved.into_job())
    }

    /// A job to do, or one that has done the same.
    async fn work(&self, app: &App, job: NewJob) -> Result<Work, Problem> {
        let done = if self.reuse { app.store.done_before(&job.spec_digest, env!("ANNEAL_BUILD")).await? } else { None };
        Ok(done.map_or_else(|| Work::New(Box::new(job)), Work::Done))
    }
}

/// What the names in the specs of trials stand for.
#[derive(Default)]
struct Names(BTreeMap<(&'static str, String), Value>);

impl Names {
    /// Where specs, as submitted and as resolved, have what is named and can change.
    const PLACES: [&'static str; 4] = ["/dataset/train", "/dataset/eval", "/verifier", "/eval/suite"];

    /// Whether those of one more trial stand for what they stood for before.
    fn agree(&mut self, submitted: &Value, resolved: &Value) -> bool {
        Self::PLACES.iter().all(|place| {
            let name = submitted.pointer(place).and_then(Value::as_str);
            // An objective that needs no verifier has none.
            let found = resolved.pointer(place).filter(|found| !found.is_null());
            let (Some(name), Some(found)) = (name, found) else { return true };
            self.0.entry((place, name.to_owned())).or_insert_with(|| found.clone()) == found
        })
    }
}

/// What a trial before has to do already is answered by its job.
fn once(known: &mut BTreeMap<String, JobId>, work: Work) -> Work {
    let Work::New(job) = work else { return work };
    let (id, digest) = (job.id, job.spec_digest.clone());
    let first = *known.entry(digest).or_insert(id);
    if first == id { Work::New(job) } else { Work::Done(first) }
}

/// Refuses decisions at steps where a job has nothing to decide by.
fn check_rungs(halving: &Halving, resolved: &Resolution, label: &str) -> Result<(), Problem> {
    let (spec, common) = (&resolved.training, &resolved.common);
    let (k, metric) = match halving.check().map_err(Problem::invalid)? {
        Measure::PassAt(k) => (Some(k), None),
        Measure::Metric(name) => (None, metric(name)),
    };
    let mut errors = Vec::new();
    let may_report = |metric: &Metric| {
        let is_of_experts = metric.when == When::Experts;
        spec.may_report(common, metric, &halving.metric) && (resolved.has_experts() || !is_of_experts)
    };
    if let Some(metric) = metric.filter(|metric| !may_report(metric)) {
        let detail = format!("`{label}` does not report it, which is of: {}", metric.when.text());
        errors.push(FieldError::new("/halving/metric", "not_reported", detail));
    }
    if k.is_some() && (spec.held_out.is_none() || common.verifier.is_none()) {
        let detail = format!("`{label}` has no held-out rows or no verifier, so that nothing is evaluated");
        errors.push(FieldError::new("/halving/metric", "not_evaluated", detail));
    }
    if k.is_some_and(|k| !spec.eval.pass_at.contains(&k)) {
        let detail = format!("`eval.pass_at` of `{label}` has no such K");
        errors.push(FieldError::new("/halving/metric", "not_evaluated", detail));
    }
    for (place, step) in halving.steps.iter().enumerate() {
        let every = spec.eval.every_steps;
        let detail = if *step >= spec.train.steps {
            format!("must be before the last of the steps of `{label}`")
        } else if k.is_some() && (every == 0 || !step.is_multiple_of(every)) {
            format!("must be a multiple of `eval.every_steps`, which is {every} in `{label}`")
        } else {
            continue;
        };
        errors.push(FieldError::new(format!("/halving/steps/{place}"), "not_evaluated", detail));
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

fn check(asked: &CreateSweep) -> Result<(), Problem> {
    let mut errors = Vec::new();
    if asked.name.as_ref().is_some_and(|name| name.chars().count() > MOST_NAME) {
        errors.push(FieldError::new("/name", "too_long", format!("has at most {MOST_NAME} characters")));
    }
    if !(1..=1000).contains(&asked.at_once) {
        errors.push(FieldError::new("/at_once", "out_of_range", "is 1 to 1000"));
    }
    if !asked.spec.is_object() {
        errors.push(FieldError::new("/spec", "wrong_type", "must be an object"));
    }
    errors.extend(asked.budget.and_then(|budget| budget.check().err()));
    errors.extend(asked.halving.as_ref().and_then(|halving| halving.check().err()).into_iter().flatten());
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

/// Makes the objects that are missing on the way to a value, which a JSON Patch does not.
fn make_room(spec: &mut Value, path: &str) {
    let names: Vec<String> = path.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
    let mut at = spec;
    for name in names.iter().take(names.len().saturating_sub(1)) {
        let Value::Object(fields) = at else { return };
        at = fields.entry(name.as_str()).or_insert_with(|| json!({}));
    }
}

/// A problem with the spec of a trial, as one of the change that it comes from: of the last one that touches the field, or else,
/// where the spec without changes (`of_base`) has no such error, of the last one.
fn invalid_trial(problem: Problem, configuration: &Configuration, seed: u64, of_base: &[FieldError]) -> Problem {
    if problem.errors.is_empty() {
        return problem;
    }
    let within = |error: FieldError| {
        let touches = |operation: &&Value| {
            let path = operation["path"].as_str().filter(|_| operation["op"] != "test" && !error.pointer.is_empty());
            let Some(path) = path else { return false };
            error.pointer == path
                || error.pointer.starts_with(&format!("{path}/"))
                || path.starts_with(&format!("{}/", error.pointer))
        };
        let at = configuration.patch.iter().enumerate().rev().find(|(_, operation)| touches(operation));
        let pointer = at.and_then(|(place, _)| configuration.pointers.get(place).cloned());
        let was_there = of_base.iter().any(|other| (&other.pointer, other.code) == (&error.pointer, error.code));
        let pointer = pointer.or_else(|| configuration.pointers.last().filter(|_| !was_there).cloned());
        let pointer = pointer.unwrap_or_else(|| format!("/spec{}", error.pointer));
        let detail = format!("{} (`{}`, seed {seed}, at `{}`)", error.detail, configuration.label, error.pointer);
        FieldError::new(pointer, error.code, detail)
    };
    Problem::invalid(problem.errors.into_iter().map(within).collect()).with_code("invalid_trial")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_on_the_way_to_a_value_are_made() {
        let mut spec = json!({"train": {"steps": 3}, "seeds": [1]});
        for path in ["/optimizer/learning_rate", "/train/steps", "/a~1b/c/d", "/seeds/0/x", "/name"] {
            make_room(&mut spec, path);
        }
        assert_eq!(spec, json!({"train": {"steps": 3}, "seeds": [1], "optimizer": {}, "a/b": {"c": {}}}));
    }

    #[test]
    fn a_name_stands_for_the_same_in_all_trials() {
        let mut names = Names::default();
        let mut agree = |train: &str, eval: &str, found: [Value; 3]| {
            let [train_found, eval_found, verifier] = found;
            let submitted = json!({"dataset": {"train": train, "eval": eval}, "verifier": "strict"});
            names.agree(
                &submitted,
                &json!({"dataset": {"train": train_found, "eval": eval_found}, "verifier": verifier}),
            )
        };
        assert!(agree("sums", "sums", [json!("dsv_2"), json!("dsv_3"), json!({"type": "exact"})]));
        assert!(agree("others", "sums", [json!("dsv_1"), json!("dsv_3"), Value::Null]));
        assert!(!agree("sums", "sums", [json!("dsv_4"), json!("dsv_3"), Value::Null]));
        assert!(!agree("sums", "sums", [json!("dsv_2"), json!("dsv_3"), json!({"type": "regex"})]));
    }

    #[test]
    fn an_invalid_trial_names_the_change_that_it_comes_from() {
        let patch = vec![
            json!({"op": "add", "path": "/train/steps", "value": 0}),
            json!({"op": "add", "path": "/objective", "value": {}}),
        ];
        let pointers = vec![String::from("/grid/~1train~1steps/2"), String::from("/variants/0/patch/0")];
        let configuration = Configuration { label: String::from("a"), patch, pointers };
        let base = ["/model", ""].map(|pointer| FieldError::new(pointer, "out_of_range", "no"));
        let of = |pointer: &str| {
            let problem = Problem::invalid(vec![FieldError::new(pointer, "out_of_range", "no")]);
            let problem = invalid_trial(problem, &configuration, 3, &base);
            (problem.code, problem.errors[0].pointer.clone(), problem.errors[0].detail.clone())
        };
        assert_eq!(of("/train/steps").1, "/grid/~1train~1steps/2");
        assert_eq!(of("/train").1, "/grid/~1train~1steps/2");
        assert_eq!(of("/objective/type").1, "/variants/0/patch/0");
        assert_eq!(of("").1, "/spec");
        let (code, pointer, detail) = of("/model");
        assert_eq!((code, pointer.as_str()), ("invalid_trial", "/spec/model"));
        assert!(detail.contains("seed 3"), "{detail}");
        // A change that breaks another field than it touches is named all the same.
        assert_eq!(of("/rollouts/keep").1, "/variants/0/patch/0");
    }
}
