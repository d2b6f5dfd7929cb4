//! `POST /v1/verifiers/{id}/audit`

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::judge::checked;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::row_source::RowSource;
use crate::api::sandbox::{self, End, Task};
use crate::dataset::{Message, Prompt, Row, Split};
use crate::job::{FieldError, VerifierId};
use crate::verifier::{self, Case, Outside, Score, ScoreStatus, Verifier};

/// The least reward of a completion that passes.
const PASS_MARK: f64 = 0.5;
/// Rows that are not judged by then are left out.
const MOST_TIME: Duration = Duration::from_secs(10);
/// Rows that did not pass which an answer shows.
const MOST_EXAMPLES: usize = 10;
/// Characters of a text that an answer shows.
const MOST_CHARACTERS: usize = 500;

/// Which rows to audit a verifier with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditVerifier {
    /// A data set (`ds_...`, its latest version), a version (`dsv_...`) or a built-in.
    #[schema(example = "builtin:arithmetic")]
    dataset: String,
    /// Rows to look at, from the first on; 1 to 1000.
    #[serde(default = "default_rows")]
    #[schema(default = 1000, minimum = 1, maximum = 1000)]
    rows: usize,
}

fn default_rows() -> usize {
    1000
}

/// How a verifier judges a data set's own answers.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct VerifierAudit {
    /// Always `verifier.audit`.
    object: &'static str,
    verifier: String,
    dataset: String,
    /// Rows that were looked at.
    rows: usize,
    /// Rows with neither a completion nor an answer, which could not be judged.
    skipped: usize,
    /// Judged rows whose text was the row's completion; that of the others was its answer.
    from_completion: usize,
    passed: usize,
    /// Judged, with a reward below 0.5.
    failed: usize,
    /// Held nothing to judge.
    unparsable: usize,
    /// Could not be judged.
    errors: usize,
    /// Share of the judged rows that pass; null when none was judged. A verifier that fails right answers is broken.
    pass_rate: Option<f64>,
    /// The first rows that did not pass, at most 10.
    examples: Vec<AuditExample>,
}

/// A row that did not pass.
#[derive(Debug, Serialize, ToSchema)]
struct AuditExample {
    /// Its number, counted from 0.
    row: usize,
    /// `ok`, `unparsable`, `error` or `timeout`.
    status: &'static str,
    /// Null where the row could not be judged.
    reward: Option<f64>,
    /// The beginning of the text that was judged.
    completion: String,
    /// The beginning of the row's answer.
    answer: Option<String>,
    /// What the verifier took out of the text.
    found: Option<String>,
    detail: Option<String>,
}

/// Audit a verifier
///
/// Runs the verifier on a data set's own completions, or where there are none on the expected answers as if a model had
/// written nothing else, and says how many of them pass. What fails here would punish a model for being right. Looks at
/// the first rows, for at most ten seconds.
#[utoipa::path(
    post,
    path = "/v1/verifiers/{id}/audit",
    tag = "verifiers",
    params(("id" = String, Path, description = "The verifier")),
    request_body = AuditVerifier,
    responses(
        (status = 200, body = VerifierAudit),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such verifier", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or there is no such data set", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn audit_verifier(
    Access(app): Access,
    Id(id): Id<VerifierId>,
    JsonBody(body): JsonBody,
) -> Result<Json<VerifierAudit>, Problem> {
    let one = |error: FieldError| Problem::invalid(vec![error]);
    let request: AuditVerifier = read(&body)?;
    let row = app.store.verifier(id).await?;
    let config = verifier::Config::parse(&row.config, "/config").map_err(Problem::invalid)?;
    let rows = RowSource::named(&app.store, &request.dataset, Split::Train, "/dataset").await?.map_err(one)?;
    let outside = app.settings.verifiers.clone();
    let task = Audit { verifier: config.resolved(), outside, rows, most: request.rows };
    let (audited, end) = sandbox::ask(app.store.own_project(), &task, MOST_TIME).await?;
    let mut audit = VerifierAudit { object: "verifier.audit", dataset: request.dataset, ..VerifierAudit::default() };
    audit.verifier = id.to_string();
    audited.into_iter().for_each(|row| audit.count(row));
    if let End::Died(how) = end {
        // The row after those that were judged.
        let text = AuditedText { from_completion: false, text: String::new(), answer: None, score: Score::error(how) };
        audit.count(AuditedRow { row: audit.rows, judged: Some(text) });
    }
    let judged = audit.passed + audit.failed + audit.unparsable;
    audit.pass_rate = (judged > 0).then(|| audit.passed as f64 / judged as f64);
    Ok(Json(audit))
}

/// A verifier, and the rows that it is audited with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Audit {
    verifier: Value,
    outside: Outside,
    rows: RowSource,
    most: usize,
}

