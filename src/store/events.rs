//! The event log.

use std::sync::Arc;

use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::statement::Statement;
use super::{ROWS, Result, Store, StoreError, read, write_json};
use crate::job::event::{LogDetail, Logged};
use crate::job::{Event, EventBody, EventId, EventKind, JobId, NewEvent, Timestamp};

/// Adds an event with the job's next number, within the transaction of the change it reports.
pub(super) async fn append(connection: &mut AnyConnection, job: JobId, event: &NewEvent, now: Timestamp) -> Result<()> {
    let seq: i64 = sqlx::query_scalar("update job set last_seq = last_seq + 1 where id = $1 returning last_seq")
        .bind(job.to_string())
        .fetch_one(&mut *connection)
        .await?;
    insert(connection, job, seq, std::slice::from_ref(event), now).await
}

/// Adds events of which the last has number `last` among those of its job, whose row says so already.
pub(super) async fn insert(
    connection: &mut AnyConnection,
    job: JobId,
    last: i64,
    events: &[NewEvent],
    now: Timestamp,
) -> Result<()> {
    let texts = events.iter().map(|event| write_json(&event.body)).collect::<Result<Vec<_>>>()?;
    let numbered: Vec<_> = (last - events.len() as i64 + 1..).zip(events.iter().zip(texts)).collect();
    for some in numbered.chunks(ROWS) {
        let mut statement =
            Statement::new("insert into event (id, job_id, seq, type, level, message, data, created_at) ");
        statement.rows(some, |row, (seq, (event, data))| {
            row.bind(EventId::generate().to_string()).bind(job.to_string()).bind(*seq);
            row.bind(event.body.kind().as_str()).bind(event.level.as_str()).bind(event.message.clone());
            row.bind(data.clone()).bind(now.0);
        });
        // One is what is told most.
        statement.finish()?.persistent(some.len() == 1).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Events that are held for others who follow the same job.
const FEW: usize = 16;

/// Which events a look at the log of all jobs shows; empty lists mean all.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    pub kinds: Vec<EventKind>,
    pub jobs: Vec<JobId>,
}

/// A look at the log of all jobs. A join would let SQLite begin with the jobs and sort their events.
fn log(project: Option<&str>, (after, to): (i64, i64), filter: &EventFilter, limit: u32) -> Result<Statement> {
    let EventFilter { kinds, jobs } = filter;
    let mut query = Statement::new("select * from event where position > ");
    query.bind(after).push(" and position <= ").bind(to);
    match kinds.as_slice() {
        [] => {}
        // Few are of such a kind, and have an index of their own, whose condition has to stand here.
        [kind] if kind.is_rare() => {
            query
                .push(" and type in ('status', 'evaluation', 'checkpoint', 'rollout_set') and type = ")
                .bind(kind.as_str());
        }
        kinds => {
            query.push(" and type in (select value from json_each(").bind(write_json(&kinds)?).push("))");
        }
    }
    if !jobs.is_empty() {
        // Nothing that SQLite could begin with: it would read all of a long job each time.
        query.push(" and coalesce(job_id, '') in (select value from json_each(").bind(write_json(&jobs)?).push("))");
    }
    if let Some(project) = project {
        query.push(" and exists (select 1 from job where id = event.job_id and project = ").bind(project).push(")");
    }
    query.push(" order by position limit ").bind(i64::from(limit));
    Ok(query)
}

impl Store {
    /// At most `limit` events of a job behind number `after`.
    pub async fn events(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Event>> {
        let rows = sqlx::query("select * from event where job_id = $1 and seq > $2 order by seq limit $3")
            .bind(job.to_string())
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(event).collect()
    }

    /// The first events of a job behind number `after`, at most `limit` of them; read once for all who ask for the same.
    pub async fn news(&self, job: JobId, after: i64, limit: u32) -> Result<Arc<[Event]>> {
        let few = |events: &Arc<[Event]>| events.len() <= FEW;
        let read = async || Ok::<_, StoreError>(self.events(job, after, limit).await?.into());
        self.news.get(self, (job, after, limit), few, read).await
    }

    /// The first `limit` warnings and errors of a job.
    pub async fn notable_events(&self, job: JobId, limit: u32) -> Result<Vec<Event>> {
        let rows = sqlx::query("select * from event where job_id = $1 and level <> 'info' order by seq limit $2")
            .bind(job.to_string())
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(event).collect()
    }

    /// At most `limit` events of all jobs behind position `after` and up to position `to`, in the order of the log and
    /// with their positions.
    pub async fn all_events(&self, after: i64, to: i64, filter: &EventFilter, limit: u32) -> Result<Vec<(i64, Event)>> {
        let (first, last) = self.span(&filter.jobs).await?;
        let between = (after.max(first - 1), to.min(last));
        let rows = log(self.project(), between, filter, limit)?.finish()?.fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((row.try_get("position")?, event(row)?))).collect()
    }

    /// The positions between which lies all that some jobs have reported; all, if none is named.
    async fn span(&self, jobs: &[JobId]) -> Result<(i64, i64)> {
        if jobs.is_empty() {
            return Ok((0, i64::MAX));
        }
        let span = sqlx::query_as(
            "select coalesce(min(coalesce(first.position, 0)), 0), coalesce(max(coalesce(last.position, $2)), 0) from job
             left join event as first on first.job_id = job.id and first.seq = 1
             left join event as last on last.job_id = job.id and last.seq = job.last_seq
             where job.id in (select value from json_each($1))",
        )
        .bind(write_json(&jobs)?)
        .bind(i64::MAX);
        let (first, last) = span.fetch_one(&self.readers).await?;
        // With several writers a job's last event need not be its furthest one.
        Ok((first, if self.address().is_some() { i64::MAX } else { last }))
    }

    /// Where an event stands in the log of all jobs, or stood when its job was deleted.
    pub async fn event_position(&self, id: EventId) -> Result<i64> {
        let position = sqlx::query_scalar(
            "select position from event
             where id = $1 and exists (select 1 from job where id = event.job_id and project = coalesce($2, project))
             union all select position from deleted_event where id = $1 and project = coalesce($2, project)",
        )
        .bind(id.to_string())
        .bind(self.project())
        .fetch_optional(&self.readers)
        .await?;
        position.ok_or_else(|| StoreError::NotFound { what: "event", id: id.to_string() })
    }

    /// The position of the newest event of any job behind which no event will come to stand.
    pub async fn newest_event(&self) -> Result<i64> {
        self.backend.settled_position(&mut *self.readers.acquire().await?).await
    }

    /// Waits until no other transaction of this database keeps events from being followed.
    #[cfg(test)]
    pub async fn settle(&self) -> Result<()> {
        let newest = "select coalesce(max(position), 0) from event";
        let newest: i64 = sqlx::query_scalar(newest).fetch_one(&self.readers).await?;
        while self.newest_event().await? < newest {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// The jobs that have events behind `position`, also such as are behind what [`newest_event`](Self::newest_event) says.
    pub async fn jobs_with_events_after(&self, position: i64) -> Result<Vec<JobId>> {
        // `distinct` in SQL would make SQLite walk the whole index by job instead of the newest rows.
        let ids: Vec<String> = sqlx::query_scalar("select job_id from event where position > $1 order by position")
            .bind(position)
            .fetch_all(&self.readers)
            .await?;
        let ids: std::collections::BTreeSet<String> = ids.into_iter().collect();
        ids.iter().map(|id| read("job id", id)).collect()
    }
}

pub(super) fn event(row: &AnyRow) -> Result<Event> {
    let (kind, data): (&str, &str) = (row.try_get("type")?, row.try_get("data")?);
    let id: EventId = read("event id", row.try_get("id")?)?;
    Ok(Event {
        id,
        job: read("job id", row.try_get("job_id")?)?,
        seq: row.try_get("seq")?,
        created_at: Timestamp(row.try_get("created_at")?),
        level: read("event level", row.try_get("level")?)?,
        message: row.try_get("message")?,
        body: body(kind, data).unwrap_or_else(|error| {
            tracing::error!(event = %id, kind, %error, "a stored event cannot be read");
            unreadable(kind, data)
        }),
    })
}

fn body(kind: &str, data: &str) -> Result<EventBody> {
    let mut data = serde_json::Deserializer::from_str(data);
    let read = EventBody::read(read("event type", kind)?, &mut data).and_then(|body| data.end().map(|()| body));
    read.map_err(|error| StoreError::Corrupt { what: "event data", detail: error.to_string() })
}

/// What takes the place of an event that cannot be read. A log without it would have a gap, and whoever follows it
/// would wait for that number forever.
fn unreadable(kind: &str, data: &str) -> EventBody {
    let data = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    let members = [("type", Value::from(kind)), ("data", data)].map(|(name, value)| (name.to_owned(), value));
    let detail = LogDetail::Other(members.into_iter().collect());
    EventBody::Log(Logged { code: Some(String::from("event_unreadable")), detail })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::{DeviceReading, JobKind, WorkerId};
    use crate::store::{NewJob, WorkerRow};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    async fn submit_to(store: &Store) -> JobId {
        let dataset = json!({"train": "builtin:arithmetic"});
        let spec = json!({"model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}});
        store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, NOW).await.unwrap().job.id
    }

    #[tokio::test]
    async fn whoever_had_read_up_to_an_event_of_a_deleted_job_goes_on_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let submit = async || submit_to(&store).await;
        let (first, second) = (submit().await, submit().await);
        store.cancel_job(first, NOW).await.unwrap();
        let cursor = store.events(first, 0, 10).await.unwrap()[0].id;
        store.delete_job(first).await.unwrap();
        let position = store.event_position(cursor).await.unwrap();
        let rest = store.all_events(position, i64::MAX, &EventFilter::default(), 10).await.unwrap();
        assert_eq!(rest.iter().map(|(_, event)| event.job).collect::<Vec<_>>(), [second]);
        assert!(store.within("another").event_position(cursor).await.is_err(), "it is nothing to other projects");
    }

    #[tokio::test]
    async fn a_look_at_the_log_shows_what_is_asked_for_and_reads_little_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let submit = async || submit_to(&store).await;
        let jobs = [submit().await, submit().await, submit().await];
        for job in [jobs[1], jobs[0]] {
            store.cancel_job(job, NOW).await.unwrap();
        }
        store.settle().await.unwrap();
        let shown = async |kinds: &[EventKind], jobs: &[JobId], after, to, limit| {
            let filter = EventFilter { kinds: kinds.to_vec(), jobs: jobs.to_vec() };
            let events = store.all_events(after, to, &filter, limit).await.unwrap();
            events.into_iter().map(|(_, event)| (event.job, event.seq)).collect::<Vec<_>>()
        };
        let end = i64::MAX;
        let [a, b, c] = jobs;
        let all = [(a, 1), (b, 1), (c, 1), (b, 2), (a, 2)];
        for kinds in [&[][..], &[EventKind::Status], &[EventKind::Status, EventKind::Log]] {
            assert_eq!(shown(kinds, &[], 0, end, 9).await, all);
            assert_eq!(shown(kinds, &[b], 0, end, 9).await, [(b, 1), (b, 2)]);
            assert_eq!(shown(kinds, &[a, b], 0, end, 3).await, [(a, 1), (b, 1), (b, 2)]);
        }
        assert_eq!(shown(&[EventKind::Checkpoint], &[], 0, end, 9).await, []);
        let first = store.all_events(0, end, &EventFilter::default(), 9).await.unwrap()[0].0;
        assert_eq!(shown(&[], &[a], first, end, 9).await, [(a, 2)]);
        assert_eq!(shown(&[], &[a], 0, first, 9).await, [(a, 1)]);
        assert_eq!(shown(&[], &[JobId::generate()], 0, end, 9).await, []);
        if crate::store::backend::on_postgres() {
            return;
        }
        let rare = EventFilter { kinds: vec![EventKind::Checkpoint], jobs: Vec::new() };
        let of_jobs = EventFilter { kinds: vec![EventKind::Metrics], jobs: vec![a] };
        let rows = "INTEGER PRIMARY KEY (rowid>? AND rowid<?)";
        let looks = [
            (&rare, "INDEX event_rare (type=? AND position>? AND position<?)"),
            (&of_jobs, rows),
            (&EventFilter::default(), rows),
        ];
        for (filter, index) in looks {
            let statement = log(Some("default"), (0, end), filter, 9).unwrap().into_text();
            let plan = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
            let steps = sqlx::query(plan).fetch_all(&store.readers).await.unwrap();
            let steps: Vec<String> = steps.iter().map(|step| step.get("detail")).collect();
            assert!(steps.contains(&format!("SEARCH event USING {index}")), "{statement}\n{steps:#?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:#?}");
        }
    }

    /// Whoever follows a log waits for each number.
    #[tokio::test]
    async fn an_event_that_cannot_be_read_leaves_no_gap_in_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let job = submit_to(&store).await;
        let mut tx = store.begin().await.unwrap();
        for (seq, kind, data) in
            [(2, "telepathy", r#"{"a":1}"#), (3, "status", r#"{"status":"lost"}"#), (4, "log", "{")]
        {
            sqlx::query(
                "insert into event (id, job_id, seq, type, level, message, data, created_at)
                 values ($1, $2, $3, $4, 'info', 'a sentence', $5, 0)",
            )
            .bind(EventId::generate().to_string())
            .bind(job.to_string())
            .bind(seq)
            .bind(kind)
            .bind(data)
            .execute(tx.connection())
            .await
            .unwrap();
        }
        tx.commit().await.unwrap();
        let told: Vec<_> = store.events(job, 1, 10).await.unwrap();
        let told: Vec<_> = told.iter().map(|event| (event.seq, event.message.as_str(), json!(event.body))).collect();
        let body =
            |kind: &str, data: serde_json::Value| json!({"code": "event_unreadable", "type": kind, "data": data});
        let expected = [
            (2, "a sentence", body("telepathy", json!({"a": 1}))),
            (3, "a sentence", body("status", json!({"status": "lost"}))),
            (4, "a sentence", body("log", json!("{"))),
        ];
        assert_eq!(told, expected);
    }

    /// Everybody who writes has a connection of his own, as workers have, and transactions end in any order.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_event_is_missed_while_eight_write() {
        const WRITERS: u32 = 8;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let readings: Vec<DeviceReading> =
            (0..WRITERS).map(|n| DeviceReading::of_test(&format!("simulated:{n}"), n, 1 << 40)).collect();
        store.set_devices(&readings, NOW).await.unwrap();
        let mut writers = tokio::task::JoinSet::new();
        for reading in &readings {
            let (own, worker) = (Store::open(folder.path()).await.unwrap(), WorkerId::generate());
            let row = WorkerRow {
                id: worker,
                device: reading.name.clone(),
                description: String::new(),
                pid: 1,
                started_at: NOW,
                seen_at: NOW,
            };
            own.add_worker(&row).await.unwrap();
            submit_to(&own).await;
            let job = own.claim(worker, &reading.name, NOW).await.unwrap().unwrap().lease.job;
            let number = u64::from(reading.number);
            writers.spawn(async move {
                for turn in 0..60 {
                    let event = NewEvent::warning(format!("turn {turn}"), "test", LogDetail::None {});
                    let mut tx = own.begin_on_row().await.unwrap();
                    for _ in 0..1 + turn % 7 {
                        append(tx.connection(), job, &event, NOW).await.unwrap();
                    }
                    // Some take longer than others.
                    tokio::time::sleep(std::time::Duration::from_millis((number * 7 + turn * 3) % 11)).await;
                    tx.commit().await.unwrap();
                }
            });
        }
        let filter = EventFilter::default();
        let (mut followed, mut plain) = (Vec::new(), Vec::new());
        let (mut reached, mut counted) = (0, 0);
        let mut is_over = false;
        while !is_over {
            is_over = writers.is_empty();
            let newest = store.newest_event().await.unwrap();
            followed.extend(store.all_events(reached, newest, &filter, u32::MAX >> 1).await.unwrap());
            reached = reached.max(newest);
            let seen = store.all_events(counted, i64::MAX, &filter, u32::MAX >> 1).await.unwrap();
            counted = seen.last().map_or(counted, |(position, _)| *position);
            plain.extend(seen);
            if is_over {
                store.settle().await.unwrap();
                let newest = store.newest_event().await.unwrap();
                followed.extend(store.all_events(reached, newest, &filter, u32::MAX >> 1).await.unwrap());
            }
            while let Some(ended) = writers.try_join_next() {
                ended.unwrap();
            }
        }
        let all = store.all_events(0, i64::MAX, &filter, u32::MAX >> 1).await.unwrap();
        let ids = |events: &[(i64, Event)]| events.iter().map(|(_, event)| event.id).collect::<Vec<_>>();
        assert!(all.len() > WRITERS as usize * 200, "{}", all.len());
        assert_eq!(ids(&followed), ids(&all), "{} of {} were followed", followed.len(), all.len());
        if store.is_shared() {
            assert!(plain.len() < all.len(), "without a bound nothing was missed: this shows nothing");
        }
    }
}
