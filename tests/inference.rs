//! Completions as an OpenAI client sees them: what they say, how they are streamed, what is refused, and what becomes
//! of them when jobs, clients or workers have other plans.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::{LazyLock, mpsc};
use std::time::Instant;

use common::{PATIENCE, Server, data_dir, signal, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";
const BUILTIN: &str = "builtin:arith-tiny";

/// One server for the tests that leave it as it is.
struct Shared {
    server: Server,
    /// A finished job, its steps and its checkpoints.
    job: String,
    steps: u64,
    inference: String,
    training: String,
    /// Of a rollout set at temperature 0.
    rollouts: Vec<Value>,
    /// A model with a chat template and a long context.
    long: String,
    _folder: TempDir,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let (folder, server, long) = start("cpu");
    let job = server.submit(&small_spec());
    let job = server.wait(&job);
    let inference = job["result"]["checkpoint"].as_str().unwrap().to_owned();
    let listed = server.get(&format!("/v1/jobs/{}/checkpoints", job["id"].as_str().unwrap())).json();
    let training = listed["data"].as_array().unwrap().iter().find(|row| row["kind"] == "training").unwrap();
    let training = training["id"].as_str().unwrap().to_owned();
    let rollouts = greedy_rollouts(&server);
    let (id, steps) = (job["id"].as_str().unwrap().to_owned(), job["steps"].as_u64().unwrap());
    Shared { server, job: id, steps, inference, training, rollouts, long, _folder: folder }
});

/// Greedy completions of the built-in model, made by a job. It runs before there are other requests, which it would
/// cut off.
fn greedy_rollouts(server: &Server) -> Vec<Value> {
    let spec = json!({"model": BUILTIN, "dataset": {"train": "builtin:arithmetic"}, "prompts": 12, "group_size": 1,
                      "sampling": {"temperature": 0, "max_new_tokens": 8}});
    let set = server.post("/v1/rollout-sets", &spec).json();
    assert_eq!(server.wait(set["job"].as_str().unwrap())["status"], "succeeded");
    let path = format!("/v1/rollout-sets/{}/rollouts?limit=100", set["id"].as_str().unwrap());
    let rollouts = server.get(&path).json()["data"].as_array().unwrap().clone();
    assert_eq!(rollouts.len(), 12);
    rollouts
}

fn server() -> &'static Server {
    &SHARED.server
}

/// A server of its own, with a model that can write for minutes.
fn start(devices: &str) -> (TempDir, Server, String) {
    let folder = data_dir();
    let import = folder.path().join("import");
    let model = import.join("long");
    write_long_model(&model);
    let arguments = ["--devices", devices, "--import-roots", import.to_str().unwrap()];
    let server = Server::start_with(&folder.path().join("data"), &arguments);
    let long = server.import(&json!({"path": model}))["id"].as_str().unwrap().to_owned();
    (folder, server, long)
}

/// The built-in model with a context of 32768 tokens, no end that it would choose, a tokenizer of its own, and a chat
/// template that takes the first message only from a user.
fn write_long_model(directory: &Path) {
    let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
    std::fs::create_dir_all(directory).unwrap();
    std::fs::copy(builtin.join("model.safetensors"), directory.join("model.safetensors")).unwrap();
    let read = |name: &str| std::fs::read_to_string(builtin.join(name)).unwrap();
    std::fs::write(directory.join("tokenizer.json"), format!("{}\n", read("tokenizer.json"))).unwrap();
    let mut config: Value = serde_json::from_str(&read("config.json")).unwrap();
    config["max_position_embeddings"] = json!(32768);
    config["eos_token_id"] = json!(31);
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
    let template = "{% if messages[0].role != 'user' %}{{ raise_exception('a user begins') }}{% endif %}\
                    {% for m in messages %}{{ m.content }}{% endfor %}=";
    std::fs::write(directory.join("chat_template.jinja"), template).unwrap();
}

/// A request that is not over when the test is.
fn long_request(model: &str) -> Value {
    json!({"model": model, "prompt": "12+7=", "max_tokens": 30000, "temperature": 0, "stream": true})
}

fn ask(path: &str, body: &Value) -> Value {
    let answer = server().post(path, body);
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()
}

