//! Which rows the prompts of a job are: every row once before any comes again, in an order that is a function of the
//! seed, of the file or of a column, or drawn by how often the policy now solves each of them.
//!
//! A row that is always or never solved teaches a method that compares the completions of a group nothing; one that is
//! solved half of the time teaches it most. So a row is drawn by the variance of a verdict, `4 p (1 - p)` of 1, where
//! `p` is the solve rate that it had of late, but at least by [`FLOOR`], and by [`AGE`] more for each pass for which it
//! was not drawn, so that no row is forgotten: one that is always solved comes again within a few passes.
//!
//! What is drawn is a function of the seed, of the round and of the rates, which checkpoints hold.

use std::ops::Range;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::error::EngineError;
use super::model::weights::write_safetensors;
use super::random::{Purpose, Stream};
use super::rollout::RolloutGroup;
use super::visits::Visits;
use crate::dataset::{Dataset, DatasetError};
use crate::job::spec::{Curriculum, RowOrder, RowSampling};

/// The least weight of a row, where that of one that is solved half of the time is 1.
const FLOOR: f64 = 0.05;
/// What a row's weight grows by for each pass without it.
const AGE: f64 = 0.05;
/// What the newest solve rate counts beside what was known.
const NEWEST: f64 = 0.5;
/// Before a row was sampled it may be anything.
const UNKNOWN: f32 = 0.5;

const SOLVE_RATE: &str = "solve_rate";
const LAST_DRAWN: &str = "last_drawn";

/// So many of a data set's rows, which the seed chooses.
pub fn chosen_rows(dataset: Dataset, count: u64, seed: u64) -> Dataset {
    if count >= dataset.len() as u64 {
        return dataset;
    }
    let chosen = Visits::new(seed, Purpose::RowChoice, dataset.len()).rows(0..count);
    let mut places: Vec<usize> = chosen.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    dataset.part(&places)
}

/// Rows in their order.
#[derive(Clone, Debug)]
pub struct Rows {
    seed: u64,
    count: usize,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Shuffled,
    File,
    /// The places of the rows, the easiest first.
    EasyFirst(Vec<u32>),
    Adaptive(SolveRates),
}

/// How often the policy solved each row when it last tried: 12 bytes a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveRates {
    rates: Vec<f32>,
    /// How many prompts had been drawn in all, with the row's own, when it was last drawn; 0 for one that never was.
    last: Vec<u64>,
}

impl Rows {
    /// The rows of a data set, of which `easy_first` reads all; `check` is asked now and then whether to go on.
    pub fn of(
        dataset: &Dataset,
        curriculum: &Curriculum,
        seed: u64,
        check: impl Fn() -> Result<(), EngineError>,
    ) -> Result<Self, EngineError> {
        let count = dataset.len();
        let order = match (curriculum.sampling, curriculum.order, &curriculum.difficulty_column) {
            (RowSampling::Adaptive, _, _) => Order::Adaptive(SolveRates::unknown(count)),
            (RowSampling::Uniform, RowOrder::Shuffled, _) | (RowSampling::Uniform, RowOrder::EasyFirst, None) => {
                Order::Shuffled
            }
            (RowSampling::Uniform, RowOrder::File, _) => Order::File,
            (RowSampling::Uniform, RowOrder::EasyFirst, Some(column)) => {
                Order::EasyFirst(easy_first(dataset, column, check)?)
            }
        };
        Ok(Self { seed, count, order })
    }

    /// The rows of some visits, those of a round, by their places in the data set.
    pub fn places(&self, round: u64, visits: Range<u64>) -> Vec<(u64, usize)> {
        let mut shuffled = Visits::new(self.seed, Purpose::PromptOrder, self.count);
        let count = self.count as u64;
        match &self.order {
            Order::Shuffled => shuffled.rows(visits),
            Order::File => visits.map(|visit| (visit, (visit % count) as usize)).collect(),
            Order::EasyFirst(first) => visits
                .map(|visit| match first.get(visit as usize) {
                    Some(place) => (visit, *place as usize),
                    None => (visit, shuffled.item(visit)),
                })
                .collect(),
            Order::Adaptive(rates) => {
                let places = rates.draw(self.seed, round, visits.start, (visits.end - visits.start) as usize);
                visits.zip(places).collect()
            }
        }
    }

    /// The rows of the first visits, whatever is known of the rows by now.
    pub fn first(&self, count: u64) -> Vec<(u64, usize)> {
        match &self.order {
            Order::Adaptive(_) => Visits::new(self.seed, Purpose::PromptOrder, self.count).rows(0..count),
            Order::Shuffled | Order::File | Order::EasyFirst(_) => self.places(0, 0..count),
        }
    }

