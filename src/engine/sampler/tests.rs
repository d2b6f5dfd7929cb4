//! A completion is the same whatever runs beside it and whatever is guessed, prompts are computed once, and whoever observes
//! can end a phase.

use std::path::Path;
use std::sync::Arc;

use super::*;
use serde_json::json;

use crate::engine::choice::choose;
use crate::engine::error::Stop;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::kernels::gemm::Precision;
use crate::engine::model::weights::Weights;
use crate::engine::random::Purpose;
use crate::engine::rows::CachedRow;
use crate::job::spec::SampledCache;
use crate::modelfile;
use crate::modelfile::config::ModelConfig;

/// Groups of (prompt tokens, completions): around the edges of blocks, one that fills the context but for a few
/// tokens, one that is larger than most batches.
const GROUPS: [(usize, u32); 8] = [(5, 3), (16, 2), (17, 5), (1, 1), (58, 3), (32, 9), (31, 1), (33, 4)];

/// What keys and values may be kept in.
const CACHES: [Option<SampledCache>; 2] = [None, Some(SampledCache::Bf16)];

/// A small decoder with random weights, the built-in model's tokenizer, and a way to sample.
struct Fixture {
    decoder: Decoder,
    tokenizer: TextTokenizer,
    spec: SamplingSpec,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut ModelConfig)) -> Self {
        let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let mut inspection = modelfile::inspect(&builtin).unwrap();
        let config = &mut inspection.config;
        *config = ModelConfig::from_hf(
            &json!({
                "model_type": "llama", "vocab_size": config.vocab_size, "hidden_size": 24, "intermediate_size": 40,
                "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                "max_position_embeddings": 64, "tie_word_embeddings": true, "eos_token_id": [1, 9, 20],
            }),
            None,
        )
        .unwrap();
        change(config);
        let weights = Weights::random(config, 5).unwrap();
        // Larger weights than a start from scratch has, so that what was read before decides what comes next.
        for index in 0..weights.count() {
            weights.values_mut(index).iter_mut().for_each(|x| *x *= 4.0);
        }
        let spec = SamplingSpec { max_new_tokens: 20, batch_size: 7, ..SamplingSpec::default() };
        let tokenizer = TextTokenizer::from_inspection(&inspection).unwrap();
        Self { decoder: Decoder::new(Arc::new(weights), Precision::F32).unwrap(), tokenizer, spec }
    }

    fn sampler(&self) -> Sampler<'_> {
        let stream = Stream::new(11, Purpose::Rollout, 2);
        Sampler { decoder: &self.decoder, tokenizer: &self.tokenizer, spec: &self.spec, stream }
    }

    fn run(&self, limits: &Limits, requests: &[Request]) -> (Vec<Completion>, Statistics) {
        self.sampler().run_within(limits, requests, |_| Ok(())).unwrap()
    }

    /// A cache of so many blocks.
    fn limits(&self, blocks: usize, prefill_tokens: usize) -> Limits {
        let cache_bytes = blocks * self.decoder.bytes_per_block(self.spec.cache);
        // Logits of three rows at a time.
        Limits { cache_bytes, prefill_tokens, logits_bytes: 3 * 32 * 4 + 1, few_rows: 0 }
    }

    /// One completion by itself, token by token, in a cache of its own.
    fn alone(&self, request: &Request) -> (Vec<u32>, Vec<u32>) {
        let config = self.decoder.config();
        let mut cache = self.decoder.cache(self.spec.cache, 4).unwrap();
        let blocks = [2, 0, 3, 1];
        let mut tokens = request.tokens.to_vec();
        let mut logprobs = Vec::new();
        let limit = tokens.len() + (self.spec.max_new_tokens as usize).min(64 - tokens.len());
        for position in 0..limit {
            let row = CachedRow { token: tokens[position], position: position as u32, blocks: &blocks };
            let hidden = self.decoder.extend(&mut cache, &[row]).unwrap();
            if position + 1 < request.tokens.len() {
                continue;
            }
            let at = (tokens.len() - request.tokens.len()) as u32;
            let uniform = || self.sampler().stream.uniform(request.prompt, request.sample, at);
            let choice = choose(&self.decoder.row_logits(&hidden, &[0]).unwrap(), &self.spec, uniform);
            tokens.push(choice.token);
            logprobs.push(choice.logprob.to_bits());
            if config.eos_token_ids.contains(&choice.token) || tokens.len() == limit {
                break;
            }
        }
        (tokens.split_off(request.tokens.len()), logprobs)
    }
}

