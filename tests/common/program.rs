//! The `anneal` program as a client, and a connection that breaks.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tempfile::TempDir;

/// The program in a folder of its own, talking to one server.
pub struct Program {
    base: String,
    pub folder: TempDir,
}

/// What a run of the program left.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Program {
    pub fn of(base: &str) -> Self {
        Self { base: base.to_owned(), folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: &str) -> String {
        std::fs::write(self.folder.path().join(name), content).unwrap();
        self.path(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
        command.args(arguments).current_dir(self.folder.path()).env("ANNEAL_SERVER", &self.base);
        command.env("ANNEAL_PROFILES", self.folder.path().join("profiles.toml")).env_remove("ANNEAL_PROFILE");
        command.env_remove("ANNEAL_API_KEY").env_remove("http_proxy").stdin(Stdio::null());
        // A command that opens the directory finds the rows that a server on it has.
        command.envs(crate::common::database_url(&self.folder.path().join("data")).map(|url| ("ANNEAL_DATABASE", url)));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs it with something on standard input.
    pub fn pipe(&self, arguments: &[&str], input: &str) -> Said {
        let mut child = self.start(arguments, Stdio::piped());
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    pub fn start(&self, arguments: &[&str], input: Stdio) -> Child {
        self.command(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The JSON document that a command answers with; it must succeed.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let said = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(said.code, Some(0), "{arguments:?}: {}{}", said.out, said.err);
        said.json()
    }

    /// What a command says to people; it must succeed.
    pub fn text(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}{}", said.out, said.err);
        said.out
    }
}

impl Said {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    pub fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A way to a server on which every connection breaks after some bytes of answers.
pub struct Breaking {
    pub base: String,
    /// How many connections were broken off.
    pub breaks: Arc<AtomicUsize>,
}

impl Breaking {
    pub fn before(server: &str, bytes: usize) -> Self {
        let server = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let breaks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&breaks);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (there, counted) = (TcpStream::connect(&server).unwrap(), Arc::clone(&counted));
                let (mut requests, mut onward) = (client.try_clone().unwrap(), there.try_clone().unwrap());
                std::thread::spawn(move || {
                    std::io::copy(&mut requests, &mut onward).ok();
                    onward.shutdown(Shutdown::Write).ok();
                });
                std::thread::spawn(move || {
                    let mut back = &client;
                    if std::io::copy(&mut (&there).take(bytes as u64), &mut back).ok() == Some(bytes as u64) {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                    client.shutdown(Shutdown::Both).ok();
                    there.shutdown(Shutdown::Both).ok();
                });
            }
        });
        Self { base, breaks }
    }

    pub fn count(&self) -> usize {
        self.breaks.load(Ordering::Relaxed)
    }
}

/// A server that gives prepared answers in turn and returns the requests' heads with their bodies.
pub fn scripted(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let handle = std::thread::spawn(move || answers.iter().map(|answer| serve_one(&listener, answer)).collect());
    (base, handle)
}

fn serve_one(listener: &TcpListener, answer: &str) -> String {
    let (mut connection, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = connection.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                connection.write_all(answer.as_bytes()).unwrap();
                return text;
            }
        }
        assert!(count > 0, "the request ended early");
    }
}

/// An answer for [`scripted`].
pub fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\
         {headers}\r\n{body}"
    )
}

/// Size and content of a file.
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path.as_ref()).unwrap()
}
