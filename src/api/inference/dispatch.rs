//! Finds an idle worker for a request and talks with it. Each worker answers one request at a time; others wait here,
//! in the order of their arrival, up to [`PLACES`] of them and for a bounded time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Usage, problem};
use crate::api::App;
use crate::api::error::Problem;
use crate::api::places::Places;
use crate::clock;
use crate::job::DeviceStatus;
use crate::job::device::split_name;
use crate::job::inference::{Fault, FaultCode, Order, Reply};
use crate::store::DeviceRow;
use crate::store::line::Line;

/// Requests that may wait for a worker.
const PLACES: usize = 16;
/// How long a request waits while jobs have every device.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a request waits while idle devices answer others.
const TURN: Duration = Duration::from_secs(60);
/// How long a worker may take to turn to a request.
const ACCEPT: Duration = Duration::from_secs(5);
/// How long a worker may be silent; one that lives says so more often.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a waiting request looks for an idle device.
const LOOK: Duration = Duration::from_millis(100);

/// The workers as requests see them; clones are the same.
#[derive(Clone, Default)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    places: Places,
    /// Whoever holds it is the next to get a worker; others wait for it in order.
    turn: tokio::sync::Mutex<()>,
    freed: Notify,
    devices: Mutex<HashMap<String, WorkerSlot>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            places: Places::new(PLACES),
            turn: tokio::sync::Mutex::default(),
            freed: Notify::new(),
            devices: Mutex::default(),
        }
    }
}

/// What is known of a device's worker.
#[derive(Default)]
struct WorkerSlot {
    busy: bool,
    /// The model that it answered with last, which it may still have loaded.
    model: String,
}

impl Dispatcher {
    /// Hands an order to an idle worker; when this is ready, the worker has read the prompts and begun. `prompt` is
    /// the pointer of the field with the prompt.
    pub async fn ask(&self, app: &App, order: &Order, prompt: &'static str) -> Result<Answer, Problem> {
        let place = self.0.places.take(app.store.own_project()).ok_or_else(|| {
            let detail = format!(
                "{PLACES} requests for completions wait already, or half as many of this project; try again later"
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "inference_queue_full", detail)
        })?;
        let arrived = Instant::now();
        let line = {
            let turn = timeout_at(arrived + TURN, self.0.turn.lock()).await.map_err(|_| occupied())?;
            let line = self.find(app, order, arrived).await?;
            drop(turn);
            line
        };
        drop(place);
        let (reservation, line) = line;
        let mut answer = Answer { _reservation: reservation, line, prompt, prompt_tokens: 0 };
        loop {
            if let Reply::Began { prompt_tokens } = answer.next().await? {
                answer.prompt_tokens = prompt_tokens;
                return Ok(answer);
            }
        }
    }

    /// Waits for an idle worker that takes the order, which came at `arrived`.
    async fn find(&self, app: &App, order: &Order, arrived: Instant) -> Result<(Reservation, Line), Problem> {
        let (mut hopeful, mut shutdown) = (arrived, app.shutdown.clone());
        loop {
            let devices = app.store.devices(clock::now()).await?;
            // Their sockets lie on this machine, or agents wait here for what they are asked.
            let is_near = |row: &&DeviceRow| is_own(app, &row.name) || app.calls.waits(&row.name);
            let idle: Vec<&DeviceRow> = devices
                .iter()
                .filter(|row| row.status == DeviceStatus::Idle && row.worker.is_some())
                .filter(is_near)
                .collect();
            for mut reservation in self.free(&idle, &order.model) {
                if let Some(line) = open(app, &reservation.device, order).await {
                    reservation.used = true;
                    return Ok((reservation, line));
                }
            }
            let now = Instant::now();
            if self.answers_others(&idle) {
                hopeful = now;
            }
            if now >= arrived + TURN {
                return Err(occupied());
            }
            if now - hopeful >= PATIENCE {
                return Err(none_idle(&devices));
            }
            tokio::select! {
                () = self.0.freed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                _ = shutdown.wait_for(|down| *down) => {
                    let fault = Fault::new(FaultCode::ShuttingDown, "the server is about to end; try again later");
                    return Err(problem(fault, ""));
                }
            }
        }
    }