/// What is told of a row.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuditedRow {
    row: usize,
    /// None: it has neither a completion nor an answer.
    judged: Option<AuditedText>,
}

/// A text that was judged. Texts are cut off behind their beginnings.
#[derive(Debug, Serialize, Deserialize)]
struct AuditedText {
    from_completion: bool,
    text: String,
    answer: Option<String>,
    score: Score,
}

impl Task for Audit {
    const NAME: &'static str = "audit";
    type Answer = AuditedRow;

    fn perform(&self, mut tell: impl FnMut(&AuditedRow) -> io::Result<()>) -> io::Result<()> {
        let verifier = checked(&self.verifier)?.build(&self.outside);
        let rows = self.rows.open().map_err(io::Error::other)?;
        (0..rows.len().min(self.most)).try_for_each(|number| {
            let row = rows.row(number).map_err(io::Error::other)?;
            let judged = row.completion.as_deref().or(row.answer.as_deref()).map(|text| AuditedText {
                from_completion: row.completion.is_some(),
                text: beginning(text),
                answer: row.answer.as_deref().map(beginning),
                score: shortened(judge(verifier.as_ref(), &row, text)),
            });
            tell(&AuditedRow { row: number, judged })
        })
    }
}

impl VerifierAudit {
    fn count(&mut self, AuditedRow { row, judged }: AuditedRow) {
        self.rows += 1;
        let Some(AuditedText { from_completion, text, answer, score }) = judged else {
            self.skipped += 1;
            return;
        };
        self.from_completion += usize::from(from_completion);
        let passed = score.status == ScoreStatus::Ok && score.reward >= PASS_MARK;
        match score.status {
            ScoreStatus::Ok if passed => self.passed += 1,
            ScoreStatus::Ok => self.failed += 1,
            ScoreStatus::Unparsable => self.unparsable += 1,
            ScoreStatus::Error | ScoreStatus::Timeout => self.errors += 1,
        }
        if !passed && self.examples.len() < MOST_EXAMPLES {
            self.examples.push(AuditExample {
                row,
                status: score.status.as_str(),
                reward: score.is_scored().then_some(score.reward),
                completion: text,
                answer,
                found: score.answer,
                detail: score.detail,
            });
        }
    }
}

fn judge(verifier: &dyn Verifier, row: &Row, text: &str) -> Score {
    let prompt = match &row.prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Messages(messages) => messages.iter().filter_map(Message::content).collect::<Vec<_>>().join("\n"),
    };
    let case = Case { prompt: &prompt, completion: text, answer: row.answer.as_deref(), row: &row.fields };
    // A verifier has no state of its own that a panic could leave half-changed.
    catch_unwind(AssertUnwindSafe(|| verifier.verify(&case)))
        .unwrap_or_else(|_| Score::error("the verifier panicked on this text"))
}

/// A verdict whose texts are cut off behind their beginnings.
fn shortened(score: Score) -> Score {
    let short = |text: Option<String>| text.as_deref().map(beginning);
    Score { answer: short(score.answer), detail: short(score.detail), ..score }
}

fn beginning(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}
