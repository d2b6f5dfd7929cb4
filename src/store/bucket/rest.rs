//! Files that are larger than an object of a bucket may be. The first bytes are the object of the file's name, and a folder
//! beside it has the rest, in objects that are called 1, 2, and so on. An object that is as large as one may be is followed
//! by another, which may be empty, so that a file is whole when its last object is smaller; the first object is stored first
//! and says where the others belong.

use std::ops::Range;

/// The most bytes of an object: it can be copied and sent to in one request everywhere (Amazon's S3: 5 GiB). Not a round
/// number, which a file that somebody else put there may have by itself.
pub const LARGEST: u64 = (4 << 30) - 1;

const MARK: &str = "!rest";

/// The folder of what is behind a file's first object.
pub fn folder_of(file: &str) -> String {
    format!("{file}{MARK}")
}

/// The file whose rest a folder has.
pub fn file_of(folder: &str) -> Option<&str> {
    folder.strip_suffix(MARK)
}

/// The name of one of a file's objects.
pub fn object_name(file: &str, number: u64) -> String {
    if number == 0 { file.to_owned() } else { format!("{}/{number}", folder_of(file)) }
}

/// Which bytes of which objects a range of a file is, where objects have at most `largest` bytes.
pub fn cut(range: Range<u64>, largest: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let objects = range.start / largest..range.end.div_ceil(largest);
    objects.map(move |number| {
        let begin = number * largest;
        (number, range.start.max(begin) - begin..range.end.min(begin + largest) - begin)
    })
}

/// The bytes of a file whose first object is as large as one may be, from the numbers and the sizes of the others; none
/// where some are missing.
pub fn size(others: &[(u64, u64)], largest: u64) -> Option<u64> {
    let mut others = others.to_vec();
    others.sort_unstable();
    let are_in_turn = others.iter().zip(1..).all(|((number, _), expected)| *number == expected);
    let (last, full) = others.split_last()?;
    let are_full = last.1 < largest && full.iter().all(|(_, bytes)| *bytes == largest);
    (are_in_turn && are_full).then(|| largest * others.len() as u64 + last.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_ends_of_objects() {
        let cut = |range| cut(range, 10).collect::<Vec<_>>();
        assert_eq!(cut(0..10), [(0, 0..10)]);
        assert_eq!(cut(3..7), [(0, 3..7)]);
        assert_eq!(cut(9..31), [(0, 9..10), (1, 0..10), (2, 0..10), (3, 0..1)]);
        assert_eq!(cut(20..25), [(2, 0..5)]);
    }

    #[test]
    fn a_file_is_whole_when_a_smaller_object_ends_it() {
        assert_eq!(size(&[(1, 0)], 10), Some(10));
        assert_eq!(size(&[(2, 4), (1, 10)], 10), Some(24));
        for missing in [&[][..], &[(1, 10)], &[(2, 4)], &[(1, 9), (2, 4)], &[(1, 10), (3, 4)]] {
            assert_eq!(size(missing, 10), None, "{missing:?}");
        }
    }
}
