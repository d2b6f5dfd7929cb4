//! Reading through files for a request. Few do so at a time: a request that scans a large file must not take the threads
//! of all others.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use super::App;
use super::blocking::blocking;
use super::error::Problem;
use super::places::Places;

/// Does `work`, which reads files and blocks, when it is its turn.
pub async fn scan<T, E>(app: &App, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, Problem>
where
    T: Send + 'static,
    E: Into<Problem> + Send + 'static,
{
    /// Twice as many as there are processors, for they also wait for the disk.
    static PLACES: LazyLock<Places> =
        LazyLock::new(|| Places::new(2 * available_parallelism().map_or(2, std::num::NonZero::get)));
    in_turn(&PLACES, app.store.own_project(), "read files", work).await
}

/// Does `work`, which blocks, when it is a project's turn.
async fn in_turn<T, E>(
    places: &Places,
    project: &str,
    who: &str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    E: Into<Problem> + Send + 'static,
{
    let turn = places.turn(project, who).await?;
    let done = blocking(move || {
        // Whoever asked may have gone away; the turn lasts as long as the work.
        let _turn = turn;
        work()
    });
    done.await?.map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn more_than_there_are_turns_wait() {
        let one = Arc::new(Places::new(1));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let turn = |work: Box<dyn FnOnce() -> io::Result<u32> + Send>| {
            let one = Arc::clone(&one);
            tokio::spawn(async move { in_turn(&one, "p", "wait", work).await.unwrap() })
        };
        let long = turn(Box::new(move || {
            begun.send(()).ok();
            ended.recv().ok();
            Ok(1)
        }));
        begins.await.unwrap();
        let next = turn(Box::new(|| Ok(2)));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert!(!next.is_finished() && one.take("other").is_none(), "there is one place");
        drop(end);
        assert_eq!((long.await.unwrap(), next.await.unwrap()), (1, 2));
    }
}
