//! What a hub does with what is pushed: repositories and branches are made, large files come beside git, whole or in parts,
//! and are compared with their digests, and commits follow one another.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Read;
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Request, State, Trouble, finish, hex, refuse, reply};

/// What becomes of an answer to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The commit is made and nobody is told.
    Answer,
    /// Another commit is made before it.
    Race,
}

/// What was pushed, and how pushes are treated.
#[derive(Default)]
pub struct Received {
    /// Repositories that were made here, and whether they are private.
    pub repositories: HashMap<String, bool>,
    /// Files beside git by their digests.
    objects: HashMap<String, Vec<u8>>,
    /// Parts of files by address.
    parts: HashMap<String, BTreeMap<usize, Vec<u8>>>,
    /// Digests of files that a push has asked about after they came.
    verified: Vec<String>,
    /// Files that are larger than this come in parts of it.
    pub part_bytes: Option<usize>,
    /// Nobody may write.
    pub read_only: bool,
    /// What happens to the next requests that bring bytes.
    pub trouble: VecDeque<Trouble>,
    pub lost: VecDeque<Lost>,
    /// Bytes of large files, and how many requests brought them.
    pub bytes: usize,
    pub puts: usize,
    /// Requests that bring bytes and have not ended.
    pub open: usize,
    pub commits: usize,
    batches: usize,
}

impl Received {
    /// What a repository is made with.
    pub fn is_private(&self, repository: &str) -> bool {
        self.repositories[repository]
    }
}

/// Reads a body, slower where the hub is slow; none when it broke off.
fn body(request: &mut Request, mut pause: impl FnMut()) -> Option<Vec<u8>> {
    let length: usize = request.headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut bytes = vec![0; length];
    for chunk in bytes.chunks_mut(64 << 10) {
        pause();
        request.reader.read_exact(chunk).ok()?;
    }
    Some(bytes)
}

