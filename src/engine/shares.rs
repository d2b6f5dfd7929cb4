//! Which of a job's ranks keeps the optimizer's moments of which weights, so that each needs memory for a part of them only
//! (stages 1 and 2 of ZeRO: Rajbhandari et al., arXiv 1910.02054). Each learns the sums of the gradients of its own weights,
//! takes the step of these and tells the others the numbers; sums and steps are those of ranks that keep all, bit for bit.

use std::ops::Range;

/// Weights by the ranks that keep their moments. The weights of a rank stand side by side in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    rank: usize,
    size: usize,
    /// By the weights' places.
    owners: Vec<usize>,
}

impl Shares {
    /// Shares of `size` ranks, about as large as each other, for the given one of them. `lens` are the counts of the numbers
    /// of the weights, `order` their places in the order in which they stand in memory.
    pub fn new(rank: usize, size: usize, lens: &[usize], order: &[usize]) -> Self {
        let all: usize = lens.iter().sum();
        let mut owners = vec![0; lens.len()];
        let mut before = 0;
        for place in order {
            // Whose the number in the middle of it is.
            let middle = before + lens[*place] / 2;
            owners[*place] = (middle * size / all.max(1)).min(size - 1);
            before += lens[*place];
        }
        Self { rank, size, owners }
    }

    /// Whether this rank keeps the moments of a weight.
    pub fn is_own(&self, place: usize) -> bool {
        self.owners[place] == self.rank
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn ranks(&self) -> Range<usize> {
        0..self.size
    }

    /// The rank that keeps the moments of a weight.
    pub fn owner(&self, place: usize) -> usize {
        self.owners[place]
    }

    /// What of the memory is each rank's, where a weight's numbers are in the range that `range_of` says.
    pub fn parts(&self, range_of: impl Fn(usize) -> Range<usize>) -> Vec<Range<usize>> {
        let part = |rank| {
            let start = self.of(rank).map(|place| range_of(place).start).min().unwrap_or(0);
            start..self.of(rank).map(|place| range_of(place).end).max().unwrap_or(start)
        };
        self.ranks().map(part).collect()
    }

    /// The weights of a rank.
    pub fn of(&self, rank: usize) -> impl Iterator<Item = usize> {
        (0..self.owners.len()).filter(move |place| self.owners[*place] == rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_about_as_large_as_each_other_and_stand_side_by_side() {
        let lens = [10, 1000, 400, 300, 20, 280, 5];
        let order = [1, 2, 3, 5, 0, 4, 6];
        for size in 1..6 {
            let of = |rank| Shares::new(rank, size, &lens, &order);
            let all = of(0);
            let owners: Vec<usize> = order.iter().map(|place| all.owners[*place]).collect();
            assert!(owners.is_sorted(), "{owners:?}");
            for rank in all.ranks() {
                let own: Vec<usize> = all.of(rank).collect();
                assert!(own.iter().all(|place| of(rank).is_own(*place)));
                let len: usize = own.iter().map(|place| lens[*place]).sum();
                assert!(len <= 2015 / size + 1000, "{len} of {size}");
            }
        }
        let place = |index: usize| index * 10..index * 10 + 10;
        let three = Shares::new(1, 3, &[10; 7], &[0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(three.parts(place), [0..20, 20..50, 50..70]);
        assert_eq!(Shares::new(0, 2, &[10], &[0]).parts(place), [0..0, 0..10]);
        let even = Shares::new(0, 4, &[100; 8], &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(even.owners, [0, 0, 1, 1, 2, 2, 3, 3]);
    }
}
