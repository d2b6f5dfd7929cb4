//! Models on their way in, as requests ask for them: what a client names is laid out and tried in a process with limits
//! before it has a row, and its weights come while nobody waits.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::blocking::blocking;
use super::error::Problem;
use super::sandbox::{self, End, Task};
use crate::dataset::{Prompt, Row};
use crate::hub::{Hub, HubError, HubRef};
use crate::import::{self, ImportError, Laid, Source};
use crate::job::spec::PromptSpec;
use crate::job::{FieldError, ModelStatus};
use crate::modelfile;
use crate::store::{ModelRow, Store, StoreError};
use crate::text::ModelText;

/// How long a model's tokenizer and chat template may take to be read and tried.
const TRIAL_TIME: Duration = Duration::from_secs(60);

/// Where models may come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Folders below which models may be imported.
    pub roots: Vec<PathBuf>,
    pub hub: Hub,
}

/// What naming a model of the hub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// It is brought, all of it.
    Begin,
    /// As much of it as tells what it is.
    Describe,
    /// Nothing: it is used if it is here.
    Never,
}

/// Where models that a request names are looked for, and what naming one does.
#[derive(Clone, Copy, Debug)]
pub struct Finder<'a> {
    pub store: &'a Store,
    pub sources: &'a Sources,
    pub pull: Pull,
}

/// Lays a model out, tries its tokenizer and chat template, and gives it a row with which its import goes on by itself.
pub async fn begin(
    store: &Store,
    hub: &Hub,
    source: Source,
    name: Option<String>,
    status: ModelStatus,
) -> Result<ModelRow, Problem> {
    let (staged, hub) = (store.place().stage(), hub.clone());
    let laid = blocking(move || source.lay_out(staged, &hub)).await??;
    try_out(store, &laid).await?;
    Ok(import::begin(store, laid, name, status).await?)
}

/// The model that `reference` names, brought if it is not here. An error has the given pointer.
pub async fn pull(
    store: &Store,
    hub: &Hub,
    reference: &HubRef,
    pull: Pull,
    pointer: &str,
) -> Result<Result<ModelRow, FieldError>, Problem> {
    if let Some(row) = here(store, hub, reference, pull).await? {
        return Ok(Ok(wanted(store, row, pull).await?));
    }
    if pull == Pull::Never {
        let detail =
            format!("{reference} is not here; bring it with POST /v1/models or `anneal models pull {reference}`");
        return Ok(Err(FieldError::new(pointer, "not_found", detail)));
    }
    let (asked, of) = (hub.clone(), reference.clone());
    let snapshot = match blocking(move || asked.snapshot(&of)).await? {
        Ok(snapshot) => snapshot,
        Err(error) => return field_or_problem(error.into(), pointer),
    };
    let reference = reference.at(&snapshot.commit);
    if let Some(row) = here(store, hub, &reference, pull).await? {
        return Ok(Ok(wanted(store, row, pull).await?));
    }
    let _turn = turn(&reference).lock().await;
    if let Some(row) = here(store, hub, &reference, pull).await? {
        return Ok(Ok(wanted(store, row, pull).await?));
    }
    let status = if pull == Pull::Begin { ModelStatus::Importing } else { ModelStatus::Pending };
    let source = Source::Hub { reference, snapshot };
    let (staged, asked) = (store.place().stage(), hub.clone());
    let laid = match blocking(move || source.lay_out(staged, &asked)).await? {
        Ok(laid) => laid,
        Err(error) => return field_or_problem(error, pointer),
    };
    try_out(store, &laid).await?;
    Ok(Ok(import::begin(store, laid, None, status).await?))
}

/// Two requests for one model make one; those for others seldom wait for one another.
fn turn(reference: &HubRef) -> &'static Mutex<()> {
    static TURNS: [Mutex<()>; 64] = [const { Mutex::const_new(()) }; 64];
    let mut hasher = DefaultHasher::new();
    reference.to_string().hash(&mut hasher);
    &TURNS[(hasher.finish() % TURNS.len() as u64) as usize]
}

/// The model of a commit that is here or under way; without a network, the newest of the repository.
async fn here(store: &Store, hub: &Hub, reference: &HubRef, pull: Pull) -> Result<Option<ModelRow>, Problem> {
    if reference.commit().is_some() {
        let Some(row) = store.model_from(&reference.to_string()).await? else { return Ok(None) };
        // Of one that is not complete nothing is of use when its folder is gone.
        if row.status == ModelStatus::Ready || import::is_laid_out(store, row.id).await? {
            return Ok(Some(row));
        }
        if store.is_shared() && row.status == ModelStatus::Importing {
            let detail =
                format!("another server is bringing the model; name it when it is here (GET /v1/models/{})", row.id);
            return Err(StoreError::Conflict(detail).into());
        }
        // It stays where it is another's, or is named by a job that is not over.
        if pull != Pull::Never
            && let Err(error) = store.delete_model(row.id).await
        {
            tracing::debug!(model = %row.id, %error, "what is left of a model stays");
        }
        return Ok(None);
    }
    if !hub.is_offline() || reference.revision.is_some() {
        return Ok(None);
    }
    Ok(store.newest_model_from(&format!("{reference}@")).await?)
}

