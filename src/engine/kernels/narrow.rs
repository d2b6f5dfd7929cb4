//! Numbers in fewer bits: bf16, rounded at random so that small changes are not lost, and codes of 8 bits with a scale for
//! each block (Dettmers et al., "8-bit optimizers via block-wise quantization", arXiv 2110.02861).

use std::sync::LazyLock;

use super::dispatched;
use super::lanes::Lanes;

/// Numbers that share a scale.
pub const BLOCK: usize = 256;
/// Decades that codes of 8 bits span.
const DECADES: usize = 7;
/// A number that depends on its place alone, in all bits (the constants are Chris Wellons' "lowbias32").
#[inline(always)]
pub fn mixed(place: u32) -> u32 {
    let x = (place ^ (place >> 16)).wrapping_mul(0x7feb_352d);
    let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Writes numbers as bf16, each rounded up or down with the probability with which its mean stays what it is. `key` and the
/// place, counted from `first`, decide.
pub fn round_at_random(values: &[f32], out: &mut [u16], key: u32, first: u32) {
    assert_eq!(values.len(), out.len());
    // Safety: the instruction set was detected; the body is plain code that it makes faster.
    unsafe { round_of(values, out, key, first) }
}

dispatched!(
    fn round_of(values: &[f32], out: &mut [u16], key: u32, first: u32) = round_body
);

#[inline(always)]
unsafe fn round_body<S: Lanes>(values: &[f32], out: &mut [u16], key: u32, first: u32) {
    for (place, (out, x)) in (first..).zip(out.iter_mut().zip(values)) {
        let bits = x.to_bits().wrapping_add(mixed(place ^ key) & 0xffff);
        *out = (if x.is_finite() { bits } else { x.to_bits() } >> 16) as u16;
    }
}

/// The numbers that bf16 stand for.
pub fn widen(values: &[u16], out: &mut [f32]) {
    assert_eq!(values.len(), out.len());
    values.iter().zip(out).for_each(|(x, out)| *out = f32::from_bits(u32::from(*x) << 16));
}

/// What codes of 8 bits stand for, as parts of a block's largest number: seven decades, each cut into twice as many equal
/// cells as the one below it, of which a code stands for the middle ("dynamic tree quantization" in the paper); zero; and one.
#[derive(Debug)]
pub struct Codes {
    values: [f32; 256],
    cells: [Cells; DECADES],
    /// The code of one.
    one: u8,
    signed: bool,
}

/// The cells of a decade.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    /// Where it begins.
    low: f32,
    /// A magnitude's place is `magnitude * factor - shift`, rounded down.
    factor: f32,
    shift: f32,
    /// The last place, and the code of the first one.
    last: f32,
    first: f32,
}

/// For numbers of both signs: those below zero have the code of their magnitude and 128.
pub static SIGNED: LazyLock<Codes> = LazyLock::new(|| Codes::new(true));
/// For numbers that are never negative.
pub static UNSIGNED: LazyLock<Codes> = LazyLock::new(|| Codes::new(false));

impl Codes {
    fn new(signed: bool) -> Self {
        let (mut values, mut cells, mut next) = ([0.0; 256], [Cells::default(); DECADES], 1_usize);
        for (decade, cells) in cells.iter_mut().enumerate() {
            let count = 1_usize << (decade + usize::from(!signed));
            let top = 10_f64.powi(decade as i32 + 1 - DECADES as i32);
            let step = 0.9 * top / count as f64;
            for place in 0..count {
                values[next + place] = (0.1 * top + step * (place as f64 + 0.5)) as f32;
            }
            *cells = Cells {
                low: (0.1 * top) as f32,
                factor: (1.0 / step) as f32,
                shift: (count as f64 / 9.0) as f32,
                last: (count - 1) as f32,
                first: next as f32,
            };
            next += count;
        }
        values[next] = 1.0;
        if signed {
            let (positive, negative) = values.split_at_mut(129);
            negative.iter_mut().zip(&positive[1..]).for_each(|(value, positive)| *value = -positive);
        }
        Self { values, cells, one: next as u8, signed }
    }

    /// What each code stands for.
    pub fn values(&self) -> &[f32; 256] {
        &self.values
    }

    /// The codes of the cells that hold the numbers of a block, of which at most [`BLOCK`] share the scale that is returned:
    /// the largest of them, by magnitude.
    pub fn encode(&self, values: &[f32], codes: &mut [u8]) -> f32 {
        assert!(values.len() == codes.len() && values.len() <= BLOCK);
        // Safety: the instruction set was detected; the body is plain code that it makes faster.
        unsafe { encode_of(self, values, codes) }
    }

    /// The numbers that codes stand for.
    pub fn decode(&self, codes: &[u8], scale: f32, out: &mut [f32]) {
        assert_eq!(codes.len(), out.len());
        codes.iter().zip(out).for_each(|(code, out)| *out = self.values[usize::from(*code)] * scale);
    }
}

dispatched!(
    fn encode_of(map: &Codes, values: &[f32], codes: &mut [u8]) -> f32 = encode_body
);

