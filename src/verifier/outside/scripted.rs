//! A server for tests that answers as it is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::Outside;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Request {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// An answer: a status, more header lines, and a body; None holds the connection and says nothing.
pub type Reply = Option<(u16, String, String)>;

/// An answer with 200.
pub fn fine(body: impl ToString) -> Reply {
    Some((200, String::new(), body.to_string()))
}

pub struct Scripted {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Scripted {
    /// Answers its n-th request, counted from 0, with `script`.
    pub fn start(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (kept, script) = (Arc::clone(&requests), Arc::new(script));
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (kept, script) = (Arc::clone(&kept), Arc::clone(&script));
                thread::spawn(move || serve(connection.unwrap(), &kept, script.as_ref()));
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// What an operator would allow who has named it `here` as a service and as an endpoint.
    pub fn allowed(&self) -> Outside {
        let settings = json!({
            "services": {"here": {"url": self.url, "allow_private": ["127.0.0.1/32"]}},
            "endpoints": {"here": {"url": format!("{}/v1", self.url), "model": "a-judge", "allow_private": ["127.0.0.1/32"]}},
        });
        serde_json::from_value(settings).unwrap()
    }
}

fn serve(
    mut connection: TcpStream,
    kept: &Mutex<Vec<Request>>,
    script: &(impl Fn(usize, &Request) -> Reply + ?Sized),
) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let request = Request { path, headers, body: String::from_utf8(body).unwrap() };
    let number = {
        let mut requests = kept.lock().unwrap();
        requests.push(request.clone());
        requests.len() - 1
    };
    match script(number, &request) {
        Some((status, more, body)) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\n{more}content-length: {length}\r\nconnection: close\r\n\r\n");
            connection.write_all(head.as_bytes()).ok()?;
            connection.write_all(body.as_bytes()).ok()
        }
        None => connection.read(&mut [0]).ok().map(|_| ()),
    }
}
