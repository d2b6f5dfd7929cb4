//! Adapters on disk, in the layout of the Python package peft: `adapter_config.json` and `adapter_model.safetensors`.
//! Which of a model's weights can be adapted, and what the factors are called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::architecture::{Part, Role, TensorSpec};
use super::config::ModelConfig;
use super::safetensors::{self, Header};
use super::{CONFIG_LIMIT_BYTES, Format, Inspection, ModelFileError, read_json};
pub use crate::job::adapter::WEIGHTS;
use crate::job::adapter::{AdapterInit, Lora, MAX_RANK, Targets};

pub const CONFIG: &str = "adapter_config.json";
/// What an adapter consists of.
pub const FILES: [&str; 2] = [CONFIG, WEIGHTS];
/// What peft puts before the names of a model's modules.
const PREFIX: &str = "base_model.model.";
/// Names of targets in a configuration.
const MOST_TARGETS: usize = 4096;
/// Members of peft's configuration that are read here, say whence an adapter comes or what its factors were at first, or
/// mean nothing by themselves. Whatever else is set may change what it computes.
const UNDERSTOOD: [&str; 25] = [
    "auto_mapping",
    "base_model_name_or_path",
    "bias",
    "corda_config",
    "ensure_weight_tying",
    "eva_config",
    "exclude_modules",
    "inference_mode",
    "init_lora_weights",
    "layers_pattern",
    "layers_to_transform",
    "loftq_config",
    "lora_alpha",
    "lora_dropout",
    "lora_ga_config",
    "megatron_core",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "r",
    "revision",
    "target_modules",
    "task_type",
    "use_dora",
    "use_rslora",
];

/// What is trained for an adapted weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// `[rank, in]`.
    A,
    /// `[out, rank]`.
    B,
    /// `[out]`: the lengths of the weight's rows (DoRA, arXiv 2402.09353).
    Magnitude,
}

impl Factor {
    fn name(self) -> &'static str {
        match self {
            Self::A => "lora_A",
            Self::B => "lora_B",
            Self::Magnitude => "lora_magnitude_vector",
        }
    }
}

/// The name of a factor of a weight, which itself is called `weight`.
pub fn factor_name(weight: &str, factor: Factor) -> String {
    let ending = if factor == Factor::Magnitude { "" } else { ".weight" };
    format!("{PREFIX}{}.{}{ending}", module(weight), factor.name())
}

/// The module that a weight belongs to.
fn module(weight: &str) -> &str {
    weight.strip_suffix(".weight").unwrap_or(weight)
}

/// The last part of its name, by which it is named as a target.
fn target(weight: &str) -> &str {
    module(weight).rsplit('.').next().unwrap_or(weight)
}

/// Whether a target names a weight: by its module's name or the last parts of it, as in peft.
fn is_named(target: &str, weight: &str) -> bool {
    let before = module(weight).strip_suffix(target);
    before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// A target that a model does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the model has no matrix `{name}` within its layers; there are {known}")]
    Unknown { name: String, known: String },
    #[error("`{name}` cannot be adapted: {why}; take matrices within the layers, of which there are {known}")]
    Unsupported { name: String, why: &'static str, known: String },
}

impl TargetError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "adapter_target_unknown",
            Self::Unsupported { .. } => "adapter_target_unsupported",
        }
    }
}