/// The hub itself.
pub(super) fn answer(state: &Mutex<State>, elsewhere: &str, mut request: Request) {
    let Some(bytes) = body(&mut request, || ()) else { return };
    let path = request.path.split('?').next().unwrap().to_owned();
    let mut state = state.lock().unwrap();
    let token = state.token.as_ref().map(|token| format!("Bearer {token}"));
    let is_signed = path.starts_with("/complete/");
    if !is_signed && (token.is_none() || request.headers.get("authorization") != token.as_ref()) {
        return refuse(&mut request.stream, 401, "");
    }
    if state.received.read_only {
        return refuse(&mut request.stream, 403, "");
    }
    let (status, value) = if path == "/api/repos/create" {
        create(&mut state, &json_of(&bytes))
    } else if let Some((repository, branch)) = parts(&path, "/api/models/", "/branch/") {
        make_branch(&mut state, &repository, &branch)
    } else if let Some((repository, _)) = parts(&path, "/api/models/", "/preupload/") {
        assert!(state.commits.contains_key(&repository), "{path}");
        (200, modes(&json_of(&bytes)))
    } else if let Some(repository) = path.strip_suffix(".git/info/lfs/objects/batch") {
        let base = format!("http://{}", request.headers["host"]);
        (200, batch(&mut state, &json_of(&bytes), &base, elsewhere, repository))
    } else if let Some(number) = path.strip_prefix("/complete/") {
        complete(&mut state, number, &json_of(&bytes))
    } else if path.ends_with(".git/info/lfs/verify") {
        verify(&mut state, &json_of(&bytes))
    } else if let Some((repository, branch)) = parts(&path, "/api/models/", "/commit/") {
        assert_eq!(request.headers["content-type"], "application/x-ndjson");
        match state.received.lost.pop_front() {
            Some(Lost::Answer) => {
                assert_eq!(commit(&mut state, (&repository, &branch), &bytes).0, 200);
                return finish(&request.stream);
            }
            Some(Lost::Race) => {
                let mut files = newest(&state, &repository, &branch);
                files.insert(String::from("notes.md"), b"from elsewhere".to_vec());
                add(&mut state, &repository, &branch, files);
            }
            None => {}
        }
        commit(&mut state, (&repository, &branch), &bytes)
    } else {
        (404, Value::Null)
    };
    reply(&mut request.stream, status, "content-type: application/json\r\n", value.to_string().as_bytes());
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// What stands behind the beginning of a path and behind a middle.
fn parts(path: &str, begin: &str, middle: &str) -> Option<(String, String)> {
    let (first, second) = path.strip_prefix(begin)?.split_once(middle)?;
    Some((first.to_owned(), second.replace("%2F", "/")))
}

fn newest(state: &State, repository: &str, branch: &str) -> BTreeMap<String, Vec<u8>> {
    let commit = state.newest(repository, branch).unwrap();
    state.files[&format!("{repository}@{commit}")].clone()
}

/// Makes files the newest commit of a branch.
fn add(state: &mut State, repository: &str, branch: &str, files: BTreeMap<String, Vec<u8>>) -> String {
    state.received.commits += 1;
    let number = state.received.commits;
    let commit = hex(&Sha256::digest(format!("{repository} {branch} {number}")))[..40].to_owned();
    state.files.insert(format!("{repository}@{commit}"), files);
    let name = if branch == "main" { repository.to_owned() } else { format!("{repository}#{branch}") };
    state.commits.insert(name, commit.clone());
    commit
}

fn create(state: &mut State, asked: &Value) -> (u16, Value) {
    assert_eq!(asked["type"], "model", "{asked}");
    let repository = format!("{}/{}", asked["organization"].as_str().unwrap(), asked["name"].as_str().unwrap());
    if state.commits.contains_key(&repository) {
        return (409, json!({"error": "You already created this model repo"}));
    }
    state.received.repositories.insert(repository.clone(), asked["private"].as_bool().unwrap());
    add(state, &repository, "main", [(String::from(".gitattributes"), b"*.gguf filter=lfs\n".to_vec())].into());
    (200, json!({"name": repository}))
}

fn make_branch(state: &mut State, repository: &str, branch: &str) -> (u16, Value) {
    if state.newest(repository, branch).is_some() {
        return (409, Value::Null);
    }
    let files = newest(state, repository, "main");
    add(state, repository, branch, files);
    (201, Value::Null)
}

fn modes(asked: &Value) -> Value {
    let mode = |file: &Value| {
        let (path, size) = (file["path"].as_str().unwrap(), file["size"].as_u64().unwrap());
        let sample = STANDARD.decode(file["sample"].as_str().unwrap()).unwrap();
        assert_eq!(sample.len() as u64, size.min(512), "{path}");
        let is_large = path.ends_with(".safetensors") || path.ends_with(".gguf");
        json!({"path": path, "uploadMode": if is_large { "lfs" } else { "regular" }, "shouldIgnore": false})
    };
    json!({"files": asked["files"].as_array().unwrap().iter().map(mode).collect::<Vec<Value>>()})
}

fn batch(state: &mut State, asked: &Value, base: &str, elsewhere: &str, repository: &str) -> Value {
    assert_eq!((&asked["operation"], &asked["hash_algo"]), (&json!("upload"), &json!("sha256")), "{asked}");
    let received = &mut state.received;
    let objects = asked["objects"].as_array().unwrap().iter().map(|object| {
        let (oid, size) = (object["oid"].as_str().unwrap(), object["size"].as_u64().unwrap() as usize);
        if received.objects.contains_key(oid) {
            return json!({"oid": oid, "size": size});
        }
        received.batches += 1;
        let number = received.batches;
        let verify = json!({"href": format!("{base}{repository}.git/info/lfs/verify"), "header": {}});
        let upload = match received.part_bytes.filter(|bytes| size > *bytes) {
            None => json!({"href": format!("{elsewhere}/whole/{oid}?signature=1"), "header": {"x-grant": "yes"}}),
            Some(bytes) => {
                let mut header = json!({"chunk_size": bytes.to_string()});
                for part in 1..=size.div_ceil(bytes) {
                    header[format!("{part:05}")] = json!(format!("{elsewhere}/part/{number}/{part}?signature=1"));
                }
                json!({"href": format!("{base}/complete/{number}?signature=1"), "header": header})
            }
        };
        json!({"oid": oid, "size": size, "actions": {"upload": upload, "verify": verify}})
    });
    json!({"transfer": "basic", "objects": objects.collect::<Vec<Value>>()})
}

fn complete(state: &mut State, number: &str, asked: &Value) -> (u16, Value) {
    let parts = state.received.parts.remove(number).unwrap();
    let tags: Vec<Value> = parts.iter().map(|(part, bytes)| json!({"partNumber": part, "etag": tag(bytes)})).collect();
    assert_eq!(asked["parts"], json!(tags), "{asked}");
    let whole: Vec<u8> = parts.into_values().flatten().collect();
    keep(state, asked["oid"].as_str().unwrap(), whole)
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", hex(&Sha256::digest(bytes)))
}

/// Keeps a file beside git, if it is the one that was announced.
fn keep(state: &mut State, oid: &str, bytes: Vec<u8>) -> (u16, Value) {
    if hex(&Sha256::digest(&bytes)) != oid {
        return (400, json!({"error": "another file"}));
    }
    state.received.objects.insert(oid.to_owned(), bytes);
    (200, Value::Null)
}

fn verify(state: &mut State, asked: &Value) -> (u16, Value) {
    let oid = asked["oid"].as_str().unwrap();
    match state.received.objects.get(oid) {
        Some(bytes) if bytes.len() as u64 == asked["size"].as_u64().unwrap() => {
            state.received.verified.push(oid.to_owned());
            (200, Value::Null)
        }
        _ => (404, Value::Null),
    }
}

fn commit(state: &mut State, (repository, branch): (&str, &str), lines: &[u8]) -> (u16, Value) {
    let mut files = newest(state, repository, branch);
    for line in std::str::from_utf8(lines).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let value = &line["value"];
        let text = |name: &str| value[name].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
        match line["key"].as_str().unwrap() {
            "header" => {
                assert!(!text("summary").is_empty());
                if value["parentCommit"].as_str() != state.newest(repository, branch).map(String::as_str) {
                    return (412, json!({"error": "A commit has happened since."}));
                }
            }
            "file" => {
                assert_eq!(text("encoding"), "base64");
                files.insert(text("path"), STANDARD.decode(text("content")).unwrap());
            }
            "lfsFile" => {
                assert_eq!(text("algo"), "sha256");
                let oid = text("oid");
                assert!(state.received.verified.contains(&oid), "{oid} was not asked about");
                files.insert(text("path"), state.received.objects[&oid].clone());
            }
            other => panic!("{other}"),
        }
    }
    let commit = add(state, repository, branch, files);
    (200, json!({"success": true, "commitOid": commit, "commitUrl": "https://example.org/"}))
}

