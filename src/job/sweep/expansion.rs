//! From what a client asks for to configurations: variants times the points of a grid times random draws.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::MOST_TRIALS;
use crate::job::FieldError;
use crate::job::field::escaped;
use crate::job::random::{splitmix64, unit};

/// Operations of a JSON Patch on a spec.
pub const MOST_OPERATIONS: usize = 100;
/// Characters of a configuration's label.
const MOST_LABEL: usize = 160;

/// What a sweep varies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Variation {
    pub variants: Vec<Variant>,
    pub grid: BTreeMap<String, Vec<Value>>,
    pub random: Option<Random>,
    pub seeds: Vec<u64>,
    /// By JSON pointers into the spec, a value for each seed.
    pub by_seed: BTreeMap<String, Vec<Value>>,
}

/// A JSON Patch with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub name: String,
    pub patch: Vec<Value>,
}

/// Draws from ranges.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    pub count: u32,
    #[serde(default)]
    pub seed: u64,
    pub ranges: BTreeMap<String, Range>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Evenly in the logarithm.
    #[serde(default)]
    pub log: bool,
    /// Whole numbers.
    #[serde(default)]
    pub whole: bool,
}

/// One way in which the spec is changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    pub label: String,
    /// Operations of a JSON Patch.
    pub patch: Vec<Value>,
    /// For each of them, what of the request it comes from.
    #[serde(skip)]
    pub pointers: Vec<String>,
}

impl Variation {
    /// All configurations, in the order of variants, then of the grid (its last field changes fastest), then of draws.
    pub fn configurations(&self) -> Result<Vec<Configuration>, Vec<FieldError>> {
        self.check()?;
        let names = self.variants.iter().map(|variant| variant.name.clone());
        let mut all: Vec<Configuration> = match self.variants.is_empty() {
            true => vec![Configuration { label: String::new(), patch: Vec::new(), pointers: Vec::new() }],
            false => names
                .zip(self.variants.iter().enumerate())
                .map(|(label, (at, variant))| Configuration {
                    label,
                    patch: variant.patch.clone(),
                    pointers: (0..variant.patch.len()).map(|k| format!("/variants/{at}/patch/{k}")).collect(),
                })
                .collect(),
        };
        for (path, values) in &self.grid {
            let points: Vec<(usize, &Value)> = values.iter().enumerate().collect();
            all = all
                .iter()
                .flat_map(|base| {
                    points.iter().map(|(at, value)| base.with(path, value, &format!("/grid/{}/{at}", escaped(path))))
                })
                .collect();
        }
        if let Some(random) = &self.random {
            let drawn: Vec<Vec<(&String, Value)>> = (0..random.count).map(|draw| random.point(draw)).collect();
            let with = |base: &Configuration, point: &Vec<(&String, Value)>| {
                point.iter().fold(base.clone(), |base, (path, value)| {
                    base.with(path, value, &format!("/random/ranges/{}", escaped(path)))
                })
            };
            all = all.iter().flat_map(|base| drawn.iter().map(move |point| with(base, point))).collect();
        }
        for configuration in &mut all {
            if configuration.label.is_empty() {
                configuration.label = String::from("as it is");
            }
            configuration.label = configuration.label.chars().take(MOST_LABEL).collect();
        }
        tell_apart(&mut all);
        Ok(all)
    }

