//! The order in which items are visited: each once in random order, then each again in another.

use std::ops::Range;

use super::random::{Purpose, Stream};

/// A sequence of visits without end; visit `n` is a function of the seed and of `n` alone.
#[derive(Debug)]
pub struct Visits {
    seed: u64,
    purpose: Purpose,
    count: u64,
    /// Keeps the orders of several sequences of one purpose apart.
    series: u64,
    /// The pass whose order is at hand, and that order.
    pass: Option<(u64, Vec<usize>)>,
}

impl Visits {
    /// Visits to `count` items, at least one.
    pub fn new(seed: u64, purpose: Purpose, count: usize) -> Self {
        Self::series(seed, purpose, count, 0)
    }

    /// One of several sequences of a purpose; a sequence has fewer than 65536 passes of its own.
    pub fn series(seed: u64, purpose: Purpose, count: usize, series: u64) -> Self {
        Self { seed, purpose, count: count as u64, series, pass: None }
    }

    /// The item of a visit.
    pub fn item(&mut self, visit: u64) -> usize {
        let pass = visit / self.count;
        let order = match &self.pass {
            Some((known, order)) if *known == pass => order,
            _ => {
                let stream = Stream::new(self.seed, self.purpose, self.series << 16 | pass);
                &self.pass.insert((pass, stream.permutation(self.count as usize))).1
            }
        };
        order[(visit % self.count) as usize]
    }

    /// The numbers of visits with their items.
    pub fn rows(&mut self, visits: Range<u64>) -> Vec<(u64, usize)> {
        visits.map(|visit| (visit, self.item(visit))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_visits_each_item_once_and_any_part_can_be_asked_for() {
        let all = Visits::new(3, Purpose::PromptOrder, 7).rows(0..21);
        for pass in all.chunks(7) {
            let mut items: Vec<usize> = pass.iter().map(|(_, item)| *item).collect();
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert_ne!(
            all[..7].iter().map(|v| v.1).collect::<Vec<_>>(),
            all[7..14].iter().map(|v| v.1).collect::<Vec<_>>()
        );
        assert_eq!(Visits::new(3, Purpose::PromptOrder, 7).rows(5..9), all[5..9]);
        assert_ne!(Visits::series(3, Purpose::PromptOrder, 7, 1).rows(0..7), all[..7]);
    }
}
