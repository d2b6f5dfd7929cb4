//! Sampler and trainer are the same engine: the log-probabilities that a completion was drawn with are, bit for bit,
//! those that the trainer computes of it, whatever ran beside it in either, in f32 and in bf16.

use std::path::Path;
use std::sync::Arc;

use anneal::engine::batch::{Sequence, pack};
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::gemm::Precision;
use anneal::engine::kernels::{Instructions, instructions};
use anneal::engine::learn::Learner;
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::ops::fallback;
use anneal::engine::random::{Purpose, Stream};
use anneal::engine::rows::Packed;
use anneal::engine::sampler::{Completion, Request, Sampler};
use anneal::job::spec::{SamplingSpec, TrainSpec};
use anneal::modelfile::families::FAMILIES;
use anneal::modelfile::{Inspection, ModelConfig, inspect};
use anneal::objective;
use anneal::text::tokenizer::TextTokenizer;
use serde_json::{Value, json};

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::Bf16];

/// What families have beside the sizes of all.
fn families() -> Vec<(&'static str, Value)> {
    let experts = json!({
        "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 19, "norm_topk_prob": true,
        "mlp_only_layers": [1],
    });
    let multipliers = json!({
        "attention_multiplier": 0.2, "embedding_multiplier": 3.0, "logits_scaling": 2.0, "residual_multiplier": 0.5,
        "attention_bias": true, "mlp_bias": true,
    });
    vec![
        ("llama", json!({})),
        ("mistral", json!({"sliding_window": 13})),
        ("qwen2", json!({"use_sliding_window": true, "sliding_window": 20, "max_window_layers": 1})),
        ("qwen3", json!({})),
        ("qwen3_moe", experts),
        ("smollm3", json!({"no_rope_layer_interval": 2})),
        ("olmo2", json!({})),
        ("gemma3_text", json!({"sliding_window": 17, "sliding_window_pattern": 2})),
        ("phi3", json!({"partial_rotary_factor": 0.4})),
        ("granite", multipliers),
    ]
}

#[test]
fn no_family_is_left_out() {
    let tried: Vec<&str> = families().iter().map(|(family, _)| *family).collect();
    FAMILIES.iter().for_each(|family| assert!(tried.contains(&family.name), "{}", family.name));
}

/// The built-in model, and random ones of every family with grouped heads and odd widths.
fn models() -> Vec<(Inspection, Arc<Weights>)> {
    let mut builtin = inspect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny")).unwrap();
    // Now and then a completion ends by itself; the built-in model's would all be short.
    builtin.config.eos_token_ids = vec![3];
    let trained = Weights::load(&builtin).unwrap();
    let random = families().into_iter().map(|(family, members)| {
        let mut config = json!({
            "model_type": family, "vocab_size": builtin.config.vocab_size, "hidden_size": 74, "intermediate_size": 101,
            "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 22,
            "max_position_embeddings": 256, "tie_word_embeddings": true, "eos_token_id": 3,
        });
        config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let odd = Inspection { config: ModelConfig::from_hf(&config, None).unwrap(), ..builtin.clone() };
        let weights = Weights::random(&odd.config, 5).unwrap();
        // Larger weights than a start from scratch has, so that what was read before decides what comes next.
        (0..weights.count()).for_each(|index| weights.values_mut(index).iter_mut().for_each(|x| *x *= 3.0));
        (odd, Arc::new(weights))
    });
    [(builtin.clone(), Arc::new(trained))].into_iter().chain(random.collect::<Vec<_>>()).collect()
}

/// Prompts of several lengths, several completions each.
fn requests(tokenizer: &TextTokenizer) -> Vec<Request> {
    let texts = ["1+1=", "47+36=", "901-13=", "12+7=19 47+36=83 901-13="];
    let mut requests = Vec::new();
    for (prompt, text) in texts.iter().enumerate() {
        let tokens: Arc<[u32]> = tokenizer.encode(text).unwrap().into();
        let of = |sample| Request { prompt: prompt as u64, sample, tokens: Arc::clone(&tokens) };
        requests.extend((0..9).map(of));
    }
    requests
}

fn sample(decoder: &Decoder, tokenizer: &TextTokenizer, requests: &[Request], batch_size: u32) -> Vec<Completion> {
    let spec = SamplingSpec { max_new_tokens: 30, batch_size, ..SamplingSpec::default() };
    let stream = Stream::new(3, Purpose::Rollout, 0);
    Sampler { decoder, tokenizer, spec: &spec, stream }.run(requests, |_| Ok(())).unwrap()
}

