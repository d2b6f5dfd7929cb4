//! Runs of words that stand in one set of texts and are looked for in another, as contamination of held-out data is
//! commonly measured: two texts that share thirteen words in a row are hardly ever independent.
//!
//! Only hashes are held, and at most so many: with more, a share of them chosen by their hashes stands for all.

use crate::job::random::mixed;

/// Fewer words in a row say nothing.
pub const SHORTEST: usize = 5;
/// The longest runs that are looked for.
pub const LONGEST: usize = 64;
/// A run that stands in more of the held-out texts than this is a phrase that they have in common, as instructions are.
const COMMON: usize = 10;
/// Runs that are held: 16 bytes each, and 2 to 4 for the filter before them.
const MOST: usize = 8 << 20;
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Runs of the words of held-out texts.
#[derive(Debug)]
pub struct Grams {
    /// Words of a run; of a text with fewer all of them.
    words: usize,
    most: usize,
    /// Runs whose hashes begin with so many zeros are held.
    zeros: u32,
    /// Hash of the run, and the number of its text; sorted once the texts are there.
    held: Vec<(u64, u32)>,
    texts: u32,
    /// Whether texts have runs of that length.
    lengths: [bool; LONGEST + 1],
}

/// The same, once all texts are there.
#[derive(Debug)]
pub struct Lookup {
    grams: Grams,
    /// Lengths of the runs that are held.
    lengths: Vec<usize>,
    /// Which of them were found.
    found: Vec<bool>,
    /// The first text in which one of a held-out text's was found.
    first: Vec<Option<u32>>,
    /// A bit for some of the hash's, so that most runs are known not to be among them at once.
    filter: Vec<u64>,
    common: usize,
}

/// What was found of one held-out text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// Its number, in the order in which the texts were added.
    pub text: u32,
    /// The first of the other texts that shares a run with it.
    pub first: u32,
    /// Share of its runs that stand in any of the others.
    pub overlap: f64,
}

impl Grams {
    /// Runs of so many words, from [`SHORTEST`] to [`LONGEST`].
    pub fn new(words: usize) -> Self {
        Self::holding(words, MOST)
    }

    fn holding(words: usize, most: usize) -> Self {
        Self {
            words: words.clamp(SHORTEST, LONGEST),
            most,
            zeros: 0,
            held: Vec::new(),
            texts: 0,
            lengths: [false; LONGEST + 1],
        }
    }

    /// Adds the next held-out text, whose words have one space between them.
    pub fn add(&mut self, text: &str) {
        let sums = Sums::of(text);
        let length = self.words.min(sums.words());
        if length >= SHORTEST {
            self.lengths[length] = true;
            let (zeros, number) = (self.zeros, self.texts);
            self.held.extend(sums.runs(length).filter(|hash| hash.leading_zeros() >= zeros).map(|hash| (hash, number)));
            while self.held.len() > self.most {
                self.zeros += 1;
                let zeros = self.zeros;
                self.held.retain(|(hash, _)| hash.leading_zeros() >= zeros);
            }
        }
        self.texts += 1;
    }

    /// What can be looked for.
    pub fn lookup(mut self) -> Lookup {
        self.held.sort_unstable();
        self.held.dedup();
        let mut common = 0;
        let mut kept = Vec::with_capacity(self.held.len());
        for texts in self.held.chunk_by(|one, other| one.0 == other.0) {
            if texts.len() > COMMON { common += 1 } else { kept.extend_from_slice(texts) }
        }
        self.held = kept;
        let bits = (self.held.len() * 16).next_power_of_two().max(64);
        let mut filter = vec![0_u64; bits / 64];
        for (hash, _) in &self.held {
            let bit = *hash as usize & (bits - 1);
            filter[bit / 64] |= 1 << (bit % 64);
        }
        let lengths = (SHORTEST..=LONGEST).filter(|length| self.lengths[*length]).collect();
        let (found, first) = (vec![false; self.held.len()], vec![None; self.texts as usize]);
        Lookup { grams: self, lengths, found, first, filter, common }
    }
}

