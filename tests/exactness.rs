//! Sampler and trainer are the same engine: the log-probabilities that a completion was drawn with are, bit for bit,
//! those that the trainer computes of it, whatever ran beside it in either, in f32 and in bf16.

use std::path::Path;
use std::sync::Arc;

use anneal::engine::EngineError;
use anneal::engine::backend::{Tensors, Usage};
use anneal::engine::batch::{Sequence, pack};
use anneal::engine::cpu::Cpu;
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::gemm::Precision;
use anneal::engine::kernels::{Instructions, instructions};
use anneal::engine::learn::Learner;
use anneal::engine::model::adapter::{Adapter, Origin};
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::ops::fallback;
use anneal::engine::random::{Purpose, Stream};
use anneal::engine::rows::Packed;
use anneal::engine::sampler::{Completion, Request, Sampler};
use anneal::job::adapter::{AdapterSpec, Targets};
use anneal::job::spec::{Masters, SamplingSpec, TrainSpec, WeightDtype};
use anneal::modelfile::adapter::{Factor, factor_name, to_peft};
use anneal::modelfile::architecture::TensorSpec;
use anneal::modelfile::families::FAMILIES;
use anneal::modelfile::{Inspection, ModelConfig, inspect};
use anneal::objective;
use anneal::text::tokenizer::TextTokenizer;
use serde_json::{Value, json};

const PRECISIONS: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::Bf16Tiled];

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
        let of = |sample| Request::new(prompt as u64, sample, Arc::clone(&tokens));
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
        proximal_logprobs: Vec::new(),
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
                let learner = Learner { decoder: &decoder, teacher: None, recompute, balance: 0.01, dropout: None };
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

/// The same weights frozen, with an adapter of rank 3 whose `B` is not zero any more, or that changes nothing yet.
fn adapted(weights: &Arc<Weights>, targets: &Value, how: (Precision, Usage), begun: bool) -> Decoder {
    adapted_as(weights, json!({"type": "lora", "rank": 3, "targets": targets}), how, begun)
}

fn adapted_as(weights: &Arc<Weights>, spec: Value, (precision, usage): (Precision, Usage), begun: bool) -> Decoder {
    let config = weights.config();
    let spec: AdapterSpec = serde_json::from_value(spec).unwrap();
    let origin = Origin::New { lora: spec.resolve(None).unwrap(), seed: 4 };
    let base = &mut |spec: &TensorSpec| Ok(weights.values(weights.index(&spec.name)?).to_vec());
    let adapter = Adapter::load(&Arc::new(Cpu), config, &origin, base).unwrap();
    let own = Arc::clone(adapter.weights());
    for index in (0..own.count()).filter(|index| begun && own.name(*index).contains("lora_B")) {
        let waves = own.values_mut(index).len() as f32;
        own.values_mut(index).iter_mut().zip(1..).for_each(|(x, i)| *x = (0.7 * i as f32 + waves).sin() * 0.2);
    }
    own.changed();
    let read = &mut |spec: &TensorSpec| Ok(weights.values(weights.index(&spec.name)?).to_vec());
    let frozen = Weights::of_tensors(&Arc::new(Cpu), config, config.tensors(), usage, read);
    let longest = config.max_position_embeddings;
    Decoder::for_sequences(Arc::new(frozen.unwrap()), Some(adapter), precision, longest).unwrap()
}

fn all_linear() -> Value {
    json!("all_linear")
}

#[test]
fn an_adapter_is_sampled_with_as_it_is_trained_and_changes_nothing_at_first() {
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let requests = requests(&tokenizer);
        for precision in PRECISIONS {
            for usage in [Usage::Computing(precision), Usage::Coded(precision)] {
                let how = (precision, usage);
                let decoder = adapted(&weights, &all_linear(), how, true);
                let completions = sample(&decoder, &tokenizer, &requests, 32);
                assert_eq!(sample(&decoder, &tokenizer, &requests, 7), completions);
                let sequences = sequences(&requests, &completions);
                let recorded: Vec<f32> = sequences.iter().flat_map(|s| s.behavior_logprobs.clone()).collect();
                for tokens in [1, 100, 1 << 20] {
                    assert_eq!(trained(&decoder, &sequences, tokens), recorded, "{how:?} in batches of {tokens}");
                }
                let family = inspection.config.family.name;
                let fresh = trained(&adapted(&weights, &all_linear(), how, false), &sequences, 100);
                let without = Decoder::new(Arc::clone(decoder.weights()), precision).unwrap();
                assert_eq!(fresh, trained(&without, &sequences, 100), "{family}, {how:?}");
                assert!(fresh != recorded, "the adapter has something to say");
                if precision == Precision::F32 {
                    // As weights that may change, with the numbers that are kept.
                    let (kept, config) = (decoder.weights(), weights.config());
                    let read =
                        &mut |spec: &TensorSpec| Ok(kept.parameters().read(kept.index(&spec.name)?, <[f32]>::to_vec));
                    let plain = Weights::of_tensors(
                        &Arc::new(Cpu),
                        config,
                        config.tensors(),
                        Usage::Training(Masters::F32),
                        read,
                    );
                    let plain = Decoder::new(Arc::new(plain.unwrap()), precision).unwrap();
                    assert_eq!(fresh, trained(&plain, &sequences, 100), "{family}, {how:?}");
                }
            }
        }
    }
}