    fn check(&self) -> Result<(), Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut refuse = |pointer: String, code: &'static str, detail: String| {
            errors.push(FieldError::new(pointer, code, detail));
        };
        let lengths = [self.variants.len().max(1), self.seeds.len()];
        let draws = self.random.as_ref().map_or(1, |random| random.count as usize);
        let trials = lengths.into_iter().chain(self.grid.values().map(Vec::len)).chain([draws]);
        let trials = trials.fold(1_usize, usize::saturating_mul);
        if trials > MOST_TRIALS {
            let detail =
                format!("the sweep comes to {trials} trials, and has at most {MOST_TRIALS}; vary less, or draw");
            refuse(String::new(), "too_many_trials", detail);
        }
        for (at, variant) in self.variants.iter().enumerate() {
            if variant.patch.len() > MOST_OPERATIONS {
                let detail =
                    format!("there are {} operations, and at most {MOST_OPERATIONS} are taken", variant.patch.len());
                refuse(format!("/variants/{at}/patch/{MOST_OPERATIONS}"), "out_of_range", detail);
            }
            let own = |operation: &Value| operation["path"].as_str().and_then(|path| reserved(path, ""));
            if let Some((place, error)) =
                variant.patch.iter().enumerate().find_map(|(place, op)| Some((place, own(op)?)))
            {
                refuse(format!("/variants/{at}/patch/{place}"), error.code, error.detail);
            }
            if variant.name.is_empty() || self.variants[..at].iter().any(|other| other.name == variant.name) {
                refuse(format!("/variants/{at}/name"), "duplicate", String::from("must be a name of its own"));
            }
        }
        for (path, values) in &self.grid {
            let pointer = format!("/grid/{}", escaped(path));
            if !path.starts_with('/') {
                refuse(
                    pointer,
                    "invalid_pointer",
                    String::from("is a JSON pointer into the spec, as `/optimizer/learning_rate`"),
                );
            } else if let Some(error) = reserved(path, &pointer) {
                refuse(pointer, error.code, error.detail);
            } else if values.is_empty() {
                refuse(pointer, "out_of_range", String::from("needs at least one value"));
            }
        }
        errors.extend(self.check_seeds());
        if let Some(random) = &self.random {
            errors.extend(random.check());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

impl Random {
    fn check(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.count == 0 || self.ranges.is_empty() {
            errors.push(FieldError::new("/random", "out_of_range", "needs a count of at least 1 and a range"));
        }
        for (path, range) in &self.ranges {
            let pointer = format!("/random/ranges/{}", escaped(path));
            let in_order = range.low.is_finite() && range.high.is_finite() && range.low < range.high;
            if !path.starts_with('/') {
                errors.push(FieldError::new(pointer, "invalid_pointer", "is a JSON pointer into the spec"));
            } else if !in_order {
                errors.push(FieldError::new(pointer, "out_of_range", "`low` must be below `high`"));
            } else if let Some(error) = reserved(path, &pointer) {
                errors.push(error);
            } else if range.whole && (range.low.fract() != 0.0 || range.high.fract() != 0.0) {
                errors.push(FieldError::new(
                    pointer,
                    "out_of_range",
                    "with `whole` `low` and `high` are whole numbers",
                ));
            } else if range.log && range.low <= 0.0 {
                errors.push(FieldError::new(pointer, "out_of_range", "with `log` `low` must be above 0"));
            }
        }
        errors
    }

    /// The values of one draw; each depends on the seed, the draw and the field alone.
    fn point(&self, draw: u32) -> Vec<(&String, Value)> {
        let of = |(path, range): (&'_ String, &Range)| {
            let text = path.bytes().fold(self.seed, |state, byte| splitmix64(state ^ u64::from(byte)));
            range.at(unit(splitmix64(text ^ splitmix64(u64::from(draw)))))
        };
        self.ranges.iter().map(|(path, range)| (path, of((path, range)))).collect()
    }
}

impl Range {
    fn at(self, unit: f64) -> Value {
        let Self { low, high, log, whole } = self;
        // Without `log` whole numbers are as likely as one another, the ends too.
        let (from, to) = if whole && !log { (low - 0.5, high + 0.5) } else { (low, high) };
        let x = if log { from * (to / from).powf(unit) } else { from + (to - from) * unit };
        if whole { json!(x.round().clamp(low, high) as i64) } else { json!(significant(x).clamp(low, high)) }
    }
}

impl Variation {
    /// What is wrong with the seeds and what they bring along.
    pub fn check_seeds(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut seeds = self.seeds.clone();
        seeds.sort_unstable();
        if seeds.is_empty() {
            errors.push(FieldError::new("/seeds", "out_of_range", "needs at least one seed"));
        }
        if seeds.windows(2).any(|pair| pair[0] == pair[1]) {
            errors.push(FieldError::new("/seeds", "duplicate", "the same seed twice is the same job twice"));
        }
        if let Some(at) = self.seeds.iter().position(|seed| i64::try_from(*seed).is_err()) {
            errors.push(FieldError::new(format!("/seeds/{at}"), "out_of_range", "must be below 2^63"));
        }
        for (path, values) in &self.by_seed {
            let pointer = format!("/by_seed/{}", escaped(path));
            if !path.starts_with('/') {
                errors.push(FieldError::new(pointer, "invalid_pointer", "is a JSON pointer into the spec"));
            } else if let Some(error) = reserved(path, &pointer) {
                errors.push(error);
            } else if values.len() != self.seeds.len() {
                let detail = format!("needs a value for each of the {} seeds", self.seeds.len());
                errors.push(FieldError::new(pointer, "out_of_range", detail));
            }
        }
        errors
    }

    /// A configuration with what the seed of that place brings along.
    pub fn with_seed(&self, configuration: &Configuration, place: usize) -> Configuration {
        let mut own = configuration.clone();
        for (path, values) in &self.by_seed {
            own.patch.push(json!({"op": "add", "path": path, "value": values[place]}));
            own.pointers.push(format!("/by_seed/{}/{place}", escaped(path)));
        }
        own
    }
}

/// Numbers those of equal labels, behind the first: values may differ in what a label leaves out.
fn tell_apart(all: &mut [Configuration]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for configuration in all {
        let count = seen.entry(configuration.label.clone()).or_default();
        *count += 1;
        if *count > 1 {
            configuration.label.push_str(&format!(" ({count})"));
        }
    }
}

impl Configuration {
    /// The same by name, without its changes.
    pub fn unchanged(&self) -> Self {
        Self { label: self.label.clone(), patch: Vec::new(), pointers: Vec::new() }
    }

    fn with(&self, path: &str, value: &Value, pointer: &str) -> Self {
        let mut own = self.clone();
        let last = path.rsplit('/').next().unwrap_or(path);
        let shown = value.get("type").filter(|_| value.is_object()).unwrap_or(value);
        let shown = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
        if !own.label.is_empty() {
            own.label.push_str(", ");
        }
        own.label.push_str(&format!("{last} {shown}"));
        own.patch.push(json!({"op": "add", "path": path, "value": value}));
        own.pointers.push(pointer.to_owned());
        own
    }
}

/// A field that trials have of their own.
fn reserved(path: &str, pointer: &str) -> Option<FieldError> {
    let detail = "is each trial's own; list seeds in `seeds`, and name the sweep";
    matches!(path, "/seed" | "/name").then(|| FieldError::new(pointer, "out_of_range", detail))
}

/// Six significant digits, which people can copy.
fn significant(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Value) -> Variation {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn configurations_are_all_combinations_in_their_order() {
        let variation = of(json!({
            "variants": [{"name": "plain", "patch": []}, {"name": "p3o", "patch": [{"op": "add", "path": "/objective", "value": {"type": "p3o"}}]}],
            "grid": {"/train/steps": [8], "/optimizer/learning_rate": [0.1, 0.2]},
            "seeds": [1, 2],
        }));
        let all = variation.configurations().unwrap();
        let labels: Vec<&str> = all.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "plain, learning_rate 0.1, steps 8",
                "plain, learning_rate 0.2, steps 8",
                "p3o, learning_rate 0.1, steps 8",
                "p3o, learning_rate 0.2, steps 8",
            ]
        );
        assert_eq!(all[3].patch[1], json!({"op": "add", "path": "/optimizer/learning_rate", "value": 0.2}));
        assert_eq!(
            all[3].pointers,
            ["/variants/1/patch/0", "/grid/~1optimizer~1learning_rate/1", "/grid/~1train~1steps/0"]
        );
        assert_eq!(of(json!({"seeds": [1]})).configurations().unwrap()[0].label, "as it is");
        // A label tells an object by its type.
        let clips = [0.2, 0.28].map(|clip| json!({"type": "grpo", "clip_high": clip}));
        let alike = of(json!({"grid": {"/objective": clips}, "seeds": [1]})).configurations().unwrap();
        assert_eq!([&alike[0].label, &alike[1].label], ["objective grpo", "objective grpo (2)"]);
    }

    #[test]
    fn a_patch_has_a_bound() {
        let patch = |count| vec![json!({"op": "test", "path": "/model", "value": "m"}); count];
        let refused = |count| {
            let variation = of(json!({"variants": [{"name": "long", "patch": patch(count)}], "seeds": [1]}));
            variation.configurations().err().map(|errors| (errors[0].pointer.clone(), errors[0].code))
        };
        assert_eq!(refused(MOST_OPERATIONS), None);
        assert_eq!(refused(MOST_OPERATIONS + 1), Some((String::from("/variants/0/patch/100"), "out_of_range")));
    }

    #[test]
    fn what_a_seed_brings_along_comes_last_and_changes_no_label() {
        let variation = of(json!({"grid": {"/model": ["c"]}, "seeds": [3, 4], "by_seed": {"/model": ["a", "b"]}}));
        let configuration = &variation.configurations().unwrap()[0];
        let own = variation.with_seed(configuration, 1);
        assert_eq!(own.label, configuration.label);
        assert_eq!(own.patch.last(), Some(&json!({"op": "add", "path": "/model", "value": "b"})));
        assert_eq!(own.pointers.last().unwrap(), "/by_seed/~1model/1");
    }

    #[test]
    fn draws_stay_in_their_range_and_depend_on_the_seed_alone() {
        let random = |seed: u64, count: u32| {
            let ranges = json!({
                "/a": {"low": 1e-5, "high": 1e-3, "log": true}, "/b": {"low": 2, "high": 4, "whole": true}, "/c": {"low": -1, "high": 1},
            });
            let all =
                of(json!({"random": {"count": count, "seed": seed, "ranges": ranges}, "seeds": [1]})).configurations();
            all.unwrap()
                .into_iter()
                .map(|one| one.patch.iter().map(|p| p["value"].clone()).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let drawn = random(1, 500);
        assert_eq!(drawn[..20], random(1, 20)[..]);
        assert_ne!(drawn[..20], random(2, 20)[..]);
        let below = drawn.iter().filter(|point| point[0].as_f64().unwrap() < 1e-4).count();
        assert!((200..300).contains(&below), "evenly in the logarithm: {below}");
        assert!(drawn.iter().all(|point| (1e-5..=1e-3).contains(&point[0].as_f64().unwrap())));
        for whole in 2..=4 {
            assert!((120..220).contains(&drawn.iter().filter(|point| point[1] == json!(whole)).count()));
        }
        assert!(drawn.iter().any(|point| point[2].as_f64().unwrap() < -0.5));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_field() {
        let codes = |value: Value| -> Vec<(String, &str)> {
            of(value).configurations().unwrap_err().into_iter().map(|error| (error.pointer, error.code)).collect()
        };
        let million = json!({"grid": {"/a": vec![1; 1000], "/b": vec![1; 1000]}, "seeds": [1]});
        assert_eq!(codes(million), [(String::new(), "too_many_trials")]);
        assert_eq!(codes(json!({})), [(String::from("/seeds"), "out_of_range")]);
        assert_eq!(codes(json!({"seeds": [1, 1]})), [(String::from("/seeds"), "duplicate")]);
        assert_eq!(codes(json!({"seeds": [1], "grid": {"lr": [1]}})), [(String::from("/grid/lr"), "invalid_pointer")]);
        assert_eq!(
            codes(json!({"seeds": [1], "grid": {"/lr": []}})),
            [(String::from("/grid/~1lr"), "out_of_range"); 1]
        );
        let range = |low: f64, log: bool| json!({"seeds": [1], "random": {"count": 1, "ranges": {"/a": {"low": low, "high": 1, "log": log}}}});
        assert_eq!(codes(range(2.0, false)), [(String::from("/random/ranges/~1a"), "out_of_range")]);
        let whole =
            json!({"seeds": [1], "random": {"count": 1, "ranges": {"/a": {"low": 0.5, "high": 3, "whole": true}}}});
        assert_eq!(codes(whole), [(String::from("/random/ranges/~1a"), "out_of_range")]);
        assert_eq!(
            codes(json!({"seeds": [1], "grid": {"/seed": [1]}})),
            [(String::from("/grid/~1seed"), "out_of_range")]
        );
        assert_eq!(codes(range(0.0, true)), [(String::from("/random/ranges/~1a"), "out_of_range")]);
        let of_seeds = |path: &str, values: Value| json!({"seeds": [1, 2], "by_seed": {path: values}});
        assert_eq!(codes(of_seeds("/model", json!(["a"]))), [(String::from("/by_seed/~1model"), "out_of_range")]);
        assert_eq!(codes(of_seeds("/seed", json!([1, 2]))), [(String::from("/by_seed/~1seed"), "out_of_range")]);
        assert_eq!(codes(of_seeds("model", json!(["a", "b"]))), [(String::from("/by_seed/model"), "invalid_pointer")]);
        let twice = json!({"seeds": [1], "variants": [{"name": "a", "patch": []}, {"name": "a", "patch": []}]});
        assert_eq!(codes(twice), [(String::from("/variants/1/name"), "duplicate")]);
    }
}
