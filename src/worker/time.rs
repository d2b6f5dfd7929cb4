//! The time that the processes of all machines agree on: the database's, which each asks for now and then.

use std::time::{Duration, Instant};

use crate::clock;
use crate::job::Timestamp;
use crate::store::{Store, StoreError};

/// An answer that took longer says too little.
const LONGEST: Duration = Duration::from_secs(1);

/// Sets this process's clock by the database's, where that is another machine's. The answer is of some moment between
/// question and answer; the middle is wrong by half of that time at most.
pub async fn follow(store: &Store) -> Result<(), StoreError> {
    let asked = Instant::now();
    let Some(time) = store.time().await? else { return Ok(()) };
    let took = asked.elapsed();
    if took < LONGEST {
        clock::follow(asked + took / 2, Timestamp(time.0));
    }
    Ok(())
}