/// As [`pull`], for whoever asks for the model alone: it is brought, and called `name` if it has no name.
pub async fn bring(
    store: &Store,
    hub: &Hub,
    reference: &HubRef,
    name: Option<&str>,
    pointer: &str,
) -> Result<ModelRow, Problem> {
    let row = pull(store, hub, reference, Pull::Begin, pointer).await?;
    let row = row.map_err(|error| Problem { code: error.code, ..Problem::invalid(vec![error]) })?;
    match name.filter(|_| row.name.is_none()) {
        Some(name) => Ok(store.name_model(row.id, name).await?),
        None => Ok(row),
    }
}

/// A model that is here, on its way if it is wanted and was not.
pub async fn wanted(store: &Store, row: ModelRow, pull: Pull) -> Result<ModelRow, Problem> {
    match row.status {
        ModelStatus::Pending | ModelStatus::Failed if pull == Pull::Begin => {
            store.start_import(row.id).await?;
            Ok(store.model(row.id).await?)
        }
        ModelStatus::Pending | ModelStatus::Failed | ModelStatus::Importing | ModelStatus::Ready => Ok(row),
    }
}

/// What is wrong with what a field names is said of the field; what is wrong with the way to it is not.
fn field_or_problem<T>(error: ImportError, pointer: &str) -> Result<Result<T, FieldError>, Problem> {
    let is_passing = matches!(&error, ImportError::Hub(error) if error.passes().is_some());
    if is_passing || matches!(error, ImportError::Store(_)) {
        return Err(error.into());
    }
    Ok(Err(FieldError::new(pointer, error.code(), error.to_string())))
}

/// An error with its causes.
fn whole(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", whole(cause)),
        None => error.to_string(),
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        let detail = whole(&error);
        let retry_seconds = match &error {
            ImportError::Hub(HubError::RateLimited(wait)) => Some(wait.as_secs()),
            _ => None,
        };
        let status = match &error {
            ImportError::Store(_) => {
                let ImportError::Store(error) = error else { return Self::from(StoreError::Overloaded) };
                return error.into();
            }
            ImportError::Hub(error) => match error.passes() {
                Some(_) => StatusCode::SERVICE_UNAVAILABLE,
                None => StatusCode::UNPROCESSABLE_ENTITY,
            },
            ImportError::NotAllowed(_) => StatusCode::FORBIDDEN,
            ImportError::Full { .. } => StatusCode::INSUFFICIENT_STORAGE,
            ImportError::Stopped => StatusCode::CONFLICT,
            ImportError::Model(_)
            | ImportError::UnknownFile(_)
            | ImportError::WrongBytes { .. }
            | ImportError::Changed(_)
            | ImportError::Lost => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self { retry_seconds, ..Self::new(status, error.code(), detail) }
    }
}

/// A model whose tokenizer and chat template are to be tried.
#[derive(Debug, Serialize, Deserialize)]
pub struct ModelTrial {
    path: PathBuf,
}

impl Task for ModelTrial {
    const NAME: &'static str = "model";
    /// What is wrong with it, if anything is that only a trial tells.
    type Answer = Option<String>;

    /// What is merely wrong is said by the import itself, or to those who make prompts; here it is only seen that nothing
    /// worse comes of it.
    fn perform(&self, mut tell: impl FnMut(&Self::Answer) -> io::Result<()>) -> io::Result<()> {
        let spec = PromptSpec::default();
        let prompt = Prompt::Text(String::from("What is 1 + 1?\n\n  Answer: \u{1f600} 2."));
        let row = Row { prompt, answer: None, completion: None, fields: Arc::default() };
        let mut wrong = None;
        if let Ok(inspection) = modelfile::inspect(&self.path)
            && let Ok(texts) = ModelText::of(&inspection, &spec)
        {
            wrong = texts.tokenizer.try_patterns().err().map(|error| error.to_string());
            let prompter = texts.prompter(&spec, inspection.config.max_position_embeddings);
            // A template may refuse this conversation.
            drop(prompter.and_then(|prompter| prompter.render(0, &row)));
        }
        tell(&wrong)
    }
}

/// Refuses a model whose tokenizer or chat template ends the process that tries them, or takes too long.
async fn try_out(store: &Store, laid: &Laid) -> Result<(), Problem> {
    let trial = ModelTrial { path: laid.folder()?.to_owned() };
    let (answers, end) = sandbox::ask(store.own_project(), &trial, TRIAL_TIME).await?;
    let detail = match end {
        End::Done => match answers.into_iter().next().flatten() {
            None => return Ok(()),
            Some(wrong) => wrong,
        },
        End::TimedOut => format!("its tokenizer or chat template takes longer than {} s", TRIAL_TIME.as_secs()),
        End::Died(how) => how,
    };
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "model_text_failed", detail))
}

/// The real path, when it is below one of the import `roots`. The message is the same whether the path exists or not.
pub fn allowed(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, ImportError> {
    let refused = || ImportError::NotAllowed(path.display().to_string());
    if !import::is_below(path, roots) {
        return Err(refused());
    }
    path.canonicalize().map_err(|_| refused())
}
