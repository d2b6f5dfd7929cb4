//! What holds for every task: who knows the answer passes and who nearly knows it fails, splits have nothing in common,
//! the same name gives the same rows, and answers are right by another way of finding them.

use std::collections::BTreeSet;
use std::time::Instant;

use super::*;
use crate::verifier::{self, Case, Outside, ScoreStatus};

mod solvers;

const SEEDS: [u64; 3] = [0, 7, u64::MAX];

fn set(task: &'static Task, difficulty: u8, seed: u64) -> TaskSet {
    TaskSet { difficulty, seed, ..TaskSet::of(task) }
}

/// Every task at every difficulty under each of some seeds.
fn sets() -> impl Iterator<Item = TaskSet> {
    TASKS.iter().flat_map(|task| {
        (1..=MOST_DIFFICULTY).flat_map(move |difficulty| SEEDS.map(|seed| set(task, difficulty, seed)))
    })
}

/// The first rows of a split.
fn rows(set: TaskSet, split: Split, count: usize) -> impl Iterator<Item = Row> {
    (0..count).map(move |index| set.row(split, index).unwrap())
}

fn text(row: &Row) -> &str {
    let Prompt::Text(text) = &row.prompt else { panic!("not text") };
    text
}

/// Answers that are nearly right.
fn mutations(row: &Row) -> Vec<String> {
    let answer = row.answer.clone().unwrap();
    if let Ok(number) = answer.parse::<i128>() {
        return [number + 1, number - 1, -number - 1, 10 * number + 1].map(|number| number.to_string()).into();
    }
    if row.fields.contains_key("target") {
        // Another number, one too few and one too many.
        let numbers = row.fields["numbers"].as_array().unwrap();
        let first = numbers[0].as_i64().unwrap();
        let changed = answer.replacen(&first.to_string(), &(first + 200).to_string(), 1);
        return vec![changed, format!("{answer} + 1"), format!("{answer} - {first}"), first.to_string()];
    }
    let mut words: Vec<&str> = answer.split(' ').collect();
    if words.len() > 1 {
        words.swap(0, 1);
        let swapped = words.join(" ");
        return vec![swapped, words[1..].join(" "), format!("{answer} {}", words[0])];
    }
    let last = answer.chars().last().unwrap();
    let other = if last == 'T' || last == '0' { 'F' } else { '0' };
    let changed = format!("{}{other}", &answer[..answer.len() - 1]);
    vec![changed, format!("{answer}{last}"), answer[..answer.len() - 1].to_owned()]
}

#[test]
fn the_answer_passes_and_what_is_nearly_the_answer_fails() {
    for set in sets() {
        let verifier = verifier::Config::parse(&set.task.verifier(), "").unwrap().build(&Outside::default());
        for row in [Split::Train, Split::Eval].into_iter().flat_map(|split| rows(set, split, 6)) {
            let (prompt, answer) = (text(&row), row.answer.as_deref());
            let judge = |completion: &str| verifier.verify(&Case { prompt, completion, answer, row: &row.fields });
            let completion = row.completion.as_deref().unwrap();
            let thought = format!("One moment, 17 and 4 ... <answer>none</answer> No:\n{completion}");
            for right in [completion, &thought] {
                let score = judge(right);
                assert_eq!((score.status, score.reward), (ScoreStatus::Ok, 1.0), "{set}: {prompt}: {right}: {score:?}");
            }
            for wrong in mutations(&row) {
                let score = judge(&set.task.form.completion(&wrong));
                assert!(score.is_scored() && score.reward == 0.0, "{set}: {prompt}: {wrong}: {score:?}");
            }
            let score = judge("I do not know.");
            assert!(score.is_scored() && score.reward == 0.0, "{set}: {prompt}: {score:?}");
        }
    }
}

#[test]
fn nothing_held_out_is_trained_on_under_any_seed_or_difficulty() {
    for task in TASKS {
        let mut prompts = [BTreeSet::new(), BTreeSet::new()];
        let mut keys = [BTreeSet::new(), BTreeSet::new()];
        for (split, count) in [(Split::Train, 60), (Split::Eval, 20)] {
            for set in sets().filter(|set| set.task == task) {
                for index in 0..count {
                    let problem = set.problem(split, index);
                    keys[split as usize].insert(problem.key);
                    prompts[split as usize].insert(problem.prompt);
                }
            }
        }
        let [train, eval] = &prompts;
        assert!(train.len() > 1000 && train.is_disjoint(eval), "{}", task.name);
        assert!(keys[0].is_disjoint(&keys[1]), "{}", task.name);
    }
}

#[test]
fn problems_of_the_same_prompt_have_the_same_key_whatever_their_difficulty() {
    for task in TASKS {
        let mut known = std::collections::BTreeMap::new();
        for set in sets().filter(|set| set.task == task) {
            for problem in (0..40).map(|index| set.problem(Split::Train, index)) {
                let key = known.entry(problem.prompt).or_insert_with(|| problem.key.clone());
                assert_eq!(*key, problem.key);
            }
        }
    }
}