    /// Rows in the place of others of a round, behind whose prompts so many have been drawn in all: those of some visits, which
    /// belong to no round. They come in shuffled order, or are drawn by how often the policy solves each, for which `draw` is
    /// another number each time.
    pub fn spares(&self, draw: u64, drawn: u64, visits: Range<u64>) -> Vec<(u64, usize)> {
        match &self.order {
            Order::Shuffled | Order::File | Order::EasyFirst(_) => {
                Visits::new(self.seed, Purpose::PromptOrder, self.count).rows(visits)
            }
            Order::Adaptive(rates) => {
                let places = rates.draw(self.seed, draw, drawn, (visits.end - visits.start) as usize);
                visits.zip(places).collect()
            }
        }
    }

    /// Learns from what was sampled for a round, behind whose prompts so many have been drawn in all.
    pub fn learn(&mut self, dataset: &Dataset, groups: &[impl AsRef<RolloutGroup>], drawn: u64) {
        let Order::Adaptive(rates) = &mut self.order else { return };
        for group in groups {
            let group: &RolloutGroup = group.as_ref();
            if let Some(place) = dataset.place(group.row) {
                rates.learn(place, group.passed(), group.rollouts.len() as u32, drawn);
            }
        }
    }

    /// What is known of the rows, where they are drawn by it.
    pub fn rates(&self) -> Option<&SolveRates> {
        match &self.order {
            Order::Adaptive(rates) => Some(rates),
            Order::Shuffled | Order::File | Order::EasyFirst(_) => None,
        }
    }

    /// Goes on from what a checkpoint knew.
    pub fn restore(&mut self, known: SolveRates) {
        if let Order::Adaptive(rates) = &mut self.order {
            *rates = known;
        }
    }
}

/// The places of all rows by a column of numbers, the smallest first and equal ones in their order.
fn easy_first(
    dataset: &Dataset,
    column: &str,
    check: impl Fn() -> Result<(), EngineError>,
) -> Result<Vec<u32>, EngineError> {
    /// Rows after which it is asked whether to go on.
    const AT_ONCE: usize = 1024;
    let mut difficulties = Vec::with_capacity(dataset.len());
    for place in 0..dataset.len() {
        if place.is_multiple_of(AT_ONCE) {
            check()?;
        }
        let number = dataset.number(place);
        let row = dataset.row(number)?;
        let difficulty = row.number(column).ok_or_else(|| {
            let detail = String::from("holds no number, and rows are ordered by it (`dataset.difficulty_column`)");
            DatasetError::WrongType { row: number as u64 + 1, column: column.to_owned(), detail }
        })?;
        // A data set has at most 2^27 rows.
        difficulties.push((difficulty, place as u32));
    }
    difficulties.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(difficulties.into_iter().map(|(_, place)| place).collect())
}

impl SolveRates {
    fn unknown(count: usize) -> Self {
        Self { rates: vec![UNKNOWN; count], last: vec![0; count] }
    }

    /// What a row is drawn by after so many prompts.
    fn weight(&self, place: usize, drawn: u64) -> f64 {
        let rate = f64::from(self.rates[place]);
        let passes = drawn.saturating_sub(self.last[place]) as f64 / self.rates.len() as f64;
        FLOOR.max(4.0 * rate * (1.0 - rate)) + AGE * passes
    }

    /// Draws `wanted` rows by their weights, each as often as its share of them says, rounded up or down (systematic
    /// sampling: Madow, 1949), and shuffles them.
    fn draw(&self, seed: u64, round: u64, drawn: u64, wanted: usize) -> Vec<usize> {
        let stream = |use_: u64| Stream::new(seed, Purpose::RowWeights, round << 2 | use_);
        let count = self.rates.len();
        // Neighbours in the file may be alike, and must not keep each other away.
        let order = stream(0).permutation(count);
        let total: f64 = order.iter().map(|place| self.weight(*place, drawn)).sum();
        let begin = stream(1).uniform(0, 0, 0);
        let (mut places, mut sum) = (Vec::with_capacity(wanted), 0.0);
        for place in order.iter().copied() {
            sum += self.weight(place, drawn);
            while places.len() < wanted && (places.len() as f64 + begin) * (total / wanted as f64) < sum {
                places.push(place);
            }
        }
        // What rounding leaves out.
        places.extend(order.iter().cycle().take(wanted - places.len()));
        stream(2).permutation(wanted).into_iter().map(|at| places[at]).collect()
    }

