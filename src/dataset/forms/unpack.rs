//! Unpacking while reading: gzip with any number of members, and zstd, told by their first bytes. Zeros behind a member of
//! gzip, with which tapes and some tools fill up, are skipped as Python's reader skips them.
//!
//! What is unpacked is counted, and reading ends with an error at the limit: a few kilobytes can unpack to more than any disk
//! holds. The memory that zstd may ask for is bounded by the window that its own tools take without being told otherwise.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::{HEAD_BYTES, Packing, failure};
use crate::dataset::DatasetError;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// How a frame begins that zstd skips, behind a byte of 0x50 to 0x5f.
const ZSTD_SKIPPED: &[u8] = &[0x2a, 0x4d, 0x18];
/// Of the window that zstd may ask for: 128 MiB.
const LARGEST_WINDOW_LOG: u32 = 27;
const BUFFER_BYTES: usize = 128 << 10;

type Source<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

enum Unpacker<R: Read> {
    Plain(Source<R>),
    Gzip(Box<BufReader<Members<Source<R>>>>),
    Zstd(BufReader<zstd::stream::read::Decoder<'static, Source<R>>>),
}

/// Reads unpacked bytes, up to a limit.
pub struct Unpacked<R: Read> {
    unpacker: Unpacker<R>,
    limit: u64,
    left: u64,
}

impl<R: Read> Unpacked<R> {
    /// Looks at the first bytes. Reading more than `limit` unpacked ones is an error.
    pub fn new(mut source: R, limit: u64) -> Result<Self, DatasetError> {
        let mut first = Vec::with_capacity(HEAD_BYTES);
        (&mut source).take(HEAD_BYTES as u64).read_to_end(&mut first).map_err(failure)?;
        let is_skipped = first.first().is_some_and(|byte| byte & 0xf0 == 0x50) && first[1..].starts_with(ZSTD_SKIPPED);
        let (is_gzip, is_zstd) = (first.starts_with(GZIP), first.starts_with(ZSTD) || is_skipped);
        let source = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(first).chain(source));
        let unpacker = if is_gzip {
            Unpacker::Gzip(Box::new(BufReader::with_capacity(BUFFER_BYTES, Members::new(source))))
        } else if is_zstd {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(source).map_err(failure)?;
            decoder.window_log_max(LARGEST_WINDOW_LOG).map_err(failure)?;
            Unpacker::Zstd(BufReader::with_capacity(BUFFER_BYTES, decoder))
        } else {
            Unpacker::Plain(source)
        };
        Ok(Self { unpacker, limit, left: limit })
    }

    pub fn packing(&self) -> Packing {
        match &self.unpacker {
            Unpacker::Plain(_) => Packing::Plain,
            Unpacker::Gzip(_) => Packing::Gzip,
            Unpacker::Zstd(_) => Packing::Zstd,
        }
    }

    /// The first bytes, which are read again afterwards; to be asked before anything is read.
    pub fn head(&mut self) -> Result<&[u8], DatasetError> {
        let packing = self.packing();
        let filled = match &mut self.unpacker {
            Unpacker::Plain(source) => source.fill_buf(),
            Unpacker::Gzip(source) => source.fill_buf(),
            Unpacker::Zstd(source) => source.fill_buf(),
        };
        let filled = filled.map_err(|error| failure(broken(packing, error)))?;
        Ok(&filled[..filled.len().min(HEAD_BYTES)])
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let packing = self.packing();
        let read = match &mut self.unpacker {
            Unpacker::Plain(source) => source.read(chunk),
            Unpacker::Gzip(source) => source.read(chunk),
            Unpacker::Zstd(source) => source.read(chunk),
        };
        let count = read.map_err(|error| broken(packing, error))?;
        self.left = match self.left.checked_sub(count as u64) {
            Some(left) => left,
            None => return Err(io::Error::other(DatasetError::ExpandsTooFar { limit: self.limit })),
        };
        Ok(count)
    }
}

/// Members of gzip, one behind the other.
struct Members<B> {
    /// None behind the last.
    member: Option<GzDecoder<B>>,
}

impl<B: BufRead> Members<B> {
    fn new(source: B) -> Self {
        Self { member: Some(GzDecoder::new(source)) }
    }
}

impl<B: BufRead> Read for Members<B> {
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let count = member.read(chunk)?;
            if count > 0 || chunk.is_empty() {
                return Ok(count);
            }
            if skip_zeros(member.get_mut())? {
                self.member = None;
            } else if let Some(member) = self.member.take() {
                self.member = Some(GzDecoder::new(member.into_inner()));
            }
        }
    }
}