/// `dA = scale B^T dW` and `dB = scale dW A^T`, where `dW` is the gradient of the weights with the adapter in them.
#[test]
fn gradients_of_an_adapter_follow_from_those_of_the_merged_weights() {
    let spec = json!({"type": "sft"});
    let objective = objective::Config::parse(&spec, "/objective").unwrap().build(&TrainSpec::default());
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let requests = requests(&tokenizer);
        let config = weights.config();
        let last = config.adapted(&Targets::ALL).unwrap().last().unwrap().name.clone();
        let down = last.trim_end_matches(".weight").rsplit('.').next().unwrap().to_owned();
        for targets in [all_linear(), json!([down])] {
            let how = (Precision::F32, Usage::Computing(Precision::F32));
            let decoder = adapted(&weights, &targets, how, true);
            let sequences = sequences(&requests, &sample(&decoder, &tokenizer, &requests, 32));
            let adapter = decoder.adapter().unwrap();
            let merged = Weights::of_tensors(
                &Arc::new(Cpu),
                config,
                config.tensors(),
                Usage::Training(Masters::F32),
                &mut |spec: &TensorSpec| {
                    let mut values = weights.values(weights.index(&spec.name)?).to_vec();
                    adapter.merge(&spec.name, &mut values);
                    Ok(values)
                },
            );
            let whole = Decoder::new(Arc::new(merged.unwrap()), Precision::F32).unwrap();
            let gradient = |decoder: &Decoder, recompute: bool, tokens: usize| {
                let mut sums = GradientSum::default();
                let learner = Learner { decoder, teacher: None, recompute, balance: 0.01, dropout: None };
                for batch in pack(&sequences, tokens) {
                    learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap();
                }
                (0..decoder.trained().count()).map(|index| sums.get(index).unwrap().to_vec()).collect::<Vec<_>>()
            };
            let (own, of_whole) = (gradient(&decoder, false, 1 << 20), gradient(&whole, false, 1 << 20));
            assert_eq!(own, gradient(&decoder, true, 1 << 20), "recomputed");
            assert_eq!(own, gradient(&decoder, false, 150), "in micro-batches");
            for tensor in config.adapted(&serde_json::from_value(targets.clone()).unwrap()).unwrap() {
                let trained = adapter.weights();
                let place = |factor| trained.index(&factor_name(&tensor.name, factor)).unwrap();
                let (a, b) = (place(Factor::A), place(Factor::B));
                let (factor_a, factor_b) = (trained.values(a).to_vec(), trained.values(b).to_vec());
                let dw = &of_whole[whole.weights().index(&tensor.name).unwrap()];
                let [output, input] = tensor.shape[..] else { panic!("{tensor:?}") };
                let scale = 2.0;
                let sum = |of: &dyn Fn(usize) -> f64, count: usize| (0..count).map(of).sum::<f64>() * scale;
                let at = |values: &[f32], index: usize| f64::from(values[index]);
                let wanted_a: Vec<f64> = (0..3 * input)
                    .map(|i| sum(&|o| at(&factor_b, o * 3 + i / input) * at(dw, o * input + i % input), output))
                    .collect();
                let wanted_b: Vec<f64> = (0..3 * output)
                    .map(|i| sum(&|c| at(dw, i / 3 * input + c) * at(&factor_a, i % 3 * input + c), input))
                    .collect();
                for (got, wanted) in [(&own[a], wanted_a), (&own[b], wanted_b)] {
                    let most = wanted.iter().fold(1e-3_f64, |most, x| most.max(x.abs()));
                    let off = got.iter().zip(&wanted).fold(0.0_f64, |off, (g, w)| off.max((f64::from(*g) - w).abs()));
                    assert!(off < 1e-3 * most, "{}, {}: {off} of {most}", config.family.name, tensor.name);
                }
            }
        }
    }
}

