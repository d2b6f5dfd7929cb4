//! Bytes cut into lines, in the same way wherever rows are read.

use std::cell::Cell;
use std::io::{self, Read};
use std::ops::ControlFlow;

use super::DatasetError;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// At a time when a file is read from front to back.
const CHUNK_BYTES: usize = 128 << 10;

/// A line that is not blank, without its end.
pub(super) struct Line<'a> {
    /// Counted from 1, with blank lines.
    pub number: u64,
    /// Where in the file the text begins.
    pub start: u64,
    pub text: &'a [u8],
}

/// Cuts chunks of bytes into lines.
#[derive(Debug)]
pub(super) struct Lines {
    max_bytes: usize,
    /// The number of the line that is being collected.
    number: u64,
    /// Where in the file it begins.
    start: u64,
    /// What earlier chunks hold of it.
    pub partial: Vec<u8>,
}

impl Lines {
    pub fn new(max_bytes: usize) -> Self {
        Self::at(max_bytes, 1, 0)
    }

    /// Begins with line `number`, whose text begins at `start`.
    pub fn at(max_bytes: usize, number: u64, start: u64) -> Self {
        Self { max_bytes, number, start, partial: Vec::new() }
    }

    /// Reads a file from where these lines begin, and calls `take` with one after the other until it has enough. `failed`
    /// says what could not be read.
    pub fn read<F>(
        mut self,
        mut file: impl Read,
        failed: impl Fn(io::Error) -> DatasetError,
        mut take: F,
    ) -> Result<(), DatasetError>
    where
        F: FnMut(Line<'_>) -> Result<ControlFlow<()>, DatasetError>,
    {
        let enough = Cell::new(false);
        let mut add = |line: Line<'_>| -> Result<(), DatasetError> {
            if !enough.get() {
                enough.set(take(line)?.is_break());
            }
            Ok(())
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return self.finish(&mut add),
                Ok(read) => self.feed(&chunk[..read], &mut add)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
            if enough.get() {
                return Ok(());
            }
        }
    }

    /// Calls `take` with every line that ends in this chunk.
    pub fn feed<F>(&mut self, chunk: &[u8], mut take: F) -> Result<(), DatasetError>
    where
        F: FnMut(Line<'_>) -> Result<(), DatasetError>,
    {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let Some(text) = piece.strip_suffix(b"\n") else {
                self.refuse_beyond_limit(self.partial.len() + piece.len())?;
                self.partial.extend_from_slice(piece);
                break;
            };
            if self.partial.is_empty() {
                self.line(text, &mut take)?;
            } else {
                self.refuse_beyond_limit(self.partial.len() + text.len())?;
                self.partial.extend_from_slice(text);
                let mut whole = std::mem::take(&mut self.partial);
                self.line(&whole, &mut take)?;
                whole.clear();
                self.partial = whole;
            }
        }
        Ok(())
    }

    /// Calls `take` with a last line that has no end.
    pub fn finish<F>(&mut self, mut take: F) -> Result<(), DatasetError>
    where
        F: FnMut(Line<'_>) -> Result<(), DatasetError>,
    {
        let rest = std::mem::take(&mut self.partial);
        if rest.is_empty() { Ok(()) } else { self.line(&rest, &mut take) }
    }

    /// Fails as soon as a line is too long whatever follows, so that no more than the limit is ever collected.
    fn refuse_beyond_limit(&self, collected: usize) -> Result<(), DatasetError> {
        // A byte order mark and a carriage return may still be taken off.
        if collected > self.max_bytes + BYTE_ORDER_MARK.len() + 1 { Err(self.too_long()) } else { Ok(()) }
    }

    fn too_long(&self) -> DatasetError {
        DatasetError::RowTooLong { row: self.number, limit: self.max_bytes }
    }

    fn line<F>(&mut self, whole: &[u8], take: &mut F) -> Result<(), DatasetError>
    where
        F: FnMut(Line<'_>) -> Result<(), DatasetError>,
    {
        let (mut text, mut start) = (whole, self.start);
        if start == 0
            && let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK)
        {
            text = rest;
            start += BYTE_ORDER_MARK.len() as u64;
        }
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.len() > self.max_bytes {
            return Err(self.too_long());
        }
        if !text.trim_ascii().is_empty() {
            take(Line { number: self.number, start, text })?;
        }
        self.number += 1;
        self.start += whole.len() as u64 + 1;
        Ok(())
    }
}
