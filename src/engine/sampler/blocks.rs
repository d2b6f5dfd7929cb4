//! The blocks of the key-value cache: which are free, and how many users the others have.
//!
//! A block with one user may be written. One with several holds a whole part of a sequence, which is written once, before it
//! is read; it is free again when its last user has given it back. What it holds stays there until it is handed out again.

use std::collections::VecDeque;

/// Hands out blocks and takes them back.
#[derive(Debug)]
pub struct BlockPool {
    /// Users of each block.
    users: Vec<u32>,
    /// Blocks without a user; the last goes out first. It is the one given back last, so that a short job touches little
    /// memory, but for those whose content is to be kept, which go out when no others are left.
    free: VecDeque<u32>,
}

impl BlockPool {
    pub fn new(blocks: usize) -> Self {
        Self { users: vec![0; blocks], free: (0..blocks as u32).rev().collect() }
    }

    /// Hands out `count` blocks for one user each, or none at all when fewer are free.
    pub fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        let kept = self.free.len().checked_sub(count)?;
        let taken: Vec<u32> = self.free.drain(kept..).rev().collect();
        for block in &taken {
            self.users[*block as usize] = 1;
        }
        Some(taken)
    }

    /// Adds a user to blocks; those that are free are so no longer, and hold what they held.
    pub fn share(&mut self, blocks: &[u32]) {
        let mut were_free = false;
        for block in blocks {
            were_free |= self.users[*block as usize] == 0;
            self.users[*block as usize] += 1;
        }
        if were_free {
            self.free.retain(|free| self.users[*free as usize] == 0);
        }
    }

    /// Takes a user off each block. What those hold of which `is_kept` holds stays as long as it can.
    pub fn give_back(&mut self, blocks: &[u32], is_kept: impl Fn(u32) -> bool) {
        // In reverse, so that the blocks of a sequence go out again in the order of its tokens, and that of what is kept the
        // beginning stays longest.
        for block in blocks.iter().rev() {
            let users = &mut self.users[*block as usize];
            assert!(*users > 0, "block {block} is given back, but nobody has it");
            *users -= 1;
            match is_kept(*block) {
                _ if *users > 0 => {}
                false => self.free.push_back(*block),
                true => self.free.push_front(*block),
            }
        }
    }

    /// Whether the block has one user, who may write it.
    pub fn is_exclusive(&self, block: u32) -> bool {
        self.users[block as usize] == 1
    }
}

#[cfg(test)]
impl BlockPool {
    pub fn free(&self) -> usize {
        self.free.len()
    }

    pub fn users(&self) -> &[u32] {
        &self.users
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any order of taking, sharing and giving back: a block has as many users as there are holders that name it,
        /// the others are free, and in the end all are.
        #[test]
        fn blocks_have_the_users_that_hold_them(steps in prop::collection::vec((0..4_u8, 0..9_usize), 0..200)) {
            let mut pool = BlockPool::new(20);
            let [mut holders, mut gone]: [Vec<Vec<u32>>; 2] = Default::default();
            for (action, number) in steps {
                match action {
                    0 => match pool.take(number) {
                        Some(blocks) => holders.push(blocks),
                        None => prop_assert!(pool.free() < number),
                    },
                    1 => if let Some(blocks) = holders.get(number).cloned() {
                        pool.share(&blocks);
                        holders.push(blocks);
                    },
                    // Those of somebody who has given them back, too.
                    2 => if let Some(blocks) = gone.get(number).cloned() {
                        pool.share(&blocks);
                        holders.push(blocks);
                    },
                    _ => if number < holders.len() {
                        gone.push(holders.swap_remove(number));
                        pool.give_back(gone.last().unwrap(), |block| block % 2 == 0);
                    },
                }
                let mut users = [0; 20];
                holders.iter().flatten().for_each(|block| users[*block as usize] += 1);
                prop_assert_eq!(pool.users(), &users);
                prop_assert_eq!(pool.free(), users.iter().filter(|users| **users == 0).count());
            }
            holders.iter().for_each(|blocks| pool.give_back(blocks, |_| false));
            prop_assert_eq!(pool.free(), 20);
        }
    }

    #[test]
    #[should_panic(expected = "nobody has it")]
    fn a_block_is_given_back_once() {
        let mut pool = BlockPool::new(1);
        let blocks = pool.take(1).unwrap();
        pool.give_back(&blocks, |_| false);
        pool.give_back(&blocks, |_| false);
    }

    #[test]
    fn what_is_kept_goes_out_when_nothing_else_is_left_and_the_beginning_of_a_sequence_last() {
        let mut pool = BlockPool::new(6);
        let (kept, other) = (pool.take(4).unwrap(), pool.take(2).unwrap());
        pool.give_back(&kept, |block| block < 3);
        pool.give_back(&other, |_| false);
        assert_eq!((kept, pool.take(6).unwrap()), (vec![0, 1, 2, 3], vec![4, 5, 3, 2, 1, 0]));
    }
}
