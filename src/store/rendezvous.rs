//! Jobs on several machines: where the first worker of an attempt waits for those of the others, and who they are.

use sqlx::Row;

use super::lease::fence;
use super::{Lease, Result, Store, number, read, read_json, write_json};
use crate::job::Timestamp;
use crate::job::agent::{Part, Rendezvous};
use crate::job::device::split_name;

/// A device of another machine than the first, whose worker is to take part in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPart {
    pub device: String,
    pub lease: Lease,
    pub part: Part,
}

impl Store {
    /// The first worker of an attempt waits for those of other machines.
    pub async fn open_rendezvous(&self, lease: Lease, at: &Rendezvous, now: Timestamp) -> Result<()> {
        let mut tx = self.begin_on_row().await?;
        fence(tx.connection(), lease, now).await?;
        sqlx::query("update attempt set rendezvous = $3 where job_id = $1 and number = $2")
            .bind(lease.job.to_string())
            .bind(i64::from(lease.attempt))
            .bind(write_json(at)?)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// What workers of other machines than the first are to take part in: those of all attempts under way that wait for some,
    /// or have waited.
    pub async fn open_parts(&self) -> Result<Vec<OpenPart>> {
        let rows = sqlx::query(
            "select job_id, number, devices, rendezvous from attempt
             where rendezvous is not null and ended_at is null order by job_id",
        )
        .fetch_all(&self.readers)
        .await?;
        let mut parts = Vec::new();
        for row in rows {
            let lease = Lease { job: read("job id", row.try_get("job_id")?)?, attempt: number(&row, "number")? };
            let devices: Vec<String> = read_json("devices", row.try_get("devices")?)?;
            let rendezvous: Rendezvous = read_json("rendezvous", row.try_get("rendezvous")?)?;
            let Some(first) = devices.first().map(|device| split_name(device).0.to_owned()) else { continue };
            let size = devices.len();
            let others = devices.into_iter().enumerate().filter(|(_, device)| split_name(device).0 != first);
            parts.extend(others.map(|(rank, device)| {
                let part = Part { rank, size, rendezvous: rendezvous.clone() };
                OpenPart { device, lease, part }
            }));
        }
        Ok(parts)
    }

    /// The jobs that hold a device, with whichever worker leads them.
    pub async fn jobs_on(&self, device: &str) -> Result<Vec<Lease>> {
        let rows = sqlx::query(
            "select job.id, job.attempt from holding join job on job.id = holding.job_id where holding.device = $1
             order by job.id",
        )
        .bind(device)
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| Ok(Lease { job: read("job id", row.try_get("id")?)?, attempt: number(row, "attempt")? }))
            .collect()
    }
}