impl ModelConfig {
    /// The weights that `targets` name, in the order in which they are laid out.
    pub fn adapted(&self, targets: &Targets) -> Result<Vec<TensorSpec>, TargetError> {
        let is_inside = |part: Part| !matches!(part, Part::Embedding | Part::Head | Part::Router);
        let is_matrix = |role: Role| matches!(role, Role::Matrix | Role::ResidualMatrix);
        let all = self.tensors();
        let inside: Vec<&TensorSpec> = all.iter().filter(|t| is_inside(t.part) && is_matrix(t.role)).collect();
        let names = match targets {
            Targets::All(_) => return Ok(inside.into_iter().cloned().collect()),
            Targets::Names(names) => names,
        };
        let mut chosen = BTreeSet::new();
        for name in names {
            let before = chosen.len();
            chosen.extend(inside.iter().enumerate().filter(|(_, t)| is_named(name, &t.name)).map(|(at, _)| at));
            if chosen.len() > before {
                continue;
            }
            let known: BTreeSet<&str> = inside.iter().map(|tensor| target(&tensor.name)).collect();
            let (name, known) = (name.clone(), known.into_iter().collect::<Vec<_>>().join(", "));
            let why = match all.iter().find(|tensor| is_named(&name, &tensor.name)).map(|tensor| tensor.part) {
                _ if name == "lm_head" && self.tie_word_embeddings => "the model's head is its embedding",
                Some(Part::Head) => "the head is read once for every token of the vocabulary and has no adapter here",
                Some(Part::Embedding) => "an embedding is looked up, not multiplied",
                Some(Part::Router) => "the router of experts stays as it is",
                Some(_) if inside.iter().any(|tensor| is_named(&name, &tensor.name)) => continue,
                Some(_) => "it is no matrix",
                None => return Err(TargetError::Unknown { name, known }),
            };
            return Err(TargetError::Unsupported { name, why, known });
        }
        Ok(chosen.into_iter().map(|at| inside[at].clone()).collect())
    }

    /// Targets by which `adapted` finds these weights and no others: the last parts of their names where they are enough.
    fn targets_for(&self, weights: &[TensorSpec]) -> Vec<String> {
        let names = |of: fn(&str) -> &str| {
            let names: BTreeSet<&str> = weights.iter().map(|tensor| of(&tensor.name)).collect();
            names.into_iter().map(str::to_owned).collect::<Vec<String>>()
        };
        let short = names(target);
        match self.adapted(&Targets::Names(short.clone())) {
            Ok(found) if found == weights => short,
            _ => names(module),
        }
    }

    /// The tensors of an adapter: first each `A`, then each `B`, then each magnitude if there are any, in the order in which the
    /// weights are laid out.
    pub fn factors(&self, lora: &Lora) -> Result<Vec<TensorSpec>, TargetError> {
        let adapted = self.adapted(&lora.targets)?;
        let rank = lora.rank as usize;
        let factor = |of: &TensorSpec, factor: Factor| TensorSpec {
            name: factor_name(&of.name, factor),
            gguf_name: format!("{}.{}", of.gguf_name, factor.name().to_lowercase()),
            shape: match factor {
                Factor::A => vec![rank, of.shape[1]],
                Factor::B => vec![of.shape[0], rank],
                Factor::Magnitude => vec![of.shape[0]],
            },
            role: if factor == Factor::Magnitude { Role::Norm } else { Role::Matrix },
            ..of.clone()
        };
        let of = |which: Factor| adapted.iter().map(move |tensor| factor(tensor, which));
        let magnitudes = of(Factor::Magnitude).filter(|_| lora.dora);
        Ok(of(Factor::A).chain(of(Factor::B)).chain(magnitudes).collect())
    }

    /// Numbers that an adapter trains.
    pub fn adapter_parameters(&self, lora: &Lora) -> Result<u64, TargetError> {
        let count = |tensor: &TensorSpec| tensor.shape.iter().product::<usize>() as u64;
        Ok(self.factors(lora)?.iter().map(count).sum())
    }
}

/// An `adapter_config.json` as peft reads it; `base` says what the adapter is for.
pub fn to_peft(config: &ModelConfig, lora: &Lora, base: &str) -> Result<Value, TargetError> {
    let targets = config.targets_for(&config.adapted(&lora.targets)?);
    Ok(json!({
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": lora.rank,
        "lora_alpha": if lora.alpha.fract() == 0.0 { json!(lora.alpha as u64) } else { json!(lora.alpha) },
        "lora_dropout": lora.dropout,
        "target_modules": targets,
        "use_rslora": lora.rslora,
        "use_dora": lora.dora,
        "bias": "none",
        "fan_in_fan_out": false,
        "init_lora_weights": true,
        "inference_mode": true,
        "modules_to_save": null,
        "layers_to_transform": null,
        "rank_pattern": {},
        "alpha_pattern": {},
    }))
}

