//! Prompts that begin alike: their common beginning is computed once and lies in the cache once, as long as a sequence
//! that has it is under way.
//!
//! A beginning is cut into the blocks of the cache. Equal blocks behind equal beginnings have the same number, whichever
//! prompt they are in, so that a prompt is a path through a tree of blocks.

use std::collections::HashMap;

use crate::engine::kernels::attention::BLOCK;

/// The number of a block of tokens, with all that comes before it.
type Number = u32;

/// For each prompt the numbers of the blocks that it fills. The block of its last token is not among them, since that is
/// computed for the logits behind it.
pub fn beginnings<'a>(prompts: impl Iterator<Item = &'a [u32]>) -> Vec<Vec<Number>> {
    let mut numbers: HashMap<(Option<Number>, &[u32]), Number> = HashMap::new();
    let path = |prompt: &'a [u32]| {
        let mut before = None;
        let mut number = |block: &'a [u32]| {
            let next = numbers.len() as Number;
            before = Some(*numbers.entry((before, block)).or_insert(next));
            before
        };
        prompt[..prompt.len().saturating_sub(1)].chunks_exact(BLOCK).filter_map(&mut number).collect()
    };
    prompts.map(path).collect()
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

    /// Notes that the blocks of `table` hold `path`, or will when the rows are computed that write them.
    pub fn add(&mut self, path: &[Number], table: &[u32]) {
        for (number, block) in path.iter().zip(table) {
            self.blocks.insert(*number, *block);
            self.numbers[*block as usize] = Some(*number);
        }
    }

    /// Notes that a block is free.
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
        let found = beginnings(prompts.iter().map(Vec::as_slice));
        assert_eq!(found, [vec![0, 1], vec![0, 1], vec![2, 3], vec![0], vec![]]);
    }

    #[test]
    fn what_is_held_is_found_until_its_block_is_free() {
        let mut held = Held::new(9);
        held.add(&[0, 1, 2], &[4, 8, 5]);
        assert_eq!((held.of(&[0, 1, 3]), held.of(&[1]), held.of(&[3, 0])), (vec![4, 8], vec![8], vec![]));
        held.forget(8);
        held.forget(8);
        assert_eq!((held.of(&[0, 1, 2]), held.of(&[2])), (vec![4], vec![5]));
    }
}
