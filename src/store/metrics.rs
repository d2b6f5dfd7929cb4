//! Metric series, read in as many points as are asked for.
//!
//! A series of few steps is read value for value; of a long one only stored points are, and values where it is cut within
//! one and where newer ones are not packed yet. A long job's values are never all in memory.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use futures_util::TryStreamExt;
use sqlx::{AnyConnection, Row};

use super::metric_blocks::{Loose, Point, STEPS, WIDTHS, add, buckets_of, signed};
use super::{Result, Store};
use crate::job::JobId;

/// What the steps of a point are a multiple of, if it stands for so many: those of stored points, and less.
const UNITS: [u64; 5] = [8, 64, WIDTHS[0], WIDTHS[1], WIDTHS[2]];

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
}

impl Store {
    /// The series of a job, by name, each in at most `points` points: of equally many values in a row, or, of a range of
    /// at least 8 steps a point, of equally many steps.
    pub async fn metrics(&self, job: JobId, query: &MetricQuery<'_>) -> Result<Vec<MetricSeries>> {
        // One transaction: a running job adds values between two statements.
        let mut tx = self.readers.begin().await?;
        let loose = Loose::read(&mut tx, job).await?;
        let newest = newest(&mut tx, job, &loose).await?;
        let end = newest.values().map(|(step, _)| *step).max().unwrap_or_default();
        let (from, to) = (*query.steps.start(), (*query.steps.end()).min(end));
        let width = Width::of((to + 1).saturating_sub(from), query.points);
        let reading = Reading { job, loose, from, to, ends: to == end, width, points: query.points };
        let mut all = Vec::new();
        for name in newest.into_keys().filter(|name| query.names.is_empty() || query.names.contains(name)) {
            let series = reading.series(&mut tx, &name).await?;
            all.extend(Some(MetricSeries { name, ..series }).filter(|series| !series.steps.is_empty()));
        }
        tx.commit().await?;
        Ok(all)
    }

    /// The newest values `(name, step, value)` of the named metrics of a job.
    pub async fn last_metrics(&self, job: JobId, names: &[&str]) -> Result<Vec<(String, u64, f64)>> {
        let mut tx = self.readers.begin().await?;
        let loose = Loose::read(&mut tx, job).await?;
        let newest = newest(&mut tx, job, &loose).await?;
        tx.commit().await?;
        let named = newest.into_iter().filter(|(name, _)| names.contains(&name.as_str()));
        Ok(named.map(|(name, (step, value))| (name, step, value)).collect())
    }

    /// The sum of all values of a metric of a job.
    pub async fn metric_sum(&self, job: JobId, name: &str) -> Result<f64> {
        let mut tx = self.readers.begin().await?;
        let loose = Loose::read(&mut tx, job).await?;
        let end = newest(&mut tx, job, &loose).await?.get(name).map_or(0, |(step, _)| *step);
        let widest = WIDTHS[WIDTHS.len() - 1];
        let width = Width { steps: widest, unit: Some(widest) };
        let reading = Reading { job, loose, from: 0, to: end, ends: true, width, points: 0 };
        let points = reading.stored_points(&mut tx, name, widest).await?;
        tx.commit().await?;
        Ok(points.values().map(|point| point.sum).sum())
    }
}

/// The last step of each metric of a job, and its value.
async fn newest(connection: &mut AnyConnection, job: JobId, loose: &Loose) -> Result<BTreeMap<String, (u64, f64)>> {
    let rows = sqlx::query(
        "select point.name, last_step, last_value
         from (select name, max(bucket) as last from metric_point where job_id = $1 and width = $2 group by name) as newest
         cross join metric_point as point
         where job_id = $1 and width = $2 and point.name = newest.name and bucket = newest.last",
    )
    .bind(job.to_string())
    .bind(signed(WIDTHS[WIDTHS.len() - 1]))
    .fetch_all(connection)
    .await?;
    let mut newest = BTreeMap::new();
    for row in &rows {
        let step = row.try_get::<i64, _>("last_step")?.unsigned_abs();
        newest.insert(row.try_get::<String, _>("name")?, (step, row.try_get("last_value")?));
    }
    for (name, values) in &loose.values {
        if let Some((step, value)) =
            values.last_key_value().filter(|last| newest.get(name).is_none_or(|old| old.0 <= *last.0))
        {
            newest.insert(name.clone(), (*step, *value));
        }
    }
    Ok(newest)
}