    fn learn(&mut self, place: usize, passed: u32, completions: u32, drawn: u64) {
        let is_new = self.last[place] == 0;
        self.last[place] = drawn;
        if completions == 0 {
            return;
        }
        // Half a success and half a failure more (Krichevsky and Trofimov, 1981): few completions say little.
        let rate = ((f64::from(passed) + 0.5) / (f64::from(completions) + 1.0)) as f32;
        let newest = if is_new { 1.0 } else { NEWEST as f32 };
        self.rates[place] += newest * (rate - self.rates[place]);
    }

    /// What is said of the rows after so many prompts.
    pub fn metrics(&self, drawn: u64) -> Vec<(&'static str, f64)> {
        let count = self.rates.len() as f64;
        let seen =
            || self.rates.iter().zip(&self.last).filter(|(_, last)| **last > 0).map(|(rate, _)| f64::from(*rate));
        let known = seen().count() as f64;
        let between = seen().filter(|rate| (0.2..=0.8).contains(rate)).count() as f64;
        let oldest = self.last.iter().min().map_or(0, |last| drawn.saturating_sub(*last));
        vec![
            ("data/rows_seen", known / count),
            ("data/solve_rate", seen().sum::<f64>() / known.max(1.0)),
            ("data/solve_rate_20_80", between / known.max(1.0)),
            ("data/oldest_passes", oldest as f64 / count),
        ]
    }

    /// Writes them into a file of a checkpoint; the caller syncs it.
    pub fn write(&self, path: &Path) -> Result<(), EngineError> {
        let rates: Vec<u8> = self.rates.iter().flat_map(|rate| rate.to_le_bytes()).collect();
        let last: Vec<u8> = self.last.iter().flat_map(|last| last.to_le_bytes()).collect();
        let view = |dtype, bytes| {
            TensorView::new(dtype, vec![self.rates.len()], bytes)
                .map_err(|error| EngineError::Internal(format!("describing solve rates: {error}")))
        };
        let views = [(SOLVE_RATE, view(Dtype::F32, &rates)?), (LAST_DRAWN, view(Dtype::U64, &last)?)];
        write_safetensors(path, views.map(|(name, view)| (name.to_owned(), view))).map(drop)
    }