/// The chunks of a stream, which ends with `[DONE]`.
fn chunks(server: &Server, path: &str, body: &Value) -> Vec<Value> {
    let mut body = body.clone();
    body["stream"] = json!(true);
    let data: Vec<String> = server.post_stream(path, &body).lines().map_while(Result::ok).filter_map(data).collect();
    let (last, chunks) = data.split_last().unwrap();
    assert_eq!(last, "[DONE]");
    chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect()
}

fn data(line: String) -> Option<String> {
    line.strip_prefix("data: ").map(str::to_owned)
}

/// Sends a request and leaves the connection as it is.
fn send(server: &Server, path: &str, body: &Value) -> TcpStream {
    let address = server.base.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    write!(connection, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    connection
}

/// Reads a stream up to its first piece of text.
fn await_text(reader: &mut impl BufRead) {
    let mut line = String::new();
    while !line.contains("\"text\":\"") || line.contains("\"text\":\"\"") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended before its first text");
    }
}

/// The code of the error with which a stream ends.
fn error_code(reader: impl BufRead) -> String {
    let last = reader.lines().map_while(Result::ok).filter_map(data).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert!(last["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{last}");
    last["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn the_built_in_model_answers_a_chat_and_a_prompt_alike() {
    let messages =
        json!([{"role": "user", "content": [{"type": "text", "text": "12+"}, {"type": "text", "text": "7="}]}]);
    let chat = ask(CHAT, &json!({"model": BUILTIN, "messages": messages, "temperature": 0}));
    assert!(chat["id"].as_str().unwrap().starts_with("chatcmpl-"), "{chat}");
    assert_eq!((&chat["object"], &chat["model"]), (&json!("chat.completion"), &json!(BUILTIN)));
    assert!(chat["created"].as_i64().unwrap() > 0 && chat["system_fingerprint"].as_str().unwrap().starts_with("fp_"));
    let choice = &chat["choices"][0];
    assert_eq!(
        (&choice["index"], &choice["finish_reason"], &choice["logprobs"]),
        (&json!(0), &json!("stop"), &json!(null))
    );
    assert_eq!(choice["message"]["role"], "assistant");

    let text = ask(TEXT, &json!({"model": BUILTIN, "prompt": "12+7=", "temperature": 0, "user": "me"}));
    assert!(text["id"].as_str().unwrap().starts_with("cmpl-"), "{text}");
    assert_eq!(text["object"], "text_completion");
    assert_eq!(text["choices"][0]["text"], choice["message"]["content"]);
    for answer in [&chat, &text] {
        let usage = &answer["usage"];
        assert_eq!(usage["prompt_tokens"], 5);
        let written = choice["message"]["content"].as_str().unwrap().len() as u64;
        assert_eq!(usage["completion_tokens"].as_u64(), Some(written + 1), "every character is a token, and the end");
        assert_eq!(usage["total_tokens"].as_u64(), Some(written + 6));
    }
}

#[test]
fn greedy_completions_are_those_of_a_rollout_set_with_its_log_probabilities() {
    let rollouts = &SHARED.rollouts;
    let prompts: Vec<&Value> = rollouts.iter().map(|rollout| &rollout["prompt"]).collect();
    let answer =
        ask(TEXT, &json!({"model": BUILTIN, "prompt": prompts, "temperature": 0, "max_tokens": 8, "logprobs": 0}));
    for (rollout, choice) in rollouts.iter().zip(answer["choices"].as_array().unwrap()) {
        assert_eq!(choice["text"], rollout["completion"]);
        assert_eq!(choice["finish_reason"], rollout["finish"]);
        let (mine, all) = (choice["logprobs"]["token_logprobs"].as_array().unwrap(), &rollout["logprobs"]);
        assert_eq!(mine[..], all.as_array().unwrap()[..mine.len()]);
        assert_eq!(mine.len(), choice["text"].as_str().unwrap().len());
    }
}

#[test]
fn a_stream_adds_up_to_the_whole_answer_of_the_same_seed() {
    let common = json!({"model": BUILTIN, "n": 3, "seed": 11, "temperature": 1.6, "max_tokens": 40, "stop": ["12", "9"],
                        "stream_options": {"include_usage": true}});
    let mut chat = common.clone();
    (chat["messages"], chat["logprobs"]) = (json!([{"role": "user", "content": "47+36="}]), json!(true));
    let mut text = common;
    (text["prompt"], text["logprobs"]) = (json!(["47+36=", "9-1="]), json!(0));
    let (mut chat_top, mut text_top) = (chat.clone(), text.clone());
    (chat_top["top_logprobs"], text_top["logprobs"]) = (json!(20), json!(3));
    for (path, body, count) in [(CHAT, &chat, 3), (TEXT, &text, 6), (CHAT, &chat_top, 3), (TEXT, &text_top, 6)] {
        let mut alone = body.clone();
        alone.as_object_mut().unwrap().remove("stream_options");
        let whole = ask(path, &alone);
        assert_eq!(ask(path, &alone)["choices"], whole["choices"], "equal seeds, equal answers");
        let chunks = chunks(server(), path, body);
        let (last, parts) = chunks.split_last().unwrap();
        assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &whole["usage"]));
        assert!(parts.iter().all(|part| part["usage"].is_null() && part["id"] == last["id"]));
        let expected = whole["choices"].as_array().unwrap();
        assert_eq!(expected.len(), count);
        for (index, expected) in expected.iter().enumerate() {
            let parts: Vec<&Value> =
                parts.iter().map(|part| &part["choices"][0]).filter(|part| part["index"] == index).collect();
            assert_eq!(parts.last().unwrap()["finish_reason"], expected["finish_reason"]);
            let lists = |key: &str, of: &Value| of["logprobs"][key].as_array().cloned().unwrap_or_default();
            let joined = |key: &str| parts.iter().flat_map(|part| lists(key, part)).collect::<Vec<_>>();
            let written =
                |part: &&Value| part["delta"]["content"].as_str().or(part["text"].as_str()).map(str::to_owned);
            let streamed: String = parts.iter().filter_map(written).collect();
            let (text, keys) = if path == CHAT {
                assert_eq!(parts[0]["delta"]["role"], "assistant");
                (&expected["message"]["content"], &["content"][..])
            } else {
                (&expected["text"], &["tokens", "token_logprobs", "text_offset", "top_logprobs"][..])
            };
            assert_eq!(*text, streamed);
            assert!(!streamed.contains("12") && !streamed.contains('9'), "{streamed}");
            for key in keys {
                assert_eq!(joined(key), lists(key, expected), "{key}");
            }
        }
    }
    let plain = chunks(server(), TEXT, &json!({"model": BUILTIN, "prompt": "1+1=", "max_tokens": 2}));
    assert!(plain.iter().all(|chunk| chunk.get("usage").is_none()), "{plain:?}");
}

