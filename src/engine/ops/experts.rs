//! Which experts a token goes to, and with what weights (arXiv 2101.03961): the most probable ones of a softmax over the
//! router's logits. Of equally probable experts the first one is taken. And how evenly that loads them:
//!
//! ```text
//! balance = E sum_i f_i P_i      f_i: choices of expert i for each token, P_i: its mean probability
//! ```
//!
//! which is the number of experts of a token where all are loaded alike, and up to `E` where they are not. As a loss it
//! is taken over each sequence by itself (arXiv 2405.04434, section 2.2.3), so that its gradient does not depend on what
//! else is in a pass, nor on which device computes it.

use serde::{Deserialize, Serialize};

use crate::modelfile::architecture::Experts;

/// The way of every token of a pass through the experts of a layer.
#[derive(Debug)]
pub struct Routes {
    kind: Experts,
    /// The softmax over the router's logits `[N, experts]`.
    probabilities: Vec<f32>,
    /// The chosen experts of each token `[N, active]`, ascending, and their weights.
    chosen: Vec<u32>,
    weights: Vec<f32>,
}

/// The tokens of one expert.
#[derive(Debug, Default)]
pub struct Visit {
    /// Their rows, ascending.
    pub rows: Vec<u32>,
    /// What the expert's result counts for each.
    pub weights: Vec<f32>,
    /// The places of these weights among those of all tokens.
    places: Vec<usize>,
}

impl Routes {
    /// The routes for logits `[N, experts]`.
    pub fn new(logits: &[f32], kind: Experts) -> Self {
        let mut routes = Self { kind, probabilities: logits.to_vec(), chosen: Vec::new(), weights: Vec::new() };
        for row in routes.probabilities.chunks_exact_mut(kind.count) {
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter_mut().for_each(|x| *x = (*x - top).exp());
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|x| *x /= sum);
            let mut order: Vec<u32> = (0..kind.count as u32).collect();
            order.sort_by(|a, b| row[*b as usize].total_cmp(&row[*a as usize]));
            order.truncate(kind.active);
            order.sort_unstable();
            let sum: f32 = if kind.is_normalised { order.iter().map(|e| row[*e as usize]).sum() } else { 1.0 };
            routes.weights.extend(order.iter().map(|e| row[*e as usize] / sum));
            routes.chosen.extend(order);
        }
        routes
    }

    /// The tokens of each expert.
    pub fn visits(&self) -> Vec<Visit> {
        let mut visits: Vec<Visit> = (0..self.kind.count).map(|_| Visit::default()).collect();
        for (place, expert) in self.chosen.iter().enumerate() {
            let visit = &mut visits[*expert as usize];
            visit.rows.push((place / self.kind.active) as u32);
            visit.weights.push(self.weights[place]);
            visit.places.push(place);
        }
        visits
    }

    /// Experts of a token.
    pub fn active(&self) -> usize {
        self.kind.active
    }

    /// Gradients of all weights, to be filled in by [`Visit::give`].
    pub fn zeros(&self) -> Vec<f32> {
        vec![0.0; self.weights.len()]
    }

    /// The gradient of the router's logits for that of the weights.
    pub fn logits_gradient(&self, of_weights: &[f32]) -> Vec<f32> {
        let Experts { count, active, is_normalised, .. } = self.kind;
        let mut gradient = vec![0.0; self.probabilities.len()];
        let rows = gradient.chunks_exact_mut(count).zip(self.probabilities.chunks_exact(count)).enumerate();
        for (row, (gradient, probabilities)) in rows {
            let own = row * active..(row + 1) * active;
            let (weights, of_weights) = (&self.weights[own.clone()], &of_weights[own.clone()]);
            // Normalised weights are a softmax over the chosen experts alone; others are some of one over all.
            let mean: f32 = weights.iter().zip(of_weights).map(|(w, g)| w * g).sum();
            if !is_normalised {
                gradient.iter_mut().zip(probabilities).for_each(|(gradient, p)| *gradient = -p * mean);
            }
            for ((expert, w), g) in self.chosen[own].iter().zip(weights).zip(of_weights) {
                gradient[*expert as usize] += if is_normalised { w * (g - mean) } else { w * g };
            }
        }
        gradient
    }

    /// Adds to the gradient of the router's logits that of `weight` times the sum over all tokens of the balance of the
    /// token's sequence. `boundaries` are the starts of the sequences and, last, the number of tokens.
    pub fn add_balance(&self, gradient: &mut [f32], boundaries: &[usize], weight: f32) {
        let Experts { count, active, .. } = self.kind;
        for sequence in boundaries.windows(2) {
            let (begin, end) = (sequence[0], sequence[1]);
            let mut loads = vec![0.0_f32; count];
            self.chosen[begin * active..end * active].iter().for_each(|expert| loads[*expert as usize] += 1.0);
            // Each token counts the balance of its sequence, so that the mean over the tokens cancels.
            let scale = weight * count as f32 / (end - begin) as f32;
            loads.iter_mut().for_each(|load| *load *= scale);
            let own = begin * count..end * count;
            let rows = gradient[own.clone()].chunks_exact_mut(count).zip(self.probabilities[own].chunks_exact(count));
            for (gradient, probabilities) in rows {
                let mean: f32 = loads.iter().zip(probabilities).map(|(load, p)| load * p).sum();
                gradient.iter_mut().zip(probabilities).zip(&loads).for_each(|((g, p), load)| *g += p * (load - mean));
            }
        }
    }
}

