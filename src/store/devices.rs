//! Devices: how they are, which job holds which, and what their failures mean for jobs.
//!
//! A device is `busy` exactly as long as jobs hold it: [`claim`](Store::claim) takes it in the transaction that
//! begins the attempt, and whatever ends the attempt gives it back in its own. Only jobs that share the weights of their
//! model hold one together. A failed device takes no jobs until a
//! check finds it well.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::statuses::held;
use super::{Result, Store, StoreError, flag, number, read, read_json, write_json};
use crate::job::agent::DeviceState;
use crate::job::device::split_name;
use crate::job::event::LogDetail;
use crate::job::placement::{Base, Holder, Kept, Slot};
use crate::job::progress::Pace;
use crate::job::{DeviceProcess, DeviceReading, DeviceStatus, FailureKind, JobId, NewEvent, Timestamp, WorkerId};

/// A worker that was not seen for so long does not count as waiting for jobs.
pub(super) const ATTENDED_MILLISECONDS: i64 = 30_000;
/// A change of the free memory below this share of all of it is not written down at once.
const NOTABLE_SHARE: u64 = 64;
/// How old a row may become when nothing about the device changes.
const FRESH_MILLISECONDS: i64 = 10_000;

/// A device.
#[derive(Clone, Debug)]
pub struct DeviceRow {
    pub name: String,
    pub number: u32,
    pub description: String,
    pub uuid: Option<String>,
    pub memory_total: u64,
    pub memory_free: u64,
    pub compute_capability: Option<String>,
    pub driver_version: Option<String>,
    pub processes: Vec<DeviceProcess>,
    pub status: DeviceStatus,
    /// The jobs that hold it, in the order in which they were submitted.
    pub jobs: Vec<JobId>,
    /// Why it takes no jobs.
    pub fault: Option<String>,
    pub faulted_at: Option<Timestamp>,
    /// How often it has failed.
    pub faults: u64,
    pub changed_at: Timestamp,
    pub seen_at: Timestamp,
    /// The worker that tends it, if one was seen lately, with its process.
    pub worker: Option<(WorkerId, u32, Timestamp)>,
}

impl From<DeviceRow> for DeviceState {
    fn from(row: DeviceRow) -> Self {
        let DeviceRow { name, number, description, uuid, status, fault, .. } = row;
        Self { name, number, description, uuid, status, fault, wanted: false }
    }
}

impl Store {
    /// Makes `readings` the devices of this host; others of it are forgotten. What is known of the faults of those that
    /// stay is kept.
    pub async fn set_devices(&self, readings: &[DeviceReading], now: Timestamp) -> Result<()> {
        self.despite_full(|| async move {
            let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
            let mut tx = self.begin().await?;
            sqlx::query("delete from device where host = $2 and name not in (select value from json_each($1))")
                .bind(write_json(&names)?)
                .bind(self.host())
                .execute(tx.connection())
                .await?;
            for reading in readings {
                insert(tx.connection(), reading, now).await?;
                update(tx.connection(), reading, now).await?;
            }
            // A check that was under way ended with the server that made it.
            sqlx::query("update device set status = 'faulted' where status = 'checking' and host = $1")
                .bind(self.host())
                .execute(tx.connection())
                .await?;
            tx.commit().await
        })
        .await
    }

    /// Makes a device known, if it is not yet, for a worker without a server.
    pub async fn add_device(&self, reading: &DeviceReading, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        insert(tx.connection(), reading, now).await?;
        tx.commit().await
    }