#[test]
fn the_most_probable_tokens_stand_beside_those_that_were_drawn() {
    let mut body = json!({"model": BUILTIN, "messages": [{"role": "user", "content": "47+36="}], "seed": 3, "n": 4,
                          "temperature": 1.3, "top_p": 0.95, "max_tokens": 12, "logprobs": true});
    let plain = ask(CHAT, &body);
    body["top_logprobs"] = json!(20);
    let listed = ask(CHAT, &body);
    for (choice, plain) in listed["choices"].as_array().unwrap().iter().zip(plain["choices"].as_array().unwrap()) {
        assert_eq!(choice["message"], plain["message"], "to be asked for alternatives changes nothing");
        let places = choice["logprobs"]["content"].as_array().unwrap();
        assert_eq!(places.len(), plain["logprobs"]["content"].as_array().unwrap().len());
        for place in places {
            let top = place["top_logprobs"].as_array().unwrap();
            let logprobs: Vec<f64> = top.iter().map(|one| one["logprob"].as_f64().unwrap()).collect();
            assert!(logprobs.is_sorted_by(|a, b| a >= b) && logprobs.len() <= 20, "{top:?}");
            let drawn = top.iter().find(|one| one["token"] == place["token"]).unwrap();
            assert_eq!(drawn["logprob"], place["logprob"], "to the last bit");
        }
    }
    let whole: f64 = listed["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["logprob"].as_f64().unwrap().exp())
        .sum();
    assert!((whole - 1.0).abs() < 1e-5, "what top_p leaves is all there is: {whole}");
}

#[test]
fn a_completion_ends_at_a_stop_text_or_at_its_length() {
    let whole = ask(TEXT, &json!({"model": BUILTIN, "prompt": "47+36=", "temperature": 0}));
    let text = whole["choices"][0]["text"].as_str().unwrap().to_owned();
    let (first, second) = text.split_at(1);
    let before = text.split(second).next().unwrap();
    let stopped = ask(TEXT, &json!({"model": BUILTIN, "prompt": "47+36=", "temperature": 0, "stop": second}));
    assert_eq!(
        (&stopped["choices"][0]["text"], &stopped["choices"][0]["finish_reason"]),
        (&json!(before), &json!("stop"))
    );
    let short = ask(TEXT, &json!({"model": BUILTIN, "prompt": "47+36=", "temperature": 0, "max_tokens": 1}));
    assert_eq!(
        (&short["choices"][0]["text"], &short["choices"][0]["finish_reason"]),
        (&json!(first), &json!("length"))
    );
    assert_eq!(short["usage"]["completion_tokens"], 1);
    // Without a limit of its own a completion may have 256 tokens, and never more than fit into the context.
    let long = ask(TEXT, &json!({"model": SHARED.long, "prompt": "1+", "temperature": 0}));
    assert_eq!(
        (&long["usage"]["completion_tokens"], &long["choices"][0]["finish_reason"]),
        (&json!(256), &json!("length"))
    );
}

#[test]
fn finished_checkpoints_answer_by_either_name_and_others_are_not_found() {
    let body = |model: &str| json!({"model": model, "prompt": "12+7=", "temperature": 0});
    let one = ask(TEXT, &body(&SHARED.inference));
    let name = format!("ft:builtin:arith-tiny:small:{}", SHARED.inference);
    let other = ask(TEXT, &body(&name));
    for after_its_job in [format!("ft:{}", SHARED.job), format!("ft:arith-tiny:{}:step-{}", SHARED.job, SHARED.steps)] {
        assert_eq!(ask(TEXT, &body(&after_its_job))["choices"], one["choices"], "{after_its_job}");
        let row = server().get(&format!("/v1/checkpoints/{after_its_job}")).json();
        assert_eq!(row["id"], SHARED.inference.as_str());
    }
    assert_eq!(server().get(&format!("/v1/checkpoints/ft:{}:step-99", SHARED.job)).status, 404);
    assert_eq!((&other["choices"], &other["model"]), (&one["choices"], &json!(name)));
    assert_eq!(other["system_fingerprint"], one["system_fingerprint"]);
    assert_ne!(ask(TEXT, &body(BUILTIN))["system_fingerprint"], one["system_fingerprint"]);
    let chat = json!({"model": SHARED.inference, "messages": [{"role": "user", "content": "12+7="}], "temperature": 0});
    assert_eq!(ask(CHAT, &chat)["choices"][0]["message"]["content"], one["choices"][0]["text"]);

    let foreign = "ckpt_00000000000070008000000000000000";
    for model in ["gpt-4o", &SHARED.training, foreign, &format!("ft:x:{foreign}"), "../models", "ft:builtin:arith-tiny"]
    {
        let answer = server().post(TEXT, &body(model));
        assert_eq!((answer.status, answer.problem().as_str()), (404, "model_not_found"), "{model}");
        assert_eq!(answer.json()["error"]["param"], "model");
    }
}

#[test]
fn a_chat_template_makes_the_prompt_and_its_refusal_reaches_the_client() {
    let say = |role: &str, content: &str| json!({"role": role, "content": content});
    let chat = |messages: Value| json!({"model": SHARED.long, "messages": messages, "temperature": 0, "max_tokens": 5});
    let answer = ask(CHAT, &chat(json!([say("user", "12"), say("assistant", "+"), say("user", "7")])));
    let plain = json!({"model": SHARED.long, "prompt": "12+7=", "temperature": 0, "max_tokens": 5});
    assert_eq!(answer["choices"][0]["message"]["content"], ask(TEXT, &plain)["choices"][0]["text"]);

    let builtin = json!({"model": BUILTIN, "messages": [say("system", "Add."), say("user", "1+1=")]});
    let developer = chat(json!([say("developer", "Add.")]));
    for (body, code, words) in [
        (&developer, "chat_template_failed", "a user begins"),
        (&builtin, "chat_template_missing", "single user message"),
    ] {
        let answer = server().post(CHAT, body);
        assert_eq!((answer.status, answer.problem().as_str()), (400, code));
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(words), "{}", answer.json());
        assert_eq!(answer.json()["error"]["param"], "messages");
    }
}