/// How the tokens of some passes spread over the experts of each sparse layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    tokens: f64,
    /// For each layer and expert, the tokens that chose it and the sum of its probabilities.
    layers: Vec<Vec<(f64, f64)>>,
}

impl Spread {
    /// Counts the routes of one more sparse layer of a pass.
    pub fn add_layer(&mut self, routes: &Routes) {
        let count = routes.kind.count;
        let mut loads = vec![(0.0, 0.0); count];
        routes.chosen.iter().for_each(|expert| loads[*expert as usize].0 += 1.0);
        for row in routes.probabilities.chunks_exact(count) {
            loads.iter_mut().zip(row).for_each(|(load, p)| load.1 += f64::from(*p));
        }
        self.tokens = (routes.probabilities.len() / count) as f64;
        self.layers.push(loads);
    }

    /// Counts another pass too.
    pub fn extend(&mut self, other: Self) {
        self.tokens += other.tokens;
        if self.layers.is_empty() {
            self.layers = other.layers;
            return;
        }
        for (own, other) in self.layers.iter_mut().flatten().zip(other.layers.into_iter().flatten()) {
            *own = (own.0 + other.0, own.1 + other.1);
        }
    }

    /// Whether there are no sparse layers, or no tokens.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The balance over all tokens, the mean over the layers.
    pub fn balance(&self) -> f64 {
        self.mean(|layer| {
            layer.iter().map(|(f, p)| f * p).sum::<f64>() * layer.len() as f64 / (self.tokens * self.tokens)
        })
    }

    /// What the busiest expert of a layer has, in even shares; the mean over the layers.
    pub fn busiest(&self) -> f64 {
        self.mean(|layer| {
            let most = layer.iter().map(|(f, _)| *f).fold(0.0, f64::max);
            most * layer.len() as f64 / layer.iter().map(|(f, _)| f).sum::<f64>()
        })
    }

    /// The share of experts that no token chose.
    pub fn idle(&self) -> f64 {
        self.mean(|layer| layer.iter().filter(|(f, _)| *f == 0.0).count() as f64 / layer.len() as f64)
    }

    fn mean(&self, of: impl Fn(&[(f64, f64)]) -> f64) -> f64 {
        self.layers.iter().map(|layer| of(layer.as_slice())).sum::<f64>() / self.layers.len() as f64
    }
}

