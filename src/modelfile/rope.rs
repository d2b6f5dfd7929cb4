//! Rotary positions (arXiv 2104.09864) as configurations describe them: how fast each pair of coordinates turns, and how
//! that changes for contexts longer than a model was first trained for. Formulas follow the papers that are named, and
//! transformers' reading of the members.

use std::f64::consts::TAU;

use serde_json::{Value, json};

use super::ModelFileError;
use super::fields::Fields;

/// Numbers in a list of factors.
const FACTORS_LIMIT: usize = 1 << 11;

/// One set of rotations.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeConfig {
    pub theta: f64,
    /// Coordinates of a head that are turned, its first ones.
    pub width: usize,
    pub scaling: RopeScaling,
}

/// How rotations change for long contexts.
#[derive(Clone, Debug, PartialEq)]
pub enum RopeScaling {
    None,
    /// Positions are divided by `factor` (arXiv 2306.15595).
    Linear {
        factor: f64,
    },
    /// `theta` grows with a sequence that is longer than the context that was trained.
    Dynamic {
        factor: f64,
        original: usize,
    },
    /// Long wavelengths are divided by `factor`, short ones are kept, those between are blended (Llama 3.1).
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        original: usize,
    },
    /// Blends by the number of turns within the trained context, and sharpens attention (YaRN, arXiv 2309.00071).
    Yarn {
        factor: f64,
        fast: f64,
        slow: f64,
        original: usize,
        attention: f64,
        truncate: bool,
    },
    /// A divisor for each pair, of which there is a set for sequences within the trained context and one for longer ones
    /// (LongRoPE, arXiv 2402.13753).
    LongRope {
        short: Vec<f64>,
        long: Vec<f64>,
        original: usize,
        attention: f64,
    },
}

/// What is computed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    /// Radians a position, for each pair of coordinates.
    pub speeds: Vec<f64>,
    /// What turned coordinates are multiplied by.
    pub factor: f64,
}

/// What the members of a configuration need to know of the rest of it.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    pub head_dim: usize,
    /// `max_position_embeddings`.
    pub context: usize,
    /// Where no base is named.
    pub theta: f64,
}

impl RopeConfig {
    /// The rotations of a configuration: one set, or one for full and one for sliding attention. transformers 5 keeps
    /// everything in `rope_parameters`, transformers 4 in `rope_theta` and `rope_scaling`. Where a file has both they must
    /// agree.
    pub fn read(fields: &Fields<'_>, within: Within) -> Result<Vec<Self>, ModelFileError> {
        let parameters = fields.object("rope_parameters")?;
        let set = |kind: &str| parameters.map(|p| p.object(kind)).transpose().map(Option::flatten);
        if let (Some(full), Some(sliding)) = (set("full_attention")?, set("sliding_attention")?) {
            return Ok(vec![Self::of(fields, &full, within)?, Self::of(fields, &sliding, within)?]);
        }
        let theta = fields.number("rope_theta")?;
        let old = fields.object("rope_scaling")?.map(|old| Self::of(fields, &old, within)).transpose()?;
        let Some(parameters) = parameters else {
            let theta = theta.unwrap_or(within.theta);
            let scaling = old.map_or(RopeScaling::None, |old| old.scaling);
            return Ok(vec![Self { theta, scaling, width: width(fields, None, within)? }.held(fields)?]);
        };
        let new = Self::of(fields, &parameters, Within { theta: theta.unwrap_or(within.theta), ..within })?;
        if theta.is_some_and(|theta| theta != new.theta) || old.is_some_and(|old| old.scaling != new.scaling) {
            return Err(fields.invalid("rope_parameters contradicts rope_theta or rope_scaling"));
        }
        Ok(vec![new])
    }

    /// One set of parameters.
    fn of(config: &Fields<'_>, set: &Fields<'_>, within: Within) -> Result<Self, ModelFileError> {
        let theta = set.number("rope_theta")?.unwrap_or(within.theta);
        let scaling = RopeScaling::of(config, set, within)?;
        Self { theta, width: width(config, Some(set), within)?, scaling }.held(config)
    }

    /// The longest sequence that the rotations are made for, in a configuration with a context of so many tokens.
    pub fn context(&self, context: usize) -> usize {
        match self.scaling {
            RopeScaling::Dynamic { factor, original } | RopeScaling::Yarn { factor, original, .. } => {
                context.max((original as f64 * factor) as usize)
            }
            _ => context,
        }
    }

