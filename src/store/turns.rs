//! The order of the queue: the waiting jobs of each project in a line of their own, by priority and then as they came,
//! and the projects by turns ([`crate::job::turn`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::vec;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::devices::shared_base;
use super::{Result, number, read, write_json};
use crate::job::placement::{Placement, Request, Shape};
use crate::job::turn::{Line, catch_up};
use crate::job::{JobId, Timestamp};

/// Jobs that are read at a time: few at first, for often the first of them take all devices.
const PAGES: std::ops::RangeInclusive<u32> = 8..=256;

/// Of another project's jobs ahead of one the last few are looked at for one that competes with it.
const LOOKED_AT: i64 = 16;

/// The most that a job may need.
#[derive(Clone, Debug)]
pub(super) struct Fits {
    devices: i64,
    memory: i64,
    /// Of jobs that name one; none when it may be any.
    pools: Option<BTreeSet<Arc<str>>>,
}

impl Fits {
    /// To get the devices of this machine.
    fn at_all(placement: &Placement) -> Self {
        Self::new(placement, placement.largest(), placement.slots().iter().filter_map(|slot| slot.pool.as_ref()))
    }

    /// Without a limit.
    pub fn anything() -> Self {
        Self { devices: i64::MAX, memory: i64::MAX, pools: None }
    }

    /// To get or to keep one of the devices that are left.
    pub fn what_is_left(placement: &Placement) -> Self {
        Self::new(placement, placement.largest_left(), placement.open_pools())
    }

    fn new<'p>(placement: &Placement, memory: u64, pools: impl Iterator<Item = &'p Arc<str>>) -> Self {
        Self {
            pools: Some(pools.cloned().collect()),
            devices: i64::try_from(placement.slots().len()).unwrap_or(i64::MAX),
            memory: i64::try_from(memory).unwrap_or(i64::MAX),
        }
    }

    /// For a statement: the names of pools, and whether others will do.
    fn pools(&self) -> Result<(String, i64)> {
        let names: Vec<&str> = self.pools.iter().flatten().map(|pool| &**pool).collect();
        Ok((write_json(&names)?, i64::from(self.pools.is_none())))
    }

    fn hold(&self, request: &Request) -> bool {
        let has = |pool| self.pools.as_ref().is_none_or(|pools| pools.contains(pool));
        request.pool.as_ref().is_none_or(has)
            && i64::from(request.least().devices()) <= self.devices
            && i64::try_from(request.memory).is_ok_and(|memory| memory <= self.memory)
    }
}

/// A way through the queue.
pub(super) struct Walk {
    lines: Vec<Queued>,
    /// The line of the job that was offered devices last.
    last: usize,
}

/// A project's line, as far as it was read.
struct Queued {
    line: Line,
    /// Jobs that take or keep devices.
    passed: u64,
    read: vec::IntoIter<Request>,
    /// What was read last.
    behind: (i32, String),
    page: u32,
    /// Devices that the project may have more than it has.
    room: i64,
}

impl Walk {
    pub async fn begin(connection: &mut AnyConnection) -> Result<Self> {
        let lines = lines(connection).await?;
        let rooms = rooms(connection).await?;
        let queued = |line: Line| Queued {
            room: rooms.get(&line.project).copied().unwrap_or(i64::MAX),
            line,
            passed: 0,
            read: Vec::new().into_iter(),
            behind: (i32::MAX, String::new()),
            page: *PAGES.start(),
        };
        Ok(Self { lines: lines.into_iter().map(queued).collect(), last: 0 })
    }

    /// The next job that may be offered devices and needs at most so much, with its line.
    pub async fn next(&mut self, connection: &mut AnyConnection, fits: &Fits) -> Result<Option<(&Line, Request)>> {
        loop {
            let turn = |i: &usize| (self.lines[*i].turn(), &self.lines[*i].line.project);
            let Some(next) = (0..self.lines.len()).min_by_key(turn) else { return Ok(None) };
            match self.lines[next].next(connection, fits).await? {
                Some(request) => {
                    self.last = next;
                    return Ok(Some((&self.lines[next].line, request)));
                }
                None => drop(self.lines.swap_remove(next)),
            }
        }
    }

    /// How many more devices the project of the job that came last may have.
    pub fn room(&self) -> i64 {
        self.lines[self.last].room
    }