/// The model that an adapter in a directory says it belongs to; none where there is no adapter.
pub fn base_named_in(dir: &Path) -> Result<Option<String>, ModelFileError> {
    if !FILES.iter().all(|name| dir.join(name).is_file()) {
        return Ok(None);
    }
    Ok(Some(base_named(&read_json(&dir.join(CONFIG), CONFIG_LIMIT_BYTES)?)))
}

/// The model that an `adapter_config.json` names; nothing where it names none.
pub fn base_named(config: &Value) -> String {
    config["base_model_name_or_path"].as_str().unwrap_or_default().chars().take(300).collect()
}

/// An adapter in a directory, as what it makes of the model that it is for.
pub fn inspect_beside(dir: &Path, base: &Inspection) -> Result<(Inspection, Lora), ModelFileError> {
    let lora = inspect(dir, &base.config)?;
    let mismatch = |error: TargetError| ModelFileError::AdapterMismatch { detail: error.to_string() };
    let inspection = Inspection {
        format: Format::HuggingFace,
        parameters: base.config.adapter_parameters(&lora).map_err(mismatch)?,
        weights: vec![dir.join(WEIGHTS)],
        files: FILES.map(|name| dir.join(name)).into(),
        warnings: Vec::new(),
        ..base.clone()
    };
    Ok((inspection, lora))
}

/// Reads the configuration of an adapter in a directory, and checks that its factors are those of an adapter for a model
/// with the given configuration.
pub fn inspect(dir: &Path, config: &ModelConfig) -> Result<Lora, ModelFileError> {
    let header = safetensors::read_header(&dir.join(WEIGHTS))?;
    let lora = from_peft(&read_json(&dir.join(CONFIG), CONFIG_LIMIT_BYTES)?, config, &header)?;
    let mut found: BTreeMap<&str, &[usize]> =
        header.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.shape.as_slice())).collect();
    let invalid = |detail: String| ModelFileError::AdapterMismatch { detail };
    for TensorSpec { name, shape, .. } in config.factors(&lora).map_err(|error| invalid(error.to_string()))? {
        match found.remove(name.as_str()) {
            Some(other) if other == shape => {}
            Some(other) => {
                return Err(invalid(format!(
                    "`{name}` has the shape {other:?}; the model and the rank ask for {shape:?}"
                )));
            }
            None => return Err(invalid(format!("`{name}` is missing"))),
        }
    }
    match found.keys().next() {
        Some(name) => Err(invalid(format!("`{name}` belongs to no weight of the model that its targets name"))),
        None => Ok(lora),
    }
}

