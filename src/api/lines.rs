//! The lines of a file from its end to its beginning, for lists whose newest items were written last: the first page
//! costs no more than what it shows.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that are read at a time; more for longer lines.
const CHUNK: u64 = 1 << 16;

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the line behind it begins.
    pub end: u64,
    pub text: Vec<u8>,
}

/// Reads lines backwards. Holds the line that is being read and one chunk.
#[derive(Debug)]
pub struct LinesFromEnd<F> {
    file: F,
    /// Where `pending` begins; what lies before is not read yet.
    position: u64,
    /// What was read and not given out: it ends where a line ends.
    pending: Vec<u8>,
    /// How much to read next.
    chunk: u64,
}

impl<F: Read + Seek> LinesFromEnd<F> {
    /// The lines before byte `end`, which must be where a line begins; by default the end of the file. An `end` that is
    /// anything else is an error of the kind `InvalidInput`.
    pub fn open(mut file: F, end: Option<u64>) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        let position = end.unwrap_or(length);
        let mut before = [b'\n'];
        if position <= length && position > 0 && end.is_some() {
            file.seek(SeekFrom::Start(position - 1))?;
            file.read_exact(&mut before)?;
        }
        if position > length || before != [b'\n'] {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no line begins there"));
        }
        Ok(Self { file, position, pending: Vec::new(), chunk: CHUNK })
    }

    /// The last line that was not given out yet.
    pub fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let text = self.pending.strip_suffix(b"\n").unwrap_or(&self.pending);
            let begin = text.iter().rposition(|byte| *byte == b'\n').map(|newline| newline + 1);
            let begin = match begin {
                Some(begin) => begin,
                None if self.position == 0 && self.pending.is_empty() => return Ok(None),
                None if self.position == 0 => 0,
                None => {
                    self.read_more()?;
                    continue;
                }
            };
            let end = self.position + self.pending.len() as u64;
            let mut text = self.pending.split_off(begin);
            if text.last() == Some(&b'\n') {
                text.pop();
            }
            self.chunk = CHUNK;
            return Ok(Some(Line { end, text }));
        }
    }

    /// Puts what lies before in front of what is pending; twice as much each time for the same line, so that a long
    /// line is not moved too often.
    fn read_more(&mut self) -> io::Result<()> {
        let count = self.chunk.min(self.position);
        let mut bytes = vec![0; count as usize];
        self.file.seek(SeekFrom::Start(self.position - count))?;
        self.file.read_exact(&mut bytes)?;
        bytes.append(&mut self.pending);
        (self.pending, self.position) = (bytes, self.position - count);
        self.chunk *= 2;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn backwards(text: &str, end: Option<u64>) -> Vec<(u64, String)> {
        let mut lines = LinesFromEnd::open(Cursor::new(text), end).unwrap();
        std::iter::from_fn(|| lines.next().unwrap())
            .map(|line| (line.end, String::from_utf8(line.text).unwrap()))
            .collect()
    }

    #[test]
    fn lines_come_from_the_last_to_the_first_whatever_their_length() {
        for lengths in [vec![], vec![0], vec![3, 0, 5], vec![70_000, 1, 200_000, 65_535, 65_536, 10]] {
            let lines: Vec<String> =
                lengths.iter().zip('a'..).map(|(length, letter)| letter.to_string().repeat(*length)).collect();
            for ended in [true, false] {
                let mut text = lines.join("\n");
                if ended && !lines.is_empty() {
                    text.push('\n');
                }
                let found: Vec<String> = backwards(&text, None).into_iter().map(|(_, text)| text).rev().collect();
                let expected: Vec<&str> = text.lines().collect();
                assert_eq!(found, expected, "{lengths:?} {ended}");
            }
        }
    }

    #[test]
    fn reading_goes_on_from_where_a_line_ended() {
        let text = "one\ntwo\nthree\n";
        let all = backwards(text, None);
        assert_eq!(all.iter().map(|line| line.0).collect::<Vec<_>>(), [14, 8, 4]);
        assert_eq!(backwards(text, Some(8)), all[1..]);
        assert_eq!(backwards(text, Some(0)), []);
        for end in [1, 7, 15, u64::MAX] {
            let refused = LinesFromEnd::open(Cursor::new(text), Some(end)).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{end}");
        }
    }
}
