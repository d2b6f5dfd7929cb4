//! Launches: machines that a cluster's scheduler starts for jobs that no device fits. A row is there before the cluster is
//! asked and says afterwards what became of it; who runs a job is said by its lease alone.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::devices::slots;
use super::keys::{ApiKeyRow, NewApiKey, insert_key};
use super::turns::{Fits, Walk};
use super::{DEFAULT_PROJECT, Page, Result, Store, StoreError, flag, number, read, write_json};
use crate::job::device::split_name;
use crate::job::launch::{Launcher, Need, NewLaunch};
use crate::job::placement::{Request, Shape, Slot};
use crate::job::waiting::{WaitCode, Waiting, can_start_once};
use crate::job::{ApiKeyId, JobId, LaunchId, LaunchStatus, Scope, Timestamp};

/// Queued jobs that are looked at for whether a device fits them.
const LOOKED_AT: usize = 4096;
/// Launches that are kept after their end.
const KEPT_MILLISECONDS: i64 = 30 * 86_400_000;
/// For how long a machine's key is good if nobody is there to revoke it.
const KEY_MILLISECONDS: i64 = 30 * 86_400_000;
/// Characters of a cluster's answer that are kept.
const MOST_MESSAGE: usize = 500;

/// A launch.
#[derive(Clone, Debug)]
pub struct LaunchRow {
    pub id: LaunchId,
    pub launcher: String,
    /// The job that it is for.
    pub job: JobId,
    pub devices: u32,
    /// Bytes that each of its devices is said to have.
    pub memory: u64,
    pub status: LaunchStatus,
    /// What the cluster calls it.
    pub reference: Option<String>,
    /// The cluster's machine that it has.
    pub node: Option<String>,
    /// What the cluster says of it, or why it is over.
    pub message: Option<String>,
    pub created_at: Timestamp,
    pub submitted_at: Option<Timestamp>,
    /// When its machine began to work for this server.
    pub began_at: Option<Timestamp>,
    /// When a job began on it.
    pub claimed_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Whether a worker of its machine has not ended, as far as is known.
    pub works: bool,
}

/// Launches with what is known of their machines, whose devices' names begin with the launch and a `/`.
macro_rules! launches {
    ($which:literal) => {
        concat!(
            "select launch.*,
                    exists (select 1 from device join worker on worker.device = device.name
                            where device.name > launch.id || '/' and device.name < launch.id || '0'
                              and worker.ended_at is null) as works
             from launch ",
            $which
        )
    };
}

/// Machines that a launcher would start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// What they are called together.
    pub pool: String,
    /// How many at the same time.
    pub machines: u32,
    /// Of each of them.
    pub devices: u32,
    /// Bytes of each device.
    pub memory: u64,
}

impl From<&Launcher> for Offered {
    fn from(launcher: &Launcher) -> Self {
        let Launcher { name, max_launches, max_devices, memory, .. } = launcher;
        Self { pool: name.clone(), machines: *max_launches, devices: *max_devices, memory: memory.0 }
    }
}

impl Store {
    /// Says what this server's launchers would start, once and for all.
    pub fn set_offered(&self, machines: Vec<Offered>) {
        if self.offered.set(machines).is_err() {
            tracing::debug!("what launchers offer was said before");
        }
    }

    /// What launchers would start.
    pub fn offered(&self) -> &[Offered] {
        self.offered.get().map_or(&[], Vec::as_slice)
    }

