//! What guesses, shared beginnings of prompts and keys and values of earlier turns save where a sampler has room for them, on
//! this machine's processor.
//!
//! ```text
//! cargo bench --bench sampling                          the built-in model on sums
//! MODEL=/path/of/a/model cargo bench --bench sampling   another one, on texts that repeat words of their prompt
//! ```
//!
//! The same completions are sampled with and without, in turn, and must be equal to the bit. Ratios of medians.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anneal::engine::kernels::gemm::Precision;
use anneal::engine::limits::Limits;
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::random::{Purpose, Stream};
use anneal::engine::sampler::{Completion, Request, Sampler, Statistics};
use anneal::job::spec::SamplingSpec;
use anneal::modelfile::inspect;
use anneal::text::tokenizer::TextTokenizer;
use anyhow::{Context, ensure};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Times that each way is taken, in turn.
const ROUNDS: usize = 5;
/// Tokens of a completion of another model.
const TOKENS: u32 = 96;
/// What all prompts of another model begin with, where they begin alike.
const SYSTEM: &str = "You are a careful editor. You are given a short note and you write it again, word by word, with its \
    spelling put right and nothing else changed. You never add a remark of your own, you keep names, numbers and units as \
    they are, and you keep the order of the sentences. When a sentence is right already you repeat it as it stands. ";
const NOTES: [&str; 4] = [
    "The pump was swiched off at 14:05 and the pump was swiched on at 14:35; the presure in line 4 fell from 6.2 bar to 4.9 bar.",
    "Please send the invoice for the invoice number 2041 to the acounts departement of Miller and Sons before the end of march.",
    "The train to Lausanne leaves from platform 7, the train to Geneva leaves from platform 9, and both trains stop in Renens.",
    "Chop the onions, fry the onions in buter, add the tomatos and the stock, and let the onions and the tomatos simer for an hour.",
];

/// Turns of a conversation, what is said between them, and how often all are held each way.
const TALKS: usize = 3;
const TURNS: usize = 3;
const AGAIN: &str = "\n<|im_start|>user\nOnce more, and leave its last words out.<|im_end|>\n<|im_start|>assistant\n";

struct Subject {
    decoder: Decoder,
    tokenizer: TextTokenizer,
    spec: SamplingSpec,
    prompts: Vec<Arc<[u32]>>,
}

impl Subject {
    fn of(model: Option<&Path>) -> anyhow::Result<Self> {
        let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let inspection = inspect(model.unwrap_or(&builtin))?;
        let tokenizer = TextTokenizer::from_inspection(&inspection)?;
        let decoder = Decoder::new(Arc::new(Weights::load(&inspection)?), Precision::F32)?;
        let texts: Vec<String> = match model {
            None => (0..32).map(|n| format!("{}+{}=", 11 + 7 * n % 83, 12 + 5 * n % 79)).collect(),
            Some(_) => NOTES.iter().map(|note| chat(&format!("{SYSTEM}The note: {note}"))).collect(),
        };
        let prompts = texts.iter().map(|text| Ok(tokenizer.encode(text)?.into())).collect::<anyhow::Result<_>>()?;
        let (temperature, max_new_tokens) = if model.is_some() { (0.3, TOKENS) } else { (1.0, 16) };
        Ok(Self {
            decoder,
            tokenizer,
            spec: SamplingSpec { temperature, max_new_tokens, ..Default::default() },
            prompts,
        })
    }

    fn requests(&self, prompts: usize, samples: u32) -> Vec<Request> {
        let each = self.prompts.iter().take(prompts).zip(0..);
        each.flat_map(|(tokens, prompt)| {
            (0..samples).map(move |sample| Request::new(prompt, sample, Arc::clone(tokens)))
        })
        .collect()
    }

    fn run(&self, requests: &[Request], limits: &Limits, batch_size: u32) -> anyhow::Result<Run> {
        let spec = SamplingSpec { batch_size, ..self.spec.clone() };
        let stream = Stream::new(1, Purpose::Rollout, 0);
        let sampler = Sampler { decoder: &self.decoder, tokenizer: &self.tokenizer, spec: &spec, stream };
        let began = Instant::now();
        let (completions, statistics) = sampler.run_within(limits, requests, |_| Ok(()))?;
        Ok(Run { completions, statistics, seconds: began.elapsed().as_secs_f64() })
    }

