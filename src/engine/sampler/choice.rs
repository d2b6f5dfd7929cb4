//! One draw from one row of logits, with the log-probability it was drawn with.

use crate::engine::ops::logprob::log_sum_exp;
use crate::job::spec::SamplingSpec;

/// A drawn token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub token: u32,
    /// Log-probability under the distribution drawn from (temperature, top-k and top-p applied); for greedy
    /// decoding, which draws nothing, under the model's own distribution.
    pub logprob: f32,
    /// Entropy of the model's own distribution, in nats.
    pub entropy: f32,
}

/// Draws from `logits` as `spec` says, with a `uniform` number in `[0, 1)` when one is needed.
pub fn choose(logits: &[f32], spec: &SamplingSpec, uniform: impl FnOnce() -> f64) -> Choice {
    let log_sum = log_sum_exp(logits);
    let entropy = entropy(logits, log_sum);
    if spec.temperature == 0.0 {
        let token = argmax(logits);
        return Choice { token: token as u32, logprob: logits[token] - log_sum, entropy };
    }
    let inverse = (1.0 / spec.temperature) as f32;
    let whole = spec.temperature == 1.0;
    let scaled: Vec<f32>;
    let (values, log_sum) = if whole {
        (logits, log_sum)
    } else {
        scaled = logits.iter().map(|x| x * inverse).collect();
        let log_sum = log_sum_exp(&scaled);
        (&scaled[..], log_sum)
    };
    if spec.top_k == 0 && spec.top_p >= 1.0 {
        let token = draw(values.iter().map(|x| (x - log_sum).exp()), uniform());
        return Choice { token: token as u32, logprob: values[token] - log_sum, entropy };
    }
    let kept = truncate(values, log_sum, spec);
    let mass: f64 = kept.iter().map(|i| f64::from((values[*i] - log_sum).exp())).sum();
    let token = kept[draw(kept.iter().map(|i| (values[*i] - log_sum).exp()), uniform() * mass)];
    Choice { token: token as u32, logprob: values[token] - log_sum - mass.ln() as f32, entropy }
}

/// The tokens that top-k and top-p leave, most probable first; ties in the order of the vocabulary.
fn truncate(values: &[f32], log_sum: f32, spec: &SamplingSpec) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_value = |a: &usize, b: &usize| values[*b].total_cmp(&values[*a]).then(a.cmp(b));
    let k = if spec.top_k == 0 { values.len() } else { (spec.top_k as usize).min(values.len()) };
    if k < order.len() {
        order.select_nth_unstable_by(k, by_value);
        order.truncate(k);
    }
    order.sort_unstable_by(by_value);
    if spec.top_p < 1.0 {
        let mut mass = 0.0;
        let enough = order.iter().position(|i| {
            mass += f64::from((values[*i] - log_sum).exp());
            mass >= spec.top_p
        });
        order.truncate(enough.map_or(order.len(), |last| last + 1));
    }
    order
}

/// The index at which the running sum of `probabilities` exceeds `target`; the last possible one when rounding
/// leaves the whole sum below it.
fn draw(probabilities: impl Iterator<Item = f32>, target: f64) -> usize {
    let (mut sum, mut last) = (0.0, 0);
    for (i, p) in probabilities.enumerate() {
        sum += f64::from(p);
        if p > 0.0 {
            last = i;
            if sum > target {
                break;
            }
        }
    }
    last
}

fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

/// `H = log Z - sum p x`.
fn entropy(logits: &[f32], log_sum: f32) -> f32 {
    logits
        .iter()
        .map(|x| x - log_sum)
        .filter(|l| l.is_finite())
        .map(|l| -f64::from(l.exp()) * f64::from(l))
        .sum::<f64>() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Stream};

    const LOGITS: [f32; 5] = [1.0, 3.0, 2.0, -1.0, 0.5];

    fn spec(temperature: f64, top_p: f64, top_k: u32) -> SamplingSpec {
        SamplingSpec { temperature, top_p, top_k, ..SamplingSpec::default() }
    }

    /// Draws follow the distribution whose log-probability is reported.
    fn check(spec: &SamplingSpec, possible: &[u32]) {
        let stream = Stream::new(3, Purpose::Rollout, 0);
        let mut counts = [0.0_f64; 5];
        let mut logprobs = [f64::NEG_INFINITY; 5];
        const DRAWS: u64 = 40_000;
        for i in 0..DRAWS {
            let choice = choose(&LOGITS, spec, || stream.uniform(i, 0, 0));
            counts[choice.token as usize] += 1.0;
            logprobs[choice.token as usize] = f64::from(choice.logprob);
        }
        let total: f64 = logprobs.iter().map(|l| l.exp()).sum();
        assert!((total - 1.0).abs() < 1e-5, "{total}");
        for token in 0..5 {
            let expected = logprobs[token].exp();
            assert_eq!(possible.contains(&(token as u32)), counts[token] > 0.0);
            assert!((counts[token] / DRAWS as f64 - expected).abs() < 0.01);
        }
    }

    #[test]
    fn draws_follow_the_reported_distribution() {
        check(&spec(1.0, 1.0, 0), &[0, 1, 2, 3, 4]);
        check(&spec(0.5, 1.0, 0), &[0, 1, 2, 3, 4]);
        check(&spec(1.0, 1.0, 2), &[1, 2]);
        check(&spec(1.0, 0.85, 0), &[1, 2]);
        check(&spec(1.3, 0.9, 3), &[0, 1, 2]);
    }

    #[test]
    fn greedy_takes_the_first_maximum_and_reports_the_models_logprob() {
        let choice = choose(&[0.0, 2.0, 2.0], &spec(0.0, 1.0, 0), || unreachable!("greedy draws nothing"));
        assert_eq!(choice.token, 1);
        assert!((f64::from(choice.logprob) - (2.0 - (1.0 + 2.0 * 2.0_f64.exp()).ln())).abs() < 1e-6);
    }

    #[test]
    fn entropy_of_equal_logits_is_the_log_of_their_number() {
        let choice = choose(&[0.7; 8], &spec(1.0, 1.0, 0), || 0.99);
        assert!((choice.entropy - 8.0_f32.ln()).abs() < 1e-6);
        assert_eq!(choice.token, 7);
    }
}
