//! What stands between servers and an object storage: it lets requests through, late or not at all, where it answers with
//! an error as object storages do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Default)]
struct State {
    /// What requests are answered with; 0 lets them through.
    status: AtomicU64,
    /// How long each of them waits, in milliseconds.
    delay: AtomicU64,
    /// How many were not let through.
    refused: AtomicU64,
}

pub struct Between {
    pub url: String,
    state: Arc<State>,
}

impl Between {
    /// Before the storage at this address, such as `http://127.0.0.1:8333`.
    pub fn before(storage: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (url, state) = (format!("http://{}", listener.local_addr().unwrap()), Arc::<State>::default());
        let (storage, own) = (storage.trim_start_matches("http://").to_owned(), Arc::clone(&state));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (storage, state) = (storage.clone(), Arc::clone(&own));
                // Whoever breaks off is no concern of others.
                std::thread::spawn(move || drop(serve(client, &storage, &state)));
            }
        });
        Self { url, state }
    }

    /// Every request is answered with this status from now on.
    pub fn refuse(&self, status: u64) {
        self.state.status.store(status, Ordering::SeqCst);
    }

    /// Every request goes through from now on, so much later.
    pub fn let_through(&self, later: Duration) {
        self.state.delay.store(later.as_millis() as u64, Ordering::SeqCst);
        self.state.status.store(0, Ordering::SeqCst);
    }

    /// How many requests were not let through.
    pub fn refused(&self) -> u64 {
        self.state.refused.load(Ordering::SeqCst)
    }
}

/// One request of a connection, which ends with it.
fn serve(mut client: TcpStream, storage: &str, state: &State) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    std::thread::sleep(Duration::from_millis(state.delay.load(Ordering::SeqCst)));
    let status = state.status.load(Ordering::SeqCst);
    if status != 0 {
        state.refused.fetch_add(1, Ordering::SeqCst);
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        io::copy(&mut reader.take(length.unwrap_or(0)), &mut io::sink())?;
        let code = match status {
            403 => "AccessDenied",
            503 => "SlowDown",
            _ => "InsufficientStorage",
        };
        let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message></Error>");
        write!(
            client,
            "HTTP/1.1 {status} {code}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        return client.shutdown(Shutdown::Both);
    }
    let mut server = TcpStream::connect(storage)?;
    let (first, rest) = head.split_once("\r\n").unwrap_or((&head, ""));
    write!(server, "{first}\r\nConnection: close\r\n{rest}")?;
    let mut upwards = server.try_clone()?;
    let up = std::thread::spawn(move || io::copy(&mut reader, &mut upwards));
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)?;
    drop(up.join());
    Ok(())
}
