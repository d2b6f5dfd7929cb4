//! What a running engine reports is written down here, and it is looked what becomes of the job's lease meanwhile. A training
//! checkpoint that has a way to go, to object storage, goes while the job trains on; the next one waits until it is there.

use std::mem::take;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use super::beats::Held;
use super::keeping::Keeping;
use super::ledger::SharedLedger;
use super::patience::patiently;
use super::result::ResultBuilder;
use super::{EVENT_QUEUE, Message, Run, StopFlag, assignment, chain};
use crate::clock;
use crate::engine::artifact::Saved;
use crate::engine::{EngineError, Stop};
use crate::job::{ArtifactKind, ArtifactSummary, NewEvent};
use crate::store::{Claim, Heartbeat, Keep, Lease, Location, NewArtifact, StoreError};
use crate::telemetry::AttemptTrace;

/// Events that wait while others are written, before the engine has to wait: enough for the ten minutes in which a server
/// may be away.
const SPOOL: usize = 1 << 15;

/// Writes down what a running engine reports and looks what becomes of its lease.
pub(super) struct Tending<'a> {
    ledger: &'a SharedLedger,
    lease: Lease,
    held: Held,
    keep: Keep,
    stop: &'a StopFlag,
    pub result: ResultBuilder,
    trace: AttemptTrace,
    pub keeping: Keeping,
    /// Events that are not on their way yet.
    spool: Vec<NewEvent>,
    /// How many events were written.
    written: u64,
    /// Events on their way, once at most.
    reporting: JoinSet<(u64, Result<(), StoreError>)>,
    /// One at most.
    on_its_way: JoinSet<Result<Published, StoreError>>,
}

/// An artifact where all machines find it, of which no row tells yet.
struct Published {
    saved: Saved,
    score: Option<f64>,
    location: Location,
}

impl<'a> Tending<'a> {
    pub fn new(
        ledger: &'a SharedLedger,
        held: Held,
        (claim, device): (&Claim, &str),
        work: &assignment::Work,
        stop: &'a StopFlag,
    ) -> Self {
        Self {
            ledger,
            lease: claim.lease,
            held,
            keep: work.keep(),
            stop,
            result: ResultBuilder::new(work.gate(), claim.verification.clone()),
            trace: AttemptTrace::begin(
                claim.trace.as_deref(),
                (claim.lease.job, claim.lease.attempt),
                device,
                clock::now(),
            ),
            keeping: Keeping::new(claim.lease.job),
            spool: Vec::new(),
            written: 0,
            reporting: JoinSet::new(),
            on_its_way: JoinSet::new(),
        }
    }

    pub async fn tend(
        &mut self,
        mut inbox: mpsc::Receiver<Message>,
        mut finished: oneshot::Receiver<Run>,
        shutdown: &mut watch::Receiver<bool>,
    ) -> Run {
        let (ledger, lease, held) = (self.ledger, self.lease, self.held);
        let heed = || ledger.heed(lease, held.lasts());
        let mut word = heed();
        let mut batch = Vec::new();
        loop {
            if *shutdown.borrow() {
                self.stop.raise(Stop::Drain);
            }
            let written = tokio::select! {
                biased;
                answer = &mut word => {
                    self.follow(answer);
                    word = heed();
                    Ok(())
                }
                _ = shutdown.changed(), if !*shutdown.borrow() => Ok(()),
                Some(reported) = self.reporting.join_next() => self.reported(reported).await,
                Some(published) = self.on_its_way.join_next() => self.add(published).await,
                count = inbox.recv_many(&mut batch, EVENT_QUEUE), if self.spool.len() < SPOOL => {
                    if count == 0 {
                        if let Err(error) = self.flush().await {
                            return self.lost(&error);
                        }
                        // The engine thread has dropped its reporter; its result is there or on its way.
                        let ended = (&mut finished).await;
                        return ended.unwrap_or_else(|_| Err(EngineError::Internal(String::from("the engine vanished"))));
                    }
                    self.write(batch.drain(..)).await
                }
            };
            if let Err(error) = written {
                return self.lost(&error);
            }
        }
    }

    /// The attempt is over, for whoever follows its trace.
    pub fn end_trace(&mut self, result: &Run) {
        let failure = match result {
            Ok(_) | Err(EngineError::Stopped(_)) => None,
            Err(error) => Some(chain(error)),
        };
        self.trace.end(failure.as_deref(), clock::now());
    }

    /// The attempt is over, because what it reports cannot be kept.
    fn lost(&self, error: &StoreError) -> Run {
        tracing::error!(job = %self.lease.job, error = chain(error), "nothing more can be written");
        // Whatever it is, the engine can stop at once.
        self.stop.raise(Stop::LeaseLost);
        Err(cause(error))
    }

    /// Does as the job's worker is asked to.
    fn follow(&self, word: Result<Heartbeat, StoreError>) {
        match word {
            Ok(Heartbeat::GoOn) => {}
            Ok(Heartbeat::Pause) => self.stop.raise(Stop::Drain),
            Ok(Heartbeat::Cancel) => self.stop.raise(Stop::Cancel),
            Ok(Heartbeat::Lost) => self.stop.raise(Stop::LeaseLost),
            // Should the job be taken back meanwhile, the fence keeps this attempt from writing.
            Err(error) => tracing::warn!(job = %self.lease.job, error = chain(&error), "the lease cannot be checked"),
        }
    }

