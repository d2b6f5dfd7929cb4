//! Control runs: rewards that say nothing of the completions that they stand at. What a job reaches with them is not its
//! verifier's doing.

use super::random::Stream;
use super::rollout::{Rollout, RolloutGroup};
use crate::job::spec::RewardControl;

/// Puts other rewards in the place of those of some groups. Which ones is a function of the stream, of a group's place and row, and
/// of the completion's number.
pub(super) fn replace_rewards<'g>(
    control: RewardControl,
    groups: impl Iterator<Item = &'g mut RolloutGroup>,
    stream: &Stream,
) {
    for (place, group) in groups.enumerate() {
        // A row may come twice.
        let key = (place as u64) << 32 | group.row as u64;
        let coin = |rollout: &Rollout| f64::from(u8::from(stream.uniform(key, rollout.sample, 0) < 0.5));
        let rewards = match control {
            RewardControl::ShuffledRewards => shuffled(group.rewards(), key, stream),
            RewardControl::RandomRewards => group.rollouts.iter().map(coin).collect(),
        };
        for (rollout, reward) in group.rollouts.iter_mut().zip(rewards) {
            rollout.reward = reward;
        }
    }
}

/// The same rewards in another order (Fisher and Yates).
fn shuffled(mut rewards: Vec<f64>, key: u64, stream: &Stream) -> Vec<f64> {
    for i in (1..rewards.len()).rev() {
        let j = (stream.uniform(key, i as u32, 0) * (i + 1) as f64) as usize;
        rewards.swap(i, j.min(i));
    }
    rewards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Purpose;
    use crate::engine::rollout::tests::group;

    fn controlled(control: RewardControl, rewards: &[f64], rows: usize) -> Vec<Vec<f64>> {
        let mut groups: Vec<_> = (0..rows).map(|row| RolloutGroup { row, ..group(rewards) }).collect();
        replace_rewards(control, groups.iter_mut(), &Stream::new(3, Purpose::Control, 5));
        groups.iter().map(RolloutGroup::rewards).collect()
    }

    #[test]
    fn shuffled_rewards_stay_with_their_prompt_and_say_nothing_of_its_completions() {
        let rewards = [1.0, 0.0, 0.0, 0.25];
        let all = controlled(RewardControl::ShuffledRewards, &rewards, 4000);
        for (place, reward) in rewards.iter().enumerate() {
            // Each stands at every place equally often.
            for to in 0..4 {
                let share = all.iter().filter(|group| group[to] == *reward).count() as f64 / 4000.0;
                let expected = rewards.iter().filter(|other| *other == reward).count() as f64 / 4.0;
                assert!((share - expected).abs() < 0.03, "{place} at {to}: {share}");
            }
        }
        assert!(all.iter().all(|group| group.iter().sum::<f64>() == 1.25));
        assert_eq!(all, controlled(RewardControl::ShuffledRewards, &rewards, 4000), "the same at every try");
    }

    #[test]
    fn random_rewards_are_fair_coins_whatever_the_verifier_said() {
        let all = controlled(RewardControl::RandomRewards, &[1.0, 1.0, 1.0, 1.0], 4000);
        for place in 0..4 {
            let share = all.iter().map(|group| group[place]).sum::<f64>() / 4000.0;
            assert!((share - 0.5).abs() < 0.03, "{share}");
        }
    }
}