fn requests(groups: &[usize]) -> Vec<Request> {
    let words = Stream::new(3, Purpose::PromptOrder, 0);
    let mut requests = Vec::new();
    for group in groups {
        let (length, samples) = GROUPS[*group];
        let token = |at| 2 + (words.uniform(*group as u64, 0, at) * 22.0) as u32;
        let tokens: Arc<[u32]> = (0..length as u32).map(token).collect();
        let request = |sample| Request::new(*group as u64, sample, Arc::clone(&tokens));
        requests.extend((0..samples).map(request));
    }
    requests
}

fn all() -> Vec<Request> {
    requests(&Vec::from_iter(0..GROUPS.len()))
}

/// A completion with every bit: tokens, log-probabilities, entropy, why it ended, text.
type Bits = (Vec<u32>, Vec<u32>, u64, FinishReason, String);

fn bits(completion: &Completion) -> Bits {
    let logprobs = completion.behavior_logprobs.iter().map(|logprob| logprob.to_bits()).collect();
    let Completion { tokens, finish, text, entropy_sum, .. } = completion.clone();
    (tokens, logprobs, entropy_sum.to_bits(), finish, text)
}

/// By (prompt, sample).
fn by_request(requests: &[Request], completions: &[Completion]) -> Vec<((u64, u32), Bits)> {
    let mut all: Vec<_> =
        requests.iter().zip(completions).map(|(request, c)| ((request.prompt, request.sample), bits(c))).collect();
    all.sort_by_key(|(request, _)| *request);
    all
}

#[test]
fn a_completion_is_what_it_would_be_alone() {
    for cache in CACHES {
        check_alone(cache);
    }
}

fn check_alone(cache: Option<SampledCache>) {
    let mut fixture = Fixture::new();
    fixture.spec.cache = cache;
    let requests = all();
    let (completions, _) = fixture.run(&Limits::default(), &requests);
    for (request, completion) in requests.iter().zip(&completions) {
        let (tokens, logprobs, ..) = bits(completion);
        assert_eq!((tokens, logprobs), fixture.alone(request), "prompt {}, {}", request.prompt, request.sample);
    }
    // The test says something only about completions that differ, and of which some end early.
    let mut distinct: Vec<&[u32]> = completions.iter().map(|completion| &completion.tokens[..]).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > requests.len() * 3 / 4);
    let stopped = completions.iter().filter(|completion| completion.finish == FinishReason::Stop).count();
    assert!(stopped > 3 && stopped < requests.len() - 3, "{stopped} of {}", requests.len());
}

#[test]
fn a_completion_that_has_begun_goes_on_as_if_it_had_not_been_cut() {
    let fixture = Fixture::new();
    let requests = all();
    let (whole, _) = fixture.run(&Limits::default(), &requests);
    for cut in [1, 7, 13] {
        let rest = requests.iter().zip(&whole).filter(|(_, completion)| completion.tokens.len() > cut);
        let begun: Vec<Request> = rest
            .clone()
            .map(|(request, completion)| {
                let tokens = [&request.tokens[..], &completion.tokens[..cut]].concat();
                Request { tokens: tokens.into(), begun: cut, ..*request }
            })
            .collect();
        assert!(begun.len() > 3, "{cut}");
        let (ends, _) = fixture.run(&Limits::default(), &begun);
        for ((request, whole), end) in rest.zip(&ends) {
            let (tokens, logprobs, _, finish, _) = bits(whole);
            let (own, own_logprobs, _, own_finish, _) = bits(end);
            assert_eq!(
                (&tokens[cut..], &logprobs[cut..], finish),
                (&own[..], &own_logprobs[..], own_finish),
                "{}",
                request.prompt
            );
        }
    }
}

