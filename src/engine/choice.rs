//! One draw from one row of logits, with the log-probability it was drawn with.
//!
//! The vocabulary is gone through twice: for the maximum, and for the sums of exponentials by piece, of which the draw
//! then opens one. It is never sorted as a whole: top-k and top-p select the most probable tokens and sort only those.

use std::cell::RefCell;

use crate::engine::kernels::rows::{Normaliser, PIECE, normaliser_with};
use crate::engine::ops::logprob::logprob;
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

/// How tokens are drawn in one pass: a number in `[0, 1)` for each row, and memory for logits in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    pub spec: &'a SamplingSpec,
    pub uniforms: &'a [f64],
    pub logits_bytes: usize,
}

/// How many of the most probable tokens top-p sorts at first, when they do not suffice, and then; at last all.
const SORTED: [usize; 3] = [64, 512, 4096];

/// Memory that one draw leaves for the next of its thread; it grows to the size of a vocabulary.
#[derive(Default)]
struct Scratch {
    /// Mass of each piece of the vocabulary, not normalised.
    pieces: Vec<f64>,
    /// Logits divided by the temperature.
    scaled: Vec<f32>,
    /// Tokens by probability, as [`rank`] writes them.
    ranks: Vec<u64>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Draws from `logits` as `spec` says, with a `uniform` number in `[0, 1)` when one is needed.
pub fn choose(logits: &[f32], spec: &SamplingSpec, uniform: impl FnOnce() -> f64) -> Choice {
    SCRATCH.with_borrow_mut(|scratch| choose_with(scratch, logits, spec, uniform))
}

fn choose_with(
    Scratch { pieces, scaled, ranks }: &mut Scratch,
    logits: &[f32],
    spec: &SamplingSpec,
    uniform: impl FnOnce() -> f64,
) -> Choice {
    let own = add_up(logits, pieces);
    let entropy = own.entropy();
    if spec.temperature == 0.0 {
        let token = argmax(logits);
        return Choice { token: token as u32, logprob: logprob(logits, token as u32, &own), entropy };
    }
    let whole = spec.top_k == 0 && spec.top_p >= 1.0;
    let (values, normaliser) = if spec.temperature == 1.0 {
        (logits, own)
    } else {
        let inverse = (1.0 / spec.temperature) as f32;
        scaled.clear();
        scaled.extend(logits.iter().map(|x| x * inverse));
        (&scaled[..], add_up(scaled, pieces))
    };
    if whole {
        let token = draw_from_pieces(values, &normaliser, pieces, uniform());
        return Choice { token: token as u32, logprob: logprob(values, token as u32, &normaliser), entropy };
    }
    let log_sum = normaliser.log_sum;
    truncate(values, log_sum, spec, ranks);
    let probabilities = ranks.iter().map(|rank| (values[token_of(*rank)] - log_sum).exp());
    let mass: f64 = probabilities.clone().map(f64::from).sum();
    let token = token_of(ranks[draw(probabilities, uniform() * mass)]);
    Choice { token: token as u32, logprob: values[token] - log_sum - mass.ln() as f32, entropy }
}

/// The most probable tokens of the distribution that [`choose`] draws from, at most `count`, with their
/// log-probabilities; the most probable first.
pub fn most_probable(logits: &[f32], spec: &SamplingSpec, count: usize) -> Vec<(u32, f32)> {
    let scaled = spec.temperature != 0.0 && spec.temperature != 1.0;
    let inverse = if scaled { (1.0 / spec.temperature) as f32 } else { 1.0 };
    let values: Vec<f32> = logits.iter().map(|x| x * inverse).collect();
    let log_sum = add_up(&values, &mut Vec::new()).log_sum;
    let (mut ranks, mut log_mass) = (Vec::new(), 0.0);
    if spec.temperature == 0.0 || (spec.top_k == 0 && spec.top_p >= 1.0) {
        ranks.extend(values.iter().zip(0..).map(|(value, token)| rank(*value, token)));
    } else {
        truncate(&values, log_sum, spec, &mut ranks);
        let mass: f64 = ranks.iter().map(|rank| f64::from((values[token_of(*rank)] - log_sum).exp())).sum();
        log_mass = mass.ln() as f32;
    }
    if count < ranks.len() {
        ranks.select_nth_unstable(count);
        ranks.truncate(count);
    }
    ranks.sort_unstable();
    ranks.into_iter().map(token_of).map(|token| (token as u32, values[token] - log_sum - log_mass)).collect()
}

/// The normaliser of a row; leaves the mass of every piece of the vocabulary in `pieces`.
fn add_up(values: &[f32], pieces: &mut Vec<f64>) -> Normaliser {
    pieces.clear();
    normaliser_with(values, |mass| pieces.push(mass))
}

/// The token at which the running sum of probabilities exceeds `uniform`; the last possible one when rounding leaves
/// the whole sum below it.
fn draw_from_pieces(values: &[f32], normaliser: &Normaliser, pieces: &[f64], uniform: f64) -> usize {
    let mass = |x: &f32| (x - normaliser.top).exp();
    let target = uniform * normaliser.sum;
    let mut before = 0.0;
    for (piece, sum) in pieces.iter().enumerate() {
        if before + sum > target {
            let first = piece * PIECE;
            // Adding up within the piece rounds in another way, so that its end may be reached below the target.
            return first + draw(values[first..].iter().map(mass), target - before);
        }
        before += sum;
    }
    values.iter().rposition(|x| mass(x) > 0.0).unwrap_or(0)
}

/// Leaves the tokens that top-k and top-p keep in `ranks`, most probable first; ties in the order of the vocabulary.
fn truncate(values: &[f32], log_sum: f32, spec: &SamplingSpec, ranks: &mut Vec<u64>) {
    ranks.clear();
    ranks.extend(values.iter().zip(0..).map(|(value, token)| rank(*value, token)));
    let most = if spec.top_k == 0 { values.len() } else { (spec.top_k as usize).min(values.len()) };
    let (mut sorted, mut mass) = (0, 0.0);
    for end in SORTED.into_iter().filter(|end| spec.top_p < 1.0 && *end < most).chain([most]) {
        if end < ranks.len() {
            ranks[sorted..].select_nth_unstable(end - sorted);
        }
        ranks[sorted..end].sort_unstable();
        if spec.top_p < 1.0 {
            let enough = ranks[sorted..end].iter().position(|rank| {
                mass += f64::from((values[token_of(*rank)] - log_sum).exp());
                mass >= spec.top_p
            });
            if let Some(last) = enough {
                ranks.truncate(sorted + last + 1);
                return;
            }
        }
        sorted = end;
    }
    ranks.truncate(most);
}

/// A number that is smaller the more probable a token is, and the earlier in the vocabulary among equals: the value's
/// bits, turned so that they fall as `total_cmp` rises, above the token.
fn rank(value: f32, token: u32) -> u64 {
    let bits = value.to_bits();
    let falling = if value.is_sign_negative() { bits } else { !bits & (u32::MAX >> 1) };
    (u64::from(falling) << 32) | u64::from(token)
}

fn token_of(rank: u64) -> usize {
    (rank & u64::from(u32::MAX)) as usize
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernels::rows::normaliser;
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

    /// The same by definition: all tokens sorted, cut, and added up one by one.
    fn reference(logits: &[f32], spec: &SamplingSpec, uniform: f64) -> (Choice, Vec<usize>) {
        let log_sum = normaliser(logits).log_sum;
        let terms = logits.iter().map(|x| f64::from(x - log_sum)).filter(|l| l.is_finite());
        let entropy = -terms.map(|l| f64::from((l as f32).exp()) * l).sum::<f64>() as f32;
        let inverse = (1.0 / spec.temperature) as f32;
        let values: Vec<f32> = logits.iter().map(|x| x * inverse).collect();
        let log_sum = normaliser(&values).log_sum;
        let p = |token: &usize| f64::from((values[*token] - log_sum).exp());
        let mut kept: Vec<usize> = (0..values.len()).collect();
        let whole = spec.top_k == 0 && spec.top_p >= 1.0;
        if !whole {
            kept.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
            kept.truncate(if spec.top_k == 0 { values.len() } else { spec.top_k as usize });
            let mut mass = 0.0;
            let enough = kept.iter().position(|token| {
                mass += p(token);
                mass >= spec.top_p
            });
            kept.truncate(enough.filter(|_| spec.top_p < 1.0).map_or(kept.len(), |last| last + 1));
        }
        let mass = if whole { 1.0 } else { kept.iter().map(p).sum() };
        let mut sum = 0.0;
        let chosen = kept.iter().find(|token| {
            sum += p(token);
            sum > uniform * mass
        });
        let token = *chosen.or(kept.iter().rfind(|token| p(token) > 0.0)).unwrap();
        let logprob = values[token] - log_sum - f64::ln(mass) as f32;
        (Choice { token: token as u32, logprob, entropy }, kept)
    }

    /// Logits with ties, with tokens that are ruled out, more or less peaked, around the sizes at which the work is
    /// divided.
    fn logits(size: usize, case: u64) -> Vec<f32> {
        let stream = Stream::new(case, Purpose::Initialization, size as u64);
        let (scale, steps) = ([0.1, 1.0, 3.0, 9.0][case as usize % 4], [1e6, 2.0][case as usize / 4 % 2]);
        let normal = |i: usize| ((stream.normal(i as u64) * scale * steps).round() / steps) as f32;
        let ruled_out = |i: usize| case.is_multiple_of(3) && i % 5 == 4;
        (0..size).map(|i| if ruled_out(i) { f32::NEG_INFINITY } else { normal(i) }).collect()
    }

    #[test]
    fn draws_are_those_of_the_sorted_vocabulary() {
        let uniforms = Stream::new(4, Purpose::Rollout, 0);
        let mut draws = 0;
        for (size, case) in
            [1, 3, 63, 64, 65, 256, 257, 600, 5000].into_iter().flat_map(|s| (0..12).map(move |c| (s, c)))
        {
            let logits = logits(size, case);
            for temperature in [0.4, 1.0, 1.7] {
                for top_p in [0.0, 0.3, 0.95, 0.9999, 1.0] {
                    for top_k in [0, 1, 7, 64, 4096, 100_000] {
                        let spec = spec(temperature, top_p, top_k);
                        draws += 1;
                        let at = [0.0, uniforms.uniform(draws, 0, 0), 1.0 - f64::EPSILON][draws as usize % 3];
                        let (expected, kept) = reference(&logits, &spec, at);
                        let choice = choose(&logits, &spec, || at);
                        let context = format!("{size} logits, case {case}, {spec:?}, {at}, {kept:?}");
                        assert_eq!(choice.token, expected.token, "{context}");
                        assert_eq!(choice.logprob.to_bits(), expected.logprob.to_bits(), "{context}");
                        assert!((choice.entropy - expected.entropy).abs() < 1e-5, "{context}");
                    }
                }
            }
        }
    }

    #[test]
    fn ranks_order_values_as_total_cmp_does_and_ties_as_the_vocabulary() {
        let values = [f32::INFINITY, 3.5, 1e-40, 0.0, -0.0, -1e-40, -3.5, f32::MIN, f32::NEG_INFINITY];
        let ranks: Vec<u64> = values.iter().flat_map(|value| [rank(*value, 3), rank(*value, 70_000)]).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b));
        assert!(ranks.iter().map(|rank| token_of(*rank)).eq([3, 70_000].repeat(values.len())));
    }

    #[test]
    fn the_most_probable_tokens_are_those_that_are_drawn_with_the_same_log_probabilities() {
        let specs = [spec(1.0, 1.0, 0), spec(0.7, 1.0, 0), spec(2.0, 0.8, 0), spec(1.0, 1.0, 2), spec(0.0, 1.0, 0)];
        for spec in specs {
            let best = most_probable(&LOGITS, &spec, 3);
            assert!(best.is_sorted_by(|a, b| a.1 >= b.1), "{best:?}");
            assert_eq!(best.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [1, 2, 0][..best.len()]);
            let all = most_probable(&LOGITS, &spec, 99);
            let mass: f64 = all.iter().map(|(_, logprob)| f64::from(logprob.exp())).sum();
            assert!((mass - 1.0).abs() < 1e-6, "{spec:?} {mass}");
            for uniform in [0.0, 0.5, 0.9, 0.999] {
                let chosen = choose(&LOGITS, &spec, || uniform);
                let listed = all.iter().find(|(token, _)| *token == chosen.token).map(|(_, logprob)| *logprob);
                assert_eq!(listed, Some(chosen.logprob), "{spec:?}");
            }
        }
    }

    #[test]
    fn entropy_of_equal_logits_is_the_log_of_their_number() {
        let choice = choose(&[0.7; 8], &spec(1.0, 1.0, 0), || 0.99);
        assert!((choice.entropy - 8.0_f32.ln()).abs() < 1e-6);
        assert_eq!(choice.token, 7);
    }
}