    /// Writes down a look at a device, unless it shows nothing new. Returns the device as it is then.
    pub async fn observe_device(&self, reading: &DeviceReading, now: Timestamp) -> Result<DeviceRow> {
        let row = self.device(&reading.name).await?;
        let moved = row.memory_free.abs_diff(reading.memory_free);
        let marked = match row.status {
            DeviceStatus::Idle => !reading.is_taken(),
            DeviceStatus::Foreign => reading.is_taken(),
            DeviceStatus::Busy | DeviceStatus::Reserved | DeviceStatus::Faulted | DeviceStatus::Checking => true,
        };
        let quiet = marked
            && row.memory_total == reading.memory_total
            && moved <= reading.memory_total / NOTABLE_SHARE
            && row.processes == reading.processes
            && now.0 - row.seen_at.0 < FRESH_MILLISECONDS;
        if quiet {
            return Ok(row);
        }
        let mut tx = self.begin().await?;
        update(tx.connection(), reading, now).await?;
        tx.commit().await?;
        self.device(&reading.name).await
    }

    pub async fn device(&self, name: &str) -> Result<DeviceRow> {
        let rows = self.devices(Timestamp(i64::MAX)).await?;
        let found = rows.into_iter().find(|row| row.name == name);
        found.ok_or_else(|| StoreError::NotFound { what: "device", id: name.to_owned() })
    }

    /// The devices of all hosts, in order, with the workers that were seen lately.
    pub async fn devices(&self, now: Timestamp) -> Result<Vec<DeviceRow>> {
        let rows = sqlx::query(
            "select d.*, w.id as worker_id, w.pid as worker_pid, w.started_at as worker_started_at,
                    (select json_group_array(job_id order by job_id) from holding where device = d.name) as jobs
             from device d left join worker w on w.id =
                 (select max(id) from worker where device = d.name and ended_at is null and seen_at >= $1)
             order by d.host, d.number, d.name",
        )
        .bind(now.0.saturating_sub(ATTENDED_MILLISECONDS))
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(device).collect()
    }

    /// A check of a failed device begins.
    pub async fn begin_check(&self, name: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("update device set status = 'checking', changed_at = $2 where name = $1 and status = 'faulted'")
            .bind(name)
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// A check has ended: the device is well, or `fault` says why not.
    pub async fn end_check(&self, name: &str, fault: Option<&str>, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update device set status = case when $2 is null then 'idle' else 'faulted' end, fault = $2,
                               faulted_at = case when $2 is null then null else faulted_at end, changed_at = $3
             where name = $1 and status = 'checking'",
        )
        .bind(name)
        .bind(fault)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }
}

async fn insert(connection: &mut AnyConnection, reading: &DeviceReading, now: Timestamp) -> Result<()> {
    sqlx::query(
        "insert into device (name, number, description, uuid, memory_total, memory_free, compute_capability,
                             driver_version, processes, status, changed_at, seen_at, host)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'idle', $10, $10, $11) on conflict (name) do nothing",
    )
    .bind(&reading.name)
    .bind(i64::from(reading.number))
    .bind(&reading.description)
    .bind(&reading.uuid)
    .bind(stored(reading.memory_total))
    .bind(stored(reading.memory_free))
    .bind(&reading.compute_capability)
    .bind(&reading.driver_version)
    .bind(write_json(&reading.processes)?)
    .bind(now.0)
    .bind(split_name(&reading.name).0)
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes down a look; a free device is `foreign` as long as another program computes on it.
async fn update(connection: &mut AnyConnection, reading: &DeviceReading, now: Timestamp) -> Result<()> {
    sqlx::query(
        "update device set description = $2, uuid = $3, memory_total = $4, memory_free = $5, compute_capability = $6,
                driver_version = $7, processes = $8, seen_at = $10,
                changed_at = case when status in ('idle', 'foreign') and (status = 'foreign') <> $9 then $10
                                  else changed_at end,
                status = case when status in ('idle', 'foreign') then case when $9 then 'foreign' else 'idle' end
                              else status end
         where name = $1",
    )
    .bind(&reading.name)
    .bind(&reading.description)
    .bind(&reading.uuid)
    .bind(stored(reading.memory_total))
    .bind(stored(reading.memory_free))
    .bind(&reading.compute_capability)
    .bind(&reading.driver_version)
    .bind(write_json(&reading.processes)?)
    .bind(reading.is_taken())
    .bind(now.0)
    .execute(connection)
    .await?;
    Ok(())
}

