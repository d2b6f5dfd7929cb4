//! What a running engine reports is written down here, and it is looked what becomes of the job's lease meanwhile. A training
//! checkpoint that has a way to go, to object storage, goes while the job trains on; the next one waits until it is there.

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::beats::Held;
use super::keeping::Keeping;
use super::patience::patiently;
use super::result::ResultBuilder;
use super::{EVENT_QUEUE, Message, POLL, Run, StopFlag, assignment, chain};
use crate::clock;
use crate::engine::artifact::Saved;
use crate::engine::{EngineError, Stop};
use crate::job::{ArtifactKind, ArtifactSummary, NewEvent};
use crate::store::{Claim, Heartbeat, Keep, Lease, Location, NewArtifact, Store, StoreError};

/// Writes down what a running engine reports and looks what becomes of its lease.
pub(super) struct Tending<'a> {
    store: &'a Store,
    lease: Lease,
    held: Held,
    keep: Keep,
    stop: &'a StopFlag,
    pub result: ResultBuilder,
    pub keeping: Keeping,
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
    pub fn new(store: &'a Store, held: Held, claim: &Claim, work: &assignment::Work, stop: &'a StopFlag) -> Self {
        let result = ResultBuilder::new(work.gate(), claim.verification.clone());
        let (lease, keeping) = (claim.lease, Keeping::new(claim.lease.job));
        Self { store, lease, held, keep: work.keep(), stop, result, keeping, on_its_way: JoinSet::new() }
    }

    pub async fn tend(
        &mut self,
        mut inbox: mpsc::Receiver<Message>,
        mut finished: oneshot::Receiver<Run>,
        shutdown: &mut watch::Receiver<bool>,
    ) -> Run {
        let mut polls = interval(POLL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut batch = Vec::new();
        loop {
            if *shutdown.borrow() {
                self.stop.raise(Stop::Drain);
            }
            let written = tokio::select! {
                biased;
                _ = polls.tick() => {
                    self.check_lease().await;
                    Ok(())
                }
                Some(published) = self.on_its_way.join_next() => self.add(published).await,
                count = inbox.recv_many(&mut batch, EVENT_QUEUE) => {
                    if count == 0 {
                        if let Err(error) = self.arrive().await {
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

    /// The attempt is over, because what it reports cannot be kept.
    fn lost(&self, error: &StoreError) -> Run {
        tracing::error!(job = %self.lease.job, error = chain(error), "nothing more can be written");
        // Whatever it is, the engine can stop at once.
        self.stop.raise(Stop::LeaseLost);
        Err(cause(error))
    }

    async fn check_lease(&self) {
        match self.store.check_lease(self.lease, self.held.lasts(), clock::now()).await {
            Ok(Heartbeat::GoOn) => {}
            Ok(Heartbeat::Pause) => self.stop.raise(Stop::Drain),
            Ok(Heartbeat::Cancel) => self.stop.raise(Stop::Cancel),
            Ok(Heartbeat::Lost) => self.stop.raise(Stop::LeaseLost),
            // Should the server take the job back meanwhile, the fence keeps this attempt from writing.
            Err(error) => tracing::warn!(job = %self.lease.job, error = chain(&error), "the lease cannot be checked"),
        }
    }

    /// Writes messages in order, events in as few transactions as possible.
    async fn write(&mut self, messages: impl Iterator<Item = Message>) -> Result<(), StoreError> {
        let mut events = Vec::new();
        for message in messages {
            match message {
                Message::Event(event) => {
                    self.result.note(&event.body);
                    events.push(event);
                }
                Message::Artifact(saved, reply) => {
                    self.record(&mut events).await?;
                    self.publish(saved).await?;
                    if reply.send(Ok(())).is_err() {
                        tracing::debug!("the engine ended without waiting for its artifact");
                    }
                }
            }
        }
        self.record(&mut events).await
    }

    async fn record(&mut self, events: &mut Vec<NewEvent>) -> Result<(), StoreError> {
        if !events.is_empty() {
            patiently(|| self.store.record(self.lease, events, clock::now())).await?;
            events.clear();
            self.keeping.now_and_then(self.store.place()).await;
        }
        Ok(())
    }

    /// Publishes an artifact, or begins to, where that takes long and the job can go on.
    async fn publish(&mut self, saved: Saved) -> Result<(), StoreError> {
        self.arrive().await?;
        let score = match saved.summary {
            ArtifactSummary::Checkpoint => self.result.take_score(saved.manifest.step),
            ArtifactSummary::Rollouts(_) | ArtifactSummary::Evaluation(_) => None,
        };
        let goes_beside = self.store.place().is_remote() && saved.manifest.kind == ArtifactKind::Training;
        let (place, keeping) = (self.store.place().clone(), self.keeping.clone());
        self.on_its_way.spawn(async move {
            // Whoever goes on from it finds what was kept until then.
            keeping.all(&place).await?;
            let location = patiently(|| place.publish(&saved.directory, &saved.manifest)).await?;
            Ok(Published { saved, score, location })
        });
        if goes_beside { Ok(()) } else { self.arrive().await }
    }

    /// Waits for what is on its way.
    async fn arrive(&mut self) -> Result<(), StoreError> {
        while let Some(published) = self.on_its_way.join_next().await {
            self.add(published).await?;
        }
        Ok(())
    }

    /// Makes an artifact visible.
    async fn add(
        &mut self,
        published: Result<Result<Published, StoreError>, tokio::task::JoinError>,
    ) -> Result<(), StoreError> {
        let failed =
            |error| StoreError::io("publishing below", self.store.files().root(), std::io::Error::other(error));
        let Published { saved: Saved { manifest, summary, .. }, score, location } = published.map_err(failed)??;
        let (location, manifest, summary) = (&location, &manifest, &summary);
        let new = NewArtifact { location, manifest, summary, score, keep: self.keep };
        let added = patiently(|| self.store.add_artifact(self.lease, new, clock::now())).await?;
        self.result.made(added.id, manifest.kind, summary);
        for old in &added.dropped {
            self.store.place().remove(old).await;
        }
        Ok(())
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