#[test]
fn completions_depend_neither_on_the_batch_nor_on_chunks_nor_on_memory() {
    for cache in CACHES {
        check_batches(cache);
    }
}

fn check_batches(cache: Option<SampledCache>) {
    let mut fixture = Fixture::new();
    fixture.spec.cache = cache;
    let requests = all();
    let expected = by_request(&requests, &fixture.run(&Limits::default(), &requests).0);
    let prompt_tokens: usize = GROUPS.iter().map(|(length, _)| length).sum();
    let drawn: usize = expected.iter().map(|(_, (tokens, ..))| tokens.len()).sum();
    // In 8 blocks there is room for two or three completions.
    let rooms = [
        (1, 4096, 512),
        (7, 4096, 1),
        (7, 4096, 5),
        (32, 4096, 512),
        (32, 8, 512),
        (32, 8, 5),
        (2, 9, 3),
        (32, 20, 64),
    ];
    for ((batch_size, blocks, prefill), few_rows) in
        rooms.into_iter().flat_map(|room| [(room, 0), (room, 6), (room, 40)])
    {
        fixture.spec.batch_size = batch_size;
        let limits = Limits { few_rows, ..fixture.limits(blocks, prefill) };
        let (completions, statistics) = fixture.run(&limits, &requests);
        let context =
            format!("{batch_size} at once, {blocks} blocks, {prefill} prompt tokens, {few_rows} rows for guesses");
        assert_eq!(by_request(&requests, &completions), expected, "{context}");
        assert_eq!(statistics.prompt_tokens, prompt_tokens as u64, "{context}");
        // The first token comes from the prompt, the others cost a row each, unless they were guessed.
        let Statistics { decode_rows, guessed, right, .. } = statistics;
        assert_eq!(decode_rows - guessed + right, (drawn - requests.len()) as u64, "{context}");
        assert!(if few_rows == 0 { guessed == 0 } else { guessed > 0 || few_rows < batch_size as usize }, "{context}");
    }
}

#[test]
fn what_goes_on_in_a_session_is_the_same_and_only_what_is_new_is_computed() {
    for cache in CACHES {
        let mut fixture = Fixture::new();
        fixture.spec.cache = cache;
        let first = all();
        for (batch_size, blocks, few_rows) in [(64, 4096, 0), (64, 4096, 40), (3, 4096, 6), (32, 8, 0), (2, 9, 0)] {
            fixture.spec.batch_size = batch_size;
            let limits = Limits { few_rows, ..fixture.limits(blocks, 11) };
            let sampler = fixture.sampler();
            let mut session = sampler.session();
            let (said, _) = session.run_within(&limits, &first, |_| Ok(())).unwrap();
            assert_eq!(by_request(&first, &said), by_request(&first, &fixture.run(&limits, &first).0));
            let mut turns: Vec<(Request, usize)> = Vec::new();
            for (request, completion) in first.iter().zip(&said).filter(|(_, done)| done.tokens.len() < 15) {
                let before = [&*request.tokens, &completion.tokens].concat();
                let (kept, begun) = ((before.len() - 1) / BLOCK * BLOCK, completion.tokens.len() + 2);
                let tokens = [&before[..], &[5, 7]].concat().into();
                turns.push((Request { tokens, begun, ..*request }, kept));
            }
            let second: Vec<Request> = turns.iter().map(|(request, _)| request.clone()).collect();
            assert!(second.len() > 8);
            let (answered, statistics) = session.run_within(&limits, &second, |_| Ok(())).unwrap();
            let (expected, whole) = fixture.run(&limits, &second);
            assert_eq!(by_request(&second, &answered), by_request(&second, &expected), "{batch_size} {blocks}");
            let new: usize = turns.iter().map(|(request, kept)| request.tokens.len() - kept).sum();
            let most = if batch_size == 64 { new as u64 } else { whole.prompt_tokens };
            assert!(statistics.prompt_tokens <= most, "{statistics:?} {new} {whole:?}");
            // In the opposite order what was kept last is read first, with as little memory as there may be.
            let back: Vec<Request> = second.iter().rev().cloned().collect();
            let mut session = sampler.session();
            session.run_within(&limits, &first, |_| Ok(())).unwrap();
            // What it holds is no part of what a device has left.
            let none_left = Limits { cache_bytes: 0, ..limits };
            let (answered, statistics) = session.run_within(&none_left, &back, |_| Ok(())).unwrap();
            assert_eq!(by_request(&back, &answered), by_request(&second, &expected), "{batch_size} {blocks}");
            let most = whole.prompt_tokens - u64::from(blocks == 4096);
            assert!(statistics.prompt_tokens <= most, "{batch_size} {blocks}: {statistics:?} {whole:?}");
        }
    }
}