    /// Reads what was written, for as many rows.
    pub fn read(path: &Path, count: usize) -> Result<Self, EngineError> {
        let broken = |detail: String| EngineError::InvalidData {
            code: "checkpoint_corrupt",
            detail: format!("{}: {detail}", path.display()),
        };
        let bytes = std::fs::read(path).map_err(|error| EngineError::io("reading", path, error))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| broken(error.to_string()))?;
        let data = |name: &str, dtype: Dtype| {
            let view = tensors.tensor(name).map_err(|error| broken(error.to_string()))?;
            let fits = view.dtype() == dtype && view.shape() == [count];
            if fits { Ok(view.data().to_vec()) } else { Err(broken(format!("`{name}` is not of {count} rows"))) }
        };
        let (rates, last) = (data(SOLVE_RATE, Dtype::F32)?, data(LAST_DRAWN, Dtype::U64)?);
        let rates: Vec<f32> = rates.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let last = last.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        if rates.iter().all(|rate| (0.0..=1.0).contains(rate)) {
            Ok(Self { rates, last })
        } else {
            Err(broken(String::from("a solve rate is none")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Split;
    use crate::dataset::builtin::BuiltinSet;

    fn rows(curriculum: &Curriculum) -> (Rows, Dataset) {
        let dataset = BuiltinSet::Arithmetic.open(Split::Train);
        (Rows::of(&dataset, curriculum, 7, || Ok(())).unwrap(), dataset)
    }

    fn sorted(mut places: Vec<usize>) -> Vec<usize> {
        places.sort_unstable();
        places
    }

    #[test]
    fn an_order_is_that_of_the_seed_or_of_the_file() {
        let (shuffled, dataset) = rows(&Curriculum::default());
        let count = dataset.len() as u64;
        let visits = count - 3..count + 3;
        assert_eq!(
            shuffled.places(0, visits.clone()),
            Visits::new(7, Purpose::PromptOrder, dataset.len()).rows(visits.clone())
        );
        let (file, _) = rows(&Curriculum { order: RowOrder::File, ..Curriculum::default() });
        let places: Vec<usize> = file.places(0, visits).into_iter().map(|(_, place)| place).collect();
        assert_eq!(places, [count as usize - 3, count as usize - 2, count as usize - 1, 0, 1, 2]);
    }

    #[test]
    fn what_is_easy_comes_first_and_then_all_are_mixed() {
        use std::io::Write;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for level in [3.5, 1.0, 2.0, 1.0, -1.0] {
            writeln!(file, "{{\"prompt\": \"p\", \"level\": {level}}}").unwrap();
        }
        let dataset = Dataset::open(file.path(), Default::default(), None).unwrap();
        let by = |column: &str| Curriculum {
            order: RowOrder::EasyFirst,
            difficulty_column: Some(column.to_owned()),
            sampling: RowSampling::Uniform,
            rows: None,
        };
        let rows = Rows::of(&dataset, &by("level"), 7, || Ok(())).unwrap();
        let places: Vec<usize> = rows.places(0, 0..10).into_iter().map(|(_, place)| place).collect();
        assert_eq!(places[..5], [4, 1, 3, 2, 0]);
        let shuffled = Visits::new(7, Purpose::PromptOrder, 5).rows(5..10);
        assert_eq!(places[5..], shuffled.into_iter().map(|(_, place)| place).collect::<Vec<_>>());
        // As CSV has them.
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for level in ["10", "9.5", "-1"] {
            writeln!(file, "{{\"prompt\": \"p\", \"level\": \"{level}\"}}").unwrap();
        }
        let texts = Dataset::open(file.path(), Default::default(), None).unwrap();
        let rows = Rows::of(&texts, &by("level"), 7, || Ok(())).unwrap();
        let places: Vec<usize> = rows.places(0, 0..3).into_iter().map(|(_, place)| place).collect();
        assert_eq!(places, [2, 1, 0]);
        let error = Rows::of(&dataset, &by("prompt"), 7, || Ok(())).unwrap_err();
        assert!(error.to_string().contains("`prompt` holds no number"), "{error}");
    }

    #[test]
    fn rows_are_drawn_as_often_as_their_weights_say() {
        let mut known = SolveRates::unknown(100);
        for place in 0..100 {
            // A third is never solved, a third half of the time, a third always.
            known.learn(place, [0, 8, 16][place % 3], 16, 100);
        }
        let mut times = vec![0_usize; 100];
        for round in 0..50 {
            let drawn = known.draw(3, round, 100, 10);
            assert_eq!(drawn, known.draw(3, round, 100, 10));
            let mut once = sorted(drawn.clone());
            once.dedup();
            assert_eq!(once.len(), 10, "no row comes twice before its share says so");
            drawn.iter().for_each(|place| times[*place] += 1);
        }
        let of = |rest: usize| times.iter().skip(rest).step_by(3).sum::<usize>();
        let total = 34.0 * known.weight(0, 100) + 33.0 * (known.weight(1, 100) + known.weight(2, 100));
        let expected = |rest: usize, rows: f64| 500.0 * rows * known.weight(rest, 100) / total;
        assert!((of(0) as f64 - expected(0, 34.0)).abs() < 20.0, "{}", of(0));
        assert!((of(1) as f64 - expected(1, 33.0)).abs() < 20.0 && of(1) > 380, "{}", of(1));
        // More than there are rows.
        let all = known.draw(3, 0, 100, 1000);
        assert_eq!(all.len(), 1000);
        let least = (1000.0 * known.weight(0, 100) / total).floor() as usize;
        assert!((0..100).all(|place| all.iter().filter(|drawn| **drawn == place).count() >= least));
    }

    #[test]
    fn no_row_is_forgotten() {
        let mut known = SolveRates::unknown(40);
        let mut drawn = 0;
        let mut longest = 0;
        for round in 0..400 {
            for place in known.draw(1, round, drawn, 8) {
                longest = longest.max(drawn - known.last[place]);
                // Ten rows are half solved, the others always.
                known.learn(place, if place < 10 { 4 } else { 8 }, 8, drawn + 8);
            }
            drawn += 8;
        }
        let oldest = known.last.iter().map(|last| drawn - last).max().unwrap();
        assert!(longest.max(oldest) <= 40 * 12, "{longest} {oldest}");
    }

    #[test]
    fn what_is_known_survives_a_file() {
        let mut known = SolveRates::unknown(5);
        known.learn(3, 1, 3, 1 << 40);
        known.learn(3, 3, 3, (1 << 40) + 9);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.safetensors");
        known.write(&path).unwrap();
        assert_eq!(SolveRates::read(&path, 5).unwrap(), known);
        assert_eq!(SolveRates::read(&path, 6).unwrap_err().failure().code, "checkpoint_corrupt");
        let metrics = known.metrics((1 << 40) + 14);
        assert_eq!(metrics[0], ("data/rows_seen", 0.2));
    }
}