#[test]
fn an_echoed_prompt_comes_with_its_tokens_whole_and_in_a_stream() {
    let body = json!({"model": BUILTIN, "prompt": ["12+7=", "3+4="], "echo": true, "logprobs": 1, "max_tokens": 2, "temperature": 0});
    let whole = server().post(TEXT, &body).json();
    for (place, prompt) in ["12+7=", "3+4="].into_iter().enumerate() {
        let choice = &whole["choices"][place];
        assert!(choice["text"].as_str().unwrap().starts_with(prompt), "{choice}");
        let lists = &choice["logprobs"];
        let tokens: Vec<&str> = lists["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        assert_eq!(tokens[..prompt.len()].concat(), prompt);
        let logprobs = lists["token_logprobs"].as_array().unwrap();
        assert_eq!((&logprobs[0], &lists["top_logprobs"][0]), (&Value::Null, &Value::Null));
        assert!(logprobs[1..].iter().all(|logprob| logprob.as_f64() <= Some(0.0)), "{lists}");
        assert_eq!((lists["top_logprobs"].as_array().unwrap().len(), logprobs.len()), (tokens.len(), tokens.len()));
        assert_eq!(lists["text_offset"][1], 1);
    }
    assert_eq!(whole["usage"]["prompt_tokens"], 9);
    // The same prompt in tokens, and nothing but the prompt.
    let only = json!({"model": BUILTIN, "prompt": "12+7=", "echo": true, "max_tokens": 0});
    let answer = server().post(TEXT, &only).json();
    assert_eq!(
        (&answer["choices"][0]["text"], &answer["choices"][0]["finish_reason"]),
        (&json!("12+7="), &json!("length"))
    );
    let unknown = server().post(TEXT, &json!({"model": BUILTIN, "prompt": [99]}));
    assert_eq!((unknown.status, unknown.problem().as_str()), (400, "token_unknown"));
}

#[test]
fn what_is_not_supported_or_out_of_range_is_refused_by_name() {
    let text = |field: &str, value: &Value| {
        let mut body = json!({"model": BUILTIN, "prompt": "1+1="});
        body[field] = value.clone();
        (TEXT, body)
    };
    let chat = |field: &str, value: &Value| {
        let mut body = json!({"model": BUILTIN, "messages": [{"role": "user", "content": "1+1="}]});
        body[field] = value.clone();
        (CHAT, body)
    };
    let tool = json!([{"type": "function", "function": {"name": "add"}}]);
    let unsupported = [
        (chat("tools", &tool), "tools"),
        (chat("response_format", &json!({"type": "json_object"})), "response_format"),
        (chat("frequency_penalty", &json!(0.1)), "frequency_penalty"),
        (text("presence_penalty", &json!(-1)), "presence_penalty"),
        (text("best_of", &json!(2)), "best_of"),
    ];
    let invalid = [
        (chat("top_logprobs", &json!(2)), "top_logprobs"),
        (chat("top_logprobs", &json!(21)), "top_logprobs"),
        (text("logprobs", &json!(21)), "logprobs"),
        (text("n", &json!(9)), "n"),
        (text("max_tokens", &json!(0)), "max_tokens"),
        (text("temperature", &json!(2.5)), "temperature"),
        (text("top_p", &json!(1.5)), "top_p"),
        (text("stop", &json!(["a", "b", "c", "d", "e"])), "stop"),
        (text("stop", &json!("")), "stop"),
        (text("stop", &json!(3)), "stop"),
        (text("prompt", &json!([1, -2])), "prompt"),
        (text("prompt", &json!([[1], "a"])), "prompt"),
        (text("echo", &json!("yes")), "echo"),
        (text("prompt", &json!([])), "prompt"),
        (text("stream_options", &json!({"include_usage": true})), "stream_options"),
        (text("grammar", &json!("root")), "grammar"),
        (text("seed", &json!("x")), "seed"),
        (chat("messages", &json!([])), "messages"),
        (chat("messages", &json!([{"role": "tool", "content": "x"}])), "messages.0.role"),
        (chat("messages", &json!([{"role": "user", "content": 1}])), "messages.0.content"),
    ];
    let cases = unsupported.iter().map(|case| (case, "unsupported_parameter"));
    for (((path, body), param), code) in cases.chain(invalid.iter().map(|case| (case, "invalid_request"))) {
        let answer = server().post(path, body);
        assert_eq!((answer.status, answer.problem().as_str()), (400, code), "{body}: {}", answer.json());
        assert_eq!(answer.json()["error"]["param"], *param, "{body}");
    }
    for (prompt, code) in [("1+".repeat(200), "context_length_exceeded"), (String::new(), "prompt_empty")] {
        let answer = server().post(TEXT, &json!({"model": BUILTIN, "prompt": prompt, "stream": true}));
        assert_eq!((answer.status, answer.problem().as_str()), (400, code));
        assert_eq!(answer.json()["error"]["param"], "prompt");
    }
    // What asks for nothing is no mistake.
    let idle = json!({"model": BUILTIN, "messages": [{"role": "user", "content": "1+1=", "name": "a", "tool_calls": null}],
                      "tools": [], "frequency_penalty": 0, "response_format": {"type": "text"}, "top_logprobs": 0,
                      "logit_bias": null, "metadata": {"a": "b"}, "store": false, "max_completion_tokens": 3});
    ask(CHAT, &idle);
    let large = json!({"model": BUILTIN, "prompt": "1".repeat(1 << 20)});
    assert_eq!(server().post(TEXT, &large).status, 413);
}

#[test]
fn a_job_that_comes_cuts_a_request_off_and_while_it_runs_no_device_is_idle() {
    let (_folder, server, long) = start("cpu");
    let mut stream = server.post_stream(TEXT, &long_request(&long));
    await_text(&mut stream);
    let mut spec = small_spec();
    (spec["train"]["steps"], spec["objective"]["rounds"]) = (json!(5000), json!(1000));
    let job = server.submit(&spec);
    assert_eq!(error_code(stream), "preempted");
    server.wait_until(&job, |job| job["status"] == "running");
    let refused = server.post(TEXT, &json!({"model": BUILTIN, "prompt": "1+1="}));
    assert_eq!((refused.status, refused.problem().as_str()), (503, "no_idle_device"));
    assert!(refused.json()["detail"].as_str().unwrap().contains("cpu is busy"), "{}", refused.json());
    assert_eq!((refused.header("retry-after"), refused.header("x-should-retry")), ("5", "true"));
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(server.wait(&job)["status"], "cancelled");
    assert_eq!(server.post(TEXT, &json!({"model": BUILTIN, "prompt": "1+1="})).status, 200);
}

#[test]
fn a_client_that_leaves_frees_the_worker_and_too_many_that_wait_are_refused() {
    let (_folder, server, long) = start("cpu");
    let body = long_request(&long);
    let mut stream = BufReader::new(send(&server, TEXT, &body));
    await_text(&mut stream);
    // Sixteen may wait behind the one that is answered.
    let (refusals, inbox) = mpsc::channel();
    let mut connections = Vec::new();
    for _ in 0..19 {
        let connection = send(&server, TEXT, &body);
        connections.push(connection.try_clone().unwrap());
        let refusals = refusals.clone();
        std::thread::spawn(move || {
            let mut text = String::new();
            BufReader::new(connection).read_line(&mut text).ok();
            refusals.send(text).ok();
        });
    }
    for _ in 0..3 {
        let status = inbox.recv_timeout(PATIENCE).unwrap();
        assert!(status.starts_with("HTTP/1.1 429"), "{status}");
    }
    for connection in connections {
        connection.shutdown(Shutdown::Both).unwrap();
    }
    drop(stream);
    // A busy server takes a moment to see that they have left.
    let deadline = Instant::now() + PATIENCE;
    let ask = || server.post(TEXT, &json!({"model": BUILTIN, "prompt": "1+1="}));
    let mut answer = ask();
    while answer.status == 429 && Instant::now() < deadline {
        answer = ask();
    }
    assert_eq!(answer.status, 200, "{}", answer.json());
}

#[test]
fn a_worker_that_dies_ends_its_requests_with_an_error_and_the_next_one_answers() {
    let (_folder, server, long) = start("cpu");
    let mut stream = server.post_stream(TEXT, &long_request(&long));
    await_text(&mut stream);
    signal(server.worker_pid(), "KILL");
    assert_eq!(error_code(stream), "worker_lost");

    let deadline = Instant::now() + PATIENCE;
    while server.post(TEXT, &json!({"model": BUILTIN, "prompt": "1+1="})).status != 200 {
        assert!(Instant::now() < deadline, "no worker answers");
    }
}

#[test]
fn a_server_that_ends_does_not_wait_for_an_answer() {
    let (_folder, server, long) = start("cpu");
    let mut stream = BufReader::new(send(&server, TEXT, &long_request(&long)));
    await_text(&mut stream);
    server.terminate();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).ok();
    assert!(rest.contains("shutting_down"), "{}", &rest[rest.len().saturating_sub(300)..]);
}
