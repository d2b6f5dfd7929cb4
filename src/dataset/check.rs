//! Whether rows can be trusted: which of them repeat others, and which held-out rows are also trained on, to the letter,
//! in other looks, or in part.
//!
//! Rows are read one by one and only hashes of them are held: 24 bytes a row, and what [`Grams`] holds. Prompts are
//! compared by 64-bit hashes: among 10 million different ones, two are taken for equal with a probability of 3e-6.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::grams::{Grams, Lookup};
use super::{Dataset, DatasetError, Row, words};

/// Rows after which it is asked whether to go on.
const AT_ONCE: usize = 256;
/// Rows of one group of equal rows that a report names.
const MOST_OF_GROUP: usize = 10;

/// How rows are compared, and how much of what was found is named.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Words in a row that held-out prompts are looked for with.
    pub ngram: usize,
    /// Rows, or groups of rows, that each list names; the first ones.
    pub listed: usize,
}

/// What stands in for a row.
#[derive(Clone, Copy, Debug)]
struct Entry {
    exact: u64,
    words: u64,
    answer: u32,
    number: u32,
}

/// Rows that are compared, by their hashes.
#[derive(Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
}

/// Rows whose prompts are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// Rows that repeat an earlier one.
    pub rows: usize,
    /// Prompts that more than one row has.
    pub prompts: usize,
    /// Of these, prompts that not all rows answer alike.
    pub conflicts: usize,
    /// The first groups with the numbers of their first rows.
    pub groups: Vec<Vec<usize>>,
}

/// A held-out row, and the first training row that it was found in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leak {
    pub row: usize,
    pub train_row: usize,
    /// Share of the held-out row's runs of words that stand in training rows; 1 where the whole row does.
    pub overlap: f64,
}

/// Held-out rows that are also trained on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leaks {
    pub rows: usize,
    /// The first of them.
    pub listed: Vec<Leak>,
}

/// The same for runs of words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GramLeaks {
    pub leaks: Leaks,
    /// Held-out rows of which at least half of the runs stand in training rows.
    pub half: usize,
    /// Runs that many held-out rows have in common, which say nothing.
    pub common: usize,
    /// Share of the runs that was looked for: 1 unless there were too many to hold.
    pub share: f64,
}

/// How held-out rows are found in those that are trained on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leakage {
    pub exact: Leaks,
    pub normalised: Leaks,
    pub ngrams: GramLeaks,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Rows that were compared.
    pub rows: usize,
    pub held_out: usize,
    /// Of all rows of one version, or of those that are trained on.
    pub exact: Duplicates,
    pub normalised: Duplicates,
    /// None where no rows are held out.
    pub leakage: Option<Leakage>,
    /// Whether all rows were compared.
    pub complete: bool,
}

/// Compares the rows that are trained on among themselves, and with those that are held out if there are any; `together`
/// says that both are of one version, whose rows have different numbers. Ends early when `go_on` says so. Blocks.
pub fn check(
    train: &Dataset,
    held_out: Option<&Dataset>,
    together: bool,
    options: Options,
    mut go_on: impl FnMut() -> bool,
) -> Result<Report, DatasetError> {
    let mut eval = Table::default();
    let mut complete = true;
    let mut lookup = match held_out {
        None => None,
        Some(held_out) => {
            let mut grams = Grams::new(options.ngram);
            complete &= eval.fill(held_out, &mut go_on, |_, text| grams.add(text))?;
            Some(grams.lookup())
        }
    };
    // Room for all at once: a vector that grows holds its entries twice for a moment.
    let room = train.len() + held_out.filter(|_| together).map_or(0, Dataset::len);
    let mut table = Table { entries: Vec::with_capacity(room) };
    complete &= table.fill(train, &mut go_on, |number, text| {
        if let Some(lookup) = &mut lookup {
            lookup.look(number, text);
        }
    })?;
    let (rows, held) = (table.entries.len(), eval.entries.len());
    let leakage = lookup.map(|lookup| Leakage {
        exact: table.leaks(&eval, |entry| entry.exact, options.listed),
        normalised: table.leaks(&eval, |entry| entry.words, options.listed),
        ngrams: gram_leaks(&lookup, &eval, options.listed),
    });
    if together {
        table.entries.append(&mut eval.entries);
    }
    let exact = table.duplicates(|entry| entry.exact, options.listed);
    let normalised = table.duplicates(|entry| entry.words, options.listed);
    Ok(Report { rows, held_out: held, exact, normalised, leakage, complete })
}

