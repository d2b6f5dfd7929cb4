//! Metric series: written step by step, and read whole or in as many points as are asked for.
//!
//! Beside each value stand points for the 8, 64, 512 and 4096 steps that it belongs to, written in the same transaction. A
//! series of few steps passes by value for value; of a long one only its points are read, and values where it is cut
//! within one. A long job's values are never all in memory.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use futures_util::TryStreamExt;
use sqlx::AnyConnection;
use sqlx::Row;

use super::statement::Statement;
use super::{ROWS, Result, Store, write_json};
use crate::job::JobId;
use crate::job::event::Named;

/// How many steps stored points stand for: [`FINER`] times as many as those before.
const WIDTHS: [u64; 4] = [8, 64, 512, 4096];
const FINER: u64 = 8;

/// One metric over the steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricSeries {
    pub name: String,
    /// The step of each point; of several values in one point, the last step.
    pub steps: Vec<u64>,
    /// The value of each point; of several, their mean.
    pub values: Vec<f64>,
    /// More of each point, where points stand for several values.
    pub buckets: Option<Buckets>,
}

/// What the values of each point are like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    pub min: Vec<f64>,
    pub max: Vec<f64>,
    pub last: Vec<f64>,
    /// How many values there are.
    pub count: Vec<u64>,
}

/// Which part of which series, in how many points.
#[derive(Clone, Debug)]
pub struct MetricQuery<'a> {
    /// Empty means all.
    pub names: &'a [String],
    pub steps: RangeInclusive<u64>,
    /// At least 2.
    pub points: u64,
    /// Whether the last value of each point is wanted.
    pub last: bool,
}

impl Store {
    /// The series of a job, by name, each in at most `points` points: of equally many values in a row, or, of a range of
    /// at least 8 steps a point, of equally many steps.
    pub async fn metrics(&self, job: JobId, query: &MetricQuery<'_>) -> Result<Vec<MetricSeries>> {
        // One transaction: a running job adds values between two statements.
        let mut tx = self.readers.begin().await?;
        let newest: Option<i64> =
            sqlx::query_scalar("select max(last_step) from metric_rollup where job_id = $1 and width = 4096")
                .bind(job.to_string())
                .fetch_one(&mut *tx)
                .await?;
        let newest = newest.unwrap_or_default().unsigned_abs();
        let (from, to) = (*query.steps.start(), (*query.steps.end()).min(newest));
        let reading = Reading {
            job: job.to_string(),
            from,
            to,
            ends: to == newest,
            width: Width::of((to + 1).saturating_sub(from), query.points),
            points: query.points,
            last: query.last,
        };
        let mut all = Vec::new();
        for (name, total) in reading.totals(&mut tx, query.names).await? {
            let series = if reading.width.unit.is_some() && total > query.points {
                reading.points_of(&mut tx, &name).await?
            } else {
                reading.values_of(&mut tx, &name, total).await?
            };
            all.push(MetricSeries { name, ..series });
        }
        tx.commit().await?;
        Ok(all)
    }
}

/// How many steps a point stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Width {
    steps: u64,
    /// The widest stored points that it consists of; none where values are read.
    unit: Option<u64>,
}

impl Width {
    /// For a range of `span` steps in at most `points` points.
    fn of(span: u64, points: u64) -> Self {
        // One point less, because the range need not begin where a point does.
        let least = span.div_ceil(points.max(2) - 1);
        let unit = WIDTHS.into_iter().filter(|width| *width <= least).max();
        Self { steps: unit.map_or(1, |unit| least.next_multiple_of(unit)), unit }
    }
}

