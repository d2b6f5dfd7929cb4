//! Requests for completions on their way from the server to this process: they are asked for while the worker is idle, and go
//! over the worker's own socket, as those of a server on the same machine.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{Client, PAUSE, WAIT, member};
use crate::job::WorkerId;
use crate::job::agent::{Answer, Call, CallReplies, MAX_EVENTS, Word};
use crate::job::inference::{Fault, FaultCode, Order, Reply};
use crate::spec::ModelRef;
use crate::store::line::Line;
use crate::store::{Files, Result, StoreError, StoredModel};

/// How often it is looked whether the worker is idle.
const LOOK: Duration = Duration::from_millis(200);
/// For how long replies are gathered.
const GATHER: Duration = Duration::from_millis(20);
/// How often replies are sent that find no server.
const TRIES: u32 = 3;
/// Models of requests that are remembered.
const MOST_MODELS: usize = 64;

/// Where the models of requests lie, as the server told; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct CalledModels(Arc<Mutex<HashMap<String, StoredModel>>>);

impl CalledModels {
    pub fn of(&self, reference: &str) -> Option<StoredModel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(reference).cloned()
    }

    fn put(&self, reference: &str, model: StoredModel) {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if models.len() >= MOST_MODELS {
            models.clear();
        }
        models.insert(reference.to_owned(), model);
    }
}

/// Takes requests for the worker of a device for as long as the server knows it.
pub(super) async fn take(client: Arc<Client>, files: Files, models: CalledModels, worker: WorkerId, device: String) {
    let path = format!("/workers/{worker}/calls");
    loop {
        if !Line::is_open(&files, &device) {
            sleep(LOOK).await;
            continue;
        }
        match client.post::<Call>(&format!("{path}?wait={}", WAIT.as_secs()), &json!({})).await {
            Ok(None) => {}
            Ok(Some(call)) => {
                let number = call.call;
                if let Err(error) = answer(&client, &files, &models, &device, call, &format!("{path}/{number}")).await {
                    tracing::warn!(%error, "a request for completions could not be answered");
                }
            }
            Err(StoreError::Server { .. }) => return,
            Err(error) => {
                tracing::debug!(%error, "requests for completions cannot be asked for; trying again");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Answers one request.
async fn answer(
    client: &Client,
    files: &Files,
    models: &CalledModels,
    device: &str,
    call: Call,
    path: &str,
) -> Result<()> {
    let mut first = 0;
    let mut send = async |replies: Vec<Reply>| {
        let body = CallReplies { first, replies };
        first += body.replies.len() as u64;
        for _ in 1..TRIES {
            match client.post::<Answer>(path, &body).await {
                Err(StoreError::ServerAway(_) | StoreError::Distrusted(_)) => sleep(PAUSE).await,
                said => return Ok(said?.is_some_and(|answer| answer.word == Word::GoOn)),
            }
        }
        Ok::<_, StoreError>(client.post::<Answer>(path, &body).await?.is_some_and(|answer| answer.word == Word::GoOn))
    };
    let reference = call.order.model.parse::<ModelRef>();
    let reference = reference.map_or_else(|_| call.order.model.clone(), |reference| reference.to_string());
    models.put(&reference, member("model", call.model)?);
    let Ok(mut line) = ask(files, device, &call.order).await else { return send(vec![Reply::Busy]).await.map(drop) };
    loop {
        let mut replies = vec![next(&mut line).await];
        while replies.len() < MAX_EVENTS
            && !replies.last().is_some_and(Reply::is_last)
            && let Ok(reply) = timeout(GATHER, next(&mut line)).await
        {
            replies.push(reply);
        }
        let is_over = replies.last().is_some_and(Reply::is_last);
        // Without a listener the line is closed, which ends the worker's answer.
        if !send(replies).await? || is_over {
            return Ok(());
        }
    }
}

/// Hands an order to the worker of this process.
async fn ask(files: &Files, device: &str, order: &Order) -> io::Result<Line> {
    let mut line = Line::connect(files, device).await?;
    line.sending.put(order)?;
    line.sending.flush().await?;
    Ok(line)
}

/// The next reply; a worker that is gone has failed.
async fn next(line: &mut Line) -> Reply {
    match line.receiving.receive::<Reply>().await {
        Ok(Some(reply)) => reply,
        Ok(None) | Err(_) => {
            let message = "the worker that answered is gone; nothing was stored, try again";
            Reply::Failed(Fault::new(FaultCode::WorkerLost, message))
        }
    }
}
