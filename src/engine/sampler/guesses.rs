//! Guesses at the next tokens: what followed when the newest tokens stood in the same order before, in the prompt, in the
//! completion itself or in another completion of the prompt (arXiv 2304.04487).
//!
//! A pass over a few rows reads all weights for them, so that further rows cost little. Where few completions are under
//! way, guesses fill the pass. The row of a guess that was right draws what the next pass would have drawn: from the same
//! distribution, with the same number. What lies behind a wrong guess is thrown away. So completions are the same to the
//! bit, guesses or none; there are only fewer passes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// How many of the newest tokens are looked for, the most telling first.
const SIZES: [usize; 3] = [8, 4, 2];
/// Tokens of a prompt and its completions that are kept at most; they take up to 200 bytes each.
const MOST_KEPT: usize = 1 << 14;
/// Tokens that are guessed at a time at most.
const MOST_GUESSED: usize = 8;
/// Passes without a guess after which one is tried again.
const REST: u32 = 8;

/// What is known of a prompt's tokens and those of its completions.
#[derive(Debug)]
pub struct Known {
    /// The last tokens of the prompt, with which all of its completions begin.
    start: Vec<u32>,
    /// The prompt, and completions behind the start, by their requests.
    texts: HashMap<Option<usize>, Vec<u32>>,
    /// Where the tokens behind some that stood together are: text and place. One hash may stand for others; a guess from
    /// there is merely wrong.
    after: HashMap<u64, (Option<usize>, usize)>,
    hasher: RandomState,
    room: usize,
}

impl Known {
    /// What the prompt alone tells.
    pub fn new(prompt: &[u32]) -> Self {
        let mut known = Self {
            start: Vec::new(),
            texts: HashMap::new(),
            after: HashMap::new(),
            hasher: RandomState::new(),
            room: MOST_KEPT,
        };
        known.add(None, prompt);
        known.start = prompt[prompt.len().saturating_sub(SIZES[0])..].to_vec();
        known
    }

    /// Learns all tokens of a completion that there are.
    pub fn learn(&mut self, completion: usize, tokens: &[u32]) {
        let have = self.texts.get(&Some(completion)).map(|text| text.len().saturating_sub(self.start.len()));
        if have.is_none() {
            self.add(Some(completion), &self.start.clone());
        }
        self.add(Some(completion), &tokens[have.unwrap_or(0)..]);
    }

    /// Adds to a text what there is room for.
    fn add(&mut self, name: Option<usize>, tokens: &[u32]) {
        let text = self.texts.entry(name).or_default();
        let (begin, count) = (text.len(), tokens.len().min(self.room));
        text.extend_from_slice(&tokens[..count]);
        self.room -= count;
        // Behind the newest token there is nothing yet.
        for at in begin.max(1)..text.len() {
            for size in SIZES.into_iter().filter(|size| *size <= at) {
                self.after.insert(self.hasher.hash_one(&text[at - size..at]), (name, at));
            }
        }
    }

    /// At most `most` tokens that may follow on a completion that was learnt; none when there was no room for all of it.
    pub fn guess(&self, completion: usize, most: usize) -> &[u32] {
        let text = self.texts.get(&Some(completion)).filter(|_| self.room > 0);
        let found = text.and_then(|text| {
            let newest = SIZES.into_iter().filter_map(|size| Some(&text[text.len().checked_sub(size)?..]));
            newest.filter_map(|newest| self.after.get(&self.hasher.hash_one(newest))).next()
        });
        let behind = found.and_then(|(name, at)| self.texts.get(name)?.get(*at..));
        behind.map_or(&[], |behind| &behind[..most.min(behind.len())])
    }
}

/// How far it is worth to guess in a completion: further as long as guesses are right, and less where they are wrong.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    tokens: usize,
    resting: u32,
}

impl Default for Reach {
    fn default() -> Self {
        Self { tokens: 2, resting: 0 }
    }
}

impl Reach {
    /// Tokens to guess in the next pass.
    pub fn next(&mut self) -> usize {
        if self.tokens == 0 {
            self.resting += 1;
            if self.resting >= REST {
                *self = Self { tokens: 1, resting: 0 };
            }
        }
        self.tokens
    }

    /// Learns how many of some guesses were right.
    pub fn learn(&mut self, guessed: usize, right: usize) {
        self.tokens = match (guessed, right) {
            (0, _) => self.tokens,
            (_, 0) => self.tokens / 2,
            _ if right == guessed => (self.tokens * 2).min(MOST_GUESSED),
            _ => right.max(self.tokens / 2),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[u32] = &[];

    fn guess_behind(known: &mut Known, tokens: &[u32], most: usize) -> Vec<u32> {
        let completion = known.texts.len();
        known.learn(completion, tokens);
        known.guess(completion, most).to_vec()
    }

    #[test]
    fn what_followed_before_is_guessed_by_the_longest_that_stood_the_same() {
        let mut known = Known::new(&[1, 2, 3, 4, 5, 1, 2, 9]);
        assert_eq!(guess_behind(&mut known, &[7, 1, 2], 1), [9], "the newest");
        assert_eq!(guess_behind(&mut known, &[7, 7, 3, 4], 3), [5, 1, 2]);
        assert_eq!(guess_behind(&mut known, &[1, 2, 3, 4], 4), [5, 1, 2, 9], "four tell more than two");
        assert_eq!(guess_behind(&mut known, &[8, 8], 3), NONE);
        assert_eq!(guess_behind(&mut known, &[1, 2], 0), NONE);
        assert_eq!(Known::new(&[4]).guess(0, 3), NONE);
    }

    #[test]
    fn a_completion_learns_from_itself_and_from_others() {
        let mut known = Known::new(&[1, 2]);
        known.learn(0, &[5, 6]);
        assert_eq!(known.guess(0, 2), NONE, "nothing has come behind it yet");
        known.learn(0, &[5, 6, 7, 8, 5, 6]);
        assert_eq!(known.guess(0, 2), [7, 8]);
        known.learn(1, &[]);
        assert_eq!(known.guess(1, 3), [5, 6, 7], "what another began with behind the same prompt");
        known.learn(1, &[5, 6, 4]);
        known.learn(2, &[5, 6]);
        assert_eq!(known.guess(2, 2), [4]);
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let tokens: Vec<u32> = (0..MOST_KEPT as u32 - 20).collect();
        let mut known = Known::new(&tokens);
        known.learn(3, &[5, 6]);
        assert_eq!(known.guess(3, 2), [7, 8]);
        known.learn(3, &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
        assert_eq!((known.guess(3, 2), known.room), (NONE, 0));
        assert_eq!(known.texts.values().map(Vec::len).sum::<usize>(), MOST_KEPT);
        known.learn(4, &[5]);
        known.learn(4, &[5, 6]);
        assert_eq!(known.guess(4, 2), NONE);
    }

    #[test]
    fn guesses_reach_further_while_they_are_right_and_rest_while_they_are_wrong() {
        let mut reach = Reach::default();
        let grown: Vec<usize> = (0..4)
            .map(|_| {
                let tokens = reach.next();
                reach.learn(tokens, tokens);
                tokens
            })
            .collect();
        assert_eq!(grown, [2, 4, 8, 8]);
        reach.learn(8, 1);
        assert_eq!(reach.next(), 4);
        (0..3).for_each(|_| reach.learn(1, 0));
        assert_eq!((0..REST).map(|_| reach.next()).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 0, 1]);
        // Where nothing is known, nothing was wrong.
        reach.learn(0, 0);
        assert_eq!(reach.next(), 1);
    }
}
