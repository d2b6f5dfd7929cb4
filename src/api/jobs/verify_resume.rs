//! `POST /v1/jobs/{id}/verify-resume`

use std::collections::BTreeSet;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

use super::Job;
use super::resolve::resolve;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::api::idempotency;
use crate::api::imports::Pull;
use crate::clock;
use crate::job::device::split_name;
use crate::job::{JobId, JobKind, JobStatus};
use crate::spec::{Attributes, Resolved, Work};
use crate::store::{JobRow, Origin, Store, Verification};

/// Prove that a job resumes bit for bit
///
/// Makes a job with the same resolved spec that begins from the oldest training checkpoint that the finished job has
/// kept, and runs to the end. Its `result.verify_resume` says whether it ended with the same weights: `identical`, and
/// the digests of both. Bits are the same on the same machine; another processor or GPU may round otherwise.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/verify-resume",
    tag = "jobs",
    params(
        ("id" = String, Path, description = "The finished job"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat"),
    ),
    responses(
        (status = 201, description = "Queued", body = Job),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job has not succeeded (`job_not_succeeded`), or keeps no training checkpoint (`no_checkpoint`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The job cannot run again, because something that it refers to is gone; or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn verify_resume(Access(app): Access, Id(id): Id<JobId>, headers: HeaderMap) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &json!({"verify_resume": id}))?;
    if let Some(job) = app.store.submitted_before(key.as_ref(), clock::now()).await? {
        return Ok(idempotency::created(Job::from(job), true));
    }
    let source = app.store.job(id).await?;
    let verification = verification(&app.store, &source).await?;
    let resolution = resolve(&app, Pull::Begin, repetition(&source)).await?;
    let new = resolution.into_job();
    let submitted = app.store.submit_derived(new, Origin::Verification(verification), key, clock::now()).await?;
    Ok(idempotency::created(Job::from(submitted.job), submitted.replayed))
}

/// The spec of a job that repeats another one.
fn repetition(source: &JobRow) -> Value {
    let mut resolved = Resolved::clone(&source.resolved);
    if let Work::Train(training) = &mut resolved.work {
        // What was sampled before the checkpoint cannot be kept again.
        training.rollouts.keep = false;
    }
    // With as many devices as the source had last: results depend on how many there are.
    let resources = &mut resolved.common.resources;
    if resources.elastic && !source.devices.is_empty() {
        let hosts: BTreeSet<&str> = source.devices.iter().map(|device| split_name(device).0).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (resources.devices, resources.hosts) = (count(source.devices.len()), count(hosts.len()));
        resources.elastic = false;
    }
    let id = source.id.to_string();
    let name = format!("verify-resume of {}", source.attributes.name.as_deref().unwrap_or(&id));
    // A proof is not half made.
    let attributes =
        Attributes { name: Some(name.chars().take(200).collect()), budget: None, ..source.attributes.clone() };
    resolved.to_value(&attributes)
}

/// What there is to prove.
async fn verification(store: &Store, source: &JobRow) -> Result<Verification, Problem> {
    let refuse = |code, detail: String| Problem::new(StatusCode::CONFLICT, code, detail);
    let weights = source.result.as_ref().and_then(|result| result["weights_sha256"].as_str());
    let weights = weights.filter(|_| source.work().kind() == JobKind::Train && source.status == JobStatus::Succeeded);
    let expected_weights_sha256 = weights.map(str::to_owned).ok_or_else(|| {
        if source.work().kind() != JobKind::Train {
            return refuse("not_a_training_job", String::from("the job trains nothing that could be proved"));
        }
        let detail = format!("the job has the status {} and no finished model to compare with", source.status);
        refuse("job_not_succeeded", detail)
    })?;
    let checkpoint = store.oldest_training_checkpoint(source.id).await?.ok_or_else(|| {
        refuse("no_checkpoint", String::from("the job keeps no training checkpoint from which it could be resumed"))
    })?;
    Ok(Verification {
        source: source.id,
        checkpoint: checkpoint.id,
        from_step: checkpoint.artifact.manifest.step,
        expected_weights_sha256,
    })
}
