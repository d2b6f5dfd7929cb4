//! `anneal bench`: how fast the engine is on this machine.
//!
//! It calls what jobs call, in the order in which they call it, on tokens drawn at random; the database, the API and
//! verifiers have no part in it. Here are the arguments and the order of the measurements; `measure` takes them,
//! `report` shows them.

mod machine;
mod measure;
mod report;
mod subject;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use self::machine::matmul;
use self::measure::{Bench, Peak, Sizes};
use self::report::{Machine, Measurement, Report};
use self::subject::{Setting, Subject};
use super::worker::start_pool;
use crate::clock;
use crate::config::Config;
use crate::engine::backend::Backend;
use crate::engine::cpu::Cpu;
use crate::engine::cuda::{Cuda, Peaks};
use crate::engine::device::{self, Device};
use crate::engine::kernels::buffer::release_free;
use crate::engine::kernels::{Instructions, form, gemm, instructions, restrict, trial};
use crate::engine::ops::fallback;
use crate::job::spec::{Masters, MomentState, OptimizerKind, OptimizerSpec, Precision, SampledCache};

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "`anneal bench --help` says what is measured and how to read it.")]
#[command(after_long_help = GUIDE)]
pub struct Args {
    /// Where to compute: cpu, or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
    /// What to measure: tiny, smollm2-135m, qwen3-0.6b, qwen3-1.7b, experts, no-experts, builtin:arith-tiny, or the path of
    /// a model
    #[arg(long, value_name = "MODEL", default_value = subject::TINY)]
    model: String,
    /// What the factors of matrix products are rounded to
    #[arg(long, value_enum, default_value_t = Compute::F32)]
    compute: Compute,
    /// Train an adapter of this rank on all linear layers, beside the frozen model
    #[arg(long, value_name = "RANK", value_parser = clap::value_parser!(u32).range(1..=1024))]
    lora: Option<u32>,
    /// Keep frozen weights in codes of 8 bits; needs --lora, or --only sample
    #[arg(long)]
    int8: bool,
    /// Keep keys and values of completions in fewer bits
    #[arg(long, value_enum)]
    cache: Option<Cache>,
    /// What the update of matrices is
    #[arg(long, value_enum, default_value_t = Update::Adamw)]
    optimizer: Update,
    /// What moments are kept in
    #[arg(long, value_enum, default_value_t = State::F32)]
    state: State,
    /// What weights that are trained are kept in
    #[arg(long, value_enum, default_value_t = Compute::F32)]
    masters: Compute,
    /// Use no more than these instructions of the processor [default: all that it has]
    #[arg(long, value_enum)]
    instructions: Option<Set>,
    /// Measure only these, separated by commas [default: all]
    #[arg(long, value_enum, value_name = "KIND,...", value_delimiter = ',')]
    only: Vec<Kind>,
    /// Completions sampled at the same time, separated by commas
    #[arg(long, value_name = "COUNT,...", value_delimiter = ',', default_value = "1,8,32,64")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    batch: Vec<u32>,
    /// Tokens of each prompt [default: 64]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=131_072))]
    prompt: Option<u32>,
    /// Sequences of a training step, and tokens of each, as in 1x2048 [default: by the model]
    #[arg(long, value_name = "COUNTxLENGTH", value_parser = shape)]
    sequences: Option<(u32, usize)>,
    /// Repeat each measurement for this long
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Print the figures as JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// Set by hand for 96 columns, because wrapping would break the hanging indents.
const GUIDE: &str = "\
What is measured:
  matmul   Matrix products of two shapes, in the engine's kernel and in the `gemm` crate (always
           f32) as an independent figure; the best of all repetitions. The larger of the two is
           the peak that shares are taken of. It is measured whatever --only says, then briefly.
  sample   For each --batch: prompts of 64 random tokens, or of --prompt, all different, and 64
           new tokens each, without guesses at what comes next.
           Prefill is the run that draws one token; decode is what the others take beyond it.
           `shared prompt` is as many completions of one prompt, which is computed once.
  train    Forward, backward and update on 8 sequences of 128 tokens, or with less than 50
           million parameters on 64 of 64, or on what --sequences says; then again with
           `recompute`. GFLOP/s are 6 x parameters
           x tokens / seconds, without attention and without what is computed twice; with --lora
           4 x the model's and 6 x the adapter's parameters.
  step     A step of a GRPO job: 8 completions of 64 tokens for each of 8 prompts of 64 tokens,
           random rewards, micro-batches of 2048 tokens, backward and update.

