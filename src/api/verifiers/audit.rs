//! `POST /v1/verifiers/{id}/audit`

use std::time::Duration;

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::probes::{Audit, AuditedRow, AuditedText, Probe, VERDICTS};
use super::trust::{Course, LEAST_JUDGED, Reason, Seen, Tally, passes, passes_for};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::resolve::{self, FoundRows};
use crate::api::row_source::RowSource;
use crate::api::sandbox::{self, End};
use crate::dataset::Split;
use crate::job::{FieldError, VerifierId};
use crate::store::VerifierAuditRow;
use crate::verifier::{Config, Score};
use crate::{clock, job::digest};

/// Rows that are not begun by then are left out. A verifier that may take long has more of it than another.
const LEAST_TIME: Duration = Duration::from_secs(10);
const MOST_TIME: Duration = Duration::from_secs(120);
/// What is not over by so much later hangs.
const GRACE: Duration = Duration::from_secs(30);
/// Rows that did not pass which an answer shows.
const MOST_EXAMPLES: usize = 10;

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

/// What a verifier makes of a data set's own answers, and of texts that no model should be rewarded for.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct VerifierAudit {
    /// Always `verifier.audit`.
    object: &'static str,
    verifier: String,
    dataset: String,
    /// `trusted` or `suspicious`: what a job asks for with `"require_audit": true`.
    verdict: &'static str,
    /// Why it is suspicious; empty where it is trusted.
    reasons: Vec<AuditReason>,
    /// Rows that were looked at.
    rows: usize,
    /// Rows with neither a completion nor an answer, which could not be judged.
    skipped: usize,
    /// Judged rows whose text was the row's completion; that of the others was its answer, or a reference program.
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
    /// Texts that were tried in the place of the rows' own, on the first 100 rows.
    probes: Vec<AuditProbe>,
    /// Rows whose own text got another verdict when it was judged again.
    unstable: usize,
    latency: AuditLatency,
}

/// Why a verifier is suspicious.
#[derive(Debug, Serialize, ToSchema)]
struct AuditReason {
    /// `right_answers_fail`, `other_answers_pass`, `no_other_answers`, `empty_passes`, `echo_passes`, `all_answers_pass`,
    /// `errors`, `timed_out`, `crashed`, `not_deterministic` or `too_few_rows`.
    #[schema(example = "empty_passes")]
    code: &'static str,
    message: String,
}

/// How texts of one kind were judged.
#[derive(Debug, Serialize, ToSchema)]
struct AuditProbe {
    /// `other_answer`, `empty`, `echo`, `all_answers`, `long` (the own text behind 64 Ki characters of something else) or
    /// `repeated` (the own text 50 times).
    #[schema(example = "other_answer")]
    name: &'static str,
    passed: usize,
    failed: usize,
    unparsable: usize,
    errors: usize,
    pass_rate: Option<f64>,
    /// The first text that passed or could not be judged.
    example: Option<AuditExample>,
}

/// How long verdicts took, in seconds.
#[derive(Debug, Default, Serialize, ToSchema)]
struct AuditLatency {
    verdicts: usize,
    p50_seconds: Option<f64>,
    p95_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    max_seconds: Option<f64>,
}

/// A text that was judged otherwise than it should be.
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

impl AuditExample {
    fn new(row: usize, answer: Option<&str>, text: &str, score: &Score) -> Self {
        Self {
            row,
            status: score.status.as_str(),
            reward: score.is_scored().then_some(score.reward),
            completion: text.to_owned(),
            answer: answer.map(str::to_owned),
            found: score.answer.clone(),
            detail: score.detail.clone(),
        }
    }
}