/// What is dropped does not depend on where rows are packed, and the gradient is the derivative of the loss with it; where
/// lengths of rows are trained, as if those were fixed that the rows have.
#[test]
fn dropout_is_part_of_the_loss_whose_gradient_is_taken() {
    let spec = json!({"type": "sft"});
    let objective = objective::Config::parse(&spec, "/objective").unwrap().build(&TrainSpec::default());
    let how = (Precision::F32, Usage::Computing(Precision::F32));
    let both = [false, true];
    for ((inspection, weights), dora) in models().into_iter().flat_map(|model| both.map(|dora| (model.clone(), dora))) {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let requests = requests(&tokenizer);
        let spec = json!({"type": "lora", "rank": 3, "dropout": 0.3, "dora": dora});
        let decoder = adapted_as(&weights, spec, how, true);
        let sequences = sequences(&requests, &sample(&decoder, &tokenizer, &requests, 32));
        let learn = |dropout: Option<u64>, recompute: bool, tokens: usize| {
            let (mut sums, mut loss) = (GradientSum::default(), 0.0);
            let dropout = dropout.map(|step| Stream::new(1, Purpose::Dropout, step));
            let learner = Learner { decoder: &decoder, teacher: None, recompute, balance: 0.0, dropout };
            for batch in pack(&sequences, tokens) {
                loss += learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap().0;
            }
            let all = (0..decoder.trained().count()).map(|index| sums.get(index).unwrap().to_vec());
            (loss, all.collect::<Vec<Vec<f32>>>())
        };
        let (loss, gradient) = learn(Some(5), false, 1 << 20);
        assert_eq!(gradient, learn(Some(5), true, 1 << 20).1, "recomputed");
        assert_eq!(gradient, learn(Some(5), false, 150).1, "in micro-batches");
        assert!(gradient != learn(None, false, 1 << 20).1 && gradient != learn(Some(6), false, 1 << 20).1);
        let trained = decoder.trained();
        for factor in ["lora_A", "lora_B", "lora_magnitude_vector"].into_iter().take(if dora { 3 } else { 2 }) {
            let of = |index: &usize| trained.name(*index).contains(factor);
            let places: Vec<usize> = (0..trained.count()).filter(of).collect();
            let slope: f64 = places.iter().flat_map(|index| &gradient[*index]).map(|g| f64::from(*g).powi(2)).sum();
            // Longer steps see that the loss bends, shorter ones how it is rounded.
            let length = 1e-4 * loss.abs() / slope;
            let at = |sign: f64| {
                let moved = |by: f64| {
                    for index in &places {
                        let mut values = trained.values_mut(*index);
                        values.iter_mut().zip(&gradient[*index]).for_each(|(x, g)| *x += (by * f64::from(*g)) as f32);
                    }
                    trained.changed();
                };
                moved(sign * length);
                let loss = learn(Some(5), false, 1 << 20).0;
                moved(-sign * length);
                loss
            };
            let found = (at(1.0) - at(-1.0)) / (2.0 * length);
            let (family, experts) = (inspection.config.family.name, inspection.config.architecture.experts);
            // A token that goes to another expert is a step in the loss.
            let near = if experts.is_some() { 0.1 } else { 0.01 };
            assert!((found / slope - 1.0).abs() < near, "{family}, {factor}: {found} and {slope}");
        }
    }
}