#[test]
fn a_session_goes_on_from_another_as_long_as_there_is_room() {
    let fixture = Fixture::new();
    let (sampler, limits) = (fixture.sampler(), fixture.limits(4096, 11));
    let (few, many) = (requests(&[4]), all());
    for (tokens, fits) in [(0, false), (4096 * BLOCK, true)] {
        let mut kept = Kept::default();
        let mut read = |requests: &[Request]| {
            let mut session = sampler.session_from(std::mem::take(&mut kept), tokens);
            let (completions, statistics) = session.run_within(&limits, requests, |_| Ok(())).unwrap();
            kept = session.leave();
            let (expected, alone) = fixture.run(&limits, requests);
            assert_eq!(by_request(requests, &completions), by_request(requests, &expected));
            (alone.prompt_tokens - statistics.prompt_tokens) as usize
        };
        let held = (few[0].tokens.len() - 1) / BLOCK * BLOCK;
        assert!(held > 0);
        assert_eq!((read(&few), read(&few)), (0, held));
        // Memory for one prompt is little for many.
        assert_eq!(read(&many), if fits { held } else { 0 });
        // What was read for others may have taken its place.
        let again = read(&few);
        assert!(again == held || !fits && again < held, "{again}");
    }
}

#[test]
fn a_session_that_is_stopped_goes_on_from_what_was_said() {
    let fixture = Fixture::new();
    let (sampler, limits) = (fixture.sampler(), fixture.limits(4096, 64));
    let requests = requests(&[2, 6, 7]);
    let (expected, alone) = fixture.run(&limits, &requests);
    for passes in [1, 4] {
        let mut session = sampler.session();
        let mut left = passes;
        let stop = |_: Observed<'_>| {
            left -= 1;
            if left == 0 { Err(EngineError::Stopped(Stop::Cancel)) } else { Ok(()) }
        };
        assert!(matches!(session.run_within(&limits, &requests, stop), Err(EngineError::Stopped(_))));
        let (completions, statistics) = session.run_within(&limits, &requests, |_| Ok(())).unwrap();
        assert_eq!(by_request(&requests, &completions), by_request(&requests, &expected));
        // After the first pass there are prompts that are not computed.
        assert_eq!(statistics.prompt_tokens < alone.prompt_tokens, passes > 1, "{passes}");
    }
}