With more than 50 million parameters decode is also shown as a share of the time in which its
weights, and the cached keys and values, could be read from memory once a token, at the rate
at which all threads read; --cache bf16 keeps keys and values so on both sides of that.

On a GPU (--device cuda:0) the peak is that of products of 8192 rows and columns; prompts and
completions have 256 tokens, and a training step has 16 sequences of 1024. `of peak` is then the
share of the matrix peak for training, and of the time that reading the weights and the cached
keys and values once a step takes at the measured memory bandwidth for decode.

Times are medians after a run that is not counted. They are the machine's only as far as nothing
else runs on it. Speed follows from a model's shape, not from its weights: `tiny` (4 layers,
width 256), `smollm2-135m`, `qwen3-...`, `experts` (8 layers of width 512, in which a token has 8
of 32 experts) and `no-experts` (the same with as many parameters for each token) have random ones. A completion never ends early. Peak memory is
that of the whole process, so name one kind with --only to learn what that takes.

`unfused calls` lists operations that ran in a slower form than the one made for them, as on a
processor without AVX2; with `none` everything ran as it should.

Examples:
  anneal bench
  anneal bench --model smollm2-135m --compute bf16 --only train
  anneal bench --model smollm2-135m --lora 16 --only train
  anneal bench --model target/smollm2 --only sample --batch 1,16 --seconds 10
  anneal bench --model smollm2-135m --only sample --batch 32,64 --cache bf16
  anneal bench --model smollm2-135m --only train --sequences 1x2048
  anneal bench --model smollm2-135m --only sample --batch 1 --prompt 4096
  anneal bench --device cuda:0 --model qwen3-0.6b --compute bf16 --batch 1,32,256
  anneal bench --json | jq '.results[] | select(.name == \"decode\")'";

/// What can be measured on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Matmul,
    Sample,
    Train,
    Step,
}

/// The job spec's `train.precision` or `optimizer.masters`, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Compute {
    F32,
    Bf16,
}

/// Sets of instructions, from less to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum Set {
    Portable,
    Avx2,
    Avx512,
    Avx512Bf16,
}

impl From<Set> for Instructions {
    fn from(set: Set) -> Self {
        match set {
            Set::Portable => Self::Portable,
            Set::Avx2 => Self::Avx2,
            Set::Avx512 => Self::Avx512,
            Set::Avx512Bf16 => Self::Avx512Bf16,
        }
    }
}

/// The job spec's `optimizer.type`, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Update {
    Adamw,
    Muon,
}

impl From<Update> for OptimizerKind {
    fn from(update: Update) -> Self {
        match update {
            Update::Adamw => Self::Adamw,
            Update::Muon => Self::Muon,
        }
    }
}

/// The job spec's `optimizer.state`, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum State {
    F32,
    Bf16,
    Int8,
}

impl From<State> for MomentState {
    fn from(state: State) -> Self {
        match state {
            State::F32 => Self::F32,
            State::Bf16 => Self::Bf16,
            State::Int8 => Self::Int8,
        }
    }
}

/// The job spec's `sampling.cache`, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Cache {
    Bf16,
}

impl From<Cache> for SampledCache {
    fn from(Cache::Bf16: Cache) -> Self {
        Self::Bf16
    }
}

/// The device that only tests have.
const EMULATED: &str = "emulated";

impl From<Compute> for gemm::Precision {
    fn from(compute: Compute) -> Self {
        trial::quickest(compute.into())
    }
}

impl From<Compute> for Precision {
    fn from(compute: Compute) -> Self {
        match compute {
            Compute::F32 => Self::F32,
            Compute::Bf16 => Self::Bf16,
        }
    }
}

