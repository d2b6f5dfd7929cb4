//! What jobs are said to need of memory before they run, beside what their processes held at most: never less than that,
//! and not much more. The kinds of jobs differ in what they keep: optimizers, adapters, codes, references, teachers.

mod common;
#[path = "common/gguf.rs"]
mod gguf;

use std::path::Path;
use std::{env, fs};

use common::{Server, data_dir};
use gguf::GgufFile;
use serde_json::{Map, Value, json};

const HIDDEN: usize = 512;
const INNER: usize = 1536;
const LAYERS: usize = 6;
const KEY_VALUE: usize = 256;
const VOCABULARY: usize = 16_384;

/// How much more than the peak an estimate may be.
const MOST_ABOVE: f64 = 1.12;

/// A kind of job: its name, the model, and what is different from the usual spec.
type Kind = (&'static str, &'static str, Value);

/// The kinds that are tried unless all are asked for (`ANNEAL_KINDS=all`, as scripts/full_check.sh does), or one by its name.
const USUAL: [&str; 4] =
    ["sft, recompute, bf16", "grpo", "adapter beside codes of 8 bits, bf16", "grpo, adapter beside a GGUF file"];

/// The names and shapes of a decoder of some 28 million parameters.
fn shapes() -> Vec<(String, [String; 2], Vec<usize>)> {
    let mut all = vec![
        (
            String::from("embed"),
            ["model.embed_tokens.weight".into(), "token_embd.weight".into()],
            vec![VOCABULARY, HIDDEN],
        ),
        (String::from("norm"), ["model.norm.weight".into(), "output_norm.weight".into()], vec![HIDDEN]),
    ];
    for layer in 0..LAYERS {
        for (here, there, shape) in [
            ("input_layernorm", "attn_norm", vec![HIDDEN]),
            ("self_attn.q_proj", "attn_q", vec![HIDDEN, HIDDEN]),
            ("self_attn.k_proj", "attn_k", vec![KEY_VALUE, HIDDEN]),
            ("self_attn.v_proj", "attn_v", vec![KEY_VALUE, HIDDEN]),
            ("self_attn.o_proj", "attn_output", vec![HIDDEN, HIDDEN]),
            ("post_attention_layernorm", "ffn_norm", vec![HIDDEN]),
            ("mlp.gate_proj", "ffn_gate", vec![INNER, HIDDEN]),
            ("mlp.up_proj", "ffn_up", vec![INNER, HIDDEN]),
            ("mlp.down_proj", "ffn_down", vec![HIDDEN, INNER]),
        ] {
            let names = [format!("model.layers.{layer}.{here}.weight"), format!("blk.{layer}.{there}.weight")];
            all.push((String::from(here), names, shape));
        }
    }
    all
}

/// Numbers about zero, and ones for norms.
fn numbers(shape: &[usize], number: usize) -> Vec<f32> {
    let mut state = number as u64 + 1;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.08
    };
    let count = shape.iter().product();
    if shape.len() == 1 { vec![1.0; count] } else { (0..count).map(|_| draw()).collect() }
}

fn members() -> Value {
    json!({
        "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64, "rms_norm_eps": 1e-6,
        "max_position_embeddings": 2048, "rope_theta": 10000.0,
    })
}

/// The built-in tokens, and others behind them.
fn tokens() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny/tokenizer.json");
    let known: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut tokens = vec![String::new(); VOCABULARY];
    for (token, id) in known["model"]["vocab"].as_object().unwrap() {
        tokens[id.as_u64().unwrap() as usize] = token.clone();
    }
    tokens
        .iter_mut()
        .enumerate()
        .filter(|(_, token)| token.is_empty())
        .for_each(|(id, token)| *token = format!("w{id}"));
    tokens
}