#[test]
fn guesses_that_are_right_save_passes_and_change_nothing() {
    // Without draws a small model soon says the same again and again.
    let mut fixture = Fixture::with(|config| {
        config.max_position_embeddings = 400;
        config.eos_token_ids.clear();
    });
    fixture.spec.temperature = 0.0;
    fixture.spec.max_new_tokens = 200;
    let requests = requests(&[0, 3, 6]);
    let endless = fixture.run(&Limits { few_rows: 0, ..Limits::default() }, &requests).0;
    // What ends a completion comes late, among tokens that were guessed.
    let late = |completion: &Completion| fixture.tokenizer.decode(&completion.tokens[100..103], true).unwrap();
    let stops: Vec<String> = endless.iter().map(late).collect();
    for stop in [Vec::new(), stops] {
        let goes_on = stop.is_empty();
        fixture.spec.stop = stop;
        let run = |few_rows| fixture.run(&Limits { few_rows, ..Limits::default() }, &requests);
        let ((plain, without), (guessed, with)) = (run(0), run(24));
        assert!(goes_on || plain.iter().all(|completion| completion.finish == FinishReason::Stop));
        assert_eq!(by_request(&requests, &guessed), by_request(&requests, &plain));
        assert_eq!((without.guessed, without.right), (0, 0));
        let passes = (without.decode_steps, with.decode_steps);
        assert!(!goes_on || (with.right > 0 && passes.1 < passes.0), "{with:?} beside {without:?}");
    }
}

#[test]
fn prompts_that_begin_alike_share_what_they_share() {
    let fixture = Fixture::new();
    let begin = requests(&[4])[0].tokens[..40].to_vec();
    let prompts = [vec![3, 4, 5], vec![6], vec![3, 4, 9, 9]];
    let requests: Vec<Request> = prompts
        .iter()
        .zip(0..)
        .flat_map(|(end, prompt)| {
            let tokens: Arc<[u32]> = begin.iter().chain(end).copied().collect();
            (0..2).map(move |sample| Request::new(prompt, sample, Arc::clone(&tokens)))
        })
        .collect();
    for prefill in [512, 30, 1] {
        let (completions, statistics) = fixture.run(&fixture.limits(4096, prefill), &requests);
        for (request, completion) in requests.iter().zip(&completions) {
            let (tokens, logprobs, ..) = bits(completion);
            assert_eq!((tokens, logprobs), fixture.alone(request), "prompt {}, {}", request.prompt, request.sample);
        }
        // Two whole blocks of the forty tokens are computed once.
        assert_eq!(statistics.prompt_tokens, 43 + 41 + 44 - 2 * 32);
    }
}

/// Keys and values in bf16 are another distribution, near to the model's, in half of the memory.
#[test]
fn keys_and_values_in_bf16_draw_from_another_distribution_and_say_so() {
    let mut fixture = Fixture::new();
    let requests = all();
    let (whole, _) = fixture.run(&Limits::default(), &requests);
    let bytes = fixture.decoder.bytes_per_block(None);
    fixture.spec.cache = Some(SampledCache::Bf16);
    assert_eq!(2 * fixture.decoder.bytes_per_block(fixture.spec.cache), bytes);
    let (narrow, _) = fixture.run(&Limits::default(), &requests);
    let mut distances = Vec::new();
    for (whole, narrow) in whole.iter().zip(&narrow) {
        // Up to the first token that differs both have read the same.
        let alike = whole.tokens.iter().zip(&narrow.tokens).take_while(|(a, b)| a == b).count();
        let pairs = whole.behavior_logprobs.iter().zip(&narrow.behavior_logprobs).take(alike);
        distances.extend(pairs.map(|(whole, narrow)| f64::from((whole - narrow).abs())));
    }
    // Weights as large as these make much of a small difference; unlike texts are some nats apart.
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    assert!(distances.len() > requests.len() && mean > 0.0 && mean < 0.3, "{mean} over {} tokens", distances.len());
}

#[test]
fn completions_depend_neither_on_the_order_of_prompts_nor_on_which_are_asked_for() {
    let fixture = Fixture::new();
    let whole = all();
    let expected = by_request(&whole, &fixture.run(&Limits::default(), &whole).0);
    for groups in [vec![7, 6, 5, 4, 3, 2, 1, 0], vec![4, 1], vec![5]] {
        let some = requests(&groups);
        let got = by_request(&some, &fixture.run(&fixture.limits(4096, 11), &some).0);
        assert!(got.iter().all(|completion| expected.contains(completion)), "{groups:?}");
    }
    // As after a restart: the first completions are there already.
    let rest = &whole[whole.len() / 2..];
    let got = by_request(rest, &fixture.run(&Limits::default(), rest).0);
    assert!(got.iter().all(|completion| expected.contains(completion)));
}

