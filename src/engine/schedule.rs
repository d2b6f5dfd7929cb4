//! Learning rates over a job: a linear warm-up, then the schedule's own course.

use crate::job::spec::{OptimizerSpec, Schedule};

/// The learning rate of optimizer step `step` (from 0) of `steps`.
pub fn learning_rate(spec: &OptimizerSpec, step: u64, steps: u64) -> f64 {
    let warmup = (spec.warmup * steps as f64).ceil();
    let done = step as f64;
    if done < warmup {
        return spec.learning_rate * (done + 1.0) / warmup;
    }
    let progress = (done - warmup) / (steps as f64 - warmup).max(1.0);
    spec.learning_rate
        * match spec.schedule {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - progress,
            Schedule::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_rises_to_the_peak_and_the_course_falls_from_it() {
        let spec = OptimizerSpec { learning_rate: 1.0, warmup: 0.1, ..OptimizerSpec::default() };
        let rates: Vec<f64> = (0..100).map(|step| learning_rate(&spec, step, 100)).collect();
        assert!((rates[0] - 0.1).abs() < 1e-12 && (rates[9] - 1.0).abs() < 1e-12 && (rates[10] - 1.0).abs() < 1e-12);
        assert!(rates[10..].is_sorted_by(|a, b| a >= b) && rates[99] > 0.0 && rates[99] < 0.01);
        assert!((rates[55] - 0.5).abs() < 0.02);
        let linear = OptimizerSpec { schedule: Schedule::Linear, ..spec.clone() };
        assert!((learning_rate(&linear, 55, 100) - 0.5).abs() < 0.01);
        let constant = OptimizerSpec { schedule: Schedule::Constant, warmup: 0.0, ..spec };
        assert_eq!(learning_rate(&constant, 99, 100), 1.0);
    }

    #[test]
    fn one_step_is_taken_at_a_positive_rate_under_every_schedule() {
        for schedule in [Schedule::Cosine, Schedule::Linear, Schedule::Constant] {
            for warmup in [0.0, 0.03, 1.0] {
                let spec = OptimizerSpec { schedule, warmup, ..OptimizerSpec::default() };
                assert!(learning_rate(&spec, 0, 1) > 0.0);
            }
        }
    }
}