    /// Takes the slots that are free one by one, those first that had the model last.
    fn free<'a>(&'a self, idle: &[&'a DeviceRow], model: &str) -> impl Iterator<Item = Reservation> + 'a {
        let slots = self.lock();
        let had = |row: &&DeviceRow| slots.get(&row.name).is_some_and(|slot| slot.model == model);
        let (first, last): (Vec<_>, Vec<_>) = idle.iter().copied().partition(had);
        drop(slots);
        let model = model.to_owned();
        first.into_iter().chain(last).filter_map(move |row| {
            let mut slots = self.lock();
            let slot = slots.entry(row.name.clone()).or_default();
            if slot.busy {
                return None;
            }
            *slot = WorkerSlot { busy: true, model: model.clone() };
            Some(Reservation { dispatcher: self.clone(), device: row.name.clone(), used: false })
        })
    }

    fn answers_others(&self, idle: &[&DeviceRow]) -> bool {
        let slots = self.lock();
        idle.iter().any(|row| slots.get(&row.name).is_some_and(|slot| slot.busy))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, WorkerSlot>> {
        // The map is whole between any two statements.
        self.0.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker that is ours until this is dropped.
struct Reservation {
    dispatcher: Dispatcher,
    device: String,
    /// Whether the worker took the order, so that there is news when it is free.
    used: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(slot) = self.dispatcher.lock().get_mut(&self.device) {
            slot.busy = false;
        }
        if self.used {
            self.dispatcher.0.freed.notify_one();
        }
    }
}

/// Whether a device is one of this machine.
fn is_own(app: &App, device: &str) -> bool {
    split_name(device).0 == app.store.host()
}

/// Hands an order to a worker; none when it is not there or has something else to do.
async fn open(app: &App, device: &str, order: &Order) -> Option<Line> {
    let opened = async {
        let mut line = if is_own(app, device) {
            let mut line = Line::connect(app.store.files(), device).await?;
            line.sending.put(order)?;
            line.sending.flush().await?;
            line
        } else {
            let Some(line) = app.calls.call(device, order)? else { return Ok(None) };
            line
        };
        let reply = line.receiving.receive::<Reply>().await?;
        Ok::<_, std::io::Error>((reply == Some(Reply::Accepted)).then_some(line))
    };
    match timeout(ACCEPT, opened).await {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => {
            tracing::debug!(%error, device, "an idle worker takes no requests");
            None
        }
        Err(_) => None,
    }
}

fn occupied() -> Problem {
    let detail = format!("the idle devices answered other requests for {} s; try again later", TURN.as_secs());
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_idle_device", detail)
}

fn none_idle(devices: &[DeviceRow]) -> Problem {
    // Whose job it is that runs is none of the caller's business.
    let each = devices.iter().map(|row| match row.status {
        DeviceStatus::Idle => format!("the worker of {} does not answer", row.name),
        status => format!("{} is {status}", row.name),
    });
    let detail = format!(
        "completions are made by idle devices, and for {} s there was none ({}); try again when a job has ended",
        PATIENCE.as_secs(),
        if devices.is_empty() {
            String::from("the server has no devices")
        } else {
            each.collect::<Vec<_>>().join(", ")
        }
    );
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_idle_device", detail)
}

/// A worker's answer as it comes. When it is dropped, the worker stops.
pub struct Answer {
    _reservation: Reservation,
    line: Line,
    prompt: &'static str,
    prompt_tokens: u64,
}

impl Answer {
    /// The next piece, or an end.
    pub async fn next(&mut self) -> Result<Reply, Problem> {
        loop {
            let received = timeout(SILENCE, self.line.receiving.receive::<Reply>()).await;
            match received {
                Ok(Ok(Some(Reply::Alive))) => {}
                Ok(Ok(Some(Reply::Failed(fault)))) => return Err(problem(fault, self.prompt)),
                Ok(Ok(Some(reply))) => return Ok(reply),
                Ok(Ok(None) | Err(_)) | Err(_) => {
                    let message = "the worker that answered is gone; nothing was stored, try again";
                    return Err(problem(Fault::new(FaultCode::WorkerLost, message), self.prompt));
                }
            }
        }
    }

    /// What the prompts count for.
    pub fn usage(&self) -> Usage {
        Usage { prompt_tokens: self.prompt_tokens, completion_tokens: 0, total_tokens: self.prompt_tokens }
    }
}