impl Table {
    /// Reads all rows, and hands on their numbers and words; says whether it came to the end.
    fn fill(
        &mut self,
        rows: &Dataset,
        go_on: &mut impl FnMut() -> bool,
        mut each: impl FnMut(u32, &str),
    ) -> Result<bool, DatasetError> {
        for index in 0..rows.len() {
            if index % AT_ONCE == 0 && !go_on() {
                return Ok(false);
            }
            let number = rows.number(index);
            let row = rows.row(number)?;
            // Data sets have at most 2^27 rows.
            let number = number as u32;
            let words = words::of_prompt(&row.prompt);
            self.entries.push(Entry::of(number, &row, &words));
            each(number, &words);
        }
        Ok(true)
    }

    /// The rows that have a key of `held_out` as well.
    fn leaks(&mut self, held_out: &Self, key: impl Fn(&Entry) -> u64, listed: usize) -> Leaks {
        self.entries.sort_unstable_by_key(|entry| (key(entry), entry.number));
        let mut leaks = Leaks::default();
        for entry in &held_out.entries {
            let wanted = key(entry);
            let at = self.entries.partition_point(|entry| key(entry) < wanted);
            let Some(found) = self.entries.get(at).filter(|found| key(found) == wanted) else { continue };
            leaks.rows += 1;
            if leaks.listed.len() < listed {
                let (row, train_row) = (entry.number as usize, found.number as usize);
                leaks.listed.push(Leak { row, train_row, overlap: 1.0 });
            }
        }
        leaks
    }

    fn duplicates(&mut self, key: impl Fn(&Entry) -> u64, listed: usize) -> Duplicates {
        self.entries.sort_unstable_by_key(|entry| (key(entry), entry.number));
        let mut duplicates = Duplicates::default();
        let groups = self.entries.chunk_by(|one, other| key(one) == key(other)).filter(|group| group.len() > 1);
        for group in groups {
            duplicates.prompts += 1;
            duplicates.rows += group.len() - 1;
            duplicates.conflicts += usize::from(group.iter().any(|entry| entry.answer != group[0].answer));
            let place = duplicates.groups.partition_point(|known| known[0] < group[0].number as usize);
            if place < listed {
                let numbers = group.iter().take(MOST_OF_GROUP).map(|entry| entry.number as usize).collect();
                duplicates.groups.insert(place, numbers);
                duplicates.groups.truncate(listed);
            }
        }
        duplicates
    }
}

impl Entry {
    fn of(number: u32, row: &Row, words: &str) -> Self {
        let exact = hash(&row.prompt);
        Self { exact, words: hash(words), answer: hash(&row.answer) as u32, number }
    }
}

fn gram_leaks(lookup: &Lookup, held_out: &Table, listed: usize) -> GramLeaks {
    let shared = lookup.shared();
    let leak = |shared: &super::grams::Shared| Leak {
        // Texts were added in the order of the rows.
        row: held_out.entries[shared.text as usize].number as usize,
        train_row: shared.first as usize,
        overlap: shared.overlap,
    };
    GramLeaks {
        half: shared.iter().filter(|shared| shared.overlap >= 0.5).count(),
        leaks: Leaks { rows: shared.len(), listed: shared.iter().take(listed).map(leak).collect() },
        common: lookup.common(),
        share: lookup.held_share(),
    }
}