/// What of peft's configuration says how to compute. Whatever would change the result and is not known here is an error.
fn from_peft(value: &Value, config: &ModelConfig, header: &Header) -> Result<Lora, ModelFileError> {
    if value["peft_type"] != "LORA" {
        return Err(invalid(format!("`peft_type` is {}; only \"LORA\" is supported", value["peft_type"])));
    }
    let mut set = value.as_object().into_iter().flatten().filter(|(_, value)| is_set(value));
    if let Some((name, value)) = set.find(|(name, _)| !UNDERSTOOD.contains(&name.as_str())) {
        return Err(invalid(format!("`{name}` is {value}, which is not supported")));
    }
    if is_set(&value["bias"]) && value["bias"] != "none" {
        return Err(invalid(format!("`bias` is {}; only \"none\" is supported", value["bias"])));
    }
    match &value["init_lora_weights"] {
        Value::Null | Value::Bool(_) => {}
        // These choose the factors alone; others take from the model's weights what the factors are at first.
        Value::String(init) if ["gaussian", "orthogonal", "eva", "mica"].contains(&init.as_str()) => {}
        init => {
            return Err(invalid(format!(
                "`init_lora_weights` is {init}, with which peft changes the model's weights as well; save the adapter with \
                 `path_initial_model_for_weight_conversion`, which makes a plain one of it"
            )));
        }
    }
    let rank = value["r"].as_u64().and_then(|rank| u32::try_from(rank).ok());
    let rank = rank.filter(|rank| (1..=MAX_RANK).contains(rank));
    let rank = rank.ok_or_else(|| invalid(format!("`r` is {}, and must be from 1 to {MAX_RANK}", value["r"])))?;
    let alpha = value["lora_alpha"].as_f64().filter(|alpha| alpha.is_finite() && *alpha > 0.0);
    let alpha =
        alpha.ok_or_else(|| invalid(format!("`lora_alpha` is {}, and must be positive", value["lora_alpha"])))?;
    let switches = ["use_rslora", "use_dora"];
    if let Some(name) = switches.into_iter().find(|name| !matches!(value[*name], Value::Null | Value::Bool(_))) {
        return Err(invalid(format!("`{name}` is {}, and must be true or false", value[name])));
    }
    let [rslora, dora] = switches.map(|name| value[name] == true);
    // Of interest to those who go on training it, as it was trained, alone.
    let dropout = value["lora_dropout"].as_f64().filter(|share| (0.0..1.0).contains(share)).unwrap_or(0.0);
    let targets = targets_of(value, config, header)?;
    let init = AdapterInit::default();
    let lora = Lora { rank, alpha, targets, dropout, init, rslora, dora, quantize: None, start: None };
    if !lora.scale().is_finite() {
        return Err(invalid(format!("`lora_alpha` is {alpha}, which is too large to compute with")));
    }
    Ok(lora)
}

/// The weights that peft's configuration names. Where it does so by a pattern, or with exceptions, they are those that have
/// factors; of names that mean nothing in the model peft takes no notice either.
fn targets_of(value: &Value, config: &ModelConfig, header: &Header) -> Result<Targets, ModelFileError> {
    let all = config.tensors();
    let with_factors = || {
        let has_factors = |tensor: &&TensorSpec| header.tensors.contains_key(&factor_name(&tensor.name, Factor::A));
        config.targets_for(&all.iter().filter(has_factors).cloned().collect::<Vec<_>>())
    };
    let targets = match &value["target_modules"] {
        Value::String(_) => with_factors(),
        Value::Array(names) if (1..=MOST_TARGETS).contains(&names.len()) => {
            let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
            let names = names.ok_or_else(|| invalid(String::from("`target_modules` is no list of names")))?;
            let is_known = |name: &&str| all.iter().any(|tensor| is_named(name, &tensor.name));
            let (known, unknown): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_known);
            if ["exclude_modules", "layers_to_transform"].into_iter().any(|name| is_set(&value[name])) {
                with_factors()
            } else {
                // Where the model has none of them, the first is named.
                let names = if known.is_empty() { unknown } else { known };
                names.into_iter().map(str::to_owned).collect()
            }
        }
        other => {
            return Err(invalid(format!("`target_modules` is {other}; a list of names or a pattern is supported")));
        }
    };
    match targets.len() {
        0 => Err(ModelFileError::AdapterMismatch { detail: String::from("it has no factors of the model's matrices") }),
        1..=MOST_TARGETS => Ok(Targets::Names(targets)),
        _ => Err(invalid(format!("`target_modules` names more than {MOST_TARGETS} matrices"))),
    }
}

/// Whether a member of a configuration says anything.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    }
}

