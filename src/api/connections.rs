//! Connections: how many there may be, and how long each may keep the server waiting.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::Layer;

use super::strangers::Strangers;

/// Connections that may be open; more wait to be accepted.
const MOST: usize = 16_384;
/// How long a client may take for the head of a request, and stay silent between two.
const HEAD: Duration = Duration::from_secs(60);
/// Bytes of a request's head, which anybody may send.
const MOST_HEAD: usize = 64 << 10;
/// After a failure to accept, as when there are too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves connections until `shutdown` is ready, and then the requests that are under way.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    serve_within(HEAD, listener, router, shutdown).await;
}

async fn serve_within(head: Duration, listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MOST_HEAD);
    // Built once: what a connection gets is a reference.
    let router = router.with_state(());
    let (places, graceful) = (Arc::new(Semaphore::new(MOST)), GracefulShutdown::new());
    // The others are for those who are known.
    let strangers = Strangers::new(MOST / 2);
    let mut shutdown = pin!(shutdown);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, address) = listener.accept().await?;
            Ok::<_, io::Error>((stream, strangers.enter(address.ip()), place))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = &mut shutdown => break,
        };
        let (stream, guest, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Events are small and must not wait for one another.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection broke");
            continue;
        }
        let guest = Arc::new(guest);
        let service = TowerToHyperService::new(Extension(Arc::clone(&guest)).layer(router.clone()));
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                },
                () = guest.sent_away() => tracing::debug!("a silent connection made room for others"),
            }
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::*;

    /// A server that closes what is silent after `head`, and its end.
    async fn start(head: Duration) -> (TcpStream, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let router = Router::new().route("/", get(async || "here"));
        let shutdown = async { drop(stopped.await) };
        let server = tokio::spawn(async move { serve_within(head, listener, router, shutdown).await });
        (TcpStream::connect(address).await.unwrap(), stop, server)
    }

    #[tokio::test]
    async fn whoever_never_ends_a_head_is_let_go() {
        let (mut client, _stop, _server) = start(Duration::from_millis(20)).await;
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n").await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn the_end_of_the_server_waits_for_no_idle_connection() {
        let (mut client, stop, server) = start(Duration::from_secs(3600)).await;
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = [0; 1024];
        assert!(client.read(&mut answer).await.unwrap() > 0 && answer.starts_with(b"HTTP/1.1 200"));
        stop.send(()).unwrap();
        server.await.unwrap();
        assert_eq!(client.read(&mut answer).await.unwrap(), 0);
    }
}
