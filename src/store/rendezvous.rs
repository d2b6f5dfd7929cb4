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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::*;
    use crate::job::{DeviceReading, JobId, JobKind, WorkerId};
    use crate::store::{Claim, DEFAULT_PROJECT, Ended, NewJob, ProjectLimits, WorkerRow};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);
    const DEVICES: [&str; 4] = ["a/cuda:0", "a/cuda:1", "b/cuda:0", "b/cuda:1"];

    /// Two machines with two devices each, a worker for each of them.
    struct Machines {
        store: Store,
        workers: Vec<WorkerId>,
        _folder: TempDir,
    }

    impl Machines {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).await.unwrap();
            let mut workers = Vec::new();
            for (host, names) in [("a", &DEVICES[..2]), ("b", &DEVICES[2..])] {
                let readings: Vec<_> =
                    (0..).zip(names).map(|(number, name)| DeviceReading::of_test(name, number, 1 << 30)).collect();
                store.clone().on_host(host).set_devices(&readings, NOW).await.unwrap();
                for name in names {
                    let (id, device) = (WorkerId::generate(), (*name).to_owned());
                    let description = String::new();
                    let row = WorkerRow { id, device, description, pid: 1, started_at: NOW, seen_at: NOW };
                    store.add_worker(&row).await.unwrap();
                    workers.push(id);
                }
            }
            Self { store, workers, _folder: folder }
        }

        async fn submit(&self, resources: Value) -> JobId {
            let spec = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                              "objective": {"type": "sft"}, "train": {"steps": 10}, "resources": resources});
            self.store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, NOW).await.unwrap().job.id
        }

        async fn claim(&self, device: usize) -> Option<Claim> {
            self.store.claim(self.workers[device], DEVICES[device], NOW).await.unwrap()
        }
    }

    #[tokio::test]
    async fn the_other_machines_of_a_job_learn_where_its_first_waits_until_the_attempt_is_over() {
        let machines = Machines::new().await;
        let job = machines.submit(json!({"devices": 4, "hosts": 2})).await;
        assert!(machines.claim(2).await.is_none(), "the worker of the first device leads");
        let claim = machines.claim(0).await.unwrap();
        assert_eq!((claim.lease.job, &claim.devices[..]), (job, &DEVICES.map(str::to_owned)[..]));
        assert_eq!(machines.store.open_parts().await.unwrap(), []);
        let at = Rendezvous { address: String::from("192.0.2.7:41000"), secret: "5f".repeat(32) };
        machines.store.open_rendezvous(claim.lease, &at, NOW).await.unwrap();
        let part = |rank: usize| {
            let part = Part { rank, size: 4, rendezvous: at.clone() };
            OpenPart { device: DEVICES[rank].to_owned(), lease: claim.lease, part }
        };
        assert_eq!(machines.store.open_parts().await.unwrap(), [part(2), part(3)]);
        assert_eq!(machines.store.jobs_on(DEVICES[3]).await.unwrap(), [claim.lease]);
        machines.store.end_attempt(claim.lease, Ended::Drained, NOW).await.unwrap();
        assert_eq!(machines.store.open_parts().await.unwrap(), []);
        let stale = machines.store.open_rendezvous(claim.lease, &at, NOW).await;
        assert!(matches!(stale, Err(crate::store::StoreError::LeaseLost)), "{stale:?}");
    }

    #[tokio::test]
    async fn a_job_on_several_machines_is_not_overtaken_for_ever() {
        let machines = Machines::new().await;
        // Both devices of `b` are taken, and one of `a`.
        let two = machines.submit(json!({"devices": 2})).await;
        let first = machines.claim(0).await.unwrap();
        assert_eq!(first.lease.job, two);
        let others = [machines.submit(json!({})).await, machines.submit(json!({})).await];
        let on_b = [machines.claim(2).await.unwrap(), machines.claim(3).await.unwrap()];
        assert_eq!(on_b.each_ref().map(|claim| claim.lease.job), others);
        let wide = machines.submit(json!({"devices": 2, "hosts": 2})).await;
        machines.submit(json!({})).await;
        machines.store.end_attempt(first.lease, Ended::Drained, NOW).await.unwrap();
        machines.store.cancel_job(two, NOW).await.unwrap();
        // One of the two that are free is kept for it, the other is anybody's.
        assert!(machines.claim(0).await.is_none());
        assert!(machines.claim(1).await.is_some());
        machines.store.end_attempt(on_b[0].lease, Ended::Drained, NOW).await.unwrap();
        machines.store.cancel_job(others[0], NOW).await.unwrap();
        let started = machines.claim(0).await.unwrap();
        assert_eq!((started.lease.job, &started.devices[..]), (wide, &[DEVICES[0], DEVICES[2]].map(str::to_owned)[..]));
    }

    #[tokio::test]
    async fn an_elastic_job_takes_what_is_free_and_what_its_project_may_have() {
        let machines = Machines::new().await;
        let limits = ProjectLimits { max_devices: Some(3), ..ProjectLimits::default() };
        machines.store.set_project_limits(DEFAULT_PROJECT, &limits, NOW).await.unwrap();
        let job = machines.submit(json!({"devices": 4, "hosts": 2, "elastic": true})).await;
        let claim = machines.claim(0).await.unwrap();
        assert_eq!((claim.lease.job, claim.devices.len()), (job, 2));
        let next = machines.submit(json!({"devices": 4, "hosts": 2, "elastic": true})).await;
        let second = machines.claim(2).await.unwrap();
        assert_eq!((second.lease.job, second.devices.len()), (next, 1));
    }
}