    /// Counts the turn of the job that came last, for it takes or keeps devices. Others take no turn.
    pub fn pass(&mut self) {
        self.lines[self.last].passed += 1;
    }
}

impl Queued {
    fn turn(&self) -> i64 {
        self.line.turn(self.passed)
    }

    async fn next(&mut self, connection: &mut AnyConnection, fits: &Fits) -> Result<Option<Request>> {
        if self.read.as_slice().is_empty() {
            self.read_on(connection, fits).await?;
        }
        Ok(self.read.next())
    }

    async fn read_on(&mut self, connection: &mut AnyConnection, fits: &Fits) -> Result<()> {
        let (pools, any_pool) = fits.pools()?;
        let rows = sqlx::query(
            "select id, priority, devices, hosts, least_devices, pool, memory_bytes, base, base_bytes, crashes from job
             where status = 'queued' and project = $1 and (priority < $2 or (priority = $2 and id > $3))
               and storage_full_at is null and coalesce(least_devices, devices) <= $4 and memory_bytes <= $5
               and (pool is null or $8 = 1 or pool in (select value from json_each($7)))
               and not exists (select 1 from job_input join model on model.id = job_input.id
                               where job_input.job_id = job.id and model.status <> 'ready')
             order by priority desc, id limit $6",
        )
        .bind(&self.line.project)
        .bind(self.behind.0)
        .bind(&self.behind.1)
        .bind(fits.devices.min(self.room))
        .bind(fits.memory)
        .bind(i64::from(self.page))
        .bind(pools)
        .bind(any_pool)
        .fetch_all(&mut *connection)
        .await?;
        self.page = (self.page * 4).min(*PAGES.end());
        if let Some(last) = rows.last() {
            self.behind = (last.try_get("priority")?, last.try_get("id")?);
        }
        let requests = rows.iter().map(|row| Ok(request(row)?.within(self.room)));
        self.read = requests.collect::<Result<Vec<Request>>>()?.into_iter();
        Ok(())
    }
}

/// How many more devices each project may have that has a limit.
async fn rooms(connection: &mut AnyConnection) -> Result<HashMap<String, i64>> {
    let rows = sqlx::query_as(
        "select name, max_devices - (select count(*) from holding cross join job
                                     where job.id = holding.job_id and job.project = project.name)
         from project where max_devices is not null",
    );
    Ok(rows.fetch_all(connection).await?.into_iter().collect())
}

/// The projects of which jobs wait.
async fn lines(connection: &mut AnyConnection) -> Result<Vec<Line>> {
    // From one project to the next by the index, instead of through all jobs.
    let rows = sqlx::query(
        "with recursive waiting(name) as
             (select min(project) from job where status = 'queued' union all
              select (select min(project) from job where status = 'queued' and project > waiting.name) from waiting
               where waiting.name is not null)
         select waiting.name, coalesce(share, 1) as share,
                case when project.waiting <> 0 then next_turn
                     else max(coalesce(next_turn, 0), (select coalesce(max(turn), 0) from project)) end as first
         from waiting left join project on project.name = waiting.name where waiting.name is not null",
    )
    .fetch_all(connection)
    .await?;
    let line = |row: &AnyRow| {
        Ok(Line { project: row.try_get("name")?, first: row.try_get("first")?, share: number(row, "share")? })
    };
    rows.iter().map(line).collect()
}