/// The first of the numbers whose magnitude is the largest.
#[inline(always)]
fn largest(values: &[f32]) -> f32 {
    // Each lane has a maximum of its own: one for all would wait for each comparison.
    let mut lanes = [0.0_f32; 16];
    for some in values.chunks(lanes.len()) {
        lanes.iter_mut().zip(some).for_each(|(most, x)| *most = most.max(x.abs()));
    }
    let most = lanes.into_iter().fold(0.0, f32::max);
    values.iter().copied().find(|x| most > 0.0 && x.abs() == most).unwrap_or(0.0)
}

#[inline(always)]
unsafe fn encode_body<S: Lanes>(map: &Codes, values: &[f32], codes: &mut [u8]) -> f32 {
    // With the sign of the largest number, which so is 1 and comes back as it was.
    let scale = largest(values);
    let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
    let (one, last) = (f32::from(map.one), f32::from(map.one - 1));
    // Above it one is nearer than the middle of the last cell.
    let nearly = f32::midpoint(map.values[usize::from(map.one) - 1], 1.0);
    for (code, x) in codes.iter_mut().zip(values) {
        let part = x * inverse;
        let magnitude = part.abs();
        let mut found = 0.0;
        for Cells { low, factor, shift, last, first } in map.cells {
            let place = (magnitude * factor - shift).floor().max(0.0).min(last);
            found = if magnitude >= low { first + place } else { found };
        }
        found = if magnitude > nearly { one } else { found };
        let is_negative = map.signed && part < 0.0 && found > 0.0;
        found = if is_negative { found.min(last) + 128.0 } else { found };
        *code = found as u8;
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The map has the properties of the paper: all numbers differ, seven decades, evenly spaced within each.
    #[test]
    fn codes_stand_for_256_different_numbers_over_seven_decades() {
        for (map, each) in [(&*SIGNED, 64.0), (&*UNSIGNED, 128.0)] {
            let mut sorted = map.values().to_vec();
            sorted.sort_by(f32::total_cmp);
            assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!((sorted[255], map.values()[0]), (1.0, 0.0));
            let smallest = sorted.iter().copied().find(|x| *x > 0.0).unwrap();
            assert!((3e-7..1e-6).contains(&smallest), "{smallest}");
            let step = sorted[254] - sorted[253];
            assert!((f64::from(step) - 0.9 / each).abs() < 1e-6);
        }
    }

    /// A number is at most half a cell of its decade from what its code stands for, and what was decoded gets the same
    /// codes again.
    #[test]
    fn a_code_is_near_and_comes_back() {
        for (map, each) in [(&*SIGNED, 64.0), (&*UNSIGNED, 128.0)] {
            for round in 0..200_u32 {
                let number = |i: u32| {
                    let x = f64::from(mixed(i ^ round << 16)) / f64::from(u32::MAX);
                    let x = (x * 10_f64.powf(-f64::from(i % 8))) as f32 * 3.0;
                    if map.signed && i.is_multiple_of(3) { -x } else { x }
                };
                let values: Vec<f32> = (0..BLOCK as u32).map(number).collect();
                let (mut codes, mut back, mut again) = ([0; BLOCK], [0.0; BLOCK], [0; BLOCK]);
                let scale = map.encode(&values, &mut codes);
                map.decode(&codes, scale, &mut back);
                for (x, back) in values.iter().zip(&back) {
                    let part = f64::from(x.abs() / scale.abs());
                    // Cells grow as 10 and shrink as 2 from one decade to the next.
                    let decade = part.max(1e-7).log10().floor().min(-1.0) + 1.0;
                    let half_cell = 0.45 / each * 10_f64.powf(decade) * 2_f64.powf(-decade);
                    let off = f64::from((x - back).abs() / scale.abs());
                    assert!(off <= half_cell * 1.001 + 1e-7, "{x} became {back} of {scale}");
                }
                assert_eq!(map.encode(&back, &mut again), scale);
                assert_eq!(codes, again);
            }
            let (mut codes, mut back) = ([9; 3], [1.0; 3]);
            assert_eq!(map.encode(&[0.0; 3], &mut codes), 0.0);
            map.decode(&codes, 0.0, &mut back);
            assert_eq!(back, [0.0; 3]);
        }
    }

    #[test]
    fn rounding_at_random_keeps_the_mean_and_numbers_that_need_no_rounding() {
        let exact = [1.0, -2.5, 0.0, f32::INFINITY, 1e-30_f32.to_bits() as f32];
        let kept: Vec<f32> = exact.iter().map(|x| f32::from_bits(x.to_bits() & 0xffff_0000)).collect();
        let (mut rounded, mut back) = ([0; 5], [0.0; 5]);
        for key in 0..50 {
            round_at_random(&kept, &mut rounded, key, 7);
            widen(&rounded, &mut back);
            assert_eq!(back[..], kept[..]);
        }
        for x in [1.001_f32, -0.333, 7.77e-9] {
            let values = vec![x; 100_000];
            let (mut rounded, mut back) = (vec![0; values.len()], vec![0.0; values.len()]);
            round_at_random(&values, &mut rounded, 5, 0);
            widen(&rounded, &mut back);
            let mean = back.iter().map(|x| f64::from(*x)).sum::<f64>() / values.len() as f64;
            assert!((mean / f64::from(x) - 1.0).abs() < 1e-4, "{x}: {mean}");
            assert!(back.iter().any(|y| *y > x) && back.iter().any(|y| *y < x));
        }
    }
}