#[test]
fn a_row_depends_on_nothing_but_the_name_the_split_and_the_index() {
    for set in sets() {
        let (short, reread) =
            (TaskSet { rows: 50, ..set }, set.to_string().parse::<crate::dataset::builtin::BuiltinSet>());
        for split in [Split::Train, Split::Eval] {
            let backwards: Vec<Row> = (0..5).rev().map(|index| short.row(split, index).unwrap()).collect();
            let forwards: Vec<Row> = rows(set, split, 5).collect();
            assert!(forwards.iter().eq(backwards.iter().rev()), "{set}");
            let opened = reread.clone().unwrap().open(split);
            assert_eq!((opened.len(), opened.row(4).unwrap()), (set.len(split), forwards[4].clone()));
            assert!(opened.row(opened.len()).is_err());
        }
        let other = TaskSet { seed: set.seed ^ 1, ..set };
        assert!(!rows(set, Split::Train, 9).eq(rows(other, Split::Train, 9)), "{set}");
        assert_ne!(TaskSet { rows: 3, ..set }.sha256(), TaskSet { rows: 3, ..other }.sha256());
    }
}

#[test]
fn a_tenth_of_the_problems_is_held_out_at_every_difficulty() {
    for set in sets().filter(|set| set.seed == 0) {
        let row = |index| Random::of(&[hash(set.task.name), set.seed, index]);
        let eval = (0..1000).map(|index| (set.task.make)(&mut row(index), set.difficulty));
        let share = eval.filter(|problem| set.split_of(problem) == Split::Eval).count();
        // Where there are few problems the share itself is not exactly a tenth.
        assert!((55..150).contains(&share), "{set}: {share} of 1000");
    }
}

#[test]
fn rows_have_what_is_said_of_them() {
    for set in sets() {
        for row in rows(set, Split::Train, 30) {
            let fields = &row.fields;
            assert_eq!(fields["prompt"].as_str(), Some(text(&row)));
            assert_eq!(fields["answer"].as_str(), row.answer.as_deref());
            assert_eq!(fields["completion"].as_str(), row.completion.as_deref());
            assert_eq!(fields["difficulty"], set.difficulty);
            assert!(text(&row).len() < 2500, "{set}: {}", text(&row).len());
            assert!(!text(&row).contains("  ") || set.task.name == "programs", "{}", text(&row));
        }
        assert_eq!((set.len(Split::Train), set.len(Split::Eval)), (10_000, 1000));
    }
    assert_eq!(TaskSet { rows: 11, ..TaskSet::of(&TASKS[0]) }.len(Split::Eval), 2);
}

#[test]
fn answers_are_right_by_another_way() {
    for set in sets() {
        for row in [Split::Train, Split::Eval].into_iter().flat_map(|split| rows(set, split, 10)) {
            let (prompt, answer) = (text(&row), row.answer.as_deref().unwrap());
            let asked = prompt.strip_suffix(set.task.form.request()).unwrap().trim_end();
            let solved = solvers::solve(set.task.name, asked, answer);
            assert_eq!(solved, answer, "{set}: {prompt}");
        }
    }
}

#[test]
fn rows_never_change() {
    let digests = TASKS.iter().map(|task| (task.name, set(task, 5, 42).sha256()[..16].to_owned()));
    let expected = [
        ("countdown", "947b748b3a242345"),
        ("chain-sums", "432c0521841f2862"),
        ("linear-equations", "2a3528abf0cea3ad"),
        ("base-conversion", "f39d01619f63b63f"),
        ("gcd-lcm", "486438b40ea2cd97"),
        ("word-sorting", "a2f26532d271ed20"),
        ("letter-counting", "3fd38150fe51d61b"),
        ("propositional-logic", "ddec46a29c3aafee"),
        ("calendar", "9960f61d383e506b"),
        ("programs", "223c590f2830d0a6"),
    ];
    let expected = expected.map(|(name, digest)| (name, digest.to_owned()));
    assert_eq!(digests.collect::<Vec<_>>(), expected);
}

/// What rows and digests cost, and how many of the held-out rows come twice; for the documentation.
#[test]
fn a_digest_takes_a_bounded_time() {
    for task in TASKS {
        let hardest = TaskSet { rows: MOST_ROWS, ..set(task, MOST_DIFFICULTY, 1) };
        let start = Instant::now();
        hardest.sha256();
        let took = start.elapsed();
        let repeated = |difficulty: u8| {
            let prompts = rows(set(task, difficulty, 0), Split::Eval, 1000).map(|row| text(&row).to_owned());
            1000 - prompts.collect::<BTreeSet<_>>().len()
        };
        println!("{}: digest {took:?}, repeated {} {} {}", task.name, repeated(1), repeated(2), repeated(3));
        assert!(took.as_secs() < 5, "{}: {took:?}", task.name);
    }
}
