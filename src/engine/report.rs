//! How the engine tells what it does, without knowing who listens.

use std::time::{Duration, Instant};

use super::artifact::Saved;
use super::error::{EngineError, Stop};
use crate::job::event::{PhaseChange, PhaseProgress};
use crate::job::{EventBody, NewEvent, Phase};

/// The engine's view of its surroundings.
pub trait Reporter {
    /// Adds an event to the job's log. May wait while the log is behind.
    fn event(&mut self, event: NewEvent) -> Result<(), Stop>;

    /// Makes an artifact visible; returns once that is durable. Old checkpoints may be removed.
    fn artifact(&mut self, saved: &Saved) -> Result<(), Stop>;

    /// Whether to stop; asked before every micro-batch and after every sampled token.
    fn should_stop(&self) -> Option<Stop>;

    /// Whether the job is to be saved and to stop, where `should_stop` keeps that for the end of a step.
    fn is_to_rest(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), EngineError> {
        self.should_stop().map_or(Ok(()), |stop| Err(EngineError::Stopped(stop)))
    }

    fn phase(&mut self, phase: Phase, step: u64) -> Result<(), EngineError> {
        let body = EventBody::Phase(PhaseChange { phase, step });
        self.event(NewEvent::info(phase.as_str(), body)).map_err(EngineError::Stopped)
    }
}

/// A reporter that keeps it for later that a job is to be saved and to stop: what is begun is not worth beginning anew.
pub struct Later<'a>(pub &'a mut dyn Reporter);

impl Reporter for Later<'_> {
    fn event(&mut self, event: NewEvent) -> Result<(), Stop> {
        self.0.event(event)
    }

    fn artifact(&mut self, saved: &Saved) -> Result<(), Stop> {
        self.0.artifact(saved)
    }

    fn should_stop(&self) -> Option<Stop> {
        self.0.should_stop().filter(|stop| *stop != Stop::Drain)
    }

    fn is_to_rest(&self) -> bool {
        self.0.is_to_rest() || self.0.should_stop() == Some(Stop::Drain)
    }
}

impl From<Stop> for EngineError {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Progress within a long phase, reported at most once a second.
pub struct Progress {
    phase: Phase,
    unit: &'static str,
    total: usize,
    last: Instant,
}

impl Progress {
    pub fn new(phase: Phase, unit: &'static str, total: usize) -> Self {
        Self { phase, unit, total, last: Instant::now() }
    }

    pub fn update(&mut self, reporter: &mut dyn Reporter, done: usize) -> Result<(), EngineError> {
        reporter.check()?;
        if self.last.elapsed() < Duration::from_secs(1) && done < self.total {
            return Ok(());
        }
        self.last = Instant::now();
        let message = format!("{}: {done} of {} {}", self.phase, self.total, self.unit);
        let (done, total, unit) = (done as u64, self.total as u64, self.unit.to_owned());
        let body = EventBody::Progress(PhaseProgress { phase: self.phase, done, total, unit });
        Ok(reporter.event(NewEvent::info(message, body))?)
    }
}