    /// The first queued jobs, in the order of the queue, for which there is no device that would ever do, those of launches
    /// aside. A machine that was not seen for `patience` has none; without that every machine that is known has its own.
    pub async fn needs(&self, most: usize, patience: Option<Duration>, now: Timestamp) -> Result<Vec<Need>> {
        let lasting = self.lasting_slots(patience, now).await?;
        let mut reader = self.readers.acquire().await?;
        let mut walk = Walk::begin(&mut reader).await?;
        let (mut needs, mut known) = (Vec::new(), HashMap::new());
        // How many devices each project's needs come to.
        let mut taken: HashMap<String, i64> = HashMap::new();
        for _ in 0..LOOKED_AT {
            let Some((line, request)) = walk.next(&mut reader, &Fits::anything()).await? else { break };
            let project = line.project.clone();
            let asked = (request.least(), request.memory, request.pool.clone());
            let fits = *known.entry(asked).or_insert_with(|| can_start_once(&lasting, &request));
            let taken = taken.entry(project).or_default();
            let Shape { hosts, each } = if request.elastic {
                let is_in = |machine: &&Offered| request.pool.as_deref().is_none_or(|pool| pool == machine.pool);
                let offered = self.offered().iter().filter(is_in).filter(|machine| machine.memory >= request.memory);
                let most = offered.map(|machine| machine.devices).max().unwrap_or(1);
                Shape::of_one_host(request.shape.each.min(most))
            } else {
                request.shape
            };
            let devices = i64::from(hosts * each);
            if !fits && *taken + devices <= walk.room() {
                *taken += devices;
                let Request { job, memory, pool, .. } = request;
                needs.push(Need { job, hosts, devices: each, memory, pool });
            }
            if needs.len() == most {
                break;
            }
            walk.pass();
        }
        Ok(needs)
    }

