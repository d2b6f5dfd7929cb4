//! Bodies that an answer did not wait for. A connection with an unread body cannot be used again, and its client would find
//! out only with its next request.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use tokio::sync::oneshot;

use super::extract::drain_little;

/// A body that comes back when whoever has it reads no further.
struct Lent {
    /// None after its end.
    chunks: Option<BodyDataStream>,
    back: Option<oneshot::Sender<BodyDataStream>>,
}

impl Stream for Lent {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(chunks) = &mut self.chunks else { return Poll::Ready(None) };
        let next = chunks.poll_next_unpin(context);
        if matches!(next, Poll::Ready(None)) {
            self.chunks = None;
        }
        next
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(chunks), Some(back)) = (self.chunks.take(), self.back.take()) {
            // Whoever answers before it is dropped looks for it no more.
            drop(back.send(chunks));
        }
    }
}

/// Reads what the handler left, if it is little, and otherwise says that the connection ends with this answer.
pub async fn read_on(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (back, mut left) = oneshot::channel();
    let lend = |body: Body| Body::from_stream(Lent { chunks: Some(body.into_data_stream()), back: Some(back) });
    let mut response = next.run(request.map(lend)).await;
    if let Ok(mut chunks) = left.try_recv()
        && !drain_little(&mut chunks).await
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::routing::post;
    use axum::{Router, middleware};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// A client of a server that answers without a look at the body.
    async fn client() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(async || "done")).layer(middleware::from_fn(read_on));
        tokio::spawn(super::super::connections::serve(listener, router, std::future::pending()));
        TcpStream::connect(address).await.unwrap()
    }

    async fn head(client: &mut TcpStream, length: usize) {
        let head = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
    }

    async fn answer(client: &mut TcpStream) -> String {
        let mut text = Vec::new();
        while !text.ends_with(b"done") {
            assert!(client.read_buf(&mut text).await.unwrap() > 0, "{}", String::from_utf8_lossy(&text));
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn a_connection_outlives_a_body_that_nobody_wanted() {
        let mut client = client().await;
        for _ in 0..3 {
            head(&mut client, 2).await;
            // Time for the handler to answer before the body is here.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            client.write_all(b"{}").await.unwrap();
            assert!(!answer(&mut client).await.contains("connection: close"));
        }
    }

    #[tokio::test]
    async fn whoever_sends_too_much_is_told_that_the_connection_ends() {
        let mut client = client().await;
        head(&mut client, 1 << 20).await;
        client.write_all(&[b' '; 128 << 10]).await.unwrap();
        assert!(answer(&mut client).await.contains("connection: close"));
        assert_eq!(client.read(&mut [0; 16]).await.unwrap_or(0), 0);
    }
}
