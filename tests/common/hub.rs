//! A hub of models on this machine: the routes that Hugging Face's hub has for a model's files, with the files elsewhere
//! under signed addresses, and with everything that can go wrong on the way. What is pushed to it is in `hub_push.rs`.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[path = "hub_push.rs"]
pub mod push;

use push::Received;

pub const WEIGHTS: &str = "model.safetensors";

/// The built-in model.
pub fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny")
}

/// The files of a folder by their names.
pub fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())).collect()
}

/// The files of a model with some 50 MB of weights and the built-in tokenizer.
pub fn large_model() -> BTreeMap<String, Vec<u8>> {
    let mut files = files_of(&assets());
    let mut config: Value = serde_json::from_slice(&files["config.json"]).unwrap();
    let (hidden, inner, layers) = (256, 3072, 5);
    for (name, value) in [("hidden_size", hidden), ("intermediate_size", inner), ("num_hidden_layers", layers)] {
        config[name] = json!(value);
    }
    for (name, value) in [("num_attention_heads", 4), ("num_key_value_heads", 4), ("head_dim", 64)] {
        config[name] = json!(value);
    }
    config["tie_word_embeddings"] = json!(true);
    let vocabulary = config["vocab_size"].as_u64().unwrap() as usize;
    let mut tensors: Vec<(String, Vec<usize>)> = vec![("model.embed_tokens.weight".into(), vec![vocabulary, hidden])];
    for layer in 0..layers {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        for part in ["q_proj", "k_proj", "v_proj", "o_proj"] {
            tensors.push((name(&format!("self_attn.{part}")), vec![hidden, hidden]));
        }
        for part in ["gate_proj", "up_proj"] {
            tensors.push((name(&format!("mlp.{part}")), vec![inner, hidden]));
        }
        tensors.push((name("mlp.down_proj"), vec![hidden, inner]));
        for part in ["input_layernorm", "post_attention_layernorm"] {
            tensors.push((name(part), vec![hidden]));
        }
    }
    tensors.push(("model.norm.weight".into(), vec![hidden]));
    let (mut header, mut end) = (serde_json::Map::new(), 0);
    for (name, shape) in tensors {
        let bytes = 4 * shape.iter().product::<usize>();
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [end, end + bytes]}));
        end += bytes;
    }
    let header = Value::Object(header).to_string();
    let mut weights = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let mut random = 1_u64;
    for _ in 0..end / 4 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let value = (random >> 40) as f32 / (1 << 24) as f32 - 0.5;
        weights.extend((value * 0.05).to_le_bytes());
    }
    files.insert("config.json".into(), config.to_string().into_bytes());
    files.insert(WEIGHTS.into(), weights);
    files
}

/// What happens to an answer.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// An answer without the file: status and further header lines.
    Refuse(u16, &'static str),
    /// The connection ends after so many bytes of the file.
    Cut(usize),
    /// The first byte that is sent is another.
    Change,
    /// Nothing comes for a while, then all.
    Wait(Duration),
}

/// A request for a file's bytes.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub range: Option<Range<u64>>,
    /// How many bytes were sent.
    pub sent: usize,
}