    /// Whether [`rotation`](Self::rotation) differs with the longest sequence.
    pub fn depends_on_length(&self) -> bool {
        matches!(self.scaling, RopeScaling::Dynamic { .. } | RopeScaling::LongRope { .. })
    }

    /// The rotations for sequences of up to `longest` tokens. The same is used for all sequences of a job, whatever
    /// their length, so that a token's result does not depend on what follows.
    pub fn rotation(&self, longest: usize) -> Rotation {
        let width = self.width as f64;
        let speeds = |theta: f64| (0..self.width / 2).map(move |i| theta.powf(-2.0 * i as f64 / width));
        let plain = speeds(self.theta);
        let rotation = |speeds: Vec<f64>, factor: f64| Rotation { speeds, factor };
        match &self.scaling {
            RopeScaling::None => rotation(plain.collect(), 1.0),
            RopeScaling::Linear { factor } => rotation(plain.map(|speed| speed / factor).collect(), 1.0),
            RopeScaling::Dynamic { factor, original } => {
                let stretch = factor * (longest.max(*original) as f64 / *original as f64) - (factor - 1.0);
                rotation(speeds(self.theta * stretch.powf(width / (width - 2.0))).collect(), 1.0)
            }
            RopeScaling::Llama3 { factor, low, high, original } => {
                let blend = |speed: f64| {
                    let keep = ((*original as f64 * speed / TAU - low) / (high - low)).clamp(0.0, 1.0);
                    keep * speed + (1.0 - keep) * speed / factor
                };
                rotation(plain.map(blend).collect(), 1.0)
            }
            RopeScaling::Yarn { factor, fast, slow, original, attention, truncate } => {
                let pair = |turns: f64| width * (*original as f64 / (turns * TAU)).ln() / (2.0 * self.theta.ln());
                let (mut first, mut last) = (pair(*fast), pair(*slow));
                if *truncate {
                    (first, last) = (first.floor(), last.ceil());
                }
                let (first, last) = (first.max(0.0), last.min(width - 1.0));
                let span = if first == last { 0.001 } else { last - first };
                let blend = |(i, speed): (usize, f64)| {
                    let slowed = ((i as f64 - first) / span).clamp(0.0, 1.0);
                    slowed * speed / factor + (1.0 - slowed) * speed
                };
                rotation(plain.enumerate().map(blend).collect(), *attention)
            }
            RopeScaling::LongRope { short, long, original, attention } => {
                let divisors = if longest > *original { long } else { short };
                rotation(plain.zip(divisors).map(|(speed, divisor)| speed / divisor).collect(), *attention)
            }
        }
    }

    /// A set of parameters as transformers 5 writes it.
    pub fn to_hf(&self, head_dim: usize) -> Value {
        let mut set = match &self.scaling {
            RopeScaling::None => json!({"rope_type": "default"}),
            RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
            RopeScaling::Dynamic { factor, .. } => json!({"rope_type": "dynamic", "factor": factor}),
            RopeScaling::Llama3 { factor, low, high, original } => json!({
                "rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high,
                "original_max_position_embeddings": original,
            }),
            RopeScaling::Yarn { factor, fast, slow, original, attention, truncate } => json!({
                "rope_type": "yarn", "factor": factor, "beta_fast": fast, "beta_slow": slow,
                "attention_factor": attention, "truncate": truncate, "original_max_position_embeddings": original,
            }),
            RopeScaling::LongRope { short, long, original, attention } => json!({
                "rope_type": "longrope", "short_factor": short, "long_factor": long, "attention_factor": attention,
                "original_max_position_embeddings": original,
            }),
        };
        if self.width < head_dim {
            set["partial_rotary_factor"] = json!(self.width as f64 / head_dim as f64);
        }
        set["rope_theta"] = json!(self.theta);
        set
    }