/// Audit a verifier
///
/// Runs the verifier on a data set's own completions, or where there are none on the reference programs of rows of code, or
/// on the expected answers as if a model had written nothing else, and says how many of them pass. What fails here would
/// punish a model for being right. On the first 100 rows it also tries what no model should be rewarded for: the answers of
/// other rows, nothing, the prompt, many answers at once; texts that are far too long; and the same text again. The verdict
/// `trusted` or `suspicious` is kept for that configuration and those rows, and a job with `"require_audit": true` is
/// refused without the first; it takes ten judged rows, or all where there are fewer. Looks at the first rows: for ten
/// seconds, or, of a verifier that may take longer, for up to two minutes.
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
    let config = resolve::runnable(&app, &row.config, "/config")?.map_err(Problem::invalid)?;
    let found = resolve::scored_rows(&app.store, &request.dataset, None, "/dataset").await?.map_err(one)?;
    let rows = found.reference();
    let source = RowSource::whole(&app.store, rows, Split::Train).await?;
    let outside = app.settings.verifiers.clone();
    let time = time(&config);
    let seconds = time.as_secs_f64();
    let task = Audit { verifier: config.resolved(), outside, rows: source, most: request.rows, seconds };
    let (mut audited, end) = sandbox::ask(app.store.own_project(), &task, time + GRACE).await?;
    let lost = match &end {
        End::Done => None,
        End::TimedOut => Some(Score::timeout(time + GRACE)),
        End::Died(how) => Some(Score::error(how)),
    };
    // The row after those that were judged.
    audited.extend(lost.map(|score| AuditedRow { row: audited.len(), judged: Some(AuditedText::lost(score)) }));
    let there = match &found {
        FoundRows::Builtin(_) => usize::MAX,
        FoundRows::Version(version) => usize::try_from(version.rows).unwrap_or(usize::MAX),
    };
    let course = Course { asked: request.rows, there, end: &end, seconds };
    let audit = VerifierAudit::of(id, request.dataset, &audited, &course);
    app.store
        .keep_audit(&VerifierAuditRow {
            digest: digest::of_json(&config.resolved()),
            dataset: rows.to_string(),
            trusted: audit.reasons.is_empty(),
            reasons: audit.reasons.iter().map(|reason| reason.message.clone()).collect(),
            created_at: clock::now(),
        })
        .await?;
    Ok(Json(audit))
}

/// For verdicts on as many rows as it takes, one after the other, if each takes as long as it may.
fn time(config: &Config) -> Duration {
    let verdicts = u32::try_from(LEAST_JUDGED * VERDICTS).unwrap_or(u32::MAX);
    config.time_limit().saturating_mul(verdicts).clamp(LEAST_TIME, MOST_TIME)
}

impl VerifierAudit {
    fn of(id: VerifierId, dataset: String, audited: &[AuditedRow], course: &Course<'_>) -> Self {
        let mut seen = Seen::default();
        audited.iter().for_each(|row| seen.count(row));
        seen.seconds.sort_by(f64::total_cmp);
        let reason = |Reason { code, message }: Reason| AuditReason { code, message };
        let reasons: Vec<AuditReason> = seen.reasons(course).into_iter().map(reason).collect();
        let Tally { passed, failed, unparsable, errors } = seen.own;
        Self {
            object: "verifier.audit",
            verifier: id.to_string(),
            dataset,
            verdict: if reasons.is_empty() { "trusted" } else { "suspicious" },
            reasons,
            rows: seen.rows,
            skipped: seen.skipped,
            from_completion: seen.from_completion,
            passed,
            failed,
            unparsable,
            errors,
            pass_rate: seen.own.pass_rate(),
            examples: examples(audited),
            probes: seen.probes.iter().map(|(probe, tally)| AuditProbe::of(*probe, *tally, audited)).collect(),
            unstable: seen.unstable,
            latency: AuditLatency {
                verdicts: seen.seconds.len(),
                p50_seconds: seen.seconds_at(0.5),
                p95_seconds: seen.seconds_at(0.95),
                p99_seconds: seen.seconds_at(0.99),
                max_seconds: seen.seconds_at(1.0),
            },
        }
    }
}

/// The first rows whose own text does not pass.
fn examples(audited: &[AuditedRow]) -> Vec<AuditExample> {
    let judged = audited.iter().filter_map(|row| Some((row.row, row.judged.as_ref()?)));
    let wrong = judged.filter(|(_, text)| !passes(&text.score));
    let shown = wrong.map(|(row, text)| AuditExample::new(row, text.answer.as_deref(), &text.text, &text.score));
    shown.take(MOST_EXAMPLES).collect()
}

impl AuditProbe {
    fn of(probe: Probe, tally: Tally, audited: &[AuditedRow]) -> Self {
        let judged = audited.iter().filter_map(|row| Some((row.row, row.judged.as_ref()?)));
        let mut tried = judged.flat_map(|(row, own)| {
            let of_kind = own.probes.iter().filter(|(known, ..)| *known == probe);
            of_kind.map(move |(_, text, score)| (row, own, text, score))
        });
        let strange = tried.find(|(_, own, _, score)| passes_for(probe, score, &own.score) || !score.is_scored());
        Self {
            name: probe.as_str(),
            passed: tally.passed,
            failed: tally.failed,
            unparsable: tally.unparsable,
            errors: tally.errors,
            pass_rate: tally.pass_rate(),
            example: strange.map(|(row, own, text, score)| AuditExample::new(row, own.answer.as_deref(), text, score)),
        }
    }
}