#[test]
fn a_long_prompt_does_not_keep_others_waiting() {
    let mut fixture = Fixture::with(|config| config.eos_token_ids.clear());
    fixture.spec.max_new_tokens = 6;
    let some = requests(&[0, 4]);
    let mut drawn = Vec::new();
    let observe = |seen: Observed<'_>| {
        drawn.push(seen.tokens);
        Ok(())
    };
    fixture.sampler().run_within(&fixture.limits(4096, 5), &some, observe).unwrap();
    // The first prompt takes one pass and the second twelve; meanwhile the first group's completions go on.
    assert!(drawn[..6].windows(2).all(|pair| pair[1] > pair[0]), "{drawn:?}");
}

#[test]
fn observing_can_end_a_phase() {
    let fixture = Fixture::new();
    let mut calls = 0;
    let observe = |_: Observed<'_>| {
        calls += 1;
        if calls == 4 { Err(EngineError::Stopped(Stop::Cancel)) } else { Ok(()) }
    };
    let stopped = fixture.sampler().run(&all(), observe);
    assert!(matches!(stopped, Err(EngineError::Stopped(Stop::Cancel))));
    assert_eq!(calls, 4);
}

#[test]
fn what_cannot_fit_is_refused_before_anything_is_computed() {
    let fixture = Fixture::new();
    let observe = |_: Observed<'_>| panic!("nothing is computed");
    // 58 tokens and 6 more, of which the last is never read, take 4 blocks, and one for the copy of the prompt's end.
    let refused = fixture.sampler().run_within(&fixture.limits(4, 512), &all(), observe);
    let Err(EngineError::InvalidData { code, detail }) = refused else { panic!("it is not refused") };
    assert_eq!(code, "cache_too_small");
    assert!(detail.contains("80 tokens") && detail.contains("hold 64 tokens"), "{detail}");
}

#[test]
fn equal_numbers_of_prompts_with_other_tokens_are_other_prompts() {
    let fixture = Fixture::new();
    let mut mixed = requests(&[0, 6]);
    mixed.iter_mut().for_each(|request| request.prompt = 9);
    let (completions, statistics) = fixture.run(&Limits::default(), &mixed);
    assert_eq!(statistics.prompt_tokens, 5 + 31);
    let (tokens, logprobs, ..) = bits(&completions[3]);
    assert_eq!((tokens, logprobs), fixture.alone(&mixed[3]));
}

#[test]
fn a_stop_text_over_several_tokens_ends_a_completion_and_is_cut_off() {
    let mut fixture = Fixture::new();
    let requests = all();
    let (plain, _) = fixture.run(&Limits::default(), &requests);
    let (at, whole) = plain.iter().enumerate().find(|(_, completion)| completion.tokens.len() > 8).unwrap();
    let stop = fixture.tokenizer.decode(&whole.tokens[3..6], true).unwrap();
    let first = whole.text.find(&stop).unwrap();
    fixture.spec.stop = vec![String::from("never"), stop.clone()];
    let (cut, _) = fixture.run(&Limits::default(), &requests);
    assert_eq!(cut[at].text, whole.text[..first]);
    assert_eq!(cut[at].finish, FinishReason::Stop);
    assert!(fixture.tokenizer.decode(&cut[at].tokens, true).unwrap().ends_with(&stop));
    assert!(whole.tokens.starts_with(&cut[at].tokens));
    for (cut, plain) in cut.iter().zip(&plain).filter(|(_, plain)| !plain.text.contains(&stop)) {
        assert_eq!(bits(cut), bits(plain));
    }
}