    /// Writes messages in order, events in as few transactions as possible and beside the engine's work.
    async fn write(&mut self, messages: impl Iterator<Item = Message>) -> Result<(), StoreError> {
        for message in messages {
            match message {
                Message::Event(event) => {
                    self.result.note(&event.body);
                    self.trace.note(&event, clock::now());
                    self.spool.push(event);
                }
                Message::Artifact(saved, reply) => {
                    self.flush().await?;
                    self.publish(saved).await?;
                    if reply.send(Ok(())).is_err() {
                        tracing::debug!("the engine ended without waiting for its artifact");
                    }
                }
            }
        }
        self.report();
        Ok(())
    }

    /// Sends events on their way, unless some are.
    fn report(&mut self) {
        if self.spool.is_empty() || !self.reporting.is_empty() {
            return;
        }
        let (ledger, lease, first) = (Arc::clone(self.ledger), self.lease, self.written);
        let events = take(&mut self.spool);
        self.reporting.spawn(async move {
            let mut written = 0;
            for some in events.chunks(EVENT_QUEUE) {
                if let Err(error) = patiently(|| ledger.record(lease, first + written, some)).await {
                    return (written, Err(error));
                }
                written += some.len() as u64;
            }
            (written, Ok(()))
        });
    }

    /// Takes note that events were written, and sends the next.
    async fn reported(&mut self, reported: Result<(u64, Result<(), StoreError>), JoinError>) -> Result<(), StoreError> {
        let (count, written) = reported.map_err(|error| self.broken(error))?;
        self.written += count;
        written?;
        self.keeping.now_and_then(self.ledger.place()).await;
        self.report();
        Ok(())
    }

    /// Waits until everything is written that was reported, and what is on its way is there.
    async fn flush(&mut self) -> Result<(), StoreError> {
        self.report();
        while let Some(reported) = self.reporting.join_next().await {
            self.reported(reported).await?;
        }
        while let Some(published) = self.on_its_way.join_next().await {
            self.add(published).await?;
        }
        Ok(())
    }

    /// Publishes an artifact, or begins to, where that takes long and the job can go on.
    async fn publish(&mut self, saved: Saved) -> Result<(), StoreError> {
        let score = match saved.summary {
            ArtifactSummary::Checkpoint => self.result.take_score(saved.manifest.step),
            ArtifactSummary::Rollouts(_) | ArtifactSummary::Evaluation(_) => None,
        };
        let goes_beside = self.ledger.place().is_remote() && saved.manifest.kind == ArtifactKind::Training;
        let (place, keeping) = (self.ledger.place().clone(), self.keeping.clone());
        self.on_its_way.spawn(async move {
            // Whoever goes on from it finds what was kept until then.
            keeping.all(&place).await?;
            let location = patiently(|| place.publish(&saved.directory, &saved.manifest)).await?;
            Ok(Published { saved, score, location })
        });
        if goes_beside { Ok(()) } else { self.flush().await }
    }

    /// Makes an artifact visible.
    async fn add(&mut self, published: Result<Result<Published, StoreError>, JoinError>) -> Result<(), StoreError> {
        let Published { saved: Saved { manifest, summary, .. }, score, location } =
            published.map_err(|error| self.broken(error))??;
        let (location, manifest, summary) = (&location, &manifest, &summary);
        let new = NewArtifact { location, manifest, summary, score, keep: self.keep };
        let added = patiently(|| self.ledger.add_artifact(self.lease, new)).await?;
        self.result.made(added.id, manifest.kind, summary);
        for old in &added.dropped {
            self.ledger.place().remove(old).await;
        }
        Ok(())
    }

    fn broken(&self, error: JoinError) -> StoreError {
        StoreError::io("publishing below", self.ledger.files().root(), std::io::Error::other(error))
    }
}

/// What an attempt ends with that can write nothing more. As long as the lease is good its job is nobody else's, and ends.
fn cause(error: &StoreError) -> EngineError {
    match error {
        StoreError::LeaseLost => EngineError::Stopped(Stop::LeaseLost),
        StoreError::Full(_) => EngineError::full("writing to"),
        error => EngineError::Internal(format!("{}; resume the job when that works again", chain(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::FailureKind;

    #[test]
    fn a_job_that_can_write_nothing_more_ends_unless_it_is_somebody_elses() {
        assert!(matches!(cause(&StoreError::LeaseLost), EngineError::Stopped(Stop::LeaseLost)));
        assert_eq!(cause(&StoreError::Full("no room".into())).failure().kind, FailureKind::StorageFull);
        let failure = cause(&StoreError::Overloaded).failure();
        assert_eq!(failure.kind, FailureKind::Internal);
        assert!(failure.message.contains("database is busy") && failure.message.contains("resume"), "{failure:?}");
    }
}
