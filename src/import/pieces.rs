//! The weights of a model of the hub, fetched in pieces by several connections at once. Which pieces are there is kept beside
//! them, so that a fetch that ended goes on where it was.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ImportError;
use super::plan::Plan;
use crate::hub::{Failures, Hub, HubError, pause};

/// Bytes that are fetched by one request.
const PIECE_BYTES: u64 = 16 << 20;
/// More than a few are turned away.
const CONNECTIONS: usize = 8;
/// How often whoever waits is told, and asked whether to go on.
const TELL: Duration = Duration::from_millis(200);
/// How often pieces that are there are written down, which takes a sync.
const MARK: Duration = Duration::from_secs(2);
/// One byte for each piece: 1 if it is there.
pub const MARKS: &str = ".pieces";

/// Which pieces of a model's weights are there.
pub struct Pieces {
    path: PathBuf,
    marks: File,
    there: Vec<bool>,
    files: Vec<File>,
}

/// One piece.
#[derive(Clone, Debug)]
struct Piece {
    /// Of all pieces.
    number: usize,
    /// Of the plan.
    file: usize,
    range: Range<u64>,
}

/// What the connections share.
struct Shared {
    waiting: Mutex<VecDeque<Piece>>,
    finished: Mutex<Vec<usize>>,
    failed: Mutex<Option<ImportError>>,
    stop: AtomicBool,
    bytes: AtomicU64,
}

impl Pieces {
    /// The pieces of a model in its folder.
    pub fn open(folder: &Path, plan: &Plan) -> Result<Self, ImportError> {
        let path = folder.join(MARKS);
        let failed = |error| ImportError::io("opening", &path, error);
        let marks = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        let mut there = vec![0; pieces(plan).count()];
        let known = marks.metadata().map_err(failed)?.len().min(there.len() as u64) as usize;
        marks.read_exact_at(&mut there[..known], 0).map_err(failed)?;
        let open = |path: PathBuf| {
            File::options().write(true).open(&path).map_err(|error| ImportError::io("opening", &path, error))
        };
        let files = plan.weights.iter().map(|file| open(folder.join(&file.name))).collect::<Result<Vec<File>, _>>()?;
        let there = there.into_iter().map(|mark| mark == 1).collect();
        Ok(Self { marks, there, files, path: path.clone() })
    }

    /// Fetches what is not there; `tell` learns of the bytes that are, and says whether to go on.
    pub fn fetch(
        &mut self,
        hub: &Hub,
        at: (&str, &str),
        plan: &Plan,
        mut tell: impl FnMut(u64) -> bool,
    ) -> Result<(), ImportError> {
        let (there, missing): (Vec<Piece>, Vec<Piece>) = pieces(plan).partition(|piece| self.there[piece.number]);
        let bytes = |pieces: &[Piece]| pieces.iter().map(|piece| piece.range.end - piece.range.start).sum::<u64>();
        let shared = Shared {
            bytes: AtomicU64::new(bytes(&there)),
            waiting: Mutex::new(missing.into()),
            finished: Mutex::default(),
            failed: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let files = &self.files;
            let connect = || scope.spawn(|| shared.work(hub, at, plan, files));
            let connections: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
            let mut marked = Instant::now();
            while connections.iter().any(|connection| !connection.is_finished()) {
                if !tell(shared.bytes.load(Ordering::Relaxed)) {
                    shared.end(ImportError::Stopped);
                }
                if marked.elapsed() >= MARK {
                    Self::mark(&self.files, &self.marks, &mut self.there, &shared).unwrap_or_else(|e| shared.end(e));
                    marked = Instant::now();
                }
                std::thread::sleep(TELL);
            }
        });
        Self::mark(&self.files, &self.marks, &mut self.there, &shared)?;
        tell(shared.bytes.load(Ordering::Relaxed));
        let failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), Err)
    }

    /// Writes down which pieces have come, once they are on the disk.
    fn mark(files: &[File], marks: &File, there: &mut [bool], shared: &Shared) -> Result<(), ImportError> {
        let finished = std::mem::take(&mut *shared.finished.lock().unwrap_or_else(PoisonError::into_inner));
        if finished.is_empty() {
            return Ok(());
        }
        let write = || {
            files.iter().try_for_each(File::sync_data)?;
            for piece in &finished {
                marks.write_all_at(&[1], *piece as u64)?;
                there[*piece] = true;
            }
            marks.sync_data()
        };
        let mut write = write;
        write().map_err(|error| ImportError::io("writing", Path::new(MARKS), error))
    }

    /// Takes the pieces of a file for missing.
    pub fn forget(&mut self, plan: &Plan, file: &str) -> Result<(), ImportError> {
        let pieces = pieces(plan).filter(|piece| plan.weights[piece.file].name == file);
        for piece in pieces {
            self.there[piece.number] = false;
            let failed = |error| ImportError::io("writing", &self.path, error);
            self.marks.write_all_at(&[0], piece.number as u64).map_err(failed)?;
        }
        Ok(())
    }
}

fn pieces(plan: &Plan) -> impl Iterator<Item = Piece> {
    let of_file = |(file, bytes): (usize, u64)| {
        let starts = (0..bytes).step_by(PIECE_BYTES as usize);
        starts.map(move |start| (file, start..bytes.min(start + PIECE_BYTES)))
    };
    let files: Vec<(usize, u64)> = plan.weights.iter().map(|file| file.bytes).enumerate().collect();
    let ranges = files.into_iter().flat_map(of_file).enumerate();
    ranges.map(|(number, (file, range))| Piece { number, file, range })
}

impl Shared {
    /// Fetches pieces until there are none.
    fn work(&self, hub: &Hub, at: (&str, &str), plan: &Plan, files: &[File]) {
        while let Some(piece) = self.next() {
            match self.fetch(hub, at, &plan.weights[piece.file].from, &files[piece.file], &piece.range) {
                Ok(()) => self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(piece.number),
                Err(error) => return self.end(error),
            }
        }
    }

    fn next(&self) -> Option<Piece> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.load(Ordering::Relaxed) { None } else { waiting.pop_front() }
    }

    /// Ends all connections with the first error.
    fn end(&self, error: ImportError) {
        self.stop.store(true, Ordering::Relaxed);
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn fetch(
        &self,
        hub: &Hub,
        at: (&str, &str),
        path: &str,
        file: &File,
        range: &Range<u64>,
    ) -> Result<(), ImportError> {
        let (mut position, mut failures) = (range.start, Failures::default());
        loop {
            let before = position;
            let read = hub.read(at, path, position..range.end, |chunk| {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                file.write_all_at(chunk, position)?;
                position += chunk.len() as u64;
                self.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                Ok(())
            });
            let error = match read {
                Ok(()) => return Ok(()),
                Err(_) if self.stop.load(Ordering::Relaxed) => return Err(ImportError::Stopped),
                Err(HubError::Io(error)) => return Err(ImportError::io("writing", Path::new(path), error)),
                Err(error) => error,
            };
            let Some(wait) = failures.wait(&error, position > before) else {
                // Of a piece that is not complete nothing counts.
                self.bytes.fetch_sub(position - range.start, Ordering::Relaxed);
                return Err(error.into());
            };
            pause(wait, &self.stop);
        }
    }
}