/// Notes that a project's job, which still waits, starts on so many devices. Every line keeps the turn that it has, for as
/// long as it waits: what others start meanwhile takes nothing from it.
pub(super) async fn charge(
    connection: &mut AnyConnection,
    project: &str,
    devices: usize,
    now: Timestamp,
) -> Result<()> {
    let next = |line: Line| {
        let started = line.project == project;
        let (turn, next) = (started.then_some(line.first), if started { line.after(devices) } else { line.first });
        (line.project, turn, next)
    };
    let mut lines: Vec<(String, Option<i64>, i64)> = lines(connection).await?.into_iter().map(next).collect();
    let before: i64 =
        sqlx::query_scalar("select coalesce(max(turn), 0) from project").fetch_one(&mut *connection).await?;
    let newest = lines.iter().filter_map(|(_, turn, _)| *turn).fold(before, i64::max);
    catch_up(lines.iter_mut().map(|(.., next)| next), newest);
    sqlx::query("update project set waiting = 0 where waiting <> 0").execute(&mut *connection).await?;
    sqlx::query(
        "insert into project (name, turn, next_turn, waiting, created_at, updated_at)
         select value ->> 0, coalesce(cast(value ->> 1 as bigint), 0), cast(value ->> 2 as bigint), 1, $2, $2
         from json_each($1) where true
         on conflict (name) do update
            set turn = max(project.turn, excluded.turn), next_turn = excluded.next_turn, waiting = 1",
    )
    .bind(write_json(&lines)?)
    .bind(now.0)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) fn request(row: &AnyRow) -> Result<Request> {
    Ok(Request {
        job: read("job id", row.try_get("id")?)?,
        priority: row.try_get("priority")?,
        shape: Shape::new(number(row, "devices")?, number(row, "hosts")?),
        elastic: row.try_get::<Option<i64>, _>("least_devices")?.is_some(),
        pool: row.try_get::<Option<String>, _>("pool")?.map(Arc::from),
        memory: row.try_get::<i64, _>("memory_bytes")?.unsigned_abs(),
        base: shared_base(row)?,
    })
}

/// A waiting job's place in the queue.
pub(super) struct Place {
    pub request: Request,
    pub project: String,
    /// 1 is next.
    pub position: u64,
    /// The job before it that could run here.
    pub ahead: Option<JobId>,
}

/// The places of jobs, those of each project in the order of its line; all are of `project`, if there is one.
pub(super) async fn places(
    connection: &mut AnyConnection,
    placement: &Placement,
    project: Option<&str>,
    requests: Vec<Request>,
) -> Result<Vec<Place>> {
    let fits = Fits::at_all(placement);
    let lines = lines(connection).await?;
    let mut places = Vec::with_capacity(requests.len());
    for (project, own) in by_project(connection, project, requests).await? {
        // None: its jobs were taken since they were read.
        let Some(line) = lines.iter().find(|line| line.project == project) else { continue };
        let others: Vec<&Line> = lines.iter().filter(|line| line.project != project).collect();
        let before = places_in_line(connection, &project, &own).await?;
        let last = line.turn(before.last().copied().unwrap_or(0));
        let mut lengths = Vec::with_capacity(others.len());
        for other in &others {
            lengths.push(length(connection, &other.project, other.ahead_of(last, &project)).await?);
        }
        // The one before, with its place and what is ahead of it in this line.
        let mut previous: Option<(Request, u64, Option<JobId>)> = None;
        for (request, before) in own.into_iter().zip(before) {
            let turn = line.turn(before);
            let passed = others.iter().zip(&lengths).map(|(other, length)| other.ahead_of(turn, &project).min(*length));
            let passed: Vec<u64> = passed.collect();
            let own_ahead = match previous {
                Some((ref previous, place, _)) if place + 1 == before && fits.hold(previous) => Some(previous.job),
                Some((_, place, ahead)) if place + 1 == before => ahead,
                Some(_) | None => job_ahead(connection, &project, &request, &fits).await?,
            };
            let mut ahead = own_ahead;
            for (other, passed) in others.iter().zip(&passed).filter(|(_, passed)| **passed > 0) {
                if ahead.is_none() {
                    ahead = last_of(connection, &other.project, *passed, &fits).await?;
                }
            }
            let position = 1 + before + passed.iter().sum::<u64>();
            places.push(Place { request: request.clone(), project: project.clone(), position, ahead });
            previous = Some((request, before, own_ahead));
        }
    }
    Ok(places)
}

/// Jobs by their projects, in the order of the lines.
async fn by_project(
    connection: &mut AnyConnection,
    project: Option<&str>,
    mut requests: Vec<Request>,
) -> Result<BTreeMap<String, Vec<Request>>> {
    requests.sort_by_key(Request::rank);
    if let Some(project) = project {
        return Ok(BTreeMap::from([(project.to_owned(), requests)]));
    }
    let jobs: Vec<String> = requests.iter().map(|request| request.job.to_string()).collect();
    let projects: Vec<(String, String)> =
        sqlx::query_as("select id, project from job where id in (select value from json_each($1))")
            .bind(write_json(&jobs)?)
            .fetch_all(connection)
            .await?;
    let mut projects: HashMap<String, String> = projects.into_iter().collect();
    let mut sorted: BTreeMap<String, Vec<Request>> = BTreeMap::new();
    for (request, job) in requests.into_iter().zip(jobs) {
        // A job may be deleted meanwhile.
        let Some(project) = projects.remove(&job) else { continue };
        sorted.entry(project).or_default().push(request);
    }
    Ok(sorted)
}