impl Visit {
    /// Puts the gradients of the visit's weights where they belong.
    pub fn give(&self, of_weights: &[f32], all: &mut [f32]) {
        self.places.iter().zip(of_weights).for_each(|(place, g)| all[*place] = *g);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(is_normalised: bool) -> Experts {
        Experts { count: 5, active: 2, width: 1, is_normalised }
    }

    /// The weights of all experts in float64, zero for those that were not chosen.
    fn weights(logits: &[f64], chosen: &[usize], is_normalised: bool) -> Vec<f64> {
        let sum: f64 =
            logits.iter().enumerate().filter(|(i, _)| !is_normalised || chosen.contains(i)).map(|(_, x)| x.exp()).sum();
        (0..logits.len()).map(|i| if chosen.contains(&i) { logits[i].exp() / sum } else { 0.0 }).collect()
    }

    #[test]
    fn weights_and_the_gradient_of_the_logits_match_float64() {
        let logits: Vec<f32> = (0..15).map(|i| (i as f32 * 1.7).sin() * 2.0).collect();
        let of_weights: Vec<f32> = (0..6).map(|i| (i as f32 * 0.9).cos()).collect();
        for is_normalised in [false, true] {
            let routes = Routes::new(&logits, kind(is_normalised));
            let gradient = routes.logits_gradient(&of_weights);
            for row in 0..3 {
                let own: Vec<f64> = logits[row * 5..][..5].iter().map(|x| f64::from(*x)).collect();
                let mut order: Vec<usize> = (0..5).collect();
                order.sort_by(|a, b| own[*b].total_cmp(&own[*a]));
                let mut chosen = order[..2].to_vec();
                chosen.sort_unstable();
                let got: Vec<usize> = routes.chosen[row * 2..][..2].iter().map(|e| *e as usize).collect();
                assert_eq!(got, chosen);
                let want = weights(&own, &chosen, is_normalised);
                for (i, expert) in chosen.iter().enumerate() {
                    assert!((f64::from(routes.weights[row * 2 + i]) - want[*expert]).abs() < 1e-6);
                }
                let loss = |logits: &[f64]| -> f64 {
                    let weights = weights(logits, &chosen, is_normalised);
                    chosen.iter().enumerate().map(|(i, e)| weights[*e] * f64::from(of_weights[row * 2 + i])).sum()
                };
                for at in 0..5 {
                    let moved = |d: f64| {
                        let mut logits = own.clone();
                        logits[at] += d;
                        loss(&logits)
                    };
                    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((f64::from(gradient[row * 5 + at]) - slope).abs() < 1e-6);
                }
            }
        }
    }

    /// The balance of one sequence in float64, with the choices as they are.
    fn balance(logits: &[f64], chosen: &[u32]) -> f64 {
        let tokens = logits.len() / 5;
        let mut probabilities = [0.0; 5];
        for row in logits.chunks_exact(5) {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            probabilities.iter_mut().zip(row).for_each(|(p, x)| *p += x.exp() / sum / tokens as f64);
        }
        let share = |expert: usize| chosen.iter().filter(|e| **e as usize == expert).count() as f64 / tokens as f64;
        5.0 * (0..5).map(|expert| share(expert) * probabilities[expert]).sum::<f64>()
    }

    #[test]
    fn the_gradient_of_the_balance_is_that_of_each_sequence_by_itself_in_float64() {
        let logits: Vec<f32> = (0..35).map(|i| (i as f32 * 1.3).sin() * 2.0).collect();
        let routes = Routes::new(&logits, kind(true));
        let mut gradient = vec![0.0; 35];
        routes.add_balance(&mut gradient, &[0, 3, 7], 0.25);
        for (begin, end) in [(0, 3), (3, 7)] {
            let own: Vec<f64> = logits[begin * 5..end * 5].iter().map(|x| f64::from(*x)).collect();
            let chosen = &routes.chosen[begin * 2..end * 2];
            for at in 0..own.len() {
                let moved = |d: f64| {
                    let mut logits = own.clone();
                    logits[at] += d;
                    0.25 * (end - begin) as f64 * balance(&logits, chosen)
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((f64::from(gradient[begin * 5 + at]) - slope).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_spread_is_that_of_all_passes_together() {
        let logits: Vec<f32> = (0..35).map(|i| (i as f32 * 1.3).sin() * 2.0).collect();
        let routes = |part: &[f32]| Routes::new(part, kind(true));
        let (whole, first, rest) = (routes(&logits), routes(&logits[..15]), routes(&logits[15..]));
        let of_pass = |routes: &Routes| {
            let mut spread = Spread::default();
            spread.add_layer(routes);
            spread
        };
        let (spread, mut parts) = (of_pass(&whole), Spread::default());
        parts.extend(of_pass(&first));
        parts.extend(of_pass(&rest));
        assert_eq!((parts.tokens, parts.busiest(), parts.idle()), (7.0, spread.busiest(), spread.idle()));
        assert!((parts.balance() - spread.balance()).abs() < 1e-6);
        let wide: Vec<f64> = logits.iter().map(|x| f64::from(*x)).collect();
        assert!((spread.balance() - balance(&wide, &whole.chosen)).abs() < 1e-6);
        let even = of_pass(&routes(&[0.0; 5]));
        assert_eq!((even.busiest(), even.idle()), (2.5, 0.6));
        assert!((even.balance() - 2.0).abs() < 1e-6);
        assert!(Spread::default().is_empty());
    }

    #[test]
    fn every_token_visits_its_experts_and_equals_go_to_the_first() {
        let routes = Routes::new(&[0.0; 10], kind(true));
        let visits = routes.visits();
        assert_eq!(visits.iter().map(|visit| visit.rows.len()).collect::<Vec<_>>(), [2, 2, 0, 0, 0]);
        assert_eq!((visits[1].rows.clone(), visits[1].weights.clone()), (vec![0, 1], vec![0.5, 0.5]));
        let mut all = routes.zeros();
        visits[1].give(&[3.0, 4.0], &mut all);
        assert_eq!(all, [0.0, 3.0, 0.0, 4.0]);
    }
}
