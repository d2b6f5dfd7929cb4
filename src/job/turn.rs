//! Whose turn it is: of the projects whose jobs wait, each comes as often as its share says.
//!
//! Every waiting job has a turn, a point of virtual time, and the earliest turn is next. A project's jobs are `UNIT / share`
//! apart, by their priorities and then in the order of submission; what a job costs its project is as many times that as
//! it takes devices. A project that had nothing to start for a while begins where the others are: it saves nothing up.
//! This is start-time fair queueing (Goyal, Vin and Cheng, "Start-time Fair Queueing", IEEE/ACM Transactions on Networking
//! 5(5), 1997, section II), counted in starts instead of bytes, for nobody knows how long a job will take.

/// What a start on one device costs a project with the share 1.
const UNIT: i64 = 1_000_000;

/// Shares that a project may have.
pub const SHARES: std::ops::RangeInclusive<u32> = 1..=1000;

/// How far lines that wait may be behind those that start: what cannot start, or waits for other devices, saves up no more.
const LAG: i64 = 8 * UNIT;

/// Moves the turns of lines that wait up to `newest`, that of what started last, so that none is too far behind. They keep
/// their order.
pub fn catch_up<'a>(turns: impl Iterator<Item = &'a mut i64>, newest: i64) {
    let mut behind: Vec<&mut i64> = turns.filter(|turn| **turn < newest).collect();
    let last = behind.iter().map(|turn| **turn).min().unwrap_or(newest);
    let excess = newest.saturating_sub(LAG).saturating_sub(last).max(0);
    for turn in &mut behind {
        **turn = turn.saturating_add(excess).min(newest);
    }
}

/// The waiting jobs of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub project: String,
    /// The turn of its first job.
    pub first: i64,
    pub share: u32,
}

impl Line {
    fn step(&self) -> i64 {
        UNIT / i64::from(self.share.clamp(*SHARES.start(), *SHARES.end()))
    }

    /// The turn of the job that has so many of its project before it.
    pub fn turn(&self, before: u64) -> i64 {
        let steps = i64::try_from(before).unwrap_or(i64::MAX);
        self.first.saturating_add(self.step().saturating_mul(steps))
    }

    /// The turn of the project's first job after the present first one started on so many devices.
    pub fn after(&self, devices: usize) -> i64 {
        self.turn(devices as u64)
    }

    /// How many jobs of this line, were there as many, come before a job of `other` that has that turn. Of jobs with the
    /// same turn that of the project whose name is less comes first.
    pub fn ahead_of(&self, turn: i64, other: &str) -> u64 {
        let end = turn.saturating_add(i64::from(self.project.as_str() < other));
        let distance = u64::try_from(end.saturating_sub(self.first)).unwrap_or(0);
        distance.div_ceil(self.step().unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines() -> impl Strategy<Value = Vec<Line>> {
        let line = (0..3_000_000_i64, SHARES);
        proptest::collection::vec(line, 1..5).prop_map(|lines| {
            let named = |(i, (first, share))| Line { project: format!("p{i}"), first, share };
            lines.into_iter().enumerate().map(named).collect()
        })
    }

    #[test]
    fn lines_that_fall_behind_are_moved_up_together() {
        let mut turns = [0, 2 * UNIT, 95 * UNIT, 120 * UNIT];
        catch_up(turns.iter_mut(), 100 * UNIT);
        assert_eq!(turns, [92 * UNIT, 94 * UNIT, 100 * UNIT, 120 * UNIT]);
        let near = [93 * UNIT, 100 * UNIT];
        let mut turns = near;
        catch_up(turns.iter_mut(), 100 * UNIT);
        assert_eq!(turns, near);
    }

    proptest! {
        /// What is counted is what a merge of the lines finds.
        #[test]
        fn a_place_is_the_number_of_jobs_before_it(lines in lines()) {
            let mut merged: Vec<(i64, &str, u64)> = lines
                .iter()
                .flat_map(|line| (0..40).map(|before| (line.turn(before), line.project.as_str(), before)))
                .collect();
            merged.sort_unstable();
            for (place, (turn, project, before)) in merged.iter().enumerate() {
                let others = lines.iter().filter(|line| line.project != *project);
                let counted: u64 = others.map(|line| line.ahead_of(*turn, project).min(40)).sum();
                prop_assert_eq!(counted + before, place as u64);
            }
        }

        /// Over a long time each of the projects that always wait starts as often as its share says.
        #[test]
        fn starts_go_by_shares(shares in proptest::collection::vec(1_u32..20, 2..5)) {
            let mut lines: Vec<Line> = shares
                .iter()
                .enumerate()
                .map(|(i, share)| Line { project: format!("p{i}"), first: 0, share: *share })
                .collect();
            let mut starts = vec![0_u32; lines.len()];
            let total: u32 = shares.iter().sum();
            for _ in 0..total * 50 {
                let next = (0..lines.len()).min_by_key(|i| (lines[*i].first, *i)).unwrap();
                starts[next] += 1;
                lines[next].first = lines[next].after(1);
            }
            for (starts, share) in starts.iter().zip(&shares) {
                prop_assert!(starts.abs_diff(share * 50) <= 1 + share / 2, "{starts} for a share of {share}");
            }
        }
    }
}