/// Rows get the lengths that are trained whatever the factors make of them: what samples is what trains, training begins at
/// the model, and the model with the adapter in its weights computes the same.
#[test]
fn an_adapter_that_trains_lengths_begins_at_the_model_and_merges_into_it() {
    let spec = json!({"type": "lora", "rank": 3, "alpha": 5.0, "dora": true});
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let (requests, family) = (requests(&tokenizer), inspection.config.family.name);
        for how in PRECISIONS.map(|precision| (precision, Usage::Computing(precision))) {
            let begun = adapted_as(&weights, spec.clone(), how, true);
            let own = sequences(&requests, &sample(&begun, &tokenizer, &requests, 32));
            let recorded: Vec<f32> = own.iter().flat_map(|s| s.behavior_logprobs.clone()).collect();
            assert_eq!(trained(&begun, &own, 100), recorded, "{family}: the sampler is the trainer");
            if how.0 != Precision::F32 {
                continue;
            }
            let apart = |a: &Decoder, b: &Decoder| {
                let pairs = trained(a, &own, 100).into_iter().zip(trained(b, &own, 100));
                pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()))
            };
            let plain = Decoder::new(Arc::clone(begun.weights()), Precision::F32).unwrap();
            let fresh = adapted_as(&weights, spec.clone(), how, false);
            assert!(apart(&fresh, &plain) < 1e-3, "{family}: {}", apart(&fresh, &plain));
            // Some lengths are trained as well.
            let adapter = begun.adapter().unwrap();
            let own = adapter.weights();
            for index in (0..own.count()).filter(|index| own.name(*index).ends_with("magnitude_vector")) {
                own.values_mut(index).iter_mut().zip(1..).for_each(|(x, i)| *x *= 1.0 + 0.2 * (i as f32).sin());
            }
            own.changed();
            begun.measure().unwrap();
            let read = &mut |spec: &TensorSpec| {
                let mut values = weights.values(weights.index(&spec.name)?).to_vec();
                adapter.merge(&spec.name, &mut values);
                Ok(values)
            };
            let config = weights.config();
            let merged = Weights::of_tensors(&Arc::new(Cpu), config, config.tensors(), how.1, read).unwrap();
            let merged = Decoder::new(Arc::new(merged), Precision::F32).unwrap();
            // What is far from the model is sharp, and rounding shows more.
            let (off, said) = (apart(&begun, &merged), apart(&begun, &plain));
            assert!(off < 1e-3 * said.max(1.0), "{family}: {off} of {said}");
            assert!(said > 1e-2, "{family}: it says something");
        }
    }
}

/// What is largest in the weights is trained in the place of nothing: the adapter begins at the model but for rounding, and
/// as others read it computes what was trained.
#[test]
fn an_adapter_of_principal_parts_begins_at_the_model_and_is_read_by_others() {
    let how = (Precision::F32, Usage::Computing(Precision::F32));
    let spec = json!({"type": "lora", "rank": 3, "alpha": 5.0, "init": "pissa"});
    let lora = serde_json::from_value::<AdapterSpec>(spec.clone()).unwrap().resolve(None).unwrap();
    for (inspection, weights) in models() {
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        let (requests, family) = (requests(&tokenizer), inspection.config.family.name);
        let fresh = adapted_as(&weights, spec.clone(), how, false);
        let plain = Decoder::new(Arc::clone(fresh.weights()), Precision::F32).unwrap();
        let sampled = sequences(&requests, &sample(&plain, &tokenizer, &requests, 32));
        let apart = |a: &Decoder, b: &Decoder| {
            let pairs = trained(a, &sampled, 100).into_iter().zip(trained(b, &sampled, 100));
            pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()))
        };
        assert!(apart(&fresh, &plain) < 1e-3, "{family}: {}", apart(&fresh, &plain));
        // Twice from the same seed it is the same.
        assert_eq!(
            trained(&adapted_as(&weights, spec.clone(), how, false), &sampled, 100),
            trained(&fresh, &sampled, 100)
        );

        let begun = adapted_as(&weights, spec.clone(), how, true);
        let completions = sample(&begun, &tokenizer, &requests, 32);
        let own = sequences(&requests, &completions);
        let recorded: Vec<f32> = own.iter().flat_map(|s| s.behavior_logprobs.clone()).collect();
        assert_eq!(trained(&begun, &own, 100), recorded, "{family}: the sampler is the trainer");
        let folder = tempfile::tempdir().unwrap();
        let (finished, whole) = begun.adapter().unwrap().finished(&lora).unwrap().unwrap();
        assert_eq!((whole.rank, whole.scale()), (6, lora.scale()));
        finished.save(&folder.path().join("adapter_model.safetensors"), WeightDtype::F32).unwrap();
        let config = to_peft(weights.config(), &whole, "base").unwrap();
        std::fs::write(folder.path().join("adapter_config.json"), config.to_string()).unwrap();
        let origin = Origin::Stored { directory: folder.path().to_owned(), lora: None };
        let mut none = |spec: &TensorSpec| -> Result<Vec<f32>, EngineError> { panic!("{spec:?} is not needed") };
        let read = Adapter::load(&Arc::new(Cpu), weights.config(), &origin, &mut none).unwrap();
        let longest = weights.config().max_position_embeddings;
        let read = Decoder::for_sequences(Arc::clone(begun.weights()), Some(read), Precision::F32, longest).unwrap();
        assert!(apart(&read, &begun) < 1e-3, "{family}: {}", apart(&read, &begun));
        assert!(apart(&read, &plain) > 1e-2, "{family}: it says something");
    }
}
