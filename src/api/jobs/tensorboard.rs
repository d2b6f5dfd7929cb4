//! Metrics as TensorBoard reads them: records of a TFRecord file, each an `Event` of TensorFlow's protocol
//! (tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h).

use std::collections::BTreeMap;

use crc::{CRC_32_ISCSI, Crc};
use prost::Message;

use crate::store::MetricSeries;

const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// What a checksum is turned by, so that one of data with checksums in it is no weaker.
const MASK: u32 = 0xa282_ead8;
/// What the first record of a file says.
const VERSION: &str = "brain.Event:2";

/// The fields of `Event`, `Summary` and `Summary.Value` that scalars need.
#[derive(Clone, PartialEq, Message)]
struct Event {
    /// Unix seconds.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(oneof = "What", tags = "3, 5")]
    what: Option<What>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum What {
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    /// One of several kinds, so that 0 has to be there as well.
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// Series as records, step by step; behind the record that a file begins with, where `head` has its wall-clock time. `began` is that
/// time of all others (both in Unix seconds): when a step was taken is not kept.
pub fn records(series: &[MetricSeries], began: f64, head: Option<f64>) -> Vec<u8> {
    let mut steps: BTreeMap<u64, Vec<Scalar>> = BTreeMap::new();
    for one in series {
        for (step, value) in one.steps.iter().zip(&one.values) {
            let scalar = Scalar { tag: one.name.clone(), simple_value: Some(*value as f32) };
            steps.entry(*step).or_default().push(scalar);
        }
    }
    let mut bytes = Vec::new();
    if let Some(wall_time) = head {
        let version = What::FileVersion(VERSION.to_owned());
        record(&Event { wall_time, step: 0, what: Some(version) }, &mut bytes);
    }
    for (step, value) in steps {
        let step = i64::try_from(step).unwrap_or(i64::MAX);
        record(&Event { wall_time: began, step, what: Some(What::Summary(Summary { value })) }, &mut bytes);
    }
    bytes
}

/// Adds a record: its length and the checksum of that, the event and its checksum.
fn record(event: &Event, bytes: &mut Vec<u8>) {
    let event = event.encode_to_vec();
    let length = (event.len() as u64).to_le_bytes();
    bytes.extend(length);
    bytes.extend(masked(&length).to_le_bytes());
    bytes.extend(&event);
    bytes.extend(masked(&event).to_le_bytes());
}

fn masked(bytes: &[u8]) -> u32 {
    CRC32C.checksum(bytes).rotate_right(15).wrapping_add(MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_published_examples() {
        assert_eq!(CRC32C.checksum(b"123456789"), 0xe306_9283);
        assert_eq!(CRC32C.checksum(&[0; 32]), 0x8a91_36aa, "RFC 3720, B.4");
    }

    #[test]
    fn records_are_read_back_in_the_order_of_steps() {
        let of = |name: &str, steps: &[u64], values: &[f64]| MetricSeries {
            name: name.to_owned(),
            steps: steps.to_vec(),
            values: values.to_vec(),
            buckets: None,
        };
        let series = [of("loss", &[1, 2], &[0.5, 0.25]), of("reward/mean", &[2], &[1.0])];
        let mut bytes = &records(&series, 1.5e9, Some(1.25e9))[..];
        let mut events = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_at(8);
            let count = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            assert_eq!(rest[..4], masked(length).to_le_bytes());
            let (event, after) = rest[4..].split_at(count);
            assert_eq!(after[..4], masked(event).to_le_bytes());
            events.push(Event::decode(event).unwrap());
            bytes = &after[4..];
        }
        assert_eq!(events[0].what, Some(What::FileVersion(VERSION.to_owned())));
        let scalars = |event: &Event| match &event.what {
            Some(What::Summary(summary)) => {
                summary.value.iter().map(|one| (one.tag.clone(), one.simple_value.unwrap())).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!((events[1].step, scalars(&events[1])), (1, vec![(String::from("loss"), 0.5)]));
        let second = vec![(String::from("loss"), 0.25), (String::from("reward/mean"), 1.0)];
        assert_eq!((events[2].step, scalars(&events[2]), events.len()), (2, second, 3));
        assert!(records(&series[..0], 0.0, None).is_empty());
    }
}