impl Lookup {
    /// Looks for the runs in another text, whose number is given.
    pub fn look(&mut self, number: u32, text: &str) {
        let (sums, bits) = (Sums::of(text), self.filter.len() * 64);
        for length in &self.lengths {
            for hash in sums.runs(*length) {
                let bit = hash as usize & (bits - 1);
                if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
                    continue;
                }
                let begin = self.grams.held.partition_point(|(held, _)| *held < hash);
                let same = self.grams.held[begin..].iter().take_while(|(held, _)| *held == hash);
                for (at, (_, text)) in same.enumerate() {
                    self.found[begin + at] = true;
                    self.first[*text as usize].get_or_insert(number);
                }
            }
        }
    }

    /// The held-out texts that share runs with others, in their order.
    pub fn shared(&self) -> Vec<Shared> {
        let mut counts = vec![(0_u32, 0_u32); self.first.len()];
        for ((_, text), found) in self.grams.held.iter().zip(&self.found) {
            let (all, of_these) = &mut counts[*text as usize];
            *all += 1;
            *of_these += u32::from(*found);
        }
        let texts = self.first.iter().zip(counts).zip(0..);
        let shared = texts.filter_map(|((first, (all, found)), text)| {
            let overlap = f64::from(found) / f64::from(all.max(1));
            first.map(|first| Shared { text, first, overlap })
        });
        shared.collect()
    }

    /// Runs that so many held-out texts have in common that they were not looked for.
    pub fn common(&self) -> usize {
        self.common
    }

    /// Share of the runs that stand for all, 1 unless there were too many to hold.
    pub fn held_share(&self) -> f64 {
        0.5_f64.powi(self.grams.zeros.cast_signed())
    }
}

/// Hashes of all beginnings of a text, from which that of any run follows at once (Karp and Rabin, 1987).
#[derive(Debug)]
struct Sums(Vec<u64>);

impl Sums {
    fn of(text: &str) -> Self {
        let mut sums = vec![0_u64];
        let mut sum = 0_u64;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            sum = sum.wrapping_mul(BASE).wrapping_add(mixed(fnv(word.as_bytes())));
            sums.push(sum);
        }
        Self(sums)
    }

    fn words(&self) -> usize {
        self.0.len() - 1
    }

    /// Hashes of all runs of so many words.
    fn runs(&self, length: usize) -> impl Iterator<Item = u64> {
        let power = (0..length).fold(1_u64, |power, _| power.wrapping_mul(BASE));
        let pairs = self.0.iter().zip(self.0.iter().skip(length));
        pairs.map(move |(begin, end)| mixed(end.wrapping_sub(begin.wrapping_mul(power)) ^ length as u64))
    }
}

/// FNV-1a with 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Different words, of which no run comes twice.
    fn words(from: usize, count: usize) -> String {
        (from..from + count).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ")
    }

    fn looked(held_out: &[String], others: &[String], n: usize, most: usize) -> Lookup {
        let mut grams = Grams::holding(n, most);
        held_out.iter().for_each(|text| grams.add(text));
        let mut lookup = grams.lookup();
        for (text, number) in others.iter().zip(0..) {
            lookup.look(number, text);
        }
        lookup
    }

    #[test]
    fn runs_are_found_wherever_they_stand() {
        let held_out = [words(0, 20), words(100, 8), words(200, 4), words(300, 30), String::new()];
        let inside = |text: &str| format!("before {text} behind");
        let others = [
            words(500, 50),
            inside(&words(5, 13)),
            inside(&words(100, 8)),
            inside(&words(200, 4)),
            inside(&words(300, 30)),
            words(300, 12),
            inside(&words(0, 12)),
        ];
        let shared = looked(&held_out, &others, 13, MOST).shared();
        assert_eq!(
            shared,
            [
                Shared { text: 0, first: 1, overlap: 1.0 / 8.0 },
                Shared { text: 1, first: 2, overlap: 1.0 },
                Shared { text: 3, first: 4, overlap: 1.0 },
            ]
        );
        assert_eq!(looked(&held_out, &others, 8, MOST).shared()[0], Shared { text: 0, first: 1, overlap: 11.0 / 13.0 });
    }

    #[test]
    fn what_many_have_in_common_is_no_sign_of_anything() {
        let ask = words(900, 15);
        let held_out: Vec<String> = (0..20).map(|i| format!("{} {ask}", words(20 * i, 6))).collect();
        let lookup = looked(&held_out, &[format!("something else {ask}")], 13, MOST);
        assert_eq!((lookup.shared(), lookup.common()), (Vec::new(), 3));
        let same = looked(&held_out, &held_out[3..4], 13, MOST);
        assert_eq!(same.shared(), [Shared { text: 3, first: 0, overlap: 1.0 }]);
    }

    #[test]
    fn some_runs_stand_for_too_many() {
        let held_out: Vec<String> = (0..40).map(|i| words(1000 * i, 200)).collect();
        let lookup = looked(&held_out, &held_out[10..20], 13, 1000);
        assert!(lookup.grams.held.len() <= 1000 && lookup.held_share() <= 0.125, "{}", lookup.held_share());
        let found: Vec<u32> = lookup.shared().iter().map(|shared| shared.text).collect();
        assert_eq!(found, (10..20).collect::<Vec<_>>());
        assert!(lookup.shared().iter().all(|shared| shared.overlap == 1.0));
    }
}
