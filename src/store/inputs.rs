//! What jobs refer to: written with a job, and asked before something is deleted.

use sqlx::AnyConnection;

use super::statement::Statement;
use super::statuses::unfinished;
use super::{ROWS, Result, StoreError, write_json};
use crate::job::JobId;
use crate::spec::Input;

/// Writes down what jobs refer to, within the transaction of their submission.
pub(super) async fn insert_inputs(connection: &mut AnyConnection, inputs: &[(JobId, &Input)]) -> Result<()> {
    for some in inputs.chunks(ROWS) {
        let mut statement = Statement::new("insert into job_input (job_id, role, kind, id, digest) ");
        statement.rows(some, |row, (job, input)| {
            row.bind(job.to_string())
                .bind(input.role.as_str())
                .bind(input.kind.as_str())
                .bind(&input.id)
                .bind(&input.digest);
        });
        statement.push(" on conflict do nothing");
        statement.finish()?.persistent(false).execute(&mut *connection).await?;
    }
    Ok(())
}

/// A job that is not finished and refers to one of `ids`, other than their owner.
pub(super) async fn in_use(
    connection: &mut AnyConnection,
    ids: &[String],
    owner: Option<JobId>,
) -> Result<Option<JobId>> {
    let user: Option<String> = sqlx::query_scalar(concat!(
        "select job.id from json_each($1) part join job_input on job_input.id = part.value
                join job on job.id = job_input.job_id
         where job.id <> coalesce($2, '') and job.status in ",
        unfinished!(),
        " limit 1"
    ))
    .bind(write_json(&ids)?)
    .bind(owner.map(|id| id.to_string()))
    .fetch_optional(connection)
    .await?;
    user.map(|id| super::read("job id", &id)).transpose()
}

/// Whether an adapter of this model is there: an imported one, or the finished one of a job that trained it.
pub(super) async fn has_adapters(connection: &mut AnyConnection, model: &str) -> Result<bool> {
    let found: Option<i64> = sqlx::query_scalar(
        "select 1 from job_input join job on job.id = job_input.job_id join artifact on artifact.job_id = job.id
         where job_input.id = $1 and role = 'model' and artifact.kind = 'inference'
               and json_extract(spec_resolved, '$.adapter') is not null
         union all select 1 from model where base = $1
         limit 1",
    )
    .bind(model)
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

/// Refuses to take up a job again that refers to something that was deleted after its end.
pub(super) async fn check_inputs(connection: &mut AnyConnection, job: JobId) -> Result<()> {
    let gone: Option<String> = sqlx::query_scalar(
        "select input.id from job_input as input where job_id = $1 and
            (kind = 'model' and not exists (select 1 from model where id = input.id)
             or kind = 'checkpoint' and not exists (select 1 from artifact where id = input.id)
             or kind = 'dataset_version' and not exists (select 1 from dataset_version where id = input.id)
             or kind = 'rollout_set' and not exists (select 1 from rollout_set where id = input.id))
         limit 1",
    )
    .bind(job.to_string())
    .fetch_optional(connection)
    .await?;
    match gone {
        None => Ok(()),
        Some(id) => Err(StoreError::Refused {
            code: "input_deleted",
            detail: format!("the job needs `{id}`, which was deleted after its end; submit a job with another one"),
        }),
    }
}

/// Refuses when a job that is not finished refers to one of `ids`, which are `what`.
pub(super) async fn unused(connection: &mut AnyConnection, ids: &[String], what: &str) -> Result<()> {
    match in_use(connection, ids, None).await? {
        None => Ok(()),
        Some(job) => Err(StoreError::Conflict(format!(
            "the job {job} is not finished and uses the {what}; wait for it, or cancel it"
        ))),
    }
}
