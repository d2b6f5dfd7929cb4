//! Rows made of lines while they come: by a layout, which the first row may have to say, and by a map.
//!
//! No more is held than a line and a chunk, however many blank lines there are and however much is made of a row.

use serde_json::Map;

use super::DatasetError;
use super::forms::{CHUNK_BYTES, failure};
use super::intake::{Intake, read_fields};
use super::layout::Layout;
use super::lines::{BYTE_ORDER_MARK, Line, Lines};

/// Makes rows of lines, where something is to be made of them.
pub(super) struct Shaper<'a> {
    intake: &'a Intake,
    /// None until the first row was seen.
    pub layout: Option<Layout>,
    /// What has come before the first row was whole, and was not handed on: a chunk of blank lines, and a row.
    head: Vec<u8>,
    /// So many of its first bytes are a byte order mark and blank lines.
    blank: usize,
    lines: Lines,
    made: Made,
}

/// Lines that were made.
#[derive(Default)]
struct Made {
    text: Vec<u8>,
    /// Lines that were made so far, blank ones among them.
    lines: u64,
}

type Keep<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), DatasetError>;

impl<'a> Shaper<'a> {
    pub fn new(intake: &'a Intake) -> Self {
        let lines = Lines::new(intake.limits.max_row_bytes);
        let layout = if intake.map.is_some() { Some(intake.recognise(&Map::new())) } else { intake.layout };
        Self { intake, layout, head: Vec::new(), blank: 0, lines, made: Made::default() }
    }

    /// Takes bytes of the file, and gives `keep` what is to be stored.
    pub fn feed(&mut self, text: &[u8], keep: Keep<'_>) -> Result<(), DatasetError> {
        if self.layout.is_some() {
            return self.pass(text, keep);
        }
        self.head.extend_from_slice(text);
        if self.blank == 0 && self.made.lines == 0 && self.head.starts_with(BYTE_ORDER_MARK) {
            self.blank = BYTE_ORDER_MARK.len();
        }
        let behind = &self.head[self.blank..];
        self.blank += behind.len() - behind.trim_ascii_start().len();
        let row = &self.head[self.blank..];
        if let Some(end) = memchr::memchr(b'\n', row) {
            let first = row[..end].to_vec();
            return self.decide(&first, keep);
        }
        if row.is_empty() && self.head.len() >= CHUNK_BYTES {
            return self.pass_blank(keep);
        }
        if row.len() > self.intake.limits.max_row_bytes.saturating_add(1) {
            let before = memchr::memchr_iter(b'\n', &self.head[..self.blank]).count() as u64;
            let (row, limit) = (self.made.lines + before + 1, self.intake.limits.max_row_bytes);
            return Err(DatasetError::RowTooLong { row, limit });
        }
        Ok(())
    }

    /// Hands blank lines on before the first row, so that no more of them is held than a chunk.
    fn pass_blank(&mut self, keep: Keep<'_>) -> Result<(), DatasetError> {
        self.lines.feed(&self.head, |_| Ok(()))?;
        self.made.lines += memchr::memchr_iter(b'\n', &self.head).count() as u64;
        let kept = keep(&self.head);
        self.head.clear();
        self.blank = 0;
        kept
    }

    /// Settles on a layout and goes on with what has come. A first row that cannot be read is left to the check.
    fn decide(&mut self, first: &[u8], keep: Keep<'_>) -> Result<(), DatasetError> {
        let fields = read_fields(1, first).unwrap_or_default();
        self.layout = Some(self.intake.recognise(&fields));
        let head = std::mem::take(&mut self.head);
        self.pass(&head, keep)
    }

    fn pass(&mut self, text: &[u8], keep: Keep<'_>) -> Result<(), DatasetError> {
        let (intake, layout, made) = (self.intake, self.layout.unwrap_or(Layout::Rows), &mut self.made);
        if layout == Layout::Rows && intake.map.is_none() {
            return keep(text);
        }
        let shaped = self.lines.feed(text, |line| made.add(intake, layout, &line, keep));
        // What was made before an error is checked first: the first error is the one that is told.
        made.hand_on(keep)?;
        shaped
    }