/// Writes the model in the layout of Hugging Face.
fn write_whole(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let mut config = members();
    for (member, value) in [
        ("architectures", json!(["LlamaForCausalLM"])),
        ("model_type", json!("llama")),
        ("tie_word_embeddings", json!(true)),
        ("hidden_act", json!("silu")),
        ("eos_token_id", json!(1)),
    ] {
        config[member] = value;
    }
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny/tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let vocabulary: Map<String, Value> = tokens().into_iter().zip(0..).map(|(token, id)| (token, json!(id))).collect();
    tokenizer["model"]["vocab"] = Value::Object(vocabulary);
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let (mut header, mut data) = (Map::new(), Vec::new());
    for (number, (_, [name, _], shape)) in shapes().into_iter().enumerate() {
        let begin = data.len();
        numbers(&shape, number).into_iter().for_each(|value| data.extend(value.to_le_bytes()));
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]}));
    }
    let header = Value::Object(header).to_string();
    let whole = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat();
    fs::write(folder.join("model.safetensors"), whole).unwrap();
}

/// Writes it as GGUF, with matrices in codes of 8 bits.
fn write_coded(path: &Path) {
    let mut file = GgufFile::quantised();
    file.configuration("llama", &members());
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "gpt-2");
    file.integers("tokenizer.ggml.token_type", &vec![1; VOCABULARY]);
    file.texts("tokenizer.ggml.merges", &[]);
    file.number("tokenizer.ggml.eos_token_id", &json!(1));
    file.texts("tokenizer.ggml.tokens", &tokens());
    for (number, (_, [_, name], shape)) in shapes().into_iter().enumerate() {
        let values = numbers(&shape, number);
        file.tensors.push((name, shape, values));
    }
    fs::write(path, file.bytes()).unwrap();
}

fn kinds() -> Vec<Kind> {
    let grpo = json!({"type": "grpo", "group_size": 4});
    let lora = json!({"type": "lora", "rank": 16});
    vec![
        ("sft", "whole", json!({})),
        ("sft, recompute, bf16", "whole", json!({"train": {"recompute": true, "precision": "bf16"}})),
        ("sft, 8-bit moments", "whole", json!({"optimizer": {"state": "int8"}})),
        ("sft, muon", "whole", json!({"optimizer": {"type": "muon", "learning_rate": 0.0003}})),
        ("sft, weights in bf16", "whole", json!({"optimizer": {"masters": "bf16"}, "train": {"precision": "bf16"}})),
        ("grpo", "whole", json!({"objective": grpo, "dataset": {"train": "builtin:arithmetic"}})),
        (
            "grpo with a reference",
            "whole",
            json!({"objective": grpo, "train": {"track_reference": true}, "dataset": {"train": "builtin:arithmetic"}}),
        ),
        (
            "grpo, a phase ahead",
            "whole",
            json!({"objective": grpo, "train": {"max_lag": 1, "steps": 4}, "dataset": {"train": "builtin:arithmetic"}}),
        ),
        (
            "p3o, sampling in 8 bits",
            "whole",
            json!({
                "objective": {"type": "p3o", "group_size": 4}, "sampling": {"weights": "int8"},
                "dataset": {"train": "builtin:arithmetic"},
            }),
        ),
        (
            "grpo, keys and values in bf16",
            "whole",
            json!({"objective": grpo, "sampling": {"cache": "bf16"}, "dataset": {"train": "builtin:arithmetic"}}),
        ),
        ("adapter", "whole", json!({"adapter": lora})),
        (
            "adapter beside codes of 8 bits, bf16",
            "whole",
            json!({"adapter": {"type": "lora", "rank": 16, "quantize": "int8"}, "train": {"precision": "bf16"}}),
        ),
        (
            "grpo, adapter beside a GGUF file",
            "coded",
            json!({"adapter": lora, "objective": grpo, "dataset": {"train": "builtin:arithmetic"}}),
        ),
        (
            "vopd with a teacher",
            "whole",
            json!({
                "objective": {"type": "vopd", "group_size": 4, "teacher": "{whole}"},
                "dataset": {"train": "builtin:arithmetic"},
            }),
        ),
    ]
}

/// The members of `other` in the place of those of `spec`, or in them.
fn merge(spec: &mut Value, other: &Value) {
    match (spec, other) {
        (Value::Object(own), Value::Object(other)) if !other.contains_key("type") => {
            for (key, value) in other {
                merge(own.entry(key).or_insert(Value::Null), value);
            }
        }
        (own, other) => *own = other.clone(),
    }
}

