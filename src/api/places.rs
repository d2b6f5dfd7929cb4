//! Places for what few may do at once, shared by the projects: no project has more than half of them, so that one that
//! takes all that it can get leaves the others theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::error::Problem;

/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Places {
    all: Arc<Semaphore>,
    /// Of one project.
    most: usize,
    /// Those projects that have or want places.
    projects: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// A place; dropped, it is free again.
#[derive(Debug)]
pub struct Place {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Places {
    pub fn new(count: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(count)), most: count.div_ceil(2), projects: Mutex::default() }
    }

    /// A place for a project, if there is one now.
    pub fn take(&self, project: &str) -> Option<Place> {
        let own = self.of(project).try_acquire_owned().ok()?;
        Some(Place { _own: own, _all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    /// A place for a request of a project, for which it waits a while. `who` says in an error who else wants one.
    pub async fn turn(&self, project: &str, who: &str) -> Result<Place, Problem> {
        self.wait(project, PATIENCE).await.ok_or_else(|| {
            let detail = format!("too many requests {who}; try again in a moment");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail)
        })
    }

    /// A place for a project, if there is one within `patience`.
    async fn wait(&self, project: &str, patience: Duration) -> Option<Place> {
        let own = self.of(project);
        let both = async {
            let own = own.acquire_owned().await.ok()?;
            Some(Place { _own: own, _all: Arc::clone(&self.all).acquire_owned().await.ok()? })
        };
        timeout(patience, both).await.ok().flatten()
    }

    fn of(&self, project: &str) -> Arc<Semaphore> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = projects.get(project).and_then(Weak::upgrade) {
            return own;
        }
        projects.retain(|_, places| places.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.most));
        projects.insert(project.to_owned(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_project_leaves_places_for_others() {
        let places = Places::new(4);
        let greedy: Vec<Place> = std::iter::from_fn(|| places.take("greedy")).take(10).collect();
        assert_eq!(greedy.len(), 2);
        assert!(places.wait("greedy", Duration::from_millis(10)).await.is_none(), "it waits, and then no more");
        let others = [places.take("other"), places.wait("third", Duration::from_millis(10)).await];
        assert!(others.iter().all(Option::is_some));
        assert!(places.take("fourth").is_none(), "there are four in all");
        drop(greedy);
        assert!(places.take("greedy").is_some());
    }
}