/// How many steps a point stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Width {
    steps: u64,
    /// The largest of [`UNITS`] that it consists of; none where points stand for values in a row.
    unit: Option<u64>,
}

impl Width {
    /// For a range of `span` steps in at most `points` points.
    fn of(span: u64, points: u64) -> Self {
        // One point less, because the range need not begin where a point does.
        let least = span.div_ceil(points.max(2) - 1);
        let unit = UNITS.into_iter().filter(|unit| *unit <= least).max();
        Self { steps: unit.map_or(1, |unit| least.next_multiple_of(unit)), unit }
    }
}

/// A look at the series of a job.
#[derive(Debug)]
struct Reading {
    job: JobId,
    loose: Loose,
    from: u64,
    to: u64,
    /// Nothing stands behind `to`.
    ends: bool,
    width: Width,
    points: u64,
}

impl Reading {
    async fn series(&self, connection: &mut AnyConnection, name: &str) -> Result<MetricSeries> {
        let points = match self.width.unit {
            Some(unit) if unit >= STEPS => self.stored_points(connection, name, unit).await?,
            Some(_) | None => BTreeMap::new(),
        };
        if points.values().map(|point| point.count).sum::<u64>() > self.points {
            return Ok(MetricSeries::of(points.values()));
        }
        let values = self.loose.over_packed(connection, self.job, name, self.from..=self.to).await?;
        if self.width.unit.is_none() || values.len() as u64 <= self.points {
            return Ok(down_sampled(&values, self.points));
        }
        let mut points = BTreeMap::new();
        for (step, value) in values {
            add(&mut points, step / self.width.steps, Point::of(step, value));
        }
        Ok(MetricSeries::of(points.values()))
    }

    /// The points of a series from stored ones for `unit` steps each, and from values where the range cuts one of them or
    /// there are newer values.
    async fn stored_points(
        &self,
        connection: &mut AnyConnection,
        name: &str,
        unit: u64,
    ) -> Result<BTreeMap<u64, Point>> {
        let (first, last) = (self.from / unit, self.to / unit);
        let mut by_value = buckets_of(&self.loose, name, unit);
        by_value.extend(Some(first).filter(|_| !self.from.is_multiple_of(unit)));
        by_value.extend(Some(last).filter(|_| !self.ends && !(self.to + 1).is_multiple_of(unit)));
        let mut points = BTreeMap::new();
        let mut stored = sqlx::query(
            "select * from metric_point
             where job_id = $1 and width = $2 and name = $3 and bucket between $4 and $5 order by bucket",
        )
        .bind(self.job.to_string())
        .bind(signed(unit))
        .bind(name)
        .bind(signed(first))
        .bind(signed(last))
        .fetch(&mut *connection);
        while let Some(row) = stored.try_next().await? {
            let bucket = row.try_get::<i64, _>("bucket")?.unsigned_abs();
            if !by_value.contains(&bucket) {
                add(&mut points, bucket * unit / self.width.steps, Point::read(&row)?);
            }
        }
        drop(stored);
        for bucket in by_value.range(first..=last) {
            let steps = self.from.max(bucket * unit)..=self.to.min((bucket + 1) * unit - 1);
            for (step, value) in self.loose.over_packed(connection, self.job, name, steps).await? {
                add(&mut points, step / self.width.steps, Point::of(step, value));
            }
        }
        Ok(points)
    }
}

impl MetricSeries {
    /// Points that stand for several values.
    fn of<'p>(points: impl IntoIterator<Item = &'p Point>) -> Self {
        let mut series = Self { buckets: Some(Buckets::default()), ..Self::default() };
        points.into_iter().for_each(|point| series.push(point));
        series
    }

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