fn invalid(detail: String) -> ModelFileError {
    ModelFileError::ConfigInvalid { file: String::from(CONFIG), detail: detail.chars().take(400).collect() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::job::adapter::AdapterSpec;

    /// Names and shapes.
    type Tensors = Vec<(String, Vec<usize>)>;

    fn config() -> ModelConfig {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        crate::modelfile::inspect(&directory).unwrap().config
    }

    fn lora(value: Value) -> Lora {
        serde_json::from_value::<AdapterSpec>(value).unwrap().resolve(None).unwrap()
    }

    fn tensors(config: &ModelConfig, lora: &Lora) -> Tensors {
        config.factors(lora).unwrap().into_iter().map(|spec| (spec.name, spec.shape)).collect()
    }

    /// An adapter of zeros in a folder.
    fn write(folder: &Path, tensors: Tensors, peft: &Value) {
        let (mut header, mut end) = (serde_json::Map::new(), 0);
        for (name, shape) in tensors {
            let bytes = 4 * shape.iter().product::<usize>();
            header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [end, end + bytes]}));
            end += bytes;
        }
        let text = Value::Object(header).to_string();
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len() + end, 0);
        fs::write(folder.join(WEIGHTS), bytes).unwrap();
        fs::write(folder.join(CONFIG), peft.to_string()).unwrap();
    }

    #[test]
    fn targets_are_names_within_layers_and_others_are_refused_by_what_they_are() {
        let config = config();
        let all = config.adapted(&Targets::ALL).unwrap();
        assert_eq!(all.len(), 7 * config.num_hidden_layers);
        let named = |names: &[&str]| config.adapted(&Targets::Names(names.iter().map(|n| (*n).to_owned()).collect()));
        let two = named(&["q_proj", "mlp.down_proj", "self_attn.q_proj"]).unwrap();
        assert_eq!(two.len(), 2 * config.num_hidden_layers);
        assert_eq!(named(&["model.layers.1.self_attn.v_proj"]).unwrap().len(), 1);
        for (name, code) in [
            ("lm_head", "adapter_target_unsupported"),
            ("embed_tokens", "adapter_target_unsupported"),
            ("norm", "adapter_target_unsupported"),
            ("proj", "adapter_target_unknown"),
            ("w1", "adapter_target_unknown"),
        ] {
            let error = named(&["q_proj", name]).unwrap_err();
            assert_eq!(error.code(), code, "{name}");
            assert!(error.to_string().contains("down_proj, gate_proj"), "{error}");
        }
    }

    #[test]
    fn factors_of_one_product_are_neighbours_and_have_the_names_of_peft() {
        let (config, lora) = (config(), lora(json!({"type": "lora", "rank": 3})));
        let factors = config.factors(&lora).unwrap();
        let (first, last) = factors.split_at(factors.len() / 2);
        assert_eq!(first[0].name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
        assert_eq!(first[1].name, "base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight");
        assert_eq!((first[0].shape[0], last[0].shape[1]), (3, 3));
        assert_eq!(first[0].gguf_name, "blk.0.attn_q.weight.lora_a");
        let count: usize = factors.iter().map(|tensor| tensor.shape.iter().product::<usize>()).sum();
        assert_eq!(config.adapter_parameters(&lora).unwrap(), count as u64);
    }

    #[test]
    fn what_peft_would_compute_otherwise_is_refused() {
        let (config, lora) = (config(), lora(json!({"type": "lora", "rank": 4, "alpha": 2.5, "rslora": true})));
        let own = to_peft(&config, &lora, "base").unwrap();
        let empty = Header { tensors: BTreeMap::new(), data_start: 0 };
        let read = from_peft(&own, &config, &empty).unwrap();
        assert_eq!((read.rank, read.alpha, read.rslora), (4, 2.5, true));
        assert_eq!(config.adapted(&read.targets).unwrap(), config.adapted(&lora.targets).unwrap());
        for (name, value) in [
            ("peft_type", json!("IA3")),
            ("fan_in_fan_out", json!(true)),
            ("lora_bias", json!(true)),
            ("rank_pattern", json!({"q_proj": 8})),
            ("modules_to_save", json!(["lm_head"])),
            ("alora_invocation_tokens", json!([5, 6])),
            ("layer_replication", json!([[0, 1], [0, 1]])),
            ("what_peft_has_next_year", json!(1)),
            ("init_lora_weights", json!("pissa_niter_4")),
            ("init_lora_weights", json!(1)),
            ("bias", json!("all")),
            ("r", json!(0)),
            ("r", json!(1_000_000)),
            ("lora_alpha", json!("much")),
            ("lora_alpha", json!(1e300)),
            ("bias", json!(1)),
            ("use_rslora", json!(1)),
            ("target_modules", json!([1])),
            ("target_modules", json!([])),
            ("target_modules", json!(null)),
        ] {
            let mut other = own.clone();
            other[name] = value;
            assert!(from_peft(&other, &config, &empty).unwrap_err().to_string().contains(name), "{name}");
        }
        let mut gaussian = own.clone();
        gaussian["init_lora_weights"] = json!("gaussian");
        (gaussian["megatron_core"], gaussian["qalora_group_size"]) = (json!("megatron.core"), json!(16));
        assert_eq!(from_peft(&gaussian, &config, &empty).unwrap(), read);
    }

    #[test]
    fn an_adapter_for_another_model_or_rank_is_refused_with_the_name_of_its_factor() {
        let folder = tempfile::tempdir().unwrap();
        let (config, own) = (config(), lora(json!({"type": "lora", "rank": 2, "targets": ["q_proj", "down_proj"]})));
        let write = |change: &dyn Fn(&mut Tensors)| {
            let mut tensors = tensors(&config, &own);
            change(&mut tensors);
            write(folder.path(), tensors, &to_peft(&config, &own, "x").unwrap());
            inspect(folder.path(), &config)
        };
        let read = write(&|_| ()).unwrap();
        assert_eq!((read.rank, config.adapted(&read.targets).unwrap().len()), (2, 2 * config.num_hidden_layers));
        let refused = |change: &dyn Fn(&mut Tensors), word: &str| {
            let error = write(change).unwrap_err();
            assert_eq!(error.code(), "adapter_mismatch");
            assert!(error.to_string().contains(word), "{error}");
        };
        refused(&|tensors| drop(tensors.pop()), "is missing");
        refused(&|tensors| tensors[0].1[0] = 3, "the rank ask for [2,");
        refused(
            &|tensors| tensors.push((String::from("base_model.model.x.lora_A.weight"), vec![1, 1])),
            "belongs to no",
        );
    }

    #[test]
    fn patterns_and_exceptions_name_what_has_factors_and_names_of_other_models_name_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let config = config();
        let one = lora(json!({"type": "lora", "rank": 2, "targets": ["model.layers.1.self_attn.q_proj"]}));
        let read = |lora: &Lora, changes: Value| {
            let mut peft = to_peft(&config, lora, "x").unwrap();
            peft.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            write(folder.path(), tensors(&config, lora), &peft);
            inspect(folder.path(), &config).map(|read| read.targets)
        };
        // One layer of several is still one when peft reads it, or this.
        assert_eq!(to_peft(&config, &one, "x").unwrap()["target_modules"], json!(["model.layers.1.self_attn.q_proj"]));
        for changes in [
            json!({}),
            json!({"target_modules": ".*layers\\.1\\..*q_proj"}),
            json!({"target_modules": ["q_proj"], "exclude_modules": ["layers.0.self_attn.q_proj"]}),
            json!({"target_modules": ["q_proj"], "layers_to_transform": 1}),
        ] {
            assert_eq!(read(&one, changes.clone()).unwrap(), one.targets, "{changes}");
        }
        let all = lora(json!({"type": "lora", "rank": 2, "targets": ["down_proj", "q_proj"]}));
        for changes in [
            json!({"target_modules": ".*(q|down)_proj"}),
            json!({"target_modules": ["query_key_value", "down_proj", "c_attn", "q_proj"]}),
        ] {
            assert_eq!(read(&all, changes.clone()).unwrap(), all.targets, "{changes}");
        }
        for (changes, word) in [
            (json!({"target_modules": ["q_proj"]}), "is missing"),
            (json!({"target_modules": ["query_key_value"]}), "no matrix `query_key_value`"),
        ] {
            assert!(read(&one, changes).unwrap_err().to_string().contains(word), "{word}");
        }
        write(
            folder.path(),
            Tensors::new(),
            &json!({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ".*"}),
        );
        assert!(inspect(folder.path(), &config).unwrap_err().to_string().contains("no factors"));
    }
}
