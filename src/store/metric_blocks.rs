//! How values of metrics lie in the database. Those of the newest steps are in the job's events alone. Now and then they
//! are packed: the values of 256 steps in a row are a block, and points stand for 256, 1024 and 4096 steps, so that a long
//! series is shown without being read whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use futures_util::TryStreamExt;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::statement::Statement;
use super::{ROWS, Result, StoreError, write_json};
use crate::job::JobId;
use crate::job::event::StepMetrics;

/// Steps of a block.
pub(super) const STEPS: u64 = 256;
/// How many steps stored points stand for: [`FINER`] times as many as those before.
pub(super) const WIDTHS: [u64; 3] = [STEPS, 1024, 4096];
const FINER: u64 = 4;

/// A job with so many events since its values were packed last has them packed.
const LOOSE: i64 = 256;
/// Events with metrics that are packed at a time.
const TOGETHER: i64 = 4096;

/// By name, the values of steps.
pub(super) type Values = BTreeMap<String, BTreeMap<u64, f64>>;

/// What some values in a row are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The last one.
    pub step: u64,
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    pub last: f64,
}

/// Points by what they stand for: a name and a number.
type Points = BTreeMap<(String, u64), Point>;

impl Point {
    pub fn of(step: u64, value: f64) -> Self {
        Self { step, count: 1, sum: value, min: value, max: value, last: value }
    }