/// Values in at most `points` points of equally many in a row. Point number n ends with value (n + 1) * total / points.
fn down_sampled(values: &[(u64, f64)], points: u64) -> MetricSeries {
    let total = values.len() as u64;
    if total <= points {
        return MetricSeries {
            steps: values.iter().map(|(step, _)| *step).collect(),
            values: values.iter().map(|(_, value)| *value).collect(),
            ..MetricSeries::default()
        };
    }
    let at = |number: u64| (number * total / points) as usize;
    let of = |number: u64| {
        let mut values = values[at(number)..at(number + 1)].iter().map(|(step, value)| Point::of(*step, *value));
        let first = values.next()?;
        Some(values.fold(first, |mut point, next| {
            point.add(&next);
            point
        }))
    };
    MetricSeries::of(&(0..points).filter_map(of).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::event::StepMetrics;
    use crate::job::{EventBody, JobKind, NewEvent, Timestamp};
    use crate::store::NewJob;
    use crate::store::reports::append_reported;

    fn down_sample(values: &[f64], points: u64) -> MetricSeries {
        down_sampled(&(1..).zip(values.iter().copied()).collect::<Vec<_>>(), points)
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
            let metrics = StepMetrics { step: *step, values: named.into_iter().collect() };
            let event = NewEvent::info("a step", EventBody::Metrics(metrics));
            append_reported(tx.connection(), job, &[event], Timestamp(0)).await.unwrap();
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
            let query = MetricQuery { names: &names, steps: from..=to, points };
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
        let query = MetricQuery { names: &[], steps: 0..=u64::MAX, points: 20 };
        let all = store.metrics(job, &query).await.unwrap();
        assert_eq!(all.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(all[1].steps, [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000], "few values stay as they are");
        assert_eq!(all[1].buckets, None);
    }

    /// Packed with the steps, by every way of opening, or not at all.
    #[tokio::test]
    async fn whether_values_are_packed_is_not_seen() {
        let values: Vec<(u64, f64)> = (1..=5000).map(|step| (step, noise(step))).collect();
        let (folder, store, job) = store_with(&values).await;
        let all = async |store: &Store| {
            let mut all = Vec::new();
            for (steps, points) in [(0..=u64::MAX, 2), (0..=u64::MAX, 10), (300..=4999, 100), (4700..=4800, 300)] {
                all.push(store.metrics(job, &MetricQuery { names: &[], steps, points }).await.unwrap());
            }
            let last = store.last_metrics(job, &["a", "b", "c"]).await.unwrap();
            (all, last, store.metric_sum(job, "a").await.unwrap())
        };
        let rows = async |store: &Store| -> (i64, i64) {
            let count = "select (select count(*) from metric_block), packed_seq from job";
            sqlx::query_as(count).fetch_one(&store.readers).await.unwrap()
        };
        let written = all(&store).await;
        assert_eq!(written.1, [(String::from("a"), 5000, noise(5000)), (String::from("b"), 5000, -noise(5000))]);
        assert_eq!(written.2, values.iter().map(|(_, value)| value).sum::<f64>());
        let (blocks, packed) = rows(&store).await;
        assert!(blocks > 19 && (4500..5001).contains(&packed), "{blocks} {packed}");
        // As if this was a database from before.
        let mut tx = store.begin().await.unwrap();
        for statement in ["delete from metric_block", "delete from metric_point", "update job set packed_seq = 0"] {
            sqlx::query(statement).execute(tx.connection()).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(all(&store).await, written, "from events alone");
        let opened = Store::open(folder.path()).await.unwrap();
        assert_eq!(rows(&opened).await, (25, 5001), "20 blocks of one and 5 of the other");
        assert_eq!(all(&opened).await, written, "everything is packed");
    }

    #[tokio::test]
    async fn extremes_have_a_mean() {
        let values: Vec<(u64, f64)> =
            (1..=400).map(|step| (step, if step % 2 == 0 { f64::MAX } else { -f64::MAX })).collect();
        let (_folder, store, job) = store_with(&values).await;
        let query = MetricQuery { names: &[], steps: 0..=u64::MAX, points: 3 };
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