/// Where the files go.
pub(super) fn store(state: &Mutex<State>, mut request: Request) {
    let path = request.path.split('?').next().unwrap().to_owned();
    let (trouble, pace) = {
        let mut state = state.lock().unwrap();
        state.leaked |= request.headers.contains_key("authorization");
        state.received.open += 1;
        (state.received.trouble.pop_front(), state.pace)
    };
    let bytes = match trouble {
        // Some answer before they have read anything, and close.
        Some(Trouble::Cut(_)) => None,
        _ => body(&mut request, || std::thread::sleep(pace)),
    };
    let mut state = state.lock().unwrap();
    state.received.open -= 1;
    let Some(bytes) = bytes else { return };
    state.received.bytes += bytes.len();
    state.received.puts += 1;
    if let Some(Trouble::Refuse(status, headers)) = trouble {
        return refuse(&mut request.stream, status, headers);
    }
    let etag = format!("etag: {}\r\n", tag(&bytes));
    let status = match path.trim_start_matches('/').split('/').collect::<Vec<&str>>()[..] {
        ["whole", oid] => {
            assert_eq!(request.headers.get("x-grant").map(String::as_str), Some("yes"));
            keep(&mut state, oid, bytes).0
        }
        ["part", number, part] => {
            state.received.parts.entry(number.to_owned()).or_default().insert(part.parse().unwrap(), bytes);
            200
        }
        _ => 404,
    };
    reply(&mut request.stream, status, &etag, b"");
}
