//! Machines without a server: who speaks for them, and which of their workers hold which jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::Row;

use super::hosts::check_name;
use super::launches::begin_launch;
use super::statuses::held;
use super::{Lease, Result, Store, StoreError, number, read, read_json, write_json};
use crate::job::device::{LOCAL_HOST, is_host_name, split_name};
use crate::job::{ApiKeyId, Timestamp, WorkerId};

/// How exactly it is known when a machine was seen.
const SEEN_MILLISECONDS: i64 = 5_000;

/// An agent that begins.
#[derive(Clone, Debug)]
pub struct NewAgent {
    pub name: String,
    /// What tells it from others of the same name.
    pub identity: String,
    pub version: String,
    pub pool: Option<String>,
    /// The key that it showed.
    pub key: Option<ApiKeyId>,
}

/// The worker of an agent.
#[derive(Clone, Debug)]
pub struct AgentWorker {
    pub id: WorkerId,
    pub device: String,
}

impl AgentWorker {
    /// The name of its machine.
    pub fn host(&self) -> &str {
        split_name(&self.device).0
    }
}

impl Store {
    /// An agent begins to speak for a machine, unless another one does. What its workers held before goes back to the queue:
    /// they ended with it.
    pub async fn join_agent(&self, new: &NewAgent, now: Timestamp) -> Result<()> {
        if new.name == LOCAL_HOST || !is_host_name(&new.name) {
            let detail = format!(
                "`{}` is no name for a machine: 1 to 63 small letters, digits, `-`, `.` and `_`, and not `{LOCAL_HOST}`",
                new.name
            );
            return Err(StoreError::Refused { code: "host_name_invalid", detail });
        }
        let mut tx = self.begin().await?;
        check_name(tx.connection(), &new.name, &new.identity, now).await?;
        begin_launch(tx.connection(), &new.name, new.key, now).await?;
        sqlx::query(
            "insert into host (name, identity, version, started_at, seen_at, agent, key_id, pool)
             values ($1, $2, $3, $4, $4, 1, $5, $6)
             on conflict (name) do update set identity = excluded.identity, version = excluded.version, agent = 1,
                 started_at = excluded.started_at, seen_at = excluded.seen_at, key_id = excluded.key_id,
                 pool = excluded.pool",
        )
        .bind(&new.name)
        .bind(&new.identity)
        .bind(&new.version)
        .bind(now.0)
        .bind(new.key.map(|key| key.to_string()))
        .bind(&new.pool)
        .execute(tx.connection())
        .await?;
        tx.commit().await?;
        let before: Vec<String> = sqlx::query_scalar(
            "select worker.id from worker join device on device.name = worker.device
             where device.host = $1 and worker.ended_at is null",
        )
        .bind(&new.name)
        .fetch_all(&self.readers)
        .await?;
        for worker in &before {
            let reason = "the agent of its machine began again";
            self.release_worker(read("worker id", worker)?, reason, true, now).await?;
        }
        Ok(())
    }

    /// The machine of an agent whose key this is; without one, as where nobody has a key.
    pub async fn check_agent(&self, host: &str, key: Option<ApiKeyId>) -> Result<()> {
        let row = sqlx::query("select key_id from host where name = $1 and agent = 1")
            .bind(host)
            .fetch_optional(&self.readers)
            .await?
            .ok_or_else(|| StoreError::NotFound { what: "host", id: host.to_owned() })?;
        self.check_key(host, row.try_get("key_id")?, key)
    }

    /// A worker on a machine of an agent whose key this is. One that has ended is not found.
    pub async fn agent_worker(&self, id: WorkerId, key: Option<ApiKeyId>) -> Result<AgentWorker> {
        let row = sqlx::query(
            "select worker.device, host.name, host.key_id
             from worker join device on device.name = worker.device join host on host.name = device.host
             where worker.id = $1 and worker.ended_at is null and host.agent = 1",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await?
        .ok_or_else(|| StoreError::NotFound { what: "worker", id: id.to_string() })?;
        self.check_key(row.try_get("name")?, row.try_get("key_id")?, key)?;
        Ok(AgentWorker { id, device: row.try_get("device")? })
    }

    fn check_key(&self, host: &str, owner: Option<String>, key: Option<ApiKeyId>) -> Result<()> {
        if owner == key.map(|key| key.to_string()) {
            return Ok(());
        }
        let detail = format!("the agent of `{host}` showed another key when it began; start it again with this one");
        Err(StoreError::Refused { code: "not_your_host", detail })
    }

    /// Signs of life of workers, with how long each has had the devices of its jobs: their machines were seen, too.
    pub async fn beat_all(&self, heard: &BTreeMap<WorkerId, Vec<(Lease, Duration)>>, now: Timestamp) -> Result<()> {
        let workers = write_json(&heard.keys().map(ToString::to_string).collect::<Vec<_>>())?;
        let mut tx = self.begin_on_row().await?;
        sqlx::query("update worker set beats = beats + 1, seen_at = $2 where id in (select value from json_each($1))")
            .bind(&workers)
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        sqlx::query(
            "update host set seen_at = $2 where seen_at < $3 and name in
                (select device.host from json_each($1) part join worker on worker.id = part.value
                        join device on device.name = worker.device)",
        )
        .bind(&workers)
        .bind(now.0)
        .bind(now.0 - SEEN_MILLISECONDS)
        .execute(tx.connection())
        .await?;
        for (worker, held) in heard {
            for (lease, lasts) in held {
                sqlx::query(
                    "update attempt set held_milliseconds = max(held_milliseconds, $3)
                     where job_id = $1 and number = $2 and worker = $4 and ended_at is null",
                )
                .bind(lease.job.to_string())
                .bind(i64::from(lease.attempt))
                .bind(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX))
                .bind(worker.to_string())
                .execute(tx.connection())
                .await?;
            }
        }
        tx.commit().await
    }