impl From<Compute> for Masters {
    fn from(compute: Compute) -> Self {
        match compute {
            Compute::F32 => Self::F32,
            Compute::Bf16 => Self::Bf16,
        }
    }
}

impl Args {
    fn wants(&self, kind: Kind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    /// Whether anything asked for draws tokens.
    fn samples(&self) -> bool {
        self.wants(Kind::Sample) || self.wants(Kind::Step)
    }

    /// How the model is used.
    fn setting(&self) -> Setting {
        Setting {
            precision: self.compute.into(),
            with_text: self.samples(),
            lora: self.lora,
            int8: self.int8,
            masters: self.masters.into(),
        }
    }

    /// What weights are changed with.
    fn update(&self) -> OptimizerSpec {
        let (kind, state, masters) = (self.optimizer.into(), self.state.into(), self.masters.into());
        OptimizerSpec { kind, state, masters, ..OptimizerSpec::default() }
    }

    /// Steps of the progress bar: the peak and the model, then each measurement.
    fn steps(&self) -> usize {
        let of = |kind, count| if self.wants(kind) { count } else { 0 };
        2 + of(Kind::Sample, 2 * self.batch.len()) + of(Kind::Train, 2) + of(Kind::Step, 1)
    }
}

/// Measures what was asked for and prints it.
pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(set) = args.instructions {
        restrict(set.into());
    }
    start_pool(config.threads)?;
    let progress = Progress::new(args.steps());
    // On a thread of the pool, as a worker runs the engine.
    let report = rayon::scope(|_| measure(args, &progress));
    progress.finish();
    let report = report?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report).context("the figures cannot be written as JSON")?);
    } else {
        print!("{}", report::table(&report));
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, progress: &Progress) -> anyhow::Result<Report> {
    let trains = args.wants(Kind::Train) || args.wants(Kind::Step);
    anyhow::ensure!(
        !args.int8 || args.lora.is_some() || !trains,
        "--int8 freezes the weights; add --lora, or --only sample"
    );
    anyhow::ensure!(
        args.masters == Compute::F32 || args.lora.is_none(),
        "--masters is for all weights, and --lora freezes them; leave one of them out"
    );
    progress.begin("matrix products");
    match device::open(&args.device)? {
        Device::Cpu => {
            let wanted = args.wants(Kind::Matmul);
            let products = matmul(args.compute.into(), wanted, args.seconds);
            let figures = Measurement::Matmul { gflops: products.engine, library_gflops: products.library };
            let number_bytes = if args.compute == Compute::Bf16 { 2 } else { 4 };
            let peak = Peak { gflops: products.peak(), bytes_per_second: None, number_bytes };
            measure_on(&Arc::new(Cpu), args, progress, Measured { gpu: None, peak, figures })
        }
        Device::Gpu(driver) => {
            let cuda = Cuda::new(driver, args.compute.into());
            let (size, bytes) = if args.device == EMULATED { (32, 1 << 16) } else { (8192, 4 << 30) };
            let Peaks { gflops, bytes_per_second } = cuda.peaks(size, bytes)?;
            let figures = Measurement::Device { gflops, bytes_per_second };
            let number_bytes = cuda.kind().bytes();
            let peak = Peak { gflops, bytes_per_second: Some(bytes_per_second), number_bytes };
            let gpu = Some(cuda.driver().name());
            measure_on(&cuda, args, progress, Measured { gpu, peak, figures })
        }
    }
}

/// A device, measured: its name if it is a GPU, what shares are taken of, and the figures of it.
struct Measured {
    gpu: Option<String>,
    peak: Peak,
    figures: Measurement,
}

