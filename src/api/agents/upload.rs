//! `PUT /v1/agent/workers/{id}/file`

use std::io::ErrorKind;

use axum::Json;
use axum::http::StatusCode;
use futures_util::StreamExt;
use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use utoipa::IntoParams;

use super::counts::Counted;
use super::{location, not_for, worker};
use crate::api::access::Agent;
use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params, StreamedBody, drain};
use crate::job::WorkerId;
use crate::job::agent::{MAX_PIECE_BYTES, ReceivedFile};
use crate::job::digest::sha256_of;
use crate::store::Location;

/// What is sent.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PieceParams {
    /// Where the file is to lie: `jobs/`, a job that the worker holds, and a name in its folder.
    #[param(example = "jobs/job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31/training-1-40/state.json", max_length = 1024)]
    path: String,
    /// Where in the file this piece begins, in bytes.
    offset: u64,
    /// Bytes of the whole file.
    size: u64,
    /// SHA-256 of the whole file, in hexadecimal.
    #[param(pattern = "^[0-9a-f]{64}$")]
    sha256: String,
}

/// Send a piece of a file
///
/// Pieces of at most 32 MiB come one after the other. A piece that does not begin where the last one ended changes nothing:
/// the answer tells where to go on, so that a piece of no bytes asks how much is there. With its last byte the file is
/// checked, and lies at its place.
#[utoipa::path(
    put,
    path = "/v1/agent/workers/{id}/file",
    tag = "agents",
    params(
        ("id" = String, Path, description = "The worker"),
        PieceParams,
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, body = ReceivedFile),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "The worker holds no such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The worker is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The piece is too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "All is there, and it is not what was announced (`digest_mismatch`); send it again", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn write_worker_file(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    Params(params): Params<PieceParams>,
    StreamedBody { mut chunks, length }: StreamedBody,
) -> Result<Json<ReceivedFile>, Problem> {
    let path = params.path.as_str();
    let what = location(path)?;
    worker(&app, id).await?;
    let held = app.store.held_by(id).await?;
    if !held.iter().any(|lease| Location::job(lease.job).holds(&what) && Location::job(lease.job) != what) {
        drain(&mut chunks).await;
        return Err(not_for(id, &what));
    }
    if length > MAX_PIECE_BYTES {
        drain(&mut chunks).await;
        let detail = format!("a piece has at most {MAX_PIECE_BYTES} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
    }
    // Another attempt's file of the same name is another one.
    let staged = app.store.place().stage_again(&format!("{path} {} {}", params.size, params.sha256));
    let mut received = staged.bytes();
    if params.offset != received || received > params.size {
        drain(&mut chunks).await;
        if received > params.size {
            // Dropped, it is gone.
            received = 0;
        } else {
            staged.keep();
        }
        return Ok(Json(ReceivedFile { received, complete: false }));
    }
    let mut file = staged.appender().await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| std::io::Error::new(ErrorKind::UnexpectedEof, error));
        let written = match chunk {
            Ok(chunk) if received + chunk.len() as u64 > params.size => Err(std::io::Error::other("too long")),
            Ok(chunk) => {
                received += chunk.len() as u64;
                file.write_all(&chunk).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            if error.kind() == ErrorKind::UnexpectedEof {
                // What has arrived stays, and the next piece begins behind it.
                file.flush().await?;
                staged.keep();
                return Err(Problem::bad_request("body_incomplete", format!("the body was cut off: {error}")));
            }
            drain(&mut chunks).await;
            if error.kind() == ErrorKind::Other {
                return Err(Problem::bad_request("invalid_parameter", "the file is longer than `size`"));
            }
            return Err(error.into());
        }
    }
    file.flush().await?;
    app.agent_counts.add(Counted::Received(received - params.offset));
    if received < params.size {
        staged.keep();
        return Ok(Json(ReceivedFile { received, complete: false }));
    }
    file.sync_all().await?;
    drop(file);
    let reading = staged.read()?;
    let found = blocking(move || sha256_of(reading)).await??;
    if found != params.sha256 {
        let detail = format!("`{path}` has the SHA-256 {found} and not {}; send it again", params.sha256);
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "digest_mismatch", detail));
    }
    staged.publish(&what).await?;
    Ok(Json(ReceivedFile { received, complete: true }))
}
