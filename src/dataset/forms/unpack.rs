//! Unpacking while reading: gzip with any number of members, and zstd, told by their first bytes.
//!
//! What is unpacked is counted, and reading ends with an error at the limit: a few kilobytes can unpack to more than any disk
//! holds. The memory that zstd may ask for is bounded by the window that its own tools take without being told otherwise.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::{HEAD_BYTES, Packing, failure};
use crate::dataset::DatasetError;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Of the window that zstd may ask for: 128 MiB.
const LARGEST_WINDOW_LOG: u32 = 27;
const BUFFER_BYTES: usize = 128 << 10;

type Source<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

enum Unpacker<R: Read> {
    Plain(Source<R>),
    Gzip(Box<BufReader<MultiGzDecoder<Source<R>>>>),
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
        let (is_gzip, is_zstd) = (first.starts_with(GZIP), first.starts_with(ZSTD));
        let source = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(first).chain(source));
        let unpacker = if is_gzip {
            Unpacker::Gzip(Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(source))))
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

/// An error of ours, or one of the source, stays; all others are of the packing.
fn broken(packing: Packing, error: io::Error) -> io::Error {
    let passes =
        error.kind() == io::ErrorKind::Interrupted || error.get_ref().is_some_and(|inner| inner.is::<DatasetError>());
    match packing {
        _ if passes => error,
        Packing::Plain => error,
        Packing::Gzip => io::Error::other(DatasetError::Packing { packing: "gzip", detail: error.to_string() }),
        Packing::Zstd => io::Error::other(DatasetError::Packing { packing: "zstd", detail: error.to_string() }),
    }
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
        assert_eq!(unpack(&frame, 1 << 30).unwrap_err().code(), "packing_broken");
    }
}