    /// Adds what other values of the same series are like.
    pub fn add(&mut self, other: &Self) {
        if other.step >= self.step {
            (self.step, self.last) = (other.step, other.last);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn read(row: &AnyRow) -> Result<Self> {
        Ok(Self {
            step: row.try_get::<i64, _>("last_step")?.unsigned_abs(),
            count: row.try_get::<i64, _>("value_count")?.unsigned_abs(),
            sum: row.try_get::<Option<f64>, _>("value_sum")?.unwrap_or(f64::NAN),
            min: row.try_get("value_min")?,
            max: row.try_get("value_max")?,
            last: row.try_get("last_value")?,
        })
    }
}

/// Adds a point to what is known of its place.
pub(super) fn add<K: Ord>(points: &mut BTreeMap<K, Point>, at: K, point: Point) {
    points.entry(at).and_modify(|known| known.add(&point)).or_insert(point);
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The values of a job that are not packed yet.
#[derive(Debug, Default)]
pub(super) struct Loose {
    pub values: Values,
    /// The number of the last event that was read for them.
    read_to: Option<i64>,
}

impl Loose {
    /// All of them; there are few, see [`pack_if_many`].
    pub async fn read(connection: &mut AnyConnection, job: JobId) -> Result<Self> {
        Self::first(connection, job, i64::MAX).await
    }

    /// Those of the first `limit` events.
    async fn first(connection: &mut AnyConnection, job: JobId, limit: i64) -> Result<Self> {
        let mut rows = sqlx::query(
            "select seq, data from event
             where job_id = $1 and type = 'metrics' and seq > (select packed_seq from job where id = $1)
             order by seq limit $2",
        )
        .bind(job.to_string())
        .bind(limit)
        .fetch(connection);
        let mut loose = Self::default();
        while let Some(row) = rows.try_next().await? {
            loose.read_to = Some(row.try_get("seq")?);
            // What cannot be read is told by the log, whose events say so.
            let Ok(metrics) = serde_json::from_str::<StepMetrics>(row.try_get("data")?) else { continue };
            for (name, value) in metrics.values.iter() {
                // A resumed attempt repeats the steps behind its checkpoint; the later value stands.
                if let Some(value) = value {
                    let series = match loose.values.get_mut(name) {
                        Some(series) => series,
                        None => loose.values.entry(name.to_owned()).or_default(),
                    };
                    series.insert(metrics.step, *value);
                }
            }
        }
        Ok(loose)
    }

    /// Values of one metric over a range of steps, by step: those that are packed, and these in their place.
    pub async fn over_packed(
        &self,
        connection: &mut AnyConnection,
        job: JobId,
        name: &str,
        steps: RangeInclusive<u64>,
    ) -> Result<Vec<(u64, f64)>> {
        let mut rows = sqlx::query(
            "select block, packed from metric_block where job_id = $1 and name = $2 and block between $3 and $4
             order by block",
        )
        .bind(job.to_string())
        .bind(name)
        .bind(signed(steps.start() / STEPS))
        .bind(signed(steps.end() / STEPS))
        .fetch(connection);
        let mut values = Vec::new();
        while let Some(row) = rows.try_next().await? {
            unpack(&row, |step, value| values.push((step, value)))?;
        }
        let newer = self.values.get(name);
        values.retain(|(step, _)| steps.contains(step) && !newer.is_some_and(|newer| newer.contains_key(step)));
        if let Some(newer) = newer.filter(|_| !steps.is_empty()) {
            values.extend(newer.range(steps).map(|(step, value)| (*step, *value)));
            values.sort_by_key(|(step, _)| *step);
        }
        Ok(values)
    }
}

/// The values of steps `block * 256` up to the next block: 256 bits, of which those are set whose step has a value, from
/// the lowest of the first byte on, and the values, as f64 in little endian.
fn pack_block(values: &BTreeMap<u64, f64>) -> Vec<u8> {
    let mut packed = vec![0_u8; STEPS as usize / 8];
    for (step, value) in values {
        let at = (step % STEPS) as usize;
        packed[at / 8] |= 1 << (at % 8);
        packed.extend(value.to_le_bytes());
    }
    packed
}

/// Reads the row of a block, value by value.
fn unpack(row: &AnyRow, mut each: impl FnMut(u64, f64)) -> Result<()> {
    let first = row.try_get::<i64, _>("block")?.unsigned_abs() * STEPS;
    let packed: &[u8] = row.try_get("packed")?;
    let short = || StoreError::Corrupt { what: "block of metrics", detail: format!("{} bytes", packed.len()) };
    let (bits, values) = packed.split_at_checked(STEPS as usize / 8).ok_or_else(short)?;
    let mut values = values.as_chunks::<8>().0.iter();
    for at in (0..STEPS).filter(|at| bits[*at as usize / 8] >> (at % 8) & 1 == 1) {
        each(first + at, f64::from_le_bytes(*values.next().ok_or_else(short)?));
    }
    Ok(())
}

/// Packs the values of a job whose last event is number `last` if they were packed up to `packed` and that is long ago.
pub(super) async fn pack_if_many(connection: &mut AnyConnection, job: JobId, last: i64, packed: i64) -> Result<()> {
    if last - packed >= LOOSE {
        while pack(connection, job, last).await? {}
    }
    Ok(())
}

/// Jobs with many values that are not packed: as a database from before has them.
pub(super) async fn unpacked(connection: &mut AnyConnection) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar("select id from job where last_seq - packed_seq >= $1")
        .bind(2 * LOOSE)
        .fetch_all(connection)
        .await?)
}

/// Packs values of a job up to its last event, in the transaction that holds the job's row. Whether there are more.
async fn pack(connection: &mut AnyConnection, job: JobId, last: i64) -> Result<bool> {
    let Loose { values, read_to } = Loose::first(connection, job, TOGETHER).await?;
    if let Some((blocks, names)) = extent(&values) {
        let mut packed = touched(connection, job, &values, &blocks, &names).await?;
        for (name, series) in &values {
            for (step, value) in series {
                packed.entry((name.clone(), step / STEPS)).or_default().insert(*step, *value);
            }
        }
        let mut points = Points::new();
        for ((name, block), values) in &packed {
            for (step, value) in values {
                add(&mut points, (name.clone(), *block), Point::of(*step, *value));
            }
        }
        write_blocks(connection, job, packed).await?;
        write_points(connection, job, STEPS, &points).await?;
        for width in &WIDTHS[1..] {
            let buckets = blocks.start() * STEPS / width..=blocks.end() * STEPS / width;
            let wider = wider(connection, job, *width, &buckets, &names).await?;
            write_points(connection, job, *width, &wider).await?;
        }
    }
    let read_to = read_to.unwrap_or(last);
    sqlx::query("update job set packed_seq = $2 where id = $1")
        .bind(job.to_string())
        .bind(read_to)
        .execute(connection)
        .await?;
    Ok(read_to < last)
}

/// The blocks between the first and the last step, and the names.
fn extent(values: &Values) -> Option<(RangeInclusive<u64>, String)> {
    let steps = || values.values().flat_map(BTreeMap::keys);
    let blocks = steps().min()? / STEPS..=steps().max()? / STEPS;
    let names = write_json(&values.keys().collect::<Vec<_>>()).ok()?;
    Some((blocks, names))
}

/// The blocks, as they are, to which values are to be added.
async fn touched(
    connection: &mut AnyConnection,
    job: JobId,
    values: &Values,
    blocks: &RangeInclusive<u64>,
    names: &str,
) -> Result<BTreeMap<(String, u64), BTreeMap<u64, f64>>> {
    let rows = sqlx::query(
        "select name, block, packed from metric_block
         where job_id = $1 and name in (select value from json_each($2)) and block between $3 and $4",
    )
    .bind(job.to_string())
    .bind(names)
    .bind(signed(*blocks.start()))
    .bind(signed(*blocks.end()))
    .fetch_all(connection)
    .await?;
    let mut touched = BTreeMap::new();
    for row in &rows {
        let (name, block): (String, i64) = (row.try_get("name")?, row.try_get("block")?);
        let first = block.unsigned_abs() * STEPS;
        if values.get(&name).is_some_and(|series| series.range(first..first + STEPS).next().is_some()) {
            let mut before = BTreeMap::new();
            unpack(row, |step, value| {
                before.insert(step, value);
            })?;
            touched.insert((name, block.unsigned_abs()), before);
        }
    }
    Ok(touched)
}

async fn write_blocks(
    connection: &mut AnyConnection,
    job: JobId,
    blocks: BTreeMap<(String, u64), BTreeMap<u64, f64>>,
) -> Result<()> {
    let blocks: Vec<_> = blocks.into_iter().collect();
    for blocks in blocks.chunks(ROWS) {
        let mut statement = Statement::new("insert into metric_block (job_id, name, block, packed) ");
        statement.rows(blocks, |row, ((name, block), values)| {
            row.bind(job.to_string()).bind(name.clone()).bind(signed(*block)).bind(pack_block(values));
        });
        statement.push(" on conflict (job_id, name, block) do update set packed = excluded.packed");
        statement.finish()?.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn write_points(connection: &mut AnyConnection, job: JobId, width: u64, points: &Points) -> Result<()> {
    let points: Vec<_> = points.iter().collect();
    for points in points.chunks(ROWS) {
        let mut statement = Statement::new(
            "insert into metric_point
                 (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step, last_value) ",
        );
        statement.rows(points, |row, ((name, bucket), point)| {
            row.bind(job.to_string()).bind(signed(width)).bind(name.clone()).bind(signed(*bucket));
            row.bind(signed(point.count));
            // The sum of what overflows both ways is not a number.
            if point.sum.is_nan() {
                row.null()
            } else {
                row.bind(point.sum)
            };
            row.bind(point.min).bind(point.max).bind(signed(point.step)).bind(point.last);
        });
        statement.push(
            " on conflict (job_id, width, name, bucket) do update
                 set value_count = excluded.value_count, value_sum = excluded.value_sum,
                     value_min = excluded.value_min, value_max = excluded.value_max,
                     last_step = excluded.last_step, last_value = excluded.last_value",
        );
        statement.finish()?.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Points for `width` steps, from the stored ones that are narrower.
async fn wider(
    connection: &mut AnyConnection,
    job: JobId,
    width: u64,
    buckets: &RangeInclusive<u64>,
    names: &str,
) -> Result<Points> {
    let rows = sqlx::query(
        "select * from metric_point
         where job_id = $1 and width = $2 and name in (select value from json_each($3)) and bucket between $4 and $5",
    )
    .bind(job.to_string())
    .bind(signed(width / FINER))
    .bind(names)
    .bind(signed(buckets.start() * FINER))
    .bind(signed((buckets.end() + 1) * FINER - 1))
    .fetch_all(connection)
    .await?;
    let mut points = Points::new();
    for row in &rows {
        let bucket = row.try_get::<i64, _>("bucket")?.unsigned_abs() / FINER;
        add(&mut points, (row.try_get("name")?, bucket), Point::read(row)?);
    }
    Ok(points)
}

/// The numbers of the buckets, of `width` steps each, in which there are values of a metric that are not packed.
pub(super) fn buckets_of(loose: &Loose, name: &str, width: u64) -> BTreeSet<u64> {
    loose.values.get(name).into_iter().flat_map(BTreeMap::keys).map(|step| step / width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_takes_no_more_than_its_values_and_their_places() {
        let values: BTreeMap<u64, f64> = [(512, -0.0), (519, f64::MAX), (767, 1e-308)].into();
        let packed = pack_block(&values);
        assert_eq!(packed.len(), 32 + 3 * 8);
        assert_eq!((packed[0], packed[31]), (0b1000_0001, 0b1000_0000));
        assert_eq!(packed[32..40], (-0.0_f64).to_le_bytes());
    }

    #[test]
    fn the_last_of_points_is_that_of_the_last_step_in_whatever_order_they_come() {
        let mut point = Point::of(9, 1.0);
        point.add(&Point::of(4, 5.0));
        assert_eq!(point, Point { step: 9, count: 2, sum: 6.0, min: 1.0, max: 5.0, last: 1.0 });
        point.add(&Point::of(10, -2.0));
        assert_eq!((point.step, point.last, point.min), (10, -2.0, -2.0));
    }
}