fn sequences(requests: &[Request], completions: &[Completion]) -> Vec<Sequence> {
    let each = requests.iter().zip(completions);
    each.map(|(request, completion)| Sequence {
        prompt: Arc::clone(&request.tokens),
        completion: completion.tokens.clone(),
        loss_mask: Vec::new(),
        credit: 1.0,
        behavior_logprobs: completion.behavior_logprobs.clone(),
        reference_logprobs: Vec::new(),
    })
    .collect()
}

/// The trainer's log-probabilities, in micro-batches of at most so many tokens.
fn trained(decoder: &Decoder, sequences: &[Sequence], tokens: usize) -> Vec<f32> {
    let mut all = Vec::new();
    for batch in pack(sequences, tokens) {
        let pass = decoder.pass(batch.packed(), false).unwrap();
        all.extend(decoder.read_off(pass.hidden(), &batch.target_rows, &batch.targets, None).unwrap().reading.logprobs);
    }
    all
}

#[test]
fn the_trainer_reproduces_what_the_sampler_recorded() {
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let requests = requests(&tokenizer);
        for precision in PRECISIONS {
            let decoder = Decoder::new(Arc::clone(&weights), precision).unwrap();
            let completions = sample(&decoder, &tokenizer, &requests, 32);
            assert!(completions.iter().any(|c| c.tokens.len() > 16), "completions reach a second block");
            for batch_size in [1, 7] {
                assert_eq!(sample(&decoder, &tokenizer, &requests, batch_size), completions, "{batch_size}");
            }
            let sequences = sequences(&requests, &completions);
            let recorded: Vec<f32> = sequences.iter().flat_map(|s| s.behavior_logprobs.clone()).collect();
            for tokens in [1, 100, 1 << 20] {
                assert_eq!(trained(&decoder, &sequences, tokens), recorded, "{precision:?} in batches of {tokens}");
            }
        }
    }
}

/// What follows a sequence, as padding does, changes nothing before it.
#[test]
fn padding_changes_no_bit() {
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let tokens = tokenizer.encode("12+7=19 47+36=").unwrap();
        for precision in PRECISIONS {
            let decoder = Decoder::new(Arc::clone(&weights), precision).unwrap();
            let hidden = |padding: usize| {
                let tokens: Vec<u32> = tokens.iter().copied().chain(std::iter::repeat_n(0, padding)).collect();
                let positions: Vec<u32> = (0..tokens.len() as u32).collect();
                let boundaries = [0, tokens.len()];
                let packed = Packed { tokens: &tokens, positions: &positions, boundaries: &boundaries };
                decoder.hidden(packed).unwrap()[..decoder.config().hidden_size * (tokens.len() - padding)].to_vec()
            };
            let alone = hidden(0);
            assert!([1, 5, 40].iter().all(|padding| hidden(*padding) == alone));
        }
    }
}

/// Keeping activations or computing them again, and where a batch is cut, changes no bit of an f32 gradient but through
/// the order in which a tied head and the embedding add up.
#[test]
fn recomputing_and_cutting_change_no_bit_of_a_gradient() {
    let spec = json!({"type": "sft"});
    let objective = objective::Config::parse(&spec, "/objective").unwrap().build(&TrainSpec::default());
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let requests = requests(&tokenizer);
        let head = weights.index("model.embed_tokens.weight").unwrap();
        for precision in PRECISIONS {
            let decoder = Decoder::new(Arc::clone(&weights), precision).unwrap();
            let sequences = sequences(&requests, &sample(&decoder, &tokenizer, &requests, 32));
            let gradient = |recompute: bool, tokens: usize| {
                let mut sums = GradientSum::default();
                let learner = Learner { decoder: &decoder, teacher: None, recompute, balance: 0.01 };
                for batch in pack(&sequences, tokens) {
                    learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap();
                }
                (0..weights.count()).map(|index| sums.get(index).unwrap().to_vec()).collect::<Vec<_>>()
            };
            let whole = gradient(false, 1 << 20);
            assert!(whole.iter().all(|sum| sum.iter().any(|g| *g != 0.0)), "every weight gets a gradient");
            assert!(whole == gradient(true, 1 << 20), "{precision:?} recomputed");
            if precision == Precision::F32 {
                let cut = gradient(false, 150);
                let same = |index: usize| whole[index] == cut[index] || index == head;
                assert!((0..weights.count()).all(same), "in micro-batches");
            }
        }
    }
    if instructions() == Instructions::Avx512Bf16 {
        assert_eq!(fallback::list(), [], "no operation took a slow way");
    }
}
