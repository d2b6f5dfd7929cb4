//! `anneal health` as what starts servers again asks it: by its exit code.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};

use common::{Server, data_dir};

fn health(arguments: &[&str]) -> Output {
    // A folder without `anneal.toml`, so that only the arguments count, and a proxy that nobody should ask.
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    command.arg("health").args(arguments).current_dir(folder.path()).env("http_proxy", "http://127.0.0.1:9");
    command.output().unwrap()
}

fn said(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

#[test]
fn a_running_server_is_healthy_and_one_that_ended_is_not() {
    let data = data_dir();
    let server = Server::start(data.path());
    let base = server.base.clone();
    let address = base.strip_prefix("http://").unwrap();
    for place in [["--url", &base], ["--listen", address]] {
        let output = health(&place);
        assert_eq!(output.status.code(), Some(0), "{place:?}: {}", said(&output.stderr));
        assert_eq!(said(&output.stdout), format!("{base} is served by anneal {}\n", env!("CARGO_PKG_VERSION")));
    }
    server.terminate();
    let output = health(&["--listen", address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains(&format!("no answer from {base}")), "{}", said(&output.stderr));
}

#[test]
fn whoever_else_answers_or_keeps_silent_is_not_healthy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let other = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
        let body = r#"{"status": "up"}"#;
        write!(connection, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        listener
    });
    let output = health(&["--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains("not as anneal does"), "{}", said(&output.stderr));

    // It still takes connections, but nobody reads them.
    let silent = other.join().unwrap();
    let output = health(&["--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains("no answer from"), "{}", said(&output.stderr));
    drop(silent);
}

#[test]
fn without_a_port_there_is_nobody_to_ask() {
    let output = health(&["--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains("--url"), "{}", said(&output.stderr));
}
