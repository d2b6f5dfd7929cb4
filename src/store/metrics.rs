//! Metric series as they are read: whole, or in as many points as are asked for. A long job's values are never all in
//! memory; they pass by in the order of their steps.

use futures_util::TryStreamExt;
use sqlx::Row;

use super::{Result, Store, write_json};
use crate::job::JobId;

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

impl Store {
    /// The series of a job, by name, each in at most `points` points that stand for equally many values in a row.
    /// Empty `names` means all.
    pub async fn metrics(
        &self,
        job: JobId,
        names: &[String],
        steps: std::ops::RangeInclusive<u64>,
        points: u64,
    ) -> Result<Vec<MetricSeries>> {
        let (job, names) = (job.to_string(), write_json(&names)?);
        let [from, to] = [*steps.start(), *steps.end()].map(|step| i64::try_from(step).unwrap_or(i64::MAX));
        // One transaction: a running job adds values between two statements.
        let mut tx = self.readers.begin().await?;
        let counts = sqlx::query(
            "select name, count(*) as total from metric
             where job_id = $1 and step between $2 and $3
               and ($4 = '[]' or name in (select value from json_each($4)))
             group by name order by name",
        )
        .bind(&job)
        .bind(from)
        .bind(to)
        .bind(&names)
        .fetch_all(&mut *tx)
        .await?;
        let mut all = Vec::with_capacity(counts.len());
        for row in counts {
            let name: String = row.try_get("name")?;
            let total = row.try_get::<i64, _>("total")?.unsigned_abs();
            let mut values = sqlx::query(
                "select step, value from metric
                 where job_id = $1 and name = $2 and step between $3 and $4 order by step",
            )
            .bind(&job)
            .bind(&name)
            .bind(from)
            .bind(to)
            .fetch(&mut *tx);
            let mut sampling = DownSampling::new(total, points);
            while let Some(row) = values.try_next().await? {
                sampling.push(row.try_get::<i64, _>("step")?.unsigned_abs(), row.try_get("value")?);
            }
            all.push(MetricSeries { name, ..sampling.finish() });
        }
        tx.commit().await?;
        Ok(all)
    }
}

/// Makes points of values that pass by one after the other.
#[derive(Debug)]
struct DownSampling {
    total: u64,
    points: u64,
    /// Values that have passed by.
    seen: u64,
    open: Option<Bucket>,
    series: MetricSeries,
}

/// A point in the making.
#[derive(Debug)]
struct Bucket {
    step: u64,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    last: f64,
}

impl DownSampling {
    fn new(total: u64, points: u64) -> Self {
        let buckets = (total > points).then(Buckets::default);
        Self { total, points, seen: 0, open: None, series: MetricSeries { buckets, ..MetricSeries::default() } }
    }

    fn push(&mut self, step: u64, value: f64) {
        let empty = Bucket { step, count: 0, sum: 0.0, min: value, max: value, last: value };
        let bucket = self.open.get_or_insert(empty);
        bucket.step = step;
        bucket.count += 1;
        bucket.sum += value;
        bucket.min = bucket.min.min(value);
        bucket.max = bucket.max.max(value);
        bucket.last = value;
        self.seen += 1;
        // The point with number n ends with value (n + 1) * total / points.
        let number = self.series.steps.len() as u64;
        if self.total <= self.points || self.seen >= (number + 1) * self.total / self.points {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(Bucket { step, count, sum, min, max, last }) = self.open.take() else { return };
        self.series.steps.push(step);
        // A single value stays what it is; extremes must not overflow on the way to their mean.
        let mean = if count == 1 { last } else { (sum / count as f64).clamp(min, max) };
        self.series.values.push(mean);
        if let Some(buckets) = &mut self.series.buckets {
            buckets.min.push(min);
            buckets.max.push(max);
            buckets.last.push(last);
            buckets.count.push(count);
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

    fn down_sample(values: &[f64], points: u64) -> MetricSeries {
        let mut sampling = DownSampling::new(values.len() as u64, points);
        values.iter().zip(1..).for_each(|(value, step)| sampling.push(step, *value));
        sampling.finish()
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