    /// The jobs that a worker holds.
    pub async fn held_by(&self, worker: WorkerId) -> Result<Vec<Lease>> {
        let rows = sqlx::query(concat!(
            "select id, attempt from job where worker = $1 and status in ",
            held!(),
            " order by id"
        ))
        .bind(worker.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| Ok(Lease { job: read("job id", row.try_get("id")?)?, attempt: number(row, "attempt")? }))
            .collect()
    }

    /// Whose a lease was when it was given, whether or not it is good.
    pub async fn worker_of(&self, lease: Lease) -> Result<WorkerId> {
        let worker: Option<String> = sqlx::query_scalar("select worker from attempt where job_id = $1 and number = $2")
            .bind(lease.job.to_string())
            .bind(i64::from(lease.attempt))
            .fetch_optional(&self.readers)
            .await?;
        read("worker id", &worker.ok_or(StoreError::LeaseLost)?)
    }

    /// Whether an attempt has ended, as its worker said it would.
    pub async fn has_ended(&self, lease: Lease) -> Result<bool> {
        let outcome: Option<Option<String>> = sqlx::query_scalar(
            "select outcome from attempt where job_id = $1 and number = $2 and ended_at is not null",
        )
        .bind(lease.job.to_string())
        .bind(i64::from(lease.attempt))
        .fetch_optional(&self.readers)
        .await?;
        Ok(outcome.flatten().is_some_and(|outcome| outcome != "lost"))
    }

    /// The devices that an attempt holds.
    pub async fn devices_of(&self, lease: Lease) -> Result<Vec<String>> {
        let devices: Option<String> =
            sqlx::query_scalar("select devices from attempt where job_id = $1 and number = $2")
                .bind(lease.job.to_string())
                .bind(i64::from(lease.attempt))
                .fetch_optional(&self.readers)
                .await?;
        read_json("devices", &devices.ok_or(StoreError::LeaseLost)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::DeviceReading;
    use crate::store::WorkerRow;

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    fn agent(name: &str, identity: &str, key: Option<ApiKeyId>) -> NewAgent {
        NewAgent { name: name.to_owned(), identity: identity.to_owned(), version: String::from("1"), pool: None, key }
    }

    #[tokio::test]
    async fn a_machine_has_one_agent_and_that_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let key = Some(ApiKeyId::generate());
        for name in ["local", "", "a/b", "Big"] {
            assert!(store.join_agent(&agent(name, "one", key), NOW).await.is_err(), "{name}");
        }
        store.join_agent(&agent("box", "one", key), NOW).await.unwrap();
        let taken = store.join_agent(&agent("box", "two", key), NOW.plus_seconds(20)).await.unwrap_err();
        assert!(taken.to_string().contains("--host-name"), "{taken}");
        store.join_agent(&agent("box", "two", key), NOW.plus_seconds(31)).await.unwrap();
        store.check_agent("box", key).await.unwrap();
        for (host, key) in [("box", None), ("box", Some(ApiKeyId::generate())), ("other", key)] {
            assert!(store.check_agent(host, key).await.is_err(), "{host} {key:?}");
        }
    }

    #[tokio::test]
    async fn signs_of_life_are_written_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut heard = BTreeMap::new();
        for name in ["one", "two"] {
            store.join_agent(&agent(name, name, None), NOW).await.unwrap();
            let device = format!("{name}/cpu");
            let reading = DeviceReading::of_test(&device, 0, 1 << 30);
            store.clone().on_host(name).set_devices(&[reading], NOW).await.unwrap();
            let (id, description) = (WorkerId::generate(), String::new());
            store
                .add_worker(&WorkerRow { id, device, description, pid: 1, started_at: NOW, seen_at: NOW })
                .await
                .unwrap();
            heard.insert(id, Vec::new());
        }
        let later = NOW.plus_seconds(7);
        store.beat_all(&heard, later).await.unwrap();
        let beats: Vec<i64> = store.signs_of_life().await.unwrap().iter().map(|sign| sign.beats).collect();
        assert_eq!(beats, [1, 1]);
        assert!(store.hosts().await.unwrap().iter().all(|host| host.seen_at == later));
    }

    #[tokio::test]
    async fn workers_end_with_their_agent() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.join_agent(&agent("box", "one", None), NOW).await.unwrap();
        let reading = DeviceReading::of_test("box/cpu", 0, 1 << 30);
        store.clone().on_host("box").set_devices(&[reading], NOW).await.unwrap();
        let id = WorkerId::generate();
        let (device, description) = (String::from("box/cpu"), String::new());
        store.add_worker(&WorkerRow { id, device, description, pid: 1, started_at: NOW, seen_at: NOW }).await.unwrap();
        let worker = store.agent_worker(id, None).await.unwrap();
        assert_eq!((worker.host(), worker.device.as_str()), ("box", "box/cpu"));
        assert!(store.agent_worker(id, Some(ApiKeyId::generate())).await.is_err());
        store.join_agent(&agent("box", "one", None), NOW).await.unwrap();
        assert!(matches!(store.agent_worker(id, None).await, Err(StoreError::NotFound { .. })));
    }
}