    /// The devices that are there whatever is launched, and take jobs.
    async fn lasting_slots(&self, patience: Option<Duration>, now: Timestamp) -> Result<Vec<Slot>> {
        let takes_jobs = |host: &str, hosts: &HashMap<String, bool>| {
            !is_launched(host) && hosts.get(host).copied().unwrap_or(host == self.host())
        };
        let patience = patience.map_or(i64::MAX, |patience| i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
        let hosts = self.hosts().await?.into_iter().map(|row| {
            let is_there = row.name == self.host() || now.0 - row.seen_at.0 < patience;
            (row.name, is_there && row.cordoned_at.is_none())
        });
        let hosts: HashMap<String, bool> = hosts.collect();
        let mut reader = self.readers.acquire().await?;
        let mut slots = slots(&mut reader, None, now).await?;
        slots.retain(|slot| takes_jobs(split_name(&slot.name).0, &hosts));
        Ok(slots)
    }

    /// Launches that are not over, the oldest first.
    pub async fn open_launches(&self) -> Result<Vec<LaunchRow>> {
        let rows = sqlx::query(launches!("where ended_at is null order by created_at, id limit 20000"));
        rows.fetch_all(&self.readers).await?.iter().map(launch).collect()
    }

    /// Launches, the newest first unless the page says otherwise.
    pub async fn launches(&self, page: &Page) -> Result<Vec<LaunchRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            launches!("where id > $1 and id < $2 order by id desc limit $3")
        } else {
            launches!("where id > $1 and id < $2 order by id limit $3")
        };
        let rows = sqlx::query(statement).bind(low).bind(high).bind(i64::from(page.limit));
        rows.fetch_all(&self.readers).await?.iter().map(launch).collect()
    }

    pub async fn launch(&self, id: LaunchId) -> Result<LaunchRow> {
        let row = sqlx::query(launches!("where id = $1")).bind(id.to_string());
        let row = row.fetch_optional(&self.readers).await?;
        row.map_or_else(|| Err(StoreError::NotFound { what: "launch", id: id.to_string() }), |row| launch(&row))
    }

    /// Writes down what is about to be asked of clusters, for jobs that still wait; forgets what was asked long ago.
    pub async fn plan_launches(&self, make: &[NewLaunch], give: &[(LaunchId, JobId)], now: Timestamp) -> Result<()> {
        if make.is_empty() && give.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        for new in make {
            sqlx::query(
                "insert into launch (id, launcher, job_id, devices, memory, status, created_at)
                 select $1, $2, id, $4, $5, 'requested', $6 from job where id = $3 and status = 'queued'",
            )
            .bind(LaunchId::generate().to_string())
            .bind(&new.launcher)
            .bind(new.job.to_string())
            .bind(i64::from(new.devices))
            .bind(i64::try_from(new.memory).unwrap_or(i64::MAX))
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        }
        for (id, job) in give {
            sqlx::query("update launch set job_id = $2 where id = $1 and ended_at is null")
                .bind(id.to_string())
                .bind(job.to_string())
                .execute(tx.connection())
                .await?;
        }
        sqlx::query("delete from launch where ended_at < $1")
            .bind(now.0 - KEPT_MILLISECONDS)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// A new key for the machine of a launch, in the place of the one before; none where nobody needs a key.
    pub async fn launch_key(&self, id: LaunchId, now: Timestamp) -> Result<Option<String>> {
        if !self.has_api_keys().await? {
            return Ok(None);
        }
        let new = NewApiKey {
            project: DEFAULT_PROJECT.to_owned(),
            name: format!("launch {id}"),
            scopes: vec![Scope::Agent],
            metadata: Default::default(),
            expires_at: Some(Timestamp(now.0 + KEY_MILLISECONDS)),
        };
        let (key, secret) = ApiKeyRow::generate(new, now)?;
        let mut tx = self.begin().await?;
        forget_key(tx.connection(), id).await?;
        insert_key(tx.connection(), &key).await?;
        sqlx::query("update launch set key_id = $2 where id = $1 and ended_at is null")
            .bind(id.to_string())
            .bind(key.id.to_string())
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        Ok(Some(secret))
    }

    /// The cluster has a launch, as `reference`.
    pub async fn submit_launch(&self, id: LaunchId, reference: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update launch set status = case when status = 'requested' then 'waiting' else status end, reference = $2,
                 message = null, submitted_at = $3
             where id = $1 and ended_at is null",
        )
        .bind(id.to_string())
        .bind(reference)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// A cluster has lost a launch before its machine began: it is to be handed over again.
    pub async fn launch_again(&self, id: LaunchId, message: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update launch set status = 'requested', reference = null, submitted_at = null, message = $2
             where id = $1 and status = 'waiting'",
        )
        .bind(id.to_string())
        .bind(short(message))
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// What a cluster says of a launch that is not over, and which of its machines that has.
    pub async fn note_launch(&self, id: LaunchId, message: &str, node: Option<&str>) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("update launch set message = $2, node = coalesce($3, node) where id = $1 and ended_at is null")
            .bind(id.to_string())
            .bind(short(message))
            .bind(node)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// Takes a launch back on whose machine no job has begun; says whether it was so.
    pub async fn retract_launch(&self, id: LaunchId, message: &str, now: Timestamp) -> Result<bool> {
        let mut tx = self.begin().await?;
        let retracted = sqlx::query(
            "update launch set status = 'ended', message = $2, ended_at = $3
             where id = $1 and ended_at is null and claimed_at is null and status <> 'running'",
        );
        let retracted =
            retracted.bind(id.to_string()).bind(short(message)).bind(now.0).execute(tx.connection()).await?;
        let is_over = retracted.rows_affected() > 0;
        if is_over {
            forget_key(tx.connection(), id).await?;
        }
        tx.commit().await?;
        Ok(is_over)
    }

    /// A launch is over: its key opens nothing any more, and its machine is forgotten, unless a job still holds it.
    pub async fn end_launch(&self, id: LaunchId, status: LaunchStatus, message: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        forget_key(tx.connection(), id).await?;
        sqlx::query(
            "update launch set status = $2, message = $3, key_id = null, ended_at = $4 where id = $1 and ended_at is null",
        )
        .bind(id.to_string())
        .bind(status.as_str())
        .bind(short(message))
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        sqlx::query(
            "delete from device where host = $1
                and not exists (select 1 from holding where holding.device = device.name)",
        )
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
        sqlx::query(
            "delete from host where name = $1 and not exists (select 1 from device where device.host = host.name)",
        )
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// Says of jobs that wait for a launch how far it is, and of those whose launch failed why.
    pub(super) async fn tell_launches(&self, connection: &mut AnyConnection, waiting: &mut [Waiting]) -> Result<()> {
        let jobs: Vec<JobId> = waiting.iter().map(|waiting| waiting.request.job).collect();
        let rows = sqlx::query(launches!(
            "where claimed_at is null and job_id in (select value from json_each($1)) order by created_at, id"
        ));
        let rows = rows.bind(write_json(&jobs)?).fetch_all(connection).await?;
        // Of each job the newest; of several for one the one that it waits for.
        let mut launches: HashMap<JobId, LaunchRow> = HashMap::new();
        for row in &rows {
            let row = launch(row)?;
            let is_behind =
                launches.get(&row.job).is_some_and(|known| !known.status.is_over() && !known.works && row.works);
            if !is_behind {
                launches.insert(row.job, row);
            }
        }
        for waiting in waiting.iter_mut() {
            let Some(LaunchRow { id, launcher, status, message, .. }) = launches.get(&waiting.request.job) else {
                continue;
            };
            if matches!(waiting.code, WaitCode::Starting | WaitCode::ProjectLimit | WaitCode::StorageFull) {
                continue;
            }
            let said = message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
            match status {
                LaunchStatus::Requested => {
                    waiting.message = format!("`{launcher}` is asked for a machine for it ({id}){said}");
                }
                LaunchStatus::Waiting => {
                    waiting.message = format!("`{launcher}` is to start a machine for it ({id}){said}");
                }
                LaunchStatus::Running => waiting.message = format!("`{launcher}` started a machine for it ({id})"),
                LaunchStatus::Failed => {
                    waiting.message.push_str(&format!("; `{launcher}` started none ({id}){said}"));
                    continue;
                }
                LaunchStatus::Ended => continue,
            }
            waiting.code = WaitCode::Launching;
        }
        Ok(())
    }
}

/// Whether a machine is one of a launch.
fn is_launched(host: &str) -> bool {
    host.parse::<LaunchId>().is_ok()
}

/// A machine begins that has the name of a launch, with a key: it must be that of the launch, and the launch not over. A key
/// of a launch is for no other machine.
pub(super) async fn begin_launch(
    connection: &mut AnyConnection,
    host: &str,
    key: Option<ApiKeyId>,
    now: Timestamp,
) -> Result<()> {
    let own: Option<String> = sqlx::query_scalar("select id from launch where key_id = $1")
        .bind(key.map(|key| key.to_string()))
        .fetch_optional(&mut *connection)
        .await?;
    if own.as_deref().is_some_and(|own| own != host) || own.is_none() && key.is_some() && is_launched(host) {
        let detail = format!("the key is not that of the launch `{host}`; each launch has one of its own");
        return Err(StoreError::Refused { code: "not_your_host", detail });
    }
    if !is_launched(host) {
        return Ok(());
    }
    let begun = sqlx::query(
        "update launch set status = 'running', began_at = coalesce(began_at, $2), message = null
         where id = $1 and ended_at is null",
    );
    let begun = begun.bind(host).bind(now.0).execute(connection).await?;
    if begun.rows_affected() == 0 {
        let detail = format!("the launch `{host}` is over, or there was none; this machine is not needed");
        return Err(StoreError::Refused { code: "launch_over", detail });
    }
    Ok(())
}

/// A job begins on devices.
pub(super) async fn claim_launches(connection: &mut AnyConnection, devices: &[String], now: Timestamp) -> Result<()> {
    let hosts: BTreeSet<&str> = devices.iter().map(|device| split_name(device).0).collect();
    for host in hosts.into_iter().filter(|host| is_launched(host)) {
        sqlx::query("update launch set claimed_at = $2 where id = $1 and claimed_at is null")
            .bind(host)
            .bind(now.0)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Keys of launches are many and of no interest once they are over.
async fn forget_key(connection: &mut AnyConnection, launch: LaunchId) -> Result<()> {
    let forget = [
        // Somebody may have signed in with it.
        "delete from session where key_id = (select key_id from launch where id = $1)",
        "delete from api_key where id = (select key_id from launch where id = $1)",
    ];
    for statement in forget {
        sqlx::query(statement).bind(launch.to_string()).execute(&mut *connection).await?;
    }
    Ok(())
}

fn short(message: &str) -> String {
    message.trim().chars().take(MOST_MESSAGE).collect()
}

fn launch(row: &AnyRow) -> Result<LaunchRow> {
    let time = |column| -> Result<Option<Timestamp>> { Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp)) };
    Ok(LaunchRow {
        id: read("launch id", row.try_get("id")?)?,
        launcher: row.try_get("launcher")?,
        job: read("job id", row.try_get("job_id")?)?,
        devices: number(row, "devices")?,
        memory: row.try_get::<i64, _>("memory")?.unsigned_abs(),
        status: read("launch status", row.try_get("status")?)?,
        reference: row.try_get("reference")?,
        node: row.try_get("node")?,
        message: row.try_get("message")?,
        created_at: Timestamp(row.try_get("created_at")?),
        submitted_at: time("submitted_at")?,
        began_at: time("began_at")?,
        claimed_at: time("claimed_at")?,
        ended_at: time("ended_at")?,
        works: flag(row, "works")?,
    })
}