    fn held(self, fields: &Fields<'_>) -> Result<Self, ModelFileError> {
        let scale = |factor: f64| (1.0..=1e6).contains(&factor);
        let length = |tokens: usize| (1..=1 << 24).contains(&tokens);
        let holds = match &self.scaling {
            RopeScaling::None => true,
            RopeScaling::Linear { factor } => scale(*factor),
            RopeScaling::Dynamic { factor, original } => scale(*factor) && length(*original) && self.width > 2,
            RopeScaling::Llama3 { factor, low, high, original } => {
                scale(*factor) && *low > 0.0 && low < high && *high <= 1e6 && length(*original)
            }
            RopeScaling::Yarn { factor, fast, slow, original, attention, .. } => {
                let turns = *slow > 0.0 && slow <= fast && *fast <= 1e6;
                scale(*factor) && turns && length(*original) && *attention > 0.0 && *attention <= 1e3
            }
            RopeScaling::LongRope { short, long, original, attention } => {
                let all = short.iter().chain(long).all(|divisor| *divisor > 0.0 && *divisor <= 1e6);
                all && length(*original) && *attention > 0.0 && *attention <= 1e3
            }
        };
        if holds && (1.0..=1e12).contains(&self.theta) {
            return Ok(self);
        }
        Err(fields.invalid(format!("the rotary embeddings are out of range: {self:?}")))
    }
}

impl RopeScaling {
    fn of(config: &Fields<'_>, set: &Fields<'_>, within: Within) -> Result<Self, ModelFileError> {
        let kind = set.text("rope_type")?.or(set.text("type")?).unwrap_or("default");
        let own: &[&str] = match kind {
            "default" => &[],
            "linear" | "dynamic" => &["factor"],
            "llama3" => &["factor", "low_freq_factor", "high_freq_factor"],
            "yarn" => &["factor", "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim", "truncate"],
            // Phi 3 called it so first.
            "longrope" | "su" => &["factor", "short_factor", "long_factor", "attention_factor"],
            other => {
                let known = "default, linear, dynamic, llama3, yarn, longrope";
                return Err(config.invalid(format!("rope type `{other}` is not computed; known are {known}")));
            }
        };
        let common = ["rope_type", "type", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings"];
        if let Some(name) = set.names().find(|name| !own.contains(name) && !common.contains(name)) {
            return Err(
                config.invalid(format!("the rotary scaling `{kind}` has a member `{name}` that is not understood"))
            );
        }
        let missing = |name: &str| config.invalid(format!("the rotary scaling has no {name}"));
        let factor = |name: &str| set.number(name)?.ok_or_else(|| missing(name));
        // Phi 3's own member stands outside and counts first.
        let original = match config.count("original_max_position_embeddings")? {
            Some(original) => original,
            None => set.count("original_max_position_embeddings")?.unwrap_or(within.context),
        };
        Ok(match kind {
            "default" => Self::None,
            "linear" => Self::Linear { factor: factor("factor")? },
            "dynamic" => Self::Dynamic { factor: factor("factor")?, original: within.context },
            "llama3" => Self::Llama3 {
                factor: factor("factor")?,
                low: factor("low_freq_factor")?,
                high: factor("high_freq_factor")?,
                original,
            },
            "yarn" => Self::yarn(set, original, within)?,
            _ => Self::long_rope(config, set, original, within)?,
        })
    }

    fn yarn(set: &Fields<'_>, original: usize, within: Within) -> Result<Self, ModelFileError> {
        let factor = set.number("factor")?.unwrap_or(within.context as f64 / original as f64);
        let sharpened = |scale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 };
        let attention = match (set.number("attention_factor")?, set.number("mscale")?, set.number("mscale_all_dim")?) {
            (Some(attention), _, _) => attention,
            (None, Some(own), Some(all)) => sharpened(own) / sharpened(all),
            _ => sharpened(1.0),
        };
        Ok(Self::Yarn {
            factor,
            fast: set.number("beta_fast")?.unwrap_or(32.0),
            slow: set.number("beta_slow")?.unwrap_or(1.0),
            original,
            attention,
            truncate: set.get("truncate").is_none() || set.flag("truncate")?,
        })
    }

    fn long_rope(
        config: &Fields<'_>,
        set: &Fields<'_>,
        original: usize,
        within: Within,
    ) -> Result<Self, ModelFileError> {
        let pairs = width(config, Some(set), within)? / 2;
        let divisors = |name: &str| -> Result<Vec<f64>, ModelFileError> {
            let list = set.list(name)?.filter(|list| list.len() == pairs && list.len() <= FACTORS_LIMIT);
            let numbers = list.and_then(|list| list.iter().map(Value::as_f64).collect());
            numbers.ok_or_else(|| config.invalid(format!("{name} is not a list of {pairs} numbers")))
        };
        let factor = set.number("factor")?.unwrap_or(within.context as f64 / original as f64);
        let grown = || if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / (original as f64).ln()).sqrt() };
        Ok(Self::LongRope {
            short: divisors("short_factor")?,
            long: divisors("long_factor")?,
            original,
            attention: set.number("attention_factor")?.unwrap_or_else(grown),
        })
    }
}

