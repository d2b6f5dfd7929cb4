//! The blocks of the key-value cache: which are free, and how many users the others have.
//!
//! A block with one user may be written. One with several holds a whole part of a prompt, which is written once, before it
//! is read; it is free again when its last user has given it back.

/// Hands out blocks and takes them back.
#[derive(Debug)]
pub struct BlockPool {
    /// Users of each block.
    users: Vec<u32>,
    /// Blocks without a user. The one given back last goes out first, so that a short job touches little memory.
    free: Vec<u32>,
}

impl BlockPool {
    pub fn new(blocks: usize) -> Self {
        Self { users: vec![0; blocks], free: (0..blocks as u32).rev().collect() }
    }

    /// Hands out `count` blocks for one user each, or none at all when fewer are free.
    pub fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        let kept = self.free.len().checked_sub(count)?;
        let mut taken = self.free.split_off(kept);
        taken.reverse();
        for block in &taken {
            self.users[*block as usize] = 1;
        }
        Some(taken)
    }

    /// Adds a user to blocks that have one.
    pub fn share(&mut self, blocks: &[u32]) {
        for block in blocks {
            let users = &mut self.users[*block as usize];
            assert!(*users > 0, "block {block} is shared, but nobody has it");
            *users += 1;
        }
    }

    /// Takes a user off each block.
    pub fn give_back(&mut self, blocks: &[u32]) {
        // In reverse, so that the blocks of a sequence go out again in the order of its tokens.
        for block in blocks.iter().rev() {
            let users = &mut self.users[*block as usize];
            assert!(*users > 0, "block {block} is given back, but nobody has it");
            *users -= 1;
            if *users == 0 {
                self.free.push(*block);
            }
        }
    }

    /// Whether nobody has the block.
    pub fn is_free(&self, block: u32) -> bool {
        self.users[block as usize] == 0
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
        fn blocks_have_the_users_that_hold_them(steps in prop::collection::vec((0..3_u8, 0..9_usize), 0..200)) {
            let mut pool = BlockPool::new(20);
            let mut holders: Vec<Vec<u32>> = Vec::new();
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
                    _ => if number < holders.len() {
                        pool.give_back(&holders.swap_remove(number));
                    },
                }
                let mut users = [0; 20];
                holders.iter().flatten().for_each(|block| users[*block as usize] += 1);
                prop_assert_eq!(pool.users(), &users);
                prop_assert_eq!(pool.free(), users.iter().filter(|users| **users == 0).count());
            }
            holders.iter().for_each(|blocks| pool.give_back(blocks));
            prop_assert_eq!(pool.free(), 20);
        }
    }

    #[test]
    #[should_panic(expected = "nobody has it")]
    fn a_block_is_given_back_once() {
        let mut pool = BlockPool::new(1);
        let blocks = pool.take(1).unwrap();
        pool.give_back(&blocks);
        pool.give_back(&blocks);
    }
}
