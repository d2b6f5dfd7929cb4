//! What a few seeds say of a difference: means with intervals of Student's t, pair by pair, corrected for their number
//! (Bonferroni), and the least difference that could have been found.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure intervals are, all of a report together.
pub const CONFIDENCE: f64 = 0.95;
/// With what chance a difference of the size that is called detectable would be told from none.
pub const POWER: f64 = 0.8;

/// A mean and how far off it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub count: usize,
    pub mean: f64,
    /// None for fewer than two values, and for equal ones, which say nothing of how far others would be off.
    pub half_width: Option<f64>,
    /// The least true value that would be told from 0 with a chance of [`POWER`], by the spread that was measured.
    pub detectable: Option<f64>,
}

/// The interval of a mean, as sure as if `together` of them were to hold at the same time; none of no values.
pub fn interval(values: &[f64], together: usize) -> Option<Interval> {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    if count == 0 {
        return None;
    }
    let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    // As equal as sums and differences of such values come out.
    let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let differ = spread.sqrt() > 1e-12 * largest;
    let scaled = StudentsT::new(0.0, 1.0, (count - 1) as f64).ok().filter(|_| count > 1 && differ).map(|t| {
        let error = (spread / (count - 1) as f64 / count as f64).sqrt();
        let tail = (1.0 - CONFIDENCE) / together.max(1) as f64 / 2.0;
        let sure = t.inverse_cdf(1.0 - tail);
        (sure * error, (sure + t.inverse_cdf(POWER)) * error)
    });
    Some(Interval { count, mean, half_width: scaled.map(|(half, _)| half), detectable: scaled.map(|(_, least)| least) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of Student's t from printed tables.
    #[test]
    fn intervals_are_those_of_the_tables() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        let one = interval(&values, 1).unwrap();
        let error = (2.5_f64 / 5.0).sqrt();
        assert_eq!((one.count, one.mean), (5, 3.0));
        assert!((one.half_width.unwrap() - 2.776_445 * error).abs() < 1e-5);
        assert!((one.detectable.unwrap() - (2.776_445 + 0.940_965) * error).abs() < 1e-5);
        // Five together: 1 - 0.05 / 5 / 2 = 0.995.
        assert!((interval(&values, 5).unwrap().half_width.unwrap() - 4.604_095 * error).abs() < 1e-5);
        assert_eq!(interval(&[], 1), None);
        assert_eq!(interval(&[0.5], 3).unwrap().half_width, None);
        for equal in [[0.5; 3], [0.0; 3], [0.3 - 0.2, 0.1, 0.4 - 0.3]] {
            let found = interval(&equal, 3).unwrap();
            assert_eq!((found.half_width, found.detectable), (None, None));
        }
    }
}