/// Coordinates of a head that are turned.
fn width(config: &Fields<'_>, set: Option<&Fields<'_>>, within: Within) -> Result<usize, ModelFileError> {
    let of_set = set.map(|set| set.number("partial_rotary_factor")).transpose()?.flatten();
    let share = of_set.or(config.number("partial_rotary_factor")?).unwrap_or(1.0);
    let width = (within.head_dim as f64 * share) as usize;
    if share > 0.0 && share <= 1.0 && width >= 2 && width.is_multiple_of(2) {
        return Ok(width);
    }
    let detail =
        format!("{width} coordinates of a head of {} would be turned; that must be an even number", within.head_dim);
    Err(config.invalid(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Within = Within { head_dim: 8, context: 64, theta: 1e4 };

    fn read(config: Value) -> Result<Vec<RopeConfig>, ModelFileError> {
        RopeConfig::read(&Fields::of(&config, "config.json").unwrap(), WITHIN)
    }

    fn close(rotation: &Rotation, speeds: [f64; 4], factor: f64) {
        let near = |got: f64, want: f64| (got / want - 1.0).abs() < 1e-9;
        assert!(rotation.speeds.len() == 4 && rotation.speeds.iter().zip(speeds).all(|(got, want)| near(*got, want)));
        assert!(near(rotation.factor, factor), "{rotation:?}");
    }

    /// Numbers from a program of a few lines after the formulas of transformers 5.23; those of yarn within the trained
    /// context, llama3 and longrope are held by goldens of whole models.
    #[test]
    fn speeds_are_those_of_another_program() {
        let dynamic = read(json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}})).unwrap();
        assert_eq!(dynamic[0].context(64), 128);
        close(
            &dynamic[0].rotation(100),
            [1.0, 0.077_782_223_746_564_06, 0.006_050_074_330_960_554, 4.705_882_352_941_177e-4],
            1.0,
        );
        close(&dynamic[0].rotation(10), [1.0, 0.1, 0.01, 0.001], 1.0);
        let yarn = |truncate: bool| {
            let set = json!({
                "rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 4096,
                "truncate": truncate, "attention_factor": 1.5,
            });
            read(json!({"rope_parameters": set})).unwrap().remove(0).rotation(100)
        };
        close(&yarn(true), [1.0, 0.019_764_235_376_052_368, 0.000_25, 7.905_694_150_420_949e-6], 1.5);
        close(&yarn(false), [1.0, 0.028_613_608_811_988_895, 0.000_25, 7.905_694_150_420_949e-6], 1.5);
    }

    #[test]
    fn a_part_of_a_head_may_be_turned_and_kinds_of_layers_may_differ() {
        let partial = read(json!({"partial_rotary_factor": 0.5})).unwrap();
        assert_eq!(partial[0].rotation(1).speeds, [1.0, 0.01]);
        let kinds = json!({
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        });
        let both = read(json!({"rope_parameters": kinds})).unwrap();
        assert_eq!(both.iter().map(|rope| rope.theta).collect::<Vec<_>>(), [1e6, 1e4]);
        assert_eq!(both[0].scaling, RopeScaling::Linear { factor: 8.0 });
    }

    #[test]
    fn longrope_changes_at_the_trained_context() {
        let set = json!({"type": "su", "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 4]});
        let config = json!({"rope_scaling": set, "original_max_position_embeddings": 16});
        let rope = &read(config).unwrap()[0];
        let attention = (1.0 + 4.0_f64.ln() / 16.0_f64.ln()).sqrt();
        close(&rope.rotation(16), [1.0, 0.1, 0.01, 0.001], attention);
        close(&rope.rotation(17), [0.5, 0.05, 0.005, 0.000_25], attention);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in [
            json!({"rope_theta": 0.5}),
            json!({"partial_rotary_factor": 0.4}),
            json!({"partial_rotary_factor": 1.5}),
            json!({"rope_scaling": {"type": "linear", "factor": 0.5}}),
            json!({"rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 0.5}}),
            json!({"rope_scaling": {"type": "longrope", "short_factor": [1, 1], "long_factor": [1, 1]}}),
            json!({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 0], "long_factor": [1, 1, 1, 1]}}),
            json!({"rope_scaling": {"type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}}),
        ] {
            assert_eq!(read(bad.clone()).unwrap_err().code(), "config_invalid", "{bad}");
        }
    }
}