/// Reads on to the first byte that is not zero, and says whether there is none.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let filled = source.fill_buf()?;
        let zeros = filled.iter().take_while(|byte| **byte == 0).count();
        let (ends, found) = (filled.is_empty(), zeros < filled.len());
        source.consume(zeros);
        if ends || found {
            return Ok(ends);
        }
    }
}

/// An error of ours, or one of the source, stays; all others are of the packing.
fn broken(packing: Packing, error: io::Error) -> io::Error {
    let passes =
        error.kind() == io::ErrorKind::Interrupted || error.get_ref().is_some_and(|inner| inner.is::<DatasetError>());
    let packing = match packing {
        _ if passes => return error,
        Packing::Plain => return error,
        Packing::Gzip => "gzip",
        Packing::Zstd => "zstd",
    };
    let said = error.to_string();
    let detail = if said.contains("requires too much memory") {
        format!(
            "its window is larger than 2^{LARGEST_WINDOW_LOG} bytes; pack it without --long, or with --long={LARGEST_WINDOW_LOG}"
        )
    } else {
        format!("{said}; it was probably cut off, send it again")
    };
    io::Error::other(DatasetError::Packing { packing, detail })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::tests::Slowly;
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(bytes: &[u8], limit: u64) -> Result<Vec<u8>, DatasetError> {
        let mut unpacked = Unpacked::new(Slowly(bytes), limit)?;
        let head = unpacked.head()?.to_vec();
        let mut all = Vec::new();
        unpacked.read_to_end(&mut all).map_err(failure)?;
        assert!(all.starts_with(&head));
        Ok(all)
    }

    #[test]
    fn what_was_packed_comes_out() {
        let text = b"rows and rows and rows\n".repeat(1000);
        for packed in [text.clone(), gzip(&text), zstd::encode_all(text.as_slice(), 3).unwrap()] {
            assert_eq!(unpack(&packed, text.len() as u64).unwrap(), text);
        }
        // Files of parallel packers, and of `cat`.
        assert_eq!(unpack(&[gzip(b"a"), gzip(b"b")].concat(), 10).unwrap(), b"ab");
        let frames = [zstd::encode_all(&b"a"[..], 1).unwrap(), zstd::encode_all(&b"b"[..], 1).unwrap()].concat();
        assert_eq!(unpack(&frames, 10).unwrap(), b"ab");
        // Filled up with zeros, between members too, and more of them than are read at once.
        let zeros = vec![0; 3 * BUFFER_BYTES + 5];
        let filled = [gzip(b"a"), zeros.clone(), gzip(b"b"), zeros].concat();
        assert_eq!(unpack(&filled, 10).unwrap(), b"ab");
        let error = unpack(&[gzip(b"a"), b"junk".to_vec()].concat(), 10).unwrap_err();
        assert_eq!(error.code(), "packing_broken");
        // Behind a frame that says something of the file, as parallel packers write it.
        let skipped = [0x5a, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
        let frames = [skipped.to_vec(), zstd::encode_all(&b"a"[..], 1).unwrap(), skipped.to_vec()].concat();
        assert_eq!(unpack(&frames, 10).unwrap(), b"a");
        assert_eq!(unpack(b"", 0).unwrap(), b"");
        assert_eq!(unpack(b"x", 1).unwrap(), b"x");
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let zeros = vec![0; 8 << 20];
        for packed in [gzip(&zeros), zstd::encode_all(zeros.as_slice(), 3).unwrap()] {
            assert!(packed.len() < 256 << 10);
            let error = unpack(&packed, 1 << 20).unwrap_err();
            assert_eq!(error.code(), "expands_too_far", "{error}");
        }
    }

    #[test]
    fn what_was_cut_off_or_changed_is_said() {
        let text: Vec<u8> = (0..50_000_u32).flat_map(|n| (n * 7919).to_le_bytes()).collect();
        for packed in [gzip(&text), zstd::encode_all(text.as_slice(), 3).unwrap()] {
            let cut = unpack(&packed[..packed.len() / 2], 1 << 30).map(|bytes| bytes.len()).unwrap_err();
            assert_eq!(cut.code(), "packing_broken", "{cut}");
        }
        // Only gzip always has a checksum.
        let mut changed = gzip(&text);
        let place = changed.len() - 6;
        changed[place] ^= 0xff;
        let error = unpack(&changed, 1 << 30).map(|bytes| bytes.len()).unwrap_err();
        assert_eq!(error.code(), "packing_broken");
    }

    #[test]
    fn a_window_beyond_the_bound_is_refused() {
        // A frame that asks for a window of 2 GiB: no single segment, window descriptor 21 << 3.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00];
        let error = unpack(&frame, 1 << 30).unwrap_err();
        assert_eq!(error.code(), "packing_broken");
        assert!(error.to_string().contains("--long=27") && !error.to_string().contains("cut off"), "{error}");
    }
}