/// How many jobs of their project are before each of the jobs of a line. Between two of them only what lies between is
/// counted.
async fn places_in_line(connection: &mut AnyConnection, project: &str, requests: &[Request]) -> Result<Vec<u64>> {
    let before = std::iter::once(None).chain(requests.iter().map(Some));
    let gaps = requests.iter().zip(before).map(|(request, before)| {
        let level = before.filter(|before| before.priority == request.priority);
        (request.priority, level.map(|before| before.job.to_string()), request.job)
    });
    let counted: Vec<i64> = sqlx::query_scalar(
        "select (select count(*) from job where status = 'queued' and project = $2 and priority = cast(gap.value ->> 0 as bigint)
                 and id >= coalesce(gap.value ->> 1, '') and id < gap.value ->> 2)
                + case when gap.value ->> 1 is null then
                      (select count(*) from job where status = 'queued' and project = $2
                       and priority > cast(gap.value ->> 0 as bigint)) else 0 end
         from json_each($1) as gap order by cast(gap.key as bigint)",
    )
    .bind(write_json(&gaps.collect::<Vec<_>>())?)
    .bind(project)
    .fetch_all(connection)
    .await?;
    let mut before = 0;
    let mut level = None;
    let place = |(request, gap): (&Request, i64)| {
        before = if level == Some(request.priority) { before } else { 0 } + gap.unsigned_abs();
        level = Some(request.priority);
        before
    };
    Ok(requests.iter().zip(counted).map(place).collect())
}

/// How many jobs of a project wait, if they are no more than `limit`.
async fn length(connection: &mut AnyConnection, project: &str, limit: u64) -> Result<u64> {
    let length: i64 = sqlx::query_scalar(
        "select count(*) from (select 1 from job where status = 'queued' and project = $1 limit $2) as waiting",
    )
    .bind(project)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_one(connection)
    .await?;
    Ok(length.unsigned_abs())
}

/// The last job of a project's line before `request` that could run here.
async fn job_ahead(
    connection: &mut AnyConnection,
    project: &str,
    request: &Request,
    fits: &Fits,
) -> Result<Option<JobId>> {
    let (pools, any_pool) = fits.pools()?;
    let ahead: Option<String> = sqlx::query_scalar(
        "select id from job where status = 'queued' and project = $1
           and (priority > $2 or (priority = $2 and id < $3))
           and coalesce(least_devices, devices) <= $4 and memory_bytes <= $5
           and (pool is null or $7 = 1 or pool in (select value from json_each($6)))
         order by priority, id desc limit 1",
    )
    .bind(project)
    .bind(request.priority)
    .bind(request.job.to_string())
    .bind(fits.devices)
    .bind(fits.memory)
    .bind(pools)
    .bind(any_pool)
    .fetch_optional(connection)
    .await?;
    ahead.map(|id| read("job id", &id)).transpose()
}

/// The last one that could run here of the first jobs of a project's line, if it is one of the last few of them.
async fn last_of(connection: &mut AnyConnection, project: &str, first: u64, fits: &Fits) -> Result<Option<JobId>> {
    let rows = sqlx::query(
        "select id, priority, devices, hosts, least_devices, pool, memory_bytes, base, base_bytes, crashes from job
         where status = 'queued' and project = $1
         order by priority desc, id limit $2 offset $3",
    )
    .bind(project)
    .bind(LOOKED_AT.min(i64::try_from(first).unwrap_or(i64::MAX)))
    .bind(i64::try_from(first).unwrap_or(i64::MAX).saturating_sub(LOOKED_AT).max(0))
    .fetch_all(connection)
    .await?;
    let requests = rows.iter().map(request).collect::<Result<Vec<Request>>>()?;
    Ok(requests.iter().rfind(|request| fits.hold(request)).map(|request| request.job))
}