#[derive(Default)]
struct State {
    /// By `repository@commit`, then by path.
    files: HashMap<String, BTreeMap<String, Vec<u8>>>,
    /// The newest commits.
    commits: HashMap<String, String>,
    /// What lets in, if anything must.
    token: Option<String>,
    /// Trouble with the listing of a repository.
    listing: VecDeque<Trouble>,
    /// How all requests for files are turned away, if they are.
    closed: Option<(u16, &'static str)>,
    /// Trouble with requests for a path, in turn.
    trouble: HashMap<String, VecDeque<Trouble>>,
    /// The same for all requests for a path.
    always: HashMap<String, Trouble>,
    /// What a piece of 64 KiB waits before it is sent.
    pace: Duration,
    ranges: bool,
    asked: Vec<Asked>,
    listed: usize,
    /// Whether the token was shown where the files are.
    leaked: bool,
    received: Received,
}

/// A running hub.
#[derive(Clone)]
pub struct Hub {
    pub base: String,
    state: Arc<Mutex<State>>,
}

impl Hub {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State { ranges: true, ..State::default() }));
        let (front, files) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (base, elsewhere) = (address(&front), address(&files));
        let (one, other) = (Arc::clone(&state), Arc::clone(&state));
        std::thread::spawn(move || serve(&front, move |request| answer(&one, &elsewhere, request)));
        std::thread::spawn(move || serve(&files, move |request| send(&other, request)));
        Self { base, state }
    }

    /// Puts the files of a folder into a repository, whose commit says how often that was done.
    pub fn put(&self, repository: &str, folder: &Path) -> String {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        });
        self.put_files(repository, files.collect())
    }

    pub fn put_files(&self, repository: &str, files: BTreeMap<String, Vec<u8>>) -> String {
        let mut state = self.state.lock().unwrap();
        let text = format!("{repository} {files:?}");
        let commit = hex(&Sha256::digest(text.as_bytes()))[..40].to_owned();
        state.files.insert(format!("{repository}@{commit}"), files);
        state.commits.insert(repository.to_owned(), commit.clone());
        commit
    }

    pub fn require(&self, token: &str) {
        self.state.lock().unwrap().token = Some(token.to_owned());
    }

    pub fn trouble(&self, path: &str, troubles: impl IntoIterator<Item = Trouble>) {
        self.state.lock().unwrap().trouble.insert(path.to_owned(), troubles.into_iter().collect());
    }

    pub fn always(&self, path: &str, trouble: Trouble) {
        self.state.lock().unwrap().always.insert(path.to_owned(), trouble);
    }

    pub fn trouble_with_listing(&self, troubles: impl IntoIterator<Item = Trouble>) {
        self.state.lock().unwrap().listing = troubles.into_iter().collect();
    }

    /// Turns all requests for files away, with status and further header lines, or lets them in again.
    pub fn close(&self, answer: Option<(u16, &'static str)>) {
        self.state.lock().unwrap().closed = answer;
    }

    /// Sends so much slower from now on.
    pub fn pace(&self, pause: Duration) {
        self.state.lock().unwrap().pace = pause;
    }

    pub fn without_ranges(&self) {
        self.state.lock().unwrap().ranges = false;
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    pub fn listed(&self) -> usize {
        self.state.lock().unwrap().listed
    }

    /// Bytes that were sent of a file.
    pub fn sent(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| asked.path == path).map(|asked| asked.sent).sum()
    }

    /// The newest files of a repository's branch.
    pub fn files(&self, repository: &str, branch: &str) -> BTreeMap<String, Vec<u8>> {
        let state = self.state.lock().unwrap();
        let commit = state.newest(repository, branch).unwrap_or_else(|| panic!("there is no {repository}@{branch}"));
        state.files[&format!("{repository}@{commit}")].clone()
    }

    /// Looks at, or changes, what it does with what is pushed.
    pub fn received<T>(&self, look: impl FnOnce(&mut Received) -> T) -> T {
        look(&mut self.state.lock().unwrap().received)
    }

    pub fn has_leaked_its_token(&self) -> bool {
        self.state.lock().unwrap().leaked
    }
}

impl State {
    /// The newest commit of a branch.
    fn newest(&self, repository: &str, branch: &str) -> Option<&String> {
        let name = if branch == "main" { repository.to_owned() } else { format!("{repository}#{branch}") };
        self.commits.get(&name)
    }
}

struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    /// Of the body.
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

fn address(listener: &TcpListener) -> String {
    format!("http://{}", listener.local_addr().unwrap())
}

fn serve(listener: &TcpListener, answer: impl Fn(Request) + Send + Sync + 'static) {
    let answer = Arc::new(answer);
    for stream in listener.incoming().map_while(Result::ok) {
        let answer = Arc::clone(&answer);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line.trim().to_owned());
            }
            let mut words = lines[0].split(' ').map(str::to_owned);
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let header = |line: &String| {
                line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            };
            let headers = lines[1..].iter().filter_map(header).collect();
            answer(Request { method, path, headers, reader, stream });
        });
    }
}

/// The hub itself: what a repository holds, and where its files are.
fn answer(state: &Mutex<State>, elsewhere: &str, mut request: Request) {
    if request.method == "POST" {
        return push::answer(state, elsewhere, request);
    }
    let mut state = state.lock().unwrap();
    let has_token = match &state.token {
        Some(token) => request.headers.get("authorization") == Some(&format!("Bearer {token}")),
        None => true,
    };
    let path = request.path.split('?').next().unwrap().to_owned();
    if !has_token {
        return refuse(&mut request.stream, 401, "x-error-code: RepoNotFound\r\n");
    }
    let listing = path.strip_prefix("/api/models/").or_else(|| {
        // Data sets lie below `datasets/` here as well as where their files are.
        path.strip_prefix("/api/").filter(|rest| rest.starts_with("datasets/"))
    });
    if let Some(rest) = listing {
        state.listed += 1;
        if let Some(Trouble::Refuse(status, headers)) = state.listing.pop_front() {
            return refuse(&mut request.stream, status, headers);
        }
        let (repository, revision) = rest.split_once("/revision/").unwrap();
        if !state.commits.contains_key(repository) {
            return refuse(&mut request.stream, 404, "x-error-code: RepoNotFound\r\n");
        }
        let revision = revision.replace("%2F", "/");
        let commit = state.newest(repository, &revision).unwrap_or(&revision);
        let Some(files) = state.files.get(&format!("{repository}@{commit}")) else {
            return refuse(&mut request.stream, 404, "x-error-code: RevisionNotFound\r\n");
        };
        let private = state.received.repositories.get(repository);
        let siblings: Vec<Value> = files.iter().map(sibling).collect();
        let body = json!({"id": repository, "sha": commit, "private": private, "siblings": siblings});
        return reply(&mut request.stream, 200, "content-type: application/json\r\n", body.to_string().as_bytes());
    }
    let Some((repository, rest)) = path.trim_start_matches('/').split_once("/resolve/") else {
        return refuse(&mut request.stream, 404, "");
    };
    if let Some((status, headers)) = state.closed {
        return refuse(&mut request.stream, status, headers);
    }
    let (commit, file) = rest.split_once('/').unwrap();
    let key = format!("{repository}@{commit}");
    if !state.files.get(&key).is_some_and(|files| files.contains_key(file)) {
        return refuse(&mut request.stream, 404, "x-error-code: EntryNotFound\r\n");
    }
    let location = format!("location: {elsewhere}/{key}/{file}?signature=0123\r\n");
    reply(&mut request.stream, 302, &location, b"");
}

