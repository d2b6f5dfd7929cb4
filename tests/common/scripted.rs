//! A server that answers as a test tells it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// An answer: a status, more header lines, and a body; None says nothing.
pub type Reply = Option<(u16, String, String)>;

/// A server that answers every POST with `script`, which is given the path and the body; its address, and how many came.
pub fn scripted(script: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (count, script) = (Arc::new(AtomicUsize::new(0)), Arc::new(script));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (counted, script) = (Arc::clone(&counted), Arc::clone(&script));
            std::thread::spawn(move || serve(connection.unwrap(), &counted, script.as_ref()));
        }
    });
    (url, count)
}

fn serve(
    mut connection: TcpStream,
    counted: &AtomicUsize,
    script: &(impl Fn(&str, &Value) -> Reply + ?Sized),
) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    counted.fetch_add(1, Ordering::Relaxed);
    match script(first.split(' ').nth(1)?, &serde_json::from_slice(&body).ok()?) {
        Some((status, more, body)) => {
            let head =
                format!("HTTP/1.1 {status} X\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
            connection.write_all(head.as_bytes()).ok()?;
            connection.write_all(body.as_bytes()).ok()
        }
        None => connection.read(&mut [0]).ok().map(|_| ()),
    }
}
