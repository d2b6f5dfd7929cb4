//! What goes wrong, and how long to be patient with it.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;

use crate::generated::Error;
use crate::types::Problem;

const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server said no; `problem.code` is stable and machine-readable.
    #[error("{status} {}: {}", problem.code, problem.detail)]
    Refused { status: StatusCode, problem: Box<Problem> },
    /// The answer is none of the API's.
    #[error("the server answered {status} in a form that is none of the API's")]
    Unexpected { status: StatusCode },
    /// The connection broke again and again without any progress.
    #[error("no progress in {attempts} attempts: {last}")]
    ConnectionLost { attempts: u32, last: String },
    /// What was received is not what the manifest promises; nothing was kept of it.
    #[error("{path}: {detail}")]
    DigestMismatch { path: String, detail: &'static str },
    #[error("the request failed")]
    Http(#[from] reqwest::Error),
    #[error("the answer cannot be read")]
    Json(#[from] serde_json::Error),
    #[error("a file cannot be written")]
    Io(#[from] std::io::Error),
    #[error("an API key consists of printable ASCII characters")]
    InvalidKey,
    #[error("{0}")]
    Other(String),
}

impl ClientError {
    /// The stable reason of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { problem, .. } => Some(&problem.code),
            _ => None,
        }
    }
}

/// Errors of the generated functions.
impl From<Error<Problem>> for ClientError {
    fn from(error: Error<Problem>) -> Self {
        match error {
            Error::ErrorResponse(response) => {
                Self::Refused { status: response.status(), problem: Box::new(response.into_inner()) }
            }
            Error::UnexpectedResponse(response) => Self::Unexpected { status: response.status() },
            Error::CommunicationError(error) | Error::ResponseBodyError(error) => Self::Http(error),
            Error::InvalidResponsePayload(_, error) => Self::Json(error),
            other => Self::Other(other.to_string()),
        }
    }
}

/// Reads an error answer.
pub async fn refused(response: reqwest::Response) -> ClientError {
    let status = response.status();
    match response.json().await {
        Ok(problem) => ClientError::Refused { status, problem: Box::new(problem) },
        Err(_) => ClientError::Unexpected { status },
    }
}

/// Something that another attempt may repair.
pub struct Interruption {
    pub cause: String,
    pub retry_after: Option<Duration>,
}

impl Interruption {
    pub fn new(cause: impl ToString) -> Self {
        Self { cause: cause.to_string(), retry_after: None }
    }
}

/// How an attempt ended, if not well.
pub enum Failure {
    Interrupted(Interruption),
    Final(ClientError),
}

impl<E: Into<ClientError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Final(error.into())
    }
}

impl From<Interruption> for Failure {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

/// What `answer` comes to; an interruption when it takes longer than `silence`.
pub async fn within<T>(silence: Duration, answer: impl Future<Output = T>) -> Result<T, Interruption> {
    let late = |_| Interruption::new(format!("nothing came for {} seconds", silence.as_secs()));
    tokio::time::timeout(silence, answer).await.map_err(late)
}

/// An answer that is no success: worth another attempt when the server is only busy.
pub async fn failure(response: reqwest::Response) -> Failure {
    let status = response.status();
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let error = refused(response).await;
    if status == StatusCode::TOO_MANY_REQUESTS || matches!(status.as_u16(), 408 | 425 | 500 | 502 | 503 | 504) {
        let retry_after = seconds.map(|seconds: u64| Duration::from_secs(seconds.min(60)));
        return Failure::Interrupted(Interruption { cause: error.to_string(), retry_after });
    }
    Failure::Final(error)
}

/// Waits longer and longer between attempts without progress, and then gives up.
pub struct Patience {
    retries: u32,
    failures: u32,
}

impl Patience {
    pub fn new(retries: u32) -> Self {
        Self { retries, failures: 0 }
    }

    pub fn progress(&mut self) {
        self.failures = 0;
    }

    pub async fn wait(&mut self, interruption: Interruption) -> Result<(), ClientError> {
        self.failures += 1;
        if self.failures > self.retries {
            return Err(ClientError::ConnectionLost { attempts: self.retries, last: interruption.cause });
        }
        let doubled = Duration::from_millis(100) * 2_u32.saturating_pow(self.failures - 1).min(1024);
        // Clients that lost the same server should not all come back at once.
        let jitter = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let share = 0.5 + f64::from(jitter.subsec_nanos() % 1000) / 2000.0;
        let pause = doubled.min(LONGEST_WAIT).mul_f64(share);
        tokio::time::sleep(pause.max(interruption.retry_after.unwrap_or_default())).await;
        Ok(())
    }
}