    /// Takes a last line that has no end.
    pub fn finish(&mut self, keep: Keep<'_>) -> Result<(), DatasetError> {
        if self.layout.is_none() {
            let first = self.head[self.blank..].trim_ascii().to_vec();
            self.decide(&first, keep)?;
        }
        let (intake, layout, made) = (self.intake, self.layout.unwrap_or(Layout::Rows), &mut self.made);
        let shaped = self.lines.finish(|line| made.add(intake, layout, &line, keep));
        made.hand_on(keep)?;
        shaped
    }
}

impl Made {
    fn add(&mut self, intake: &Intake, layout: Layout, line: &Line<'_>, keep: Keep<'_>) -> Result<(), DatasetError> {
        let row = intake.shape(layout, line, read_fields(line.number, line.text)?)?;
        // A row keeps its line, so that its number stays the one of the file.
        while self.lines + 1 < line.number {
            self.text.push(b'\n');
            self.lines += 1;
            self.hand_on_whole(keep)?;
        }
        serde_json::to_writer(&mut self.text, &row).map_err(|error| failure(error.into()))?;
        self.text.push(b'\n');
        self.lines += 1;
        self.hand_on_whole(keep)
    }

    /// Hands on what has become a chunk: many lines may be made of a few bytes.
    fn hand_on_whole(&mut self, keep: Keep<'_>) -> Result<(), DatasetError> {
        if self.text.len() < CHUNK_BYTES { Ok(()) } else { self.hand_on(keep) }
    }

    fn hand_on(&mut self, keep: Keep<'_>) -> Result<(), DatasetError> {
        if self.text.is_empty() {
            return Ok(());
        }
        let kept = keep(&self.text);
        self.text.clear();
        kept
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Columns;
    use super::super::jsonl::Limits;
    use super::super::map::ColumnMap;
    use super::*;

    fn intake(map: Option<ColumnMap>) -> Intake {
        let (columns, limits) = (Columns::default(), Limits::default());
        Intake { form: None, layout: None, map, columns, limits, max_bytes: 1 << 30 }
    }

    /// Bytes of a long run of blank lines, held and read no more than once.
    #[test]
    fn blank_lines_before_and_between_rows_take_no_memory() {
        let (blank, row) = (3 << 20, r##"{"question":"q","answer":"1 #### 1"}"##);
        for (mark, end) in [("", "\n"), ("\u{feff}", "\r\n"), ("", " \n")] {
            let lines = end.repeat(blank / end.len());
            let text = format!("{mark}{lines}{row}\n{lines}{row}");
            let intake = intake(None);
            let (mut shaper, mut kept, mut most, mut largest) = (Shaper::new(&intake), 0, 0, 0);
            let mut keep = |bytes: &[u8]| {
                kept += bytes.iter().filter(|byte| **byte == b'\n').count();
                largest = largest.max(bytes.len());
                Ok(())
            };
            let mut feed = |chunk: &[u8]| {
                let fed = shaper.feed(chunk, &mut keep);
                most = most.max(shaper.head.capacity() + shaper.made.text.capacity());
                fed
            };
            let begun = std::time::Instant::now();
            let fed = text.as_bytes().chunks(1000).try_for_each(&mut feed);
            fed.and_then(|()| shaper.finish(&mut keep)).unwrap();
            assert_eq!(kept, 2 * (blank / end.len()) + 2, "{end:?}");
            assert!(most < 1 << 20 && largest < 1 << 20, "{end:?}: {most} {largest}");
            assert!(begun.elapsed().as_secs() < 20, "{end:?}: {:?}", begun.elapsed());
        }
        let long = format!("{}{{\"question\":\"{}", "\n".repeat(1 << 19), "q".repeat(2 << 20));
        let intake = intake(None);
        let mut shaper = Shaper::new(&intake);
        let error = shaper.feed(long.as_bytes(), &mut |_| Ok(())).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_too_long", Some((1 << 19) + 1)));
    }

    #[test]
    fn many_lines_that_are_made_of_few_bytes_are_handed_on_as_they_come() {
        let map = ColumnMap::parse(&json!({"prompt": format!("{{q}}{}", "x".repeat(30_000))}).to_string()).unwrap();
        let intake = intake(Some(map));
        let (mut shaper, mut largest) = (Shaper::new(&intake), 0);
        let mut keep = |bytes: &[u8]| {
            largest = largest.max(bytes.len());
            Ok(())
        };
        shaper.feed("{\"q\":\"a\"}\n\n".repeat(1000).as_bytes(), &mut keep).unwrap();
        assert!(largest < 2 * CHUNK_BYTES, "{largest}");
    }
}
