//! Sequences that begin alike: their common beginning is computed once and lies in the cache once, as long as a sequence
//! that has it is under way, or its blocks are not needed for others.
//!
//! A beginning is cut into the blocks of the cache. Equal blocks behind equal beginnings have the same number, whichever
//! sequence they are in, so that a sequence is a path through a tree of blocks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::engine::kernels::attention::BLOCK;

/// The number of a block of tokens, with all that comes before it.
pub type Number = u64;

/// The numbers that blocks of tokens have.
#[derive(Debug, Default)]
pub struct Beginnings {
    numbers: HashMap<(Option<Number>, [u32; BLOCK]), Number>,
    next: Number,
}

impl Beginnings {
    /// The numbers of the blocks that a sequence fills. The block of its last token is not among them, since that is computed
    /// for the logits behind it.
    pub fn path(&mut self, sequence: &[u32]) -> Vec<Number> {
        let (blocks, _) = sequence[..sequence.len().saturating_sub(1)].as_chunks::<BLOCK>();
        let mut before = None;
        let mut number = |block: &[u32; BLOCK]| {
            let number = *self.numbers.entry((before, *block)).or_insert_with(|| {
                self.next += 1;
                self.next - 1
            });
            before = Some(number);
            number
        };
        blocks.iter().map(&mut number).collect()
    }

    /// Forgets what is not held. A number is never given again, so that what stood behind it is not found any more.
    pub fn retain(&mut self, held: &Held) {
        self.numbers.retain(|_, number| held.blocks.contains_key(number));
    }
}

/// Which blocks of the cache hold what beginnings.
#[derive(Debug)]
pub struct Held {
    /// By number.
    blocks: HashMap<Number, u32>,
    /// By block.
    numbers: Vec<Option<Number>>,
}

impl Held {
    /// Nothing, in a cache of so many blocks.
    pub fn new(blocks: usize) -> Self {
        Self { blocks: HashMap::new(), numbers: vec![None; blocks] }
    }

    /// The blocks of the cache that hold the beginning of `path`.
    pub fn of(&self, path: &[Number]) -> Vec<u32> {
        path.iter().map_while(|number| self.blocks.get(number).copied()).collect()
    }

    /// Notes that the blocks of `table` hold `path`, or will when the rows are computed that write them; where others hold
    /// some of it already, these do.
    pub fn add(&mut self, path: &[Number], table: &[u32]) {
        for (number, block) in path.iter().zip(table) {
            if let Entry::Vacant(place) = self.blocks.entry(*number) {
                place.insert(*block);
                self.numbers[*block as usize] = Some(*number);
            }
        }
    }

    /// Whether a block holds a part of a beginning.
    pub fn is_held(&self, block: u32) -> bool {
        self.numbers[block as usize].is_some()
    }

    /// Notes that a block is to hold something else.
    pub fn forget(&mut self, block: u32) {
        if let Some(number) = self.numbers[block as usize].take() {
            self.blocks.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_blocks_have_one_number_behind_equal_beginnings_alone() {
        let [a, b] = [vec![1; BLOCK], vec![2; BLOCK]];
        let prompts = [
            [&a[..], &b, &[7]].concat(),
            [&a[..], &b, &[8, 9]].concat(),
            [&b[..], &b, &[7]].concat(),
            // The last token is computed, so that its block is not shared.
            [&a[..], &b].concat(),
            a[1..].to_vec(),
        ];
        let mut beginnings = Beginnings::default();
        let found: Vec<_> = prompts.iter().map(|prompt| beginnings.path(prompt)).collect();
        assert_eq!(found, [vec![0, 1], vec![0, 1], vec![2, 3], vec![0], vec![]]);
        // What is forgotten is new, with all that stands behind it, held or not.
        let mut held = Held::new(2);
        held.add(&[1], &[0]);
        held.add(&[2], &[1]);
        beginnings.retain(&held);
        assert_eq!(beginnings.numbers.len(), 2);
        assert_eq!((beginnings.path(&prompts[0]), beginnings.path(&prompts[2])), (vec![4, 5], vec![2, 6]));
    }

    #[test]
    fn what_is_held_is_found_until_its_block_holds_something_else() {
        let mut held = Held::new(9);
        held.add(&[0, 1, 2], &[4, 8, 5]);
        assert_eq!((held.of(&[0, 1, 3]), held.of(&[1]), held.of(&[3, 0])), (vec![4, 8], vec![8], vec![]));
        held.forget(8);
        held.forget(8);
        assert_eq!((held.of(&[0, 1, 2]), held.of(&[2])), (vec![4], vec![5]));
        // One that holds the same is one too many.
        held.add(&[0, 1], &[7, 3]);
        held.forget(7);
        assert_eq!(held.of(&[0, 1, 2]), [4, 3, 5]);
    }
}