fn measure_on<B: Backend>(
    backend: &Arc<B>,
    args: &Args,
    progress: &Progress,
    Measured { gpu, peak, figures }: Measured,
) -> anyhow::Result<Report> {
    let mut results: Vec<Measurement> = args.wants(Kind::Matmul).then_some(figures).into_iter().collect();
    progress.begin(&format!("loading {}", args.model));
    let subject = Subject::load(&args.model, args.setting(), backend)?;
    let sizes = Sizes::of(&args.device, subject.weights.parameter_count()).with(args.prompt, args.sequences);
    subject.check_context(sizes)?;
    // Of a small model caches hold a part.
    let reads_memory = args.wants(Kind::Sample) && subject.weights.parameter_count() >= measure::LARGE;
    let measured = peak.bytes_per_second.or_else(|| reads_memory.then(machine::read_bandwidth));
    let peak = Peak { bytes_per_second: measured, ..peak };
    let cache = args.cache.map(SampledCache::from);
    let bench = Bench { subject: &subject, optimizer: args.update(), cache, seconds: args.seconds, peak, sizes };
    let mut add = |what: String, measurement: &dyn Fn(&Bench<'_, B>) -> anyhow::Result<Vec<Measurement>>| {
        progress.begin(&what);
        // Other phases need buffers of other sizes.
        release_free();
        let measured = measurement(&bench).with_context(|| format!("measuring {what} failed"))?;
        results.extend(measured);
        anyhow::Ok(())
    };
    if args.wants(Kind::Sample) {
        for batch in &args.batch {
            add(format!("prefill and decode, batch {batch}"), &|bench| bench.sample(*batch))?;
        }
        for batch in &args.batch {
            add(format!("a shared prompt, batch {batch}"), &|bench| Ok(vec![bench.shared_prompt(*batch)?]))?;
        }
    }
    if args.wants(Kind::Train) {
        for recompute in [false, true] {
            let how = if recompute { " with recompute" } else { "" };
            add(format!("training{how}"), &|bench| Ok(vec![bench.train(recompute)?]))?;
        }
    }
    if args.wants(Kind::Step) {
        add(String::from("a GRPO step"), &|bench| Ok(vec![bench.grpo_step()?]))?;
    }
    let ways = [true, false].map(|is_few| form::way(trial::quickest(Precision::Bf16), is_few).name());
    Ok(Report {
        version: env!("ANNEAL_BUILD"),
        date: clock::now().rfc3339(),
        machine: Machine {
            cpu: machine::cpu(),
            cores: rayon::current_num_threads(),
            instructions: instructions().name(),
            bf16: report::Bf16Products { few_rows: ways[0], many_rows: ways[1] },
            gpu,
        },
        model: args.model.clone(),
        parameters: subject.weights.parameter_count(),
        lora: args.lora,
        compute: args.compute,
        cache,
        matmul_peak_gflops: peak.gflops,
        memory_bytes_per_second: peak.bytes_per_second,
        peak_memory_bytes: machine::peak_memory_bytes()?,
        unfused: fallback::list().into_iter().map(|(operation, calls)| report::Unfused { operation, calls }).collect(),
        results,
    })
}

/// A bar on standard error; without a terminal, nothing.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn new(steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} [{bar:24}] {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        // Rare enough not to be seen in what is measured.
        bar.enable_steady_tick(Duration::from_secs(1));
        Self { bar }
    }

    /// Says what is measured next, which is also when the last one is done.
    fn begin(&self, what: &str) {
        if !self.bar.message().is_empty() {
            self.bar.inc(1);
        }
        self.bar.set_message(what.to_owned());
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn shape(text: &str) -> Result<(u32, usize), String> {
    let numbers = text.split_once('x').and_then(|(count, length)| Some((count.parse().ok()?, length.parse().ok()?)));
    match numbers {
        Some((count, length)) if (1..=1024).contains(&count) && (2..=131_072).contains(&length) => Ok((count, length)),
        _ => Err(String::from("must be like 1x2048: 1 to 1,024 sequences, of 2 to 131,072 tokens")),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 3600.0 => Ok(value),
        _ => Err(String::from("must be a number above 0, and at most 3600")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_two_numbers() {
        assert_eq!((shape("1x2048"), shape("64x2")), (Ok((1, 2048)), Ok((64, 2))));
        for text in ["", "2048", "1x", "0x4", "1x1", "1025x4", "1 x 4", "-1x4", "1x4x4"] {
            assert!(shape(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_time_that_ends_is_taken() {
        assert_eq!((seconds("0.05"), seconds(" 3600 ")), (Ok(0.05), Ok(3600.0)));
        for text in ["0", "-1", "inf", "nan", "3601", "long"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
