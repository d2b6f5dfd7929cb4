//! Servers that end their answers early and cleanly, or not at all where they should, and one that never answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anneal_client::{ClientError, connect, download_checkpoint, follow};
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};

const NAME: &str = "step 1 #50%.bin";

fn content() -> Vec<u8> {
    (0..1024).map(|index| index as u8).collect()
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("anneal-client-{}-{name}", std::process::id()))
}

/// The head of a request, in lower case. A connection that is closed with something unread takes its answer with it.
fn head_of(connection: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

/// Ends each answer cleanly after as many bytes as `most` says for it, and sends `tail` behind the end of the file.
/// Returns its address and how many downloads it has seen.
fn server(most: fn(usize) -> usize, tail: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let downloads = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&downloads);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let head = head_of(&mut connection);
            let (status, range, kind, body) = if head.starts_with("get /v1/checkpoints/ck_1/manifest ") {
                let sha256: String = Sha256::digest(content()).iter().map(|byte| format!("{byte:02x}")).collect();
                let file = serde_json::json!({"path": NAME, "size": content().len(), "sha256": sha256});
                let manifest = serde_json::json!({
                    "format": 1, "kind": "inference", "job": "job_1", "attempt": 1, "step": 1,
                    "spec_digest": "sha256:0", "files": [file],
                });
                (200, String::new(), "application/json", manifest.to_string().into_bytes())
            } else {
                assert!(head.starts_with("get /v1/checkpoints/ck_1/files/step%201%20%2350%25.bin "), "{head}");
                let count = seen.fetch_add(1, Ordering::SeqCst);
                let range = head.lines().find_map(|line| line.strip_prefix("range: bytes=")?.strip_suffix('-'));
                let offset: usize = range.map_or(0, |offset| offset.parse().unwrap());
                let body = [&content()[offset..], tail].concat().into_iter().take(most(count)).collect();
                let range = format!("content-range: bytes {offset}-1023/1024\r\n");
                (if offset > 0 { 206 } else { 200 }, range, "application/octet-stream", body)
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} OK\r\nconnection: close\r\n{range}content-type: {kind}\r\n\
                 content-length: {length}\r\n\r\n"
            );
            connection.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
    });
    (url, downloads)
}

#[tokio::test]
async fn answers_that_end_early_are_continued_after_a_pause() {
    let (url, downloads) = server(|count| if count == 0 { 0 } else { 400 }, b"");
    let target = folder("early");
    let began = Instant::now();
    let paths = download_checkpoint(&connect(&url, None).unwrap(), "ck_1", &target).await.unwrap();
    // Three pauses of at least half of 100 ms.
    assert!(began.elapsed() >= Duration::from_millis(150), "it asked again at once");
    assert_eq!((std::fs::read(&paths[0]).unwrap(), downloads.load(Ordering::SeqCst)), (content(), 4));
    std::fs::remove_dir_all(target).unwrap();
}

#[tokio::test]
async fn a_file_that_is_too_long_leaves_nothing() {
    let (url, _) = server(|_| 2000, b"more");
    let target = folder("long");
    let found = download_checkpoint(&connect(&url, None).unwrap(), "ck_1", &target).await;
    assert!(matches!(found, Err(ClientError::DigestMismatch { .. })), "{found:?}");
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    std::fs::remove_dir_all(target).unwrap();
}

#[tokio::test]
async fn events_of_types_that_are_not_known_are_passed_over() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = connect(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        head_of(&mut connection);
        let event = |seq: u32, kind: &str, data: serde_json::Value| {
            let event = serde_json::json!({
                "id": "evt_1", "object": "event", "job": "job_1", "seq": seq, "type": kind, "created_at": "",
                "level": "info", "message": "", "data": data,
            });
            format!("data: {event}\n\n")
        };
        let events = [
            event(1, "telepathy", serde_json::json!({})),
            event(2, "status", serde_json::json!({"status": "failed", "reason": "why"})),
        ];
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        connection.write_all([head, &events.concat()].concat().as_bytes()).unwrap();
    });
    let events: Vec<_> = follow(&client, "job_1", 0).try_collect().await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq()).collect::<Vec<_>>(), [2]);
}

/// The clock jumps whenever there is nothing to do but to wait.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = connect(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
    let lost = |error| match error {
        ClientError::ConnectionLost { last, .. } => last,
        other => panic!("{other}"),
    };
    let events: Result<Vec<_>, _> = follow(&client, "job_1", 0).try_collect().await;
    assert_eq!(lost(events.unwrap_err()), "nothing came for 45 seconds");
    let target = folder("silent");
    let paths = download_checkpoint(&client, "ck_1", &target).await;
    assert_eq!(lost(paths.unwrap_err()), "nothing came for 60 seconds");
    std::fs::remove_dir_all(target).unwrap();
}