/// What prompts are compared by.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::{Columns, Split, split::SplitRule};
    use super::*;

    const OPTIONS: Options = Options { ngram: 13, listed: 3 };

    fn stored(lines: &[String]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        file
    }

    fn open(file: &tempfile::NamedTempFile) -> Dataset {
        Dataset::open(file.path(), Columns::default(), None).unwrap()
    }

    fn row(prompt: &str, answer: u32) -> String {
        serde_json::json!({"prompt": prompt, "answer": answer}).to_string()
    }

    #[test]
    fn repeated_rows_are_found_with_their_numbers() {
        let prompts = ["What is 1 + 1?", "a b", "what is 1+1", "A, b!", "c", "What is 1 + 1?", "What is 1 + 1?"];
        let lines: Vec<String> = prompts.iter().zip(0..).map(|(prompt, i)| row(prompt, i / 5)).collect();
        let file = stored(&lines);
        let report = check(&open(&file), None, false, OPTIONS, || true).unwrap();
        assert_eq!((report.rows, report.held_out, report.leakage, report.complete), (7, 0, None, true));
        let exact = Duplicates { rows: 2, prompts: 1, conflicts: 1, groups: vec![vec![0, 5, 6]] };
        assert_eq!(report.exact, exact);
        let groups = vec![vec![0, 2, 5, 6], vec![1, 3]];
        assert_eq!(report.normalised, Duplicates { rows: 4, prompts: 2, conflicts: 1, groups });
        let stopped = check(&open(&file), None, false, OPTIONS, || false).unwrap();
        assert_eq!((stopped.rows, stopped.complete), (0, false));
    }

    #[test]
    fn lists_hold_the_first_and_counts_hold_all() {
        let lines: Vec<String> = (0..1000).map(|i| row(&format!("number {}", (i * 7) % 100), 0)).collect();
        let file = stored(&lines);
        let report = check(&open(&file), None, false, OPTIONS, || true).unwrap();
        assert_eq!((report.exact.rows, report.exact.prompts, report.exact.conflicts), (900, 100, 0));
        let firsts: Vec<usize> = report.exact.groups.iter().map(|group| group[0]).collect();
        assert_eq!(firsts, [0, 1, 2]);
        assert!(report.exact.groups.iter().all(|group| group.len() == MOST_OF_GROUP));
    }

    #[test]
    fn held_out_rows_are_found_to_the_letter_in_other_looks_and_in_part() {
        let long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
        let train = stored(&[row("x", 1), row("Same as ever.", 1), row(&format!("And so: {long}, fifteen"), 1)]);
        let eval = stored(&[row("y", 1), row("Same as ever.", 1), row("same AS ever", 1), row(long, 1)]);
        let report = check(&open(&train), Some(&open(&eval)), false, OPTIONS, || true).unwrap();
        let leakage = report.leakage.unwrap();
        let leak = |row, train_row| Leak { row, train_row, overlap: 1.0 };
        assert_eq!(leakage.exact, Leaks { rows: 1, listed: vec![leak(1, 1)] });
        assert_eq!(leakage.normalised, Leaks { rows: 2, listed: vec![leak(1, 1), leak(2, 1)] });
        assert_eq!(leakage.ngrams.leaks, Leaks { rows: 1, listed: vec![leak(3, 2)] });
        assert_eq!((leakage.ngrams.half, leakage.ngrams.share), (1, 1.0));
    }

    #[test]
    fn a_split_by_prompts_leaks_nothing_but_its_runs_of_words() {
        let lines: Vec<String> = (0..400).map(|i| row(&format!("What is {} times 3?", i % 300), i)).collect();
        let file = stored(&lines);
        let rule = SplitRule { eval: 0.2, by: None };
        let side = |split| Dataset::open(file.path(), Columns::default(), Some((&rule, split))).unwrap();
        let (train, eval) = (side(Split::Train), side(Split::Eval));
        assert!(train.len() + eval.len() == 400 && eval.len() > 40);
        let report = check(&train, Some(&eval), true, OPTIONS, || true).unwrap();
        let leakage = report.leakage.unwrap();
        assert_eq!((leakage.exact.rows, leakage.normalised.rows, report.exact.rows), (0, 0, 100));
        assert_eq!(report.exact.groups[0], [0, 300]);
    }
}