/// Marks a device as failed and returns the jobs that held it; the caller takes them from it in the same transaction.
pub(super) async fn mark_faulted(
    connection: &mut AnyConnection,
    name: &str,
    reason: &str,
    now: Timestamp,
) -> Result<Vec<JobId>> {
    let faulted = sqlx::query(
        "update device set status = 'faulted', fault = $2, faults = faults + 1, faulted_at = $3, changed_at = $3
         where name = $1 and status not in ('faulted', 'checking')",
    )
    .bind(name)
    .bind(reason)
    .bind(now.0)
    .execute(&mut *connection)
    .await?;
    if faulted.rows_affected() == 0 {
        return Ok(Vec::new());
    }
    let held: Vec<String> = sqlx::query_scalar("delete from holding where device = $1 returning job_id")
        .bind(name)
        .fetch_all(connection)
        .await?;
    held.iter().map(|id| read("job id", id)).collect()
}

/// Gives a job's devices back; those that failed, or that other jobs hold too, stay as they are.
pub(super) async fn free(connection: &mut AnyConnection, job: JobId, now: Timestamp) -> Result<()> {
    let held: Vec<String> = sqlx::query_scalar("delete from holding where job_id = $1 returning device")
        .bind(job.to_string())
        .fetch_all(&mut *connection)
        .await?;
    for name in held {
        sqlx::query(
            "update device set status = 'idle', changed_at = $2
             where name = $1 and status = 'busy' and not exists (select 1 from holding where device = device.name)",
        )
        .bind(name)
        .bind(now.0)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Gives devices to a job that begins.
pub(super) async fn hold(connection: &mut AnyConnection, job: JobId, names: &[String], now: Timestamp) -> Result<()> {
    // One by one, each by its key: they are few, and the table may be large.
    for name in names {
        sqlx::query("update device set status = 'busy', changed_at = $2 where name = $1 and status <> 'busy'")
            .bind(name)
            .bind(now.0)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query("insert into holding (device, job_id) select value, $2 from json_each($1)")
        .bind(write_json(&names)?)
        .bind(job.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// Columns of the devices on which something could start: they are free, or shared, or have the name `$1`.
macro_rules! open_devices {
    ($columns:literal) => {
        concat!(
            "with open_device as
                (select ",
            $columns,
            " from device where status = 'idle' union select ",
            $columns,
            " from device where name = $1 union select ",
            $columns,
            " from device where name in
                (select h.device from job j join holding h on h.job_id = j.id
                 where j.base is not null and j.status in ",
            held!(),
            ")) "
        )
    };
}

/// Devices of hosts that go one after the other.
macro_rules! slots_from {
    ($from:literal) => {
        concat!(
            "select d.name, d.status, d.memory_total, d.memory_free,
                    c.pool, (d.name = $1 or exists (select 1 from worker w where w.device = d.name and w.ended_at is null
                                            and w.seen_at >= $2))
                    and c.cordoned_at is null as attended
             from ",
            $from,
            " left join host c on c.name = d.host order by d.host, d.number, d.name"
        )
    };
}

/// The jobs that hold devices.
macro_rules! holders_from {
    ($($from:tt)*) => {
        concat!(
            "select h.device, j.id, j.memory_bytes, j.base, j.base_bytes, j.crashes, j.step, j.steps, a.started_at,
                    a.first_step
             from ",
            $($from)*,
            " join job j on j.id = h.job_id left join attempt a on a.job_id = j.id and a.number = j.attempt order by j.id"
        )
    };
}

/// The devices as placement sees them. A worker that asks for a job on `asking` waits for one; it is told of no devices that
/// make no difference to it: a large fleet is busy but for a few, and every claim looks at them.
pub(super) async fn slots(connection: &mut AnyConnection, asking: Option<&str>, now: Timestamp) -> Result<Vec<Slot>> {
    const WAITING: &str = "select exists (select 1 from job where status = 'queued' and hosts > 1) as on_several,
                                  exists (select 1 from job where status = 'queued' and devices > 1) as is_wide";
    const SLOTS: &str = slots_from!("device d");
    const HOLDERS: &str = holders_from!("holding h");
    const OF_OPEN_HOSTS: &str =
        concat!(open_devices!("host"), slots_from!("open_device o join device d on d.host = o.host"));
    const HOLDERS_THERE: &str = concat!(
        open_devices!("host"),
        holders_from!("open_device o join device d on d.host = o.host join holding h on h.device = d.name")
    );
    const OPEN: &str =
        concat!(open_devices!("name, host, number, status, memory_total, memory_free"), slots_from!("open_device d"));
    const SHARERS: &str = holders_from!(
        "(select device, job_id from holding where device = $1 union
          select own.device, own.job_id from job sharer join holding own on own.job_id = sharer.id
          where sharer.base is not null and sharer.status in ",
        held!(),
        ") h"
    );
    let waiting = sqlx::query(WAITING).fetch_one(&mut *connection).await?;
    let on_several = flag(&waiting, "on_several")?;
    // A job on several devices also keeps those that are free beside others of their host which will be, and one on several
    // hosts also what is free where nothing could start.
    let narrow = asking.is_some() && !on_several;
    let (slots, holders) = match (narrow, flag(&waiting, "is_wide")?) {
        (false, _) => (SLOTS, HOLDERS),
        (true, true) => (OF_OPEN_HOSTS, HOLDERS_THERE),
        (true, false) => (OPEN, SHARERS),
    };
    let name = asking.unwrap_or_default();
    let attended_since = now.0 - ATTENDED_MILLISECONDS;
    let rows = sqlx::query(slots).bind(name).bind(attended_since).fetch_all(&mut *connection).await?;
    let holders = sqlx::query(holders);
    let holders = if narrow { holders.bind(name) } else { holders };
    let held = holders.fetch_all(&mut *connection).await?;
    let mut slots = rows.iter().map(slot).collect::<Result<Vec<Slot>>>()?;
    let places: HashMap<String, usize> =
        slots.iter().enumerate().map(|(place, slot)| (slot.name.clone(), place)).collect();
    for row in &held {
        if let Some(place) = places.get(row.try_get::<&str, _>("device")?) {
            slots[*place].holders.push(holder(row, now)?);
        }
    }
    if on_several {
        keep(&mut slots, &launched_for(connection).await?);
    }
    Ok(slots)
}

/// The machines that were started for jobs on several, and have begun none: each with its job, and how many that is on.
async fn launched_for(connection: &mut AnyConnection) -> Result<HashMap<String, (JobId, usize)>> {
    let rows = sqlx::query(
        "select launch.id, job.id as job, job.hosts from launch join job on job.id = launch.job_id
         where launch.ended_at is null and launch.claimed_at is null and job.status = 'queued' and job.hosts > 1
            and job.least_devices is null and job.storage_full_at is null",
    );
    let rows = rows.fetch_all(connection).await?;
    let read_row = |row: &AnyRow| {
        Ok((row.try_get("id")?, (read("job id", row.try_get("job")?)?, number::<u32>(row, "hosts")? as usize)))
    };
    rows.iter().map(read_row).collect()
}

/// Keeps machines for the jobs that they were started for.
fn keep(slots: &mut [Slot], launched: &HashMap<String, (JobId, usize)>) {
    let of = |slot: &Slot| launched.get(split_name(&slot.name).0).copied();
    let mut there: HashMap<JobId, HashSet<&str>> = HashMap::new();
    for slot in slots.iter().filter(|slot| slot.attended && slot.status == DeviceStatus::Idle) {
        if let Some((job, _)) = of(slot) {
            there.entry(job).or_default().insert(split_name(&slot.name).0);
        }
    }
    let there: HashMap<JobId, usize> = there.into_iter().map(|(job, hosts)| (job, hosts.len())).collect();
    for slot in slots {
        slot.kept_for =
            of(slot).map(|(job, hosts)| Kept { job, gathers: there.get(&job).copied().unwrap_or(0) < hosts });
    }
}

fn slot(row: &AnyRow) -> Result<Slot> {
    Ok(Slot {
        name: row.try_get("name")?,
        status: read("device status", row.try_get("status")?)?,
        memory_total: row.try_get::<i64, _>("memory_total")?.unsigned_abs(),
        memory_free: row.try_get::<i64, _>("memory_free")?.unsigned_abs(),
        attended: flag(row, "attended")?,
        pool: row.try_get::<Option<String>, _>("pool")?.map(Arc::from),
        holders: Vec::new(),
        kept_for: None,
    })
}

fn holder(row: &AnyRow, now: Timestamp) -> Result<Holder> {
    let began_at: Option<i64> = row.try_get("started_at")?;
    let pace = match began_at {
        None => None,
        Some(began_at) => Some(Pace {
            began_at: Timestamp(began_at),
            first_step: row.try_get::<i64, _>("first_step")?.unsigned_abs(),
            step: row.try_get::<i64, _>("step")?.unsigned_abs(),
            steps: row.try_get::<i64, _>("steps")?.unsigned_abs(),
            blocks: Vec::new(),
        }),
    };
    Ok(Holder {
        job: read("job id", row.try_get("id")?)?,
        memory: row.try_get::<i64, _>("memory_bytes")?.unsigned_abs(),
        base: shared_base(row)?,
        free_at: pace.and_then(|pace| pace.end(now)).map(|end| end.p50),
    })
}

/// The weights that a job of a row has in common with others; one that has crashed shares none.
pub(super) fn shared_base(row: &AnyRow) -> Result<Option<Base>> {
    let key: Option<i64> = row.try_get("base")?;
    let crashes: i64 = row.try_get("crashes")?;
    let bytes = row.try_get::<i64, _>("base_bytes")?.unsigned_abs();
    Ok(key.filter(|_| crashes == 0).map(|key| Base { key, bytes }))
}

/// What a job's log says of a lost device.
pub(super) fn lost_event(kind: FailureKind, reason: &str) -> NewEvent {
    NewEvent::warning(reason, kind.as_str(), LogDetail::Lost { reason: reason.to_owned() })
}

fn stored(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn device(row: &AnyRow) -> Result<DeviceRow> {
    let text = |column| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let worker = match text("worker_id")? {
        None => None,
        Some(id) => {
            let pid = u32::try_from(row.try_get::<i64, _>("worker_pid")?).unwrap_or(0);
            Some((read("worker id", &id)?, pid, Timestamp(row.try_get("worker_started_at")?)))
        }
    };
    Ok(DeviceRow {
        name: row.try_get("name")?,
        number: number(row, "number")?,
        description: row.try_get("description")?,
        uuid: text("uuid")?,
        memory_total: row.try_get::<i64, _>("memory_total")?.unsigned_abs(),
        memory_free: row.try_get::<i64, _>("memory_free")?.unsigned_abs(),
        compute_capability: text("compute_capability")?,
        driver_version: text("driver_version")?,
        processes: read_json("processes", row.try_get("processes")?)?,
        status: read("device status", row.try_get("status")?)?,
        jobs: read_json("jobs", row.try_get("jobs")?)?,
        fault: text("fault")?,
        faulted_at: row.try_get::<Option<i64>, _>("faulted_at")?.map(Timestamp),
        faults: row.try_get::<i64, _>("faults")?.unsigned_abs(),
        changed_at: Timestamp(row.try_get("changed_at")?),
        seen_at: Timestamp(row.try_get("seen_at")?),
        worker,
    })
}
