//! `GET /v1/dataset-pulls`: how far the data sets are that the hub is asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::access::Access;
use crate::api::extract::List;

/// A data set that a request waits for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DatasetPull {
    /// Its number, which no other pull of this server has.
    id: String,
    /// Always `dataset.pull`.
    object: &'static str,
    /// As it was asked for.
    #[schema(example = "hf:datasets/openai/gsm8k:main/train")]
    source: String,
    /// Of all files of the split.
    bytes: u64,
    /// What has come of them.
    bytes_done: u64,
}

/// See how far data sets of the hub are
///
/// What requests with `source` are waiting for, the oldest first. A pull that is over is in the list no more.
#[utoipa::path(
    get,
    path = "/v1/dataset-pulls",
    tag = "datasets",
    responses((status = 200, body = List<DatasetPull>)),
)]
pub async fn list_dataset_pulls(Access(app): Access) -> Json<List<DatasetPull>> {
    Json(List::with_more(app.pulls.of(app.store.own_project()), false, |pull| pull.id.clone()))
}

/// The pulls that are under way; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pulls {
    all: Arc<Mutex<All>>,
}

#[derive(Debug, Default)]
struct All {
    begun: u64,
    under_way: BTreeMap<u64, Known>,
}

#[derive(Debug)]
struct Known {
    project: String,
    source: String,
    bytes: u64,
    done: Arc<AtomicU64>,
}

/// A pull that is under way until this is dropped.
#[derive(Debug)]
pub struct Pulling {
    pulls: Pulls,
    number: u64,
    done: Arc<AtomicU64>,
}

impl Pulls {
    pub fn begin(&self, project: &str, source: String, bytes: u64) -> Pulling {
        let done = Arc::new(AtomicU64::new(0));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.begun += 1;
        let (number, known) =
            (all.begun, Known { project: project.to_owned(), source, bytes, done: Arc::clone(&done) });
        all.under_way.insert(number, known);
        Pulling { pulls: self.clone(), number, done }
    }

    fn of(&self, project: &str) -> Vec<DatasetPull> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.under_way.iter().filter(|(_, known)| known.project == project);
        own.map(|(number, known)| DatasetPull {
            id: format!("pull_{number}"),
            object: "dataset.pull",
            source: known.source.clone(),
            bytes: known.bytes,
            bytes_done: known.done.load(Ordering::Relaxed),
        })
        .collect()
    }
}

impl Pulling {
    /// Notes bytes that have come.
    pub fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Pulling {
    fn drop(&mut self) {
        self.pulls.all.lock().unwrap_or_else(PoisonError::into_inner).under_way.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_is_seen_by_its_project_until_it_is_over() {
        let pulls = Pulls::default();
        let pulling = pulls.begin("a", String::from("hf:datasets/x/y"), 10);
        pulling.add(3);
        let seen = pulls.of("a");
        assert_eq!((seen.len(), seen[0].bytes_done, pulls.of("b").len()), (1, 3, 0));
        drop(pulling);
        assert!(pulls.of("a").is_empty());
    }
}