/// The rows of completions for `sft`, each of some hundred tokens.
fn rows() -> String {
    let text = |row: usize| (0..100).map(|at| char::from(b'0' + ((row * 7 + at * 3) % 10) as u8)).collect::<String>();
    (0..64).map(|row| json!({"prompt": format!("{row}+{row}="), "completion": text(row)}).to_string() + "\n").collect()
}

/// What the process holds now, and at most since it was asked to forget.
fn held(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// The last value of a metric.
fn last(server: &Server, job: &Value, name: &str) -> f64 {
    let all = server.get(&format!("/v1/jobs/{}/metrics?keys={name}", job["id"].as_str().unwrap())).json();
    all["series"][0]["values"].as_array().and_then(|values| values.last()?.as_f64()).unwrap_or_else(|| panic!("{all}"))
}

#[test]
fn jobs_take_what_their_plans_say() {
    let asked = env::var("ANNEAL_KINDS").ok();
    let is_tried = |name| match asked.as_deref() {
        None => USUAL.contains(&name),
        Some(asked) => asked == "all" || asked == name,
    };
    let data = data_dir();
    let models = data.path().join("models-to-import");
    write_whole(&models.join("whole"));
    write_coded(&models.join("coded.gguf"));
    let folder = data.path().join("data");
    let start = || Server::start_with(&folder, &["--import-roots", models.to_str().unwrap()]);
    let mut ids = Map::new();
    {
        let server = start();
        for (name, path) in [("whole", "whole"), ("coded", "coded.gguf")] {
            let model = server.import(&json!({"path": models.join(path)}));
            assert_eq!(model["status"], "ready", "{model}");
            ids.insert(name.to_owned(), model["id"].clone());
        }
        let answer =
            server.post_bytes("/v1/datasets?name=rows", rows().as_bytes(), &[("content-type", "application/jsonl")]);
        assert_eq!(answer.status, 201, "{}", answer.json());
        ids.insert(String::from("rows"), answer.json()["id"].clone());
    }
    let mut found = Vec::new();
    for (name, model, change) in kinds() {
        if !is_tried(name) {
            continue;
        }
        // A step of two passes, or of three.
        let prompts = if change["objective"].is_null() { 16 } else { 7 };
        let mut spec = json!({
            "model": ids[model], "objective": {"type": "sft"}, "dataset": {"train": ids["rows"]},
            "verifier": {"type": "regex", "pattern": "[02468]$"},
            "sampling": {"max_new_tokens": 96, "batch_size": 32}, "optimizer": {"learning_rate": 0.0001},
            "train": {"steps": 2, "prompts_per_step": prompts, "micro_batch_tokens": 1024}, "seed": 3,
            "eval": {"prompts": 4, "samples": 4, "pass_at": [1], "before": false},
        });
        merge(&mut spec, &change);
        if spec["objective"]["type"] == "sft" {
            spec.as_object_mut().unwrap().remove("verifier");
        }
        let spec = serde_json::from_str(&spec.to_string().replace("{whole}", ids["whole"].as_str().unwrap())).unwrap();
        // A process of its own, which begins with nothing kept.
        let server = start();
        let plan = server.post("/v1/jobs?dry_run=preflight", &spec).json();
        let need = plan["plan"]["memory_bytes"].as_u64().unwrap_or_else(|| panic!("{plan}"));
        let pid = server.worker_pid();
        let job = server.wait(&server.submit(&spec));
        assert_eq!(job["status"], "succeeded", "{name}: {job}");
        let peak = held(pid, "VmHWM:");
        let reported = last(&server, &job, "memory/peak_bytes");
        assert!(reported <= peak as f64 && reported > 0.8 * peak as f64, "{name}: {reported} of {peak}");
        let after = held(pid, "VmRSS:");
        assert!(after < peak / 2, "{name}: {after} of {peak} bytes are not given back");
        println!("{name}: {} MiB planned, {} MiB held, {} MiB behind it", need >> 20, peak >> 20, after >> 20);
        println!("  {}", plan["plan"]["memory"]);
        found.push((name, need as f64 / peak as f64));
    }
    assert!(!found.is_empty());
    let bad: Vec<_> = found.iter().filter(|(_, ratio)| *ratio < 1.0 || *ratio > MOST_ABOVE).collect();
    assert!(bad.is_empty(), "planned in proportion to what was held: {bad:?} of {found:?}");
}