/// A file as the hub lists it: large ones are kept beside git.
fn sibling((path, bytes): (&String, &Vec<u8>)) -> Value {
    if [".safetensors", ".gguf", ".parquet"].iter().any(|end| path.ends_with(end)) {
        let sha256 = hex(&Sha256::digest(bytes));
        return json!({"rfilename": path, "size": bytes.len(), "lfs": {"sha256": sha256, "size": bytes.len()}});
    }
    json!({"rfilename": path, "size": bytes.len(), "blobId": git_name(bytes)})
}

/// Where the files are.
fn send(state: &Mutex<State>, mut request: Request) {
    if request.method == "PUT" {
        return push::store(state, request);
    }
    let path = request.path.split('?').next().unwrap().trim_start_matches('/').to_owned();
    let (name, bytes, trouble, pace, ranges, number) = {
        let mut state = state.lock().unwrap();
        state.leaked |= request.headers.contains_key("authorization");
        let repository = state.files.keys().find(|name| path.starts_with(&format!("{name}/"))).unwrap().clone();
        let name = path[repository.len() + 1..].to_owned();
        let bytes = state.files[&repository][&name].clone();
        let once = state.trouble.get_mut(&name).and_then(VecDeque::pop_front);
        let trouble = once.or_else(|| state.always.get(&name).cloned());
        state.asked.push(Asked { path: name.clone(), range: None, sent: 0 });
        (name, bytes, trouble, state.pace, state.ranges, state.asked.len() - 1)
    };
    let wanted = request.headers.get("range").filter(|_| ranges).map(|range| {
        let (first, last) = range.trim_start_matches("bytes=").split_once('-').unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        first..(last + 1).min(bytes.len())
    });
    let range = wanted.clone().unwrap_or(0..bytes.len());
    state.lock().unwrap().asked[number] =
        Asked { path: name, range: wanted.clone().map(|range| range.start as u64..range.end as u64), sent: 0 };
    let mut part = bytes[range.clone()].to_vec();
    let mut most = part.len();
    match trouble {
        Some(Trouble::Refuse(status, headers)) => return refuse(&mut request.stream, status, headers),
        Some(Trouble::Cut(bytes)) => most = most.min(bytes),
        Some(Trouble::Change) => part[0] ^= 1,
        Some(Trouble::Wait(time)) => std::thread::sleep(time),
        None => {}
    }
    let status = if wanted.is_some() { 206 } else { 200 };
    let head = format!(
        "HTTP/1.1 {status} .\r\ncontent-length: {}\r\ncontent-range: bytes {}-{}/{}\r\nconnection: close\r\n\r\n",
        part.len(),
        range.start,
        range.end - 1,
        bytes.len()
    );
    if request.stream.write_all(head.as_bytes()).is_err() {
        return;
    }
    for chunk in part[..most].chunks(64 << 10) {
        std::thread::sleep(pace);
        if request.stream.write_all(chunk).is_err() {
            return;
        }
        state.lock().unwrap().asked[number].sent += chunk.len();
    }
    finish(&request.stream);
}

fn refuse(stream: &mut TcpStream, status: u16, headers: &str) {
    reply(stream, status, headers, b"no");
}

fn reply(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status} .\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).ok();
    finish(stream);
}

/// Ends a connection so that what was sent arrives.
fn finish(stream: &TcpStream) {
    stream.shutdown(std::net::Shutdown::Write).ok();
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok();
    let mut rest = Vec::new();
    Read::read_to_end(&mut { stream }, &mut rest).ok();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As git names what a file holds.
fn git_name(bytes: &[u8]) -> String {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    context.update(format!("blob {}\0", bytes.len()).as_bytes());
    context.update(bytes);
    hex(context.finish().as_ref())
}
