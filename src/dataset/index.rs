//! Where some rows of a file begin, so that any row is found by reading a small part of the file: for those who look at a
//! page of rows now and then, while a job, which goes through all rows in an order of its own, knows where each begins.

use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use super::jsonl::{MOST_ROW_BYTES, io_error};
use super::lines::{Line, Lines};
use super::{Columns, DatasetError, Row};

/// A mark is made after so many rows, or after so many bytes, whichever comes first.
const ROWS: usize = 1024;
const BYTES: u64 = 1 << 20;

/// Marks in a file of rows.
#[derive(Debug)]
pub struct RowIndex {
    /// In the order of the file; the first is that of row 0.
    marks: Vec<Mark>,
    rows: usize,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    row: usize,
    /// Of the row, counted from 1 and with blank lines.
    line: u64,
    /// Where the row's text begins.
    start: u64,
}

impl RowIndex {
    /// Reads a file from front to back, without reading its rows as JSON. Blocks.
    pub fn of(file: impl Read) -> Result<Self, DatasetError> {
        Self::every(ROWS, BYTES, file)
    }

    fn every(rows: usize, bytes: u64, file: impl Read) -> Result<Self, DatasetError> {
        let mut index = Self { marks: Vec::new(), rows: 0 };
        let add = |line: Line<'_>| {
            let far = |mark: &Mark| index.rows - mark.row >= rows || line.start - mark.start >= bytes;
            if index.marks.last().is_none_or(far) {
                index.marks.push(Mark { row: index.rows, line: line.number, start: line.start });
            }
            index.rows += 1;
            Ok(ControlFlow::Continue(()))
        };
        Lines::new(MOST_ROW_BYTES).read(
            file,
            |error| io_error(String::from("find the rows of a data set"), error),
            add,
        )?;
        Ok(index)
    }

    /// Rows of the file.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Calls `take` with row `first` and those behind it until it has enough. Reads from the last mark before. Blocks.
    pub fn read(
        &self,
        mut file: impl Read + Seek,
        columns: &Columns,
        first: usize,
        mut take: impl FnMut(usize, Row) -> ControlFlow<()>,
    ) -> Result<(), DatasetError> {
        let marks = self.marks.partition_point(|mark| mark.row <= first);
        let Some(mark) = self.marks[..marks].last().filter(|_| first < self.rows) else { return Ok(()) };
        let failed = |error| io_error(String::from("read rows of a data set"), error);
        file.seek(SeekFrom::Start(mark.start)).map_err(failed)?;
        let mut row = mark.row;
        let add = |line: Line<'_>| {
            let skipped = row < first;
            row += 1;
            Ok(if skipped {
                ControlFlow::Continue(())
            } else {
                take(row - 1, Row::parse(line.number, line.text, columns)?)
            })
        };
        Lines::at(MOST_ROW_BYTES, mark.line, mark.start).read(file, failed, add)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};

    use super::*;
    use crate::dataset::Prompt;

    /// Counts what is read.
    struct Counted<'a> {
        file: Cursor<&'a [u8]>,
        bytes: &'a mut usize,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
            let read = self.file.read(chunk)?;
            *self.bytes += read;
            Ok(read)
        }
    }

    impl Seek for Counted<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    fn rows(index: &RowIndex, file: impl Read + Seek, first: usize, count: usize) -> Vec<(usize, Prompt)> {
        let mut rows = Vec::new();
        let take = |number, row: Row| {
            rows.push((number, row.prompt));
            if rows.len() == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        index.read(file, &Columns::default(), first, take).unwrap();
        rows
    }

    #[test]
    fn any_row_is_found_whatever_stands_between_the_rows() {
        let mut file = b"\xef\xbb\xbf".to_vec();
        for row in 0..20 {
            let ends = ["\n", "\r\n", "\n\n", "\n \t\n\r\n"];
            file.extend(format!("{{\"prompt\": \"p{row}\"}}{}", ends[row % ends.len()]).bytes());
        }
        file.extend(b"{\"prompt\": \"p20\"}");
        for (every, bytes) in [(1, u64::MAX), (3, u64::MAX), (usize::MAX, 1), (usize::MAX, 50), (1000, 1000)] {
            let index = RowIndex::every(every, bytes, file.as_slice()).unwrap();
            assert_eq!(index.len(), 21);
            for first in 0..23 {
                let expected: Vec<_> = (first..21).take(4).map(|row| (row, Prompt::Text(format!("p{row}")))).collect();
                assert_eq!(rows(&index, Cursor::new(&file), first, 4), expected, "{every} {bytes} {first}");
            }
        }
        assert!(RowIndex::of(b"\n\n".as_slice()).unwrap().is_empty());
    }

    #[test]
    fn a_broken_row_is_named_by_its_line() {
        let file = b"\n{\"prompt\": \"p\"}\n\nnonsense\n";
        let index = RowIndex::every(1, u64::MAX, file.as_slice()).unwrap();
        let read = index.read(Cursor::new(file), &Columns::default(), 1, |_, _| ControlFlow::Continue(()));
        assert_eq!(read.unwrap_err().row(), Some(4));
    }

    #[test]
    fn a_page_costs_no_more_at_the_end_of_a_large_file() {
        let short: String = (0..100_000).map(|row| format!("{{\"prompt\": \"{row}\"}}\n")).collect();
        let long: String = (0..200).map(|row| format!("{{\"prompt\": \"{row}{}\"}}\n", "x".repeat(100_000))).collect();
        for text in [short, long] {
            let file = text.as_bytes();
            let index = RowIndex::of(file).unwrap();
            for first in [0, index.len() / 2, index.len() - 10] {
                let mut bytes = 0;
                let read = rows(&index, Counted { file: Cursor::new(file), bytes: &mut bytes }, first, 10);
                assert_eq!(read.len(), 10);
                // From a mark on, the page itself, and what is left of a chunk.
                assert!(bytes <= BYTES as usize + 10 * 100_020 + (256 << 10), "{bytes} of {}", file.len());
                assert!(bytes < file.len() / 5, "{bytes} of {}", file.len());
            }
        }
    }
}
