//! Reading through files for a request. Few do so at a time: a request that scans a large file must not take the threads
//! of all others.

use std::io;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;

use axum::http::StatusCode;

use super::App;
use super::error::Problem;
use super::places::Places;

/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Twice as many as there are processors, for they also wait for the disk.
static TURNS: LazyLock<Places> =
    LazyLock::new(|| Places::new(2 * available_parallelism().map_or(2, std::num::NonZero::get)));

/// Does `work`, which reads files and blocks, when it is its turn.
pub async fn scan<T, E>(app: &App, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, Problem>
where
    T: Send + 'static,
    E: Into<Problem> + Send + 'static,
{
    in_turn(&TURNS, app.store.own_project(), PATIENCE, work).await
}

async fn in_turn<T, E>(
    turns: &Places,
    project: &str,
    patience: Duration,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    E: Into<Problem> + Send + 'static,
{
    let Some(turn) = turns.wait(project, patience).await else {
        let detail = "too many requests read files; try again in a moment";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail));
    };
    let done = tokio::task::spawn_blocking(move || {
        // Whoever asked may have gone away; the turn lasts as long as the work.
        let _turn = turn;
        work()
    });
    done.await.map_err(io::Error::other)?.map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn more_than_there_are_turns_wait_and_are_refused_in_the_end() {
        let one = Arc::new(Places::new(1));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let patience = Duration::from_millis(50);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let long = tokio::spawn({
            let one = Arc::clone(&one);
            let work = move || {
                begun.send(()).ok();
                ended.recv().ok();
                io::Result::Ok(1)
            };
            async move { in_turn(&one, "p", patience, work).await }
        });
        begins.await.unwrap();
        let refused = in_turn(&one, "p", patience, || io::Result::Ok(2)).await.unwrap_err();
        assert_eq!(refused.code, "overloaded");
        drop(end);
        assert_eq!(long.await.unwrap().unwrap(), 1);
        assert_eq!(in_turn(&one, "p", patience, || io::Result::Ok(3)).await.unwrap(), 3);
    }
}