    /// Conversations of two prompts, two of each.
    fn talk(&self, keeps: bool) -> anyhow::Result<Talk> {
        let max_new_tokens = TURNS as u32 * (TOKENS + 32);
        let spec = SamplingSpec { max_new_tokens, batch_size: 8, ..self.spec.clone() };
        let stream = Stream::new(1, Purpose::Rollout, 0);
        let sampler = Sampler { decoder: &self.decoder, tokenizer: &self.tokenizer, spec: &spec, stream };
        let (limits, again, mut session) = (Limits::default(), self.tokenizer.encode(AGAIN)?, sampler.session());
        let mut requests = self.requests(2, 2);
        let (mut computed, mut began) = (0, Instant::now());
        for turn in 0..TURNS {
            let (completions, statistics) = match keeps {
                true => session.run_within(&limits, &requests, |_| Ok(()))?,
                false => sampler.run_within(&limits, &requests, |_| Ok(()))?,
            };
            match turn {
                0 => began = Instant::now(),
                _ => computed += statistics.prompt_tokens,
            }
            for (request, completion) in requests.iter_mut().zip(completions) {
                request.begun += completion.tokens.len() + again.len();
                request.tokens = [&*request.tokens, &completion.tokens, &again].concat().into();
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(Talk { said: requests.into_iter().map(|request| request.tokens).collect(), computed, seconds })
    }
}

/// Conversations, and what all turns behind the first took.
struct Talk {
    said: Vec<Arc<[u32]>>,
    /// Prompt tokens.
    computed: u64,
    seconds: f64,
}

struct Run {
    completions: Vec<Completion>,
    statistics: Statistics,
    seconds: f64,
}

/// As ChatML has it, which models of this size know.
fn chat(text: &str) -> String {
    format!("<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> anyhow::Result<()> {
    let model = std::env::var_os("MODEL");
    let subject = Subject::of(model.as_deref().map(Path::new)).context("the model")?;
    if model.is_some() {
        talks(&subject)?;
    }
    let with = Limits::default();
    println!("{:<44} {:>8} {:>16} {:>12} {:>10}", "completions", "tokens", "tokens per pass", "right", "time");
    for (name, prompts, samples, batch) in [
        ("one after the other", 4, 1, 1),
        ("four at once, of one prompt", 1, 4, 4),
        ("eight of a prompt, four prompts, 32 at once", 4, 8, 32),
    ] {
        let requests = subject.requests(prompts, samples);
        let mut times = [Vec::new(), Vec::new()];
        let mut counts = Statistics::default();
        let mut tokens = 0;
        for round in 0..=ROUNDS {
            let plain = subject.run(&requests, &Limits { few_rows: 0, ..with }, batch)?;
            let guessed = subject.run(&requests, &with, batch)?;
            ensure!(plain.completions == guessed.completions, "guesses have changed a completion");
            // The first takes memory and packs weights.
            if round > 0 {
                times[0].push(plain.seconds);
                times[1].push(guessed.seconds);
            }
            counts = guessed.statistics;
            tokens = plain.completions.iter().map(|completion| completion.tokens.len()).sum();
        }
        let [plain, guessed] = times.map(median);
        let per_pass = (counts.decode_rows - counts.guessed + counts.right) as f64 / counts.decode_steps.max(1) as f64;
        let right = format!("{} of {}", counts.right, counts.guessed);
        println!("{name:<44} {tokens:>8} {per_pass:>16.2} {right:>12} {:>10.2}", guessed / plain);
        let prompted: usize = subject.prompts.iter().take(prompts).map(|prompt| prompt.len()).sum();
        println!("{:<44} {} of {prompted} prompt tokens computed", "", counts.prompt_tokens);
    }
    Ok(())
}

/// Conversations with the keys and values of earlier turns, and computing them again.
fn talks(subject: &Subject) -> anyhow::Result<()> {
    let mut times = [Vec::new(), Vec::new()];
    let mut counts = [0, 0];
    for _ in 0..TALKS {
        let (anew, kept) = (subject.talk(false)?, subject.talk(true)?);
        ensure!(anew.said == kept.said, "what is kept has changed a completion");
        times[0].push(anew.seconds);
        times[1].push(kept.seconds);
        counts = [anew.computed, kept.computed];
    }
    let [anew, kept] = times.map(median);
    println!(
        "{TURNS} turns, from the second on: {} of {} prompt tokens computed, {:.2} of the time",
        counts[1],
        counts[0],
        kept / anew
    );
    Ok(())
}