/// A look at the series of a job.
#[derive(Debug)]
struct Reading {
    job: String,
    from: u64,
    to: u64,
    /// Nothing stands behind `to`.
    ends: bool,
    width: Width,
    points: u64,
    last: bool,
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Reading {
    /// The names of the series, and how many values they have: where stored points are read, at the ends of the range
    /// with those of whole points.
    async fn totals(&self, connection: &mut AnyConnection, names: &[String]) -> Result<Vec<(String, u64)>> {
        // With the names SQLite finds the steps of each; a condition that may hold for all names would make it read all.
        const OF_VALUES: &str = "select name, count(*) as total from metric
             where job_id = $1 and name in (select value from json_each($4)) and step between $2 and $3
             group by name order by name";
        const OF_POINTS: &str = "select name, cast(sum(value_count) as bigint) as total from metric_rollup
             where job_id = $1 and width = $5 and name in (select value from json_each($4))
               and bucket between $2 and $3
             group by name order by name";
        let all: Vec<String> = if names.is_empty() {
            sqlx::query_scalar("select distinct name from metric_rollup where job_id = $1 and width = 4096")
                .bind(&self.job)
                .fetch_all(&mut *connection)
                .await?
        } else {
            names.to_vec()
        };
        let unit = self.width.unit.unwrap_or(1);
        let query = sqlx::query(if unit == 1 { OF_VALUES } else { OF_POINTS })
            .bind(&self.job)
            .bind(signed(self.from / unit))
            .bind(signed(self.to / unit))
            .bind(write_json(&all)?);
        let query = if unit == 1 { query } else { query.bind(signed(unit)) };
        let rows = query.fetch_all(connection).await?;
        rows.iter().map(|row| Ok((row.try_get("name")?, row.try_get::<i64, _>("total")?.unsigned_abs()))).collect()
    }

    /// A series from its values, which are at most `total`.
    async fn values_of(&self, connection: &mut AnyConnection, name: &str, total: u64) -> Result<MetricSeries> {
        let mut sampling = DownSampling::new(total, self.points);
        self.each_value(connection, name, self.from..=self.to, |step, value| sampling.push(step, value)).await?;
        Ok(sampling.finish())
    }

    async fn each_value(
        &self,
        connection: &mut AnyConnection,
        name: &str,
        steps: RangeInclusive<u64>,
        mut act: impl FnMut(u64, f64),
    ) -> Result<()> {
        let mut values = sqlx::query(
            "select step, value from metric where job_id = $1 and name = $2 and step between $3 and $4 order by step",
        )
        .bind(&self.job)
        .bind(name)
        .bind(signed(*steps.start()))
        .bind(signed(*steps.end()))
        .fetch(connection);
        while let Some(row) = values.try_next().await? {
            act(row.try_get::<i64, _>("step")?.unsigned_abs(), row.try_get("value")?);
        }
        Ok(())
    }

    /// A series from stored points, and from values where the range cuts one.
    async fn points_of(&self, connection: &mut AnyConnection, name: &str) -> Result<MetricSeries> {
        let unit = self.width.unit.unwrap_or(1);
        let first = self.from.div_ceil(unit);
        let end = if self.ends { self.to / unit + 1 } else { (self.to + 1) / unit };
        let mut points: BTreeMap<u64, Point> = BTreeMap::new();
        let mut add = |at: u64, point: Point| {
            points.entry(at).and_modify(|known| known.add(&point)).or_insert(point);
        };
        let steps = self.width.steps;
        if first >= end {
            self.each_value(connection, name, self.from..=self.to, |step, value| {
                add(step / steps, Point::of(step, value));
            })
            .await?;
        } else {
            let before = self.from..=(first * unit).saturating_sub(1);
            self.each_value(connection, name, before, |step, value| add(step / steps, Point::of(step, value))).await?;
            for (at, point) in self.stored(connection, name, first, end).await? {
                add(at, point);
            }
            let behind = end * unit..=self.to;
            self.each_value(connection, name, behind, |step, value| add(step / steps, Point::of(step, value))).await?;
        }
        let mut series = MetricSeries { buckets: Some(Buckets::default()), ..MetricSeries::default() };
        points.values().for_each(|point| series.push(point));
        Ok(series)
    }

    /// What the stored points from `first` to before `end` say, put together to points as wide as wanted.
    async fn stored(
        &self,
        connection: &mut AnyConnection,
        name: &str,
        first: u64,
        end: u64,
    ) -> Result<Vec<(u64, Point)>> {
        let unit = self.width.unit.unwrap_or(1);
        let rows = sqlx::query(
            "select point, count, coalesce(sum, 0.0) as sum, min, max, step,
                    case when $7 then (select value from metric
                        where job_id = $1 and name = $3 and metric.step = found.step) end as last
             from (select bucket / $6 as point, cast(sum(value_count) as bigint) as count, sum(value_sum) as sum, min(value_min) as min,
                          max(value_max) as max, max(last_step) as step
                   from metric_rollup
                   where job_id = $1 and width = $2 and name = $3 and bucket >= $4 and bucket < $5
                   group by bucket / $6) found",
        )
        .bind(&self.job)
        .bind(signed(unit))
        .bind(name)
        .bind(signed(first))
        .bind(signed(end))
        .bind(signed(self.width.steps / unit))
        .bind(self.last)
        .fetch_all(connection)
        .await?;
        let point = |row: &sqlx::any::AnyRow| -> Result<(u64, Point)> {
            let count = |column| -> Result<u64> { Ok(row.try_get::<i64, _>(column)?.unsigned_abs()) };
            let max = row.try_get("max")?;
            let point = Point {
                step: count("step")?,
                count: count("count")?,
                sum: row.try_get("sum")?,
                min: row.try_get("min")?,
                max,
                last: row.try_get::<Option<f64>, _>("last")?.unwrap_or(max),
            };
            Ok((count("point")?, point))
        };
        rows.iter().map(point).collect()
    }
}

/// Adds the values of a step, and to the points that stand for it, within the transaction that adds its event.
pub(super) async fn record(
    connection: &mut AnyConnection,
    job: JobId,
    step: i64,
    values: &Named<Option<f64>>,
) -> Result<()> {
    // One that is not finite is in the event as null, and not in the table.
    let values: Vec<(&str, f64)> = values.iter().filter_map(|(name, value)| Some((name, (*value)?))).collect();
    for values in values.chunks(ROWS) {
        let mut statement = Statement::new("insert into metric (job_id, name, step, value) ");
        statement.rows(values, |row, (name, value)| {
            row.bind(job.to_string()).bind(*name).bind(step).bind(*value);
        });
        statement.push(" on conflict (job_id, name, step) do nothing");
        let added = statement.finish()?.execute(&mut *connection).await?.rows_affected();
        let names = write_json(&values.iter().map(|(name, _)| name).collect::<Vec<_>>())?;
        if added == values.len() as u64 {
            add_to_points(connection, job, step, &names).await?;
        } else {
            replace(connection, job, step, values).await?;
            make_points_anew(connection, job, step, &names).await?;
        }
    }
    Ok(())
}

/// A resumed attempt repeats the steps behind its checkpoint; the later value stands.
async fn replace(connection: &mut AnyConnection, job: JobId, step: i64, values: &[(&str, f64)]) -> Result<()> {
    for (name, value) in values {
        sqlx::query("update metric set value = $4 where job_id = $1 and name = $2 and step = $3")
            .bind(job.to_string())
            .bind(*name)
            .bind(step)
            .bind(*value)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Adds the values of a step, which are new, to the points that stand for it.
async fn add_to_points(connection: &mut AnyConnection, job: JobId, step: i64, names: &str) -> Result<()> {
    sqlx::query(
        "insert into metric_rollup
             (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step)
         select job_id, width, name, step / width, 1, value, value, value, step
         from metric, (select 8 as width union all select 64 union all select 512 union all select 4096) as widths
         where job_id = $1 and step = $2 and name in (select value from json_each($3))
         on conflict (job_id, width, name, bucket) do update set
             value_count = metric_rollup.value_count + 1, value_sum = metric_rollup.value_sum + excluded.value_sum,
             value_min = case when excluded.value_min < metric_rollup.value_min then excluded.value_min
                              else metric_rollup.value_min end,
             value_max = case when excluded.value_max > metric_rollup.value_max then excluded.value_max
                              else metric_rollup.value_max end,
             last_step = max(metric_rollup.last_step, excluded.last_step)",
    )
    .bind(job.to_string())
    .bind(step)
    .bind(names)
    .execute(connection)
    .await?;
    Ok(())
}

/// The beginning and the end of a statement that writes points.
macro_rules! points {
    () => {
        "insert into metric_rollup
             (job_id, width, name, bucket, value_count, value_sum, value_min, value_max, last_step) "
    };
}
macro_rules! replaces {
    () => {
        " on conflict (job_id, width, name, bucket) do update
             set value_count = excluded.value_count, value_sum = excluded.value_sum, value_min = excluded.value_min,
                 value_max = excluded.value_max, last_step = excluded.last_step"
    };
}

/// Makes the points that stand for a step from its values, and the wider ones from the narrower.
async fn make_points_anew(connection: &mut AnyConnection, job: JobId, step: i64, names: &str) -> Result<()> {
    const FROM_VALUES: &str = concat!(
        points!(),
        "select $1, $2, name, min(step) / $2, count(*), coalesce(sum(value), 0.0), min(value), max(value), max(step)
         from metric
         where job_id = $1 and name in (select value from json_each($3)) and step between $4 and $5
         group by name",
        replaces!()
    );
    const FROM_POINTS: &str = concat!(
        points!(),
        "select $1, $2, name, min(last_step) / $2, sum(value_count), coalesce(sum(value_sum), 0.0), min(value_min),
                max(value_max), max(last_step)
         from metric_rollup
         where job_id = $1 and width = $2 / 8 and name in (select value from json_each($3)) and bucket between $4 and $5
         group by name",
        replaces!()
    );
    for width in WIDTHS.map(signed) {
        let first = step / width * signed(FINER);
        sqlx::query(if width == signed(FINER) { FROM_VALUES } else { FROM_POINTS })
            .bind(job.to_string())
            .bind(width)
            .bind(names)
            .bind(first)
            .bind(first + signed(FINER) - 1)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Makes points of values that pass by one after the other.
#[derive(Debug)]
struct DownSampling {
    total: u64,
    points: u64,
    /// Values that have passed by.
    seen: u64,
    open: Option<Point>,
    series: MetricSeries,
}

/// A point in the making.
#[derive(Debug)]
struct Point {
    step: u64,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    last: f64,
}

impl Point {
    fn of(step: u64, value: f64) -> Self {
        Self { step, count: 1, sum: value, min: value, max: value, last: value }
    }

    /// Adds what follows.
    fn add(&mut self, next: &Self) {
        self.step = next.step;
        self.count += next.count;
        self.sum += next.sum;
        self.min = self.min.min(next.min);
        self.max = self.max.max(next.max);
        self.last = next.last;
    }
}

impl MetricSeries {
    fn push(&mut self, point: &Point) {
        let &Point { step, count, sum, min, max, last } = point;
        self.steps.push(step);
        // A single value stays what it is; extremes must not overflow on the way to their mean.
        let mean = Some(sum / count as f64).filter(|mean| !mean.is_nan()).unwrap_or(min / 2.0 + max / 2.0);
        self.values.push(if count == 1 { last } else { mean.clamp(min, max) });
        if let Some(buckets) = &mut self.buckets {
            buckets.min.push(min);
            buckets.max.push(max);
            buckets.last.push(last);
            buckets.count.push(count);
        }
    }
}

impl DownSampling {
    fn new(total: u64, points: u64) -> Self {
        let buckets = (total > points).then(Buckets::default);
        Self { total, points, seen: 0, open: None, series: MetricSeries { buckets, ..MetricSeries::default() } }
    }

    fn push(&mut self, step: u64, value: f64) {
        let point = Point::of(step, value);
        match &mut self.open {
            Some(open) => open.add(&point),
            none => *none = Some(point),
        }
        self.seen += 1;
        // The point with number n ends with value (n + 1) * total / points.
        let number = self.series.steps.len() as u64;
        if self.total <= self.points || self.seen >= (number + 1) * self.total / self.points {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(point) = self.open.take() {
            self.series.push(&point);
        }
    }

    fn finish(mut self) -> MetricSeries {
        self.close();
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{JobKind, Timestamp};
    use crate::store::NewJob;

    fn down_sample(values: &[f64], points: u64) -> MetricSeries {
        let mut sampling = DownSampling::new(values.len() as u64, points);
        values.iter().zip(1..).for_each(|(value, step)| sampling.push(step, *value));
        sampling.finish()
    }

    /// A job with values of two metrics: `a` at every step, `b` at some.
    async fn store_with(values: &[(u64, f64)]) -> (tempfile::TempDir, Store, JobId) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let dataset = serde_json::json!({"train": "builtin:arithmetic"});
        let spec = serde_json::json!({"model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}});
        let new = NewJob::of_kind(JobKind::Train, spec);
        let job = store.submit_job(new, None, Timestamp(0)).await.unwrap().job.id;
        let mut tx = store.begin().await.unwrap();
        for (step, value) in values {
            let mut named = vec![("a", *value), ("nan", f64::NAN)];
            if step % 1000 == 0 {
                named.push(("b", -value));
            }
            record(tx.connection(), job, signed(*step), &named.into_iter().collect()).await.unwrap();
        }
        tx.commit().await.unwrap();
        (folder, store, job)
    }

    fn noise(step: u64) -> f64 {
        ((step * 7919) % 1013) as f64 - 500.0
    }

    #[tokio::test]
    async fn points_of_long_series_are_those_of_their_values_wherever_the_range_is_cut() {
        const STEPS: u64 = 9000;
        let mut values: Vec<(u64, f64)> = (1..=STEPS).map(|step| (step, noise(step))).collect();
        // An attempt that goes on from step 4990 repeats thirty steps; the later values stand.
        let again: Vec<(u64, f64)> = (4991..=5020).map(|step| (step, noise(step) + 0.25)).collect();
        values.splice(5020..5020, again.clone());
        let (_folder, store, job) = store_with(&values).await;
        let is = |step: u64| noise(step) + if (4991..=5020).contains(&step) { 0.25 } else { 0.0 };
        for (from, to, points) in
            [(0, u64::MAX, 400), (0, u64::MAX, 20), (0, u64::MAX, 2), (100, 8000, 9), (4995, 5400, 10), (17, 8999, 3)]
        {
            let names = [String::from("a")];
            let query = MetricQuery { names: &names, steps: from..=to, points, last: true };
            let all = store.metrics(job, &query).await.unwrap();
            let [series] = &all[..] else { panic!("{all:?}") };
            let buckets = series.buckets.as_ref().unwrap();
            assert!(series.steps.len() as u64 <= points && series.steps.len() as u64 * 3 >= points.min(9), "{points}");
            let mut begin = from.max(1);
            for (at, end) in series.steps.iter().enumerate() {
                let range: Vec<f64> = (begin..=*end).map(is).collect();
                let mean = range.iter().sum::<f64>() / range.len() as f64;
                assert_eq!(buckets.count[at], range.len() as u64, "{from} to {to} in {points}: {begin} to {end}");
                assert!((series.values[at] - mean).abs() < 1e-9);
                assert_eq!(buckets.min[at], range.iter().copied().fold(f64::INFINITY, f64::min));
                assert_eq!(buckets.max[at], range.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                assert_eq!(buckets.last[at], is(*end));
                begin = end + 1;
            }
            assert_eq!(begin - 1, to.min(STEPS));
        }
        let query = MetricQuery { names: &[], steps: 0..=u64::MAX, points: 20, last: false };
        let all = store.metrics(job, &query).await.unwrap();
        assert_eq!(all.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(all[1].steps, [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000], "few values stay as they are");
        assert_eq!(all[1].buckets, None);
    }

    #[tokio::test]
    async fn points_of_a_database_from_before_there_were_any_are_as_if_written_with_the_steps() {
        let values: Vec<(u64, f64)> = (1..=5000).map(|step| (step, noise(step))).collect();
        let (_folder, store, job) = store_with(&values).await;
        if crate::store::backend::on_postgres() {
            return;
        }
        let query = MetricQuery { names: &[], steps: 0..=u64::MAX, points: 10, last: true };
        let written = store.metrics(job, &query).await.unwrap();
        let mut tx = store.begin().await.unwrap();
        sqlx::query("drop table metric_rollup").execute(tx.connection()).await.unwrap();
        for migration in [
            include_str!("../../migrations/sqlite/0025_metric_rollups.sql"),
            include_str!("../../migrations/sqlite/0029_finer_rollups.sql"),
        ] {
            sqlx::raw_sql(migration).execute(tx.connection()).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(store.metrics(job, &query).await.unwrap(), written);
    }

    #[tokio::test]
    async fn extremes_have_a_mean() {
        let values: Vec<(u64, f64)> =
            (1..=400).map(|step| (step, if step % 2 == 0 { f64::MAX } else { -f64::MAX })).collect();
        let (_folder, store, job) = store_with(&values).await;
        let query = MetricQuery { names: &[], steps: 0..=u64::MAX, points: 3, last: true };
        let all = store.metrics(job, &query).await.unwrap();
        assert!(all[0].values.iter().all(|value| value.is_finite()), "{all:?}");
    }

    #[test]
    fn short_series_stay_as_they_are() {
        let series = down_sample(&[1.5, -2.0, f64::MAX], 3);
        assert_eq!((series.steps, series.values), (vec![1, 2, 3], vec![1.5, -2.0, f64::MAX]));
        assert_eq!(series.buckets, None);
    }

    #[test]
    fn every_value_is_in_one_bucket_and_none_is_lost() {
        for total in [8_usize, 100, 101, 997] {
            let values: Vec<f64> = (0..total).map(|i| ((i * 37) % 11) as f64 - 5.0).collect();
            for points in [2_u64, 3, 7] {
                let series = down_sample(&values, points);
                let buckets = series.buckets.unwrap();
                assert_eq!(series.steps.len() as u64, points);
                assert_eq!(series.steps.last(), Some(&(total as u64)));
                let mut begin = 0;
                for (bucket, count) in buckets.count.iter().enumerate() {
                    let range = &values[begin..begin + *count as usize];
                    let mean = range.iter().sum::<f64>() / range.len() as f64;
                    assert!((series.values[bucket] - mean).abs() < 1e-12);
                    assert_eq!(buckets.min[bucket], range.iter().copied().fold(f64::INFINITY, f64::min));
                    assert_eq!(buckets.max[bucket], range.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                    assert_eq!(buckets.last[bucket], range[range.len() - 1]);
                    begin += range.len();
                    assert_eq!(series.steps[bucket] as usize, begin, "a point stands at its last step");
                }
                assert_eq!(begin, total);
                let (least, most) = (buckets.count.iter().min().unwrap(), buckets.count.iter().max().unwrap());
                assert!(most - least <= 1, "buckets are equally long");
            }
        }
    }
}
