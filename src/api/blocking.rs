//! Work that computes or waits for the disk, on threads beside those that answer. Threads that have once done such work step
//! back behind the others where both want a processor, so that what one client asks for does not keep the small requests
//! of all.

use std::cell::Cell;
use std::io;

/// How far the threads step back.
const NICENESS: i32 = 4;

/// Does `work` on such a thread; an error when it panics. It goes on when nobody waits for it any more.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(move || {
        step_back();
        work()
    });
    done.await.map_err(io::Error::other)
}

/// The same on a thread of its own, for work that waits for a client: many who send slowly must not take the threads that
/// others' work is done on. There are no more of them than connections.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name(String::from("apart")).spawn(move || {
        step_back();
        // Nobody may wait for it any more.
        let _ = send.send(work());
    })?;
    receive.await.map_err(io::Error::other)
}

/// Steps back once for each thread: nobody may step forward again.
fn step_back() {
    thread_local! {
        static IS_BACK: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_BACK.replace(true)
        && let Err(error) = rustix::process::nice(NICENESS)
    {
        tracing::debug!(%error, "a thread keeps its priority");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_steps_back_and_those_who_answer_do_not() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let own = niceness();
        for _ in 0..3 {
            assert_eq!(blocking(niceness).await.unwrap(), (own + NICENESS).min(19));
        }
        assert_eq!(niceness(), own);
        assert!(blocking(|| panic!("as a test does")).await.is_err());
        assert_eq!(apart(niceness).await.unwrap(), (own + NICENESS).min(19));
        assert!(apart(|| panic!("as a test does")).await.is_err());
    }
}
