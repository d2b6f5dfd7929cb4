//! Chat templates that specs bring: programs of a client, which a process with limits reads.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::sandbox::{self, End, Task};
use crate::job::FieldError;
use crate::store::Store;
use crate::text::chat::ChatTemplate;

/// How long reading one may take.
const MOST_TIME: Duration = Duration::from_secs(10);

/// A template that is to be read.
#[derive(Debug, Serialize, Deserialize)]
pub struct TemplateTrial {
    source: String,
}

impl Task for TemplateTrial {
    const NAME: &'static str = "template";
    /// Why it is none.
    type Answer = Option<String>;

    fn perform(&self, mut tell: impl FnMut(&Self::Answer) -> io::Result<()>) -> io::Result<()> {
        let read = ChatTemplate::new(&self.source, None, None);
        tell(&read.err().map(|error| error.to_string()))
    }
}

/// Refuses what is no chat template, at `pointer`.
pub async fn check(store: &Store, source: &str, pointer: &str) -> Result<Result<(), FieldError>, Problem> {
    let trial = TemplateTrial { source: source.to_owned() };
    let (answers, end) = sandbox::ask(store.own_project(), &trial, MOST_TIME).await?;
    let wrong = match (answers.into_iter().next(), end) {
        (Some(None), _) => return Ok(Ok(())),
        (Some(Some(wrong)), _) => wrong,
        (None, End::Died(how)) => how,
        (None, End::Done | End::TimedOut) => String::from("the chat template takes too long to be read"),
    };
    Ok(Err(FieldError::new(pointer, "chat_template_failed", wrong)))
}
