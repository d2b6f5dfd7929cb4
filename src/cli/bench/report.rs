//! What was measured, as JSON for programs and as a table for people.

use serde::Serialize;

use super::Compute;
use crate::job::spec::SampledCache;

/// Everything that `anneal bench --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    /// RFC 3339.
    pub date: String,
    pub machine: Machine,
    pub model: String,
    pub parameters: usize,
    /// The rank of the adapter that was trained beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<u32>,
    pub compute: Compute,
    /// What keys and values were kept in, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<SampledCache>,
    pub matmul_peak_gflops: f64,
    /// Of a GPU read and written by a copy; of the CPU read, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_per_second: Option<f64>,
    pub peak_memory_bytes: u64,
    pub unfused: Vec<Unfused>,
    pub results: Vec<Measurement>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub cpu: String,
    /// Threads that compute: all cores, unless `--threads` says less.
    pub cores: usize,
    /// The widest instructions that the kernels use.
    pub instructions: &'static str,
    /// How products of bf16 are computed: `own` by an instruction for pairs of them, or these `widened` to f32; in matrix `tiles`.
    pub bf16: Bf16Products,
    /// The GPU that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
}

/// For few rows, as in sampling, and for many.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bf16Products {
    pub few_rows: &'static str,
    pub many_rows: &'static str,
}

/// An operation that ran in a slower form.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unfused {
    pub operation: &'static str,
    pub calls: u64,
}

/// One result; its name tells the kind.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Measurement {
    Matmul {
        gflops: f64,
        library_gflops: f64,
    },
    /// A GPU's peaks.
    Device {
        gflops: f64,
        bytes_per_second: f64,
    },
    Prefill {
        batch: u32,
        tokens_per_second: f64,
    },
    Decode {
        batch: u32,
        prompt_tokens: usize,
        new_tokens: u32,
        tokens_per_second: f64,
        /// Of the memory's, where that was measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        share_of_bandwidth: Option<f64>,
    },
    SharedPrompt {
        batch: u32,
        /// Prompt tokens that were computed.
        prompt_tokens: u64,
        new_tokens: u32,
        tokens_per_second: f64,
    },
    Train {
        sequences: u32,
        length: usize,
        recompute: bool,
        seconds: f64,
        tokens_per_second: f64,
        gflops: f64,
        share_of_peak: f64,
    },
    GrpoStep {
        prompts: u32,
        completions: u32,
        new_tokens: u32,
        seconds: f64,
        sampling_seconds: f64,
    },
}

/// A line of the table: what, tokens per second, seconds, GFLOP/s, and their share of the peak.
type Line = [String; 5];

const HEADINGS: [&str; 5] = ["", "tokens/s", "seconds", "GFLOP/s", "of peak"];

/// What the command prints: the machine and the model, the figures, memory and slow operations.
pub fn table(report: &Report) -> String {
    let Machine { cpu, cores, instructions, bf16, gpu } = &report.machine;
    let parameters = grouped(report.parameters as f64);
    let compute = match report.compute {
        Compute::F32 => "f32",
        Compute::Bf16 => "bf16",
    };
    let mut text = format!("anneal       {}, {}\n", report.version, report.date);
    text += &format!("machine      {cpu}, {cores} cores, {instructions}\n");
    text += &format!("bf16         {} for few rows, {} for many\n", bf16.few_rows, bf16.many_rows);
    if let Some(gpu) = gpu {
        text += &format!("device       {gpu}\n");
    }
    let adapter = report.lora.map_or_else(String::new, |rank| format!(", adapter of rank {rank}"));
    let cache = report.cache.map_or("", |SampledCache::Bf16| ", keys and values in bf16");
    text += &format!("model        {}, {parameters} parameters{adapter}, products in {compute}{cache}\n", report.model);
    let memory = report.memory_bytes_per_second;
    let memory = memory.map_or_else(String::new, |rate| format!(", memory {} GB/s", number(rate / 1e9)));
    text += &format!("matmul peak  {} GFLOP/s{memory}\n\n", number(report.matmul_peak_gflops));
    let lines: Vec<Line> = std::iter::once(HEADINGS.map(str::to_owned))
        .chain(report.results.iter().flat_map(|measurement| measurement.lines()))
        .collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or_default());
    for line in lines.iter().filter(|_| !report.results.is_empty()) {
        let first = format!("{:<width$}", line[0], width = widths[0]);
        let rest = line.iter().zip(widths).skip(1).map(|(cell, width)| format!("{cell:>width$}"));
        let cells: Vec<String> = std::iter::once(first).chain(rest).collect();
        text += &format!("{}\n", cells.join("   ").trim_end());
    }
    text += &format!("\npeak memory  {} MiB\n", grouped((report.peak_memory_bytes >> 20) as f64));
    let unfused: Vec<String> = report.unfused.iter().map(|u| format!("{} ({})", u.operation, u.calls)).collect();
    let unfused = if unfused.is_empty() { String::from("none") } else { unfused.join(", ") };
    text + &format!("unfused calls: {unfused}\n")
}

impl Measurement {
    fn lines(&self) -> Vec<Line> {
        let none = String::new;
        let of_tokens = |what: String, rate: f64| [what, number(rate), none(), none(), none()];
        let of_seconds = |what: String, seconds: f64| [what, none(), number(seconds), none(), none()];
        let of_gflops = |what: &str, gflops: f64| [what.to_owned(), none(), none(), number(gflops), none()];
        match *self {
            Self::Matmul { gflops, library_gflops } => vec![
                of_gflops("matmul, the engine's kernel", gflops),
                of_gflops("matmul, the gemm crate in f32", library_gflops),
            ],
            Self::Device { gflops, bytes_per_second } => vec![
                of_gflops("matmul, on the device", gflops),
                [format!("copy, {} GB/s", number(bytes_per_second / 1e9)), none(), none(), none(), none()],
            ],
            Self::Prefill { batch, tokens_per_second } => {
                vec![of_tokens(format!("prefill, batch {batch}"), tokens_per_second)]
            }
            Self::Decode { batch, tokens_per_second, share_of_bandwidth, .. } => {
                let mut line = of_tokens(format!("decode, batch {batch}"), tokens_per_second);
                line[4] = share_of_bandwidth.map_or_else(none, |share| format!("{:.0} %", 100.0 * share));
                vec![line]
            }
            Self::SharedPrompt { batch, prompt_tokens, tokens_per_second, .. } => {
                let what = format!("shared prompt, batch {batch}, {prompt_tokens} tokens computed");
                vec![of_tokens(what, tokens_per_second)]
            }
            Self::Train { sequences, length, recompute, seconds, tokens_per_second, gflops, share_of_peak } => {
                let how = if recompute { ", recompute" } else { "" };
                vec![[
                    format!("train, {sequences} x {length} tokens{how}"),
                    number(tokens_per_second),
                    number(seconds),
                    number(gflops),
                    format!("{:.1} %", 100.0 * share_of_peak),
                ]]
            }
            Self::GrpoStep { prompts, completions, new_tokens, seconds, sampling_seconds } => vec![
                of_seconds(format!("grpo step, {prompts} x {completions} completions of {new_tokens} tokens"), seconds),
                of_seconds(String::from("grpo step, its sampling"), sampling_seconds),
            ],
        }
    }
}

/// Three significant digits below 1000, whole numbers above.
fn number(value: f64) -> String {
    match value {
        value if value >= 999.5 => grouped(value),
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value if value >= 0.9995 => format!("{value:.2}"),
        value if value >= 0.09995 => format!("{value:.3}"),
        value => format!("{value:.4}"),
    }
}

/// A whole number with a comma between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let with_commas = digits.chars().enumerate().flat_map(|(index, digit)| {
        let comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    });
    with_commas.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Report {
        Report {
            version: "0.1.0",
            date: String::from("2026-11-21T12:00:00.000Z"),
            machine: Machine {
                cpu: String::from("AMD EPYC"),
                cores: 2,
                instructions: "avx512_bf16",
                bf16: Bf16Products { few_rows: "own", many_rows: "own" },
                gpu: None,
            },
            model: String::from("smollm2-135m"),
            parameters: 134_515_008,
            lora: None,
            compute: Compute::Bf16,
            cache: Some(SampledCache::Bf16),
            matmul_peak_gflops: 512.34,
            memory_bytes_per_second: None,
            peak_memory_bytes: 3 << 30,
            unfused: Vec::new(),
            results: vec![
                Measurement::Matmul { gflops: 512.34, library_gflops: 301.5 },
                Measurement::Prefill { batch: 32, tokens_per_second: 1234.5 },
                Measurement::Decode {
                    batch: 1,
                    prompt_tokens: 64,
                    new_tokens: 64,
                    tokens_per_second: 56.78,
                    share_of_bandwidth: None,
                },
                Measurement::SharedPrompt { batch: 8, prompt_tokens: 64, new_tokens: 64, tokens_per_second: 345.6 },
                Measurement::Train {
                    sequences: 8,
                    length: 128,
                    recompute: true,
                    seconds: 2.345,
                    tokens_per_second: 436.7,
                    gflops: 352.4,
                    share_of_peak: 0.6878,
                },
                Measurement::GrpoStep {
                    prompts: 8,
                    completions: 8,
                    new_tokens: 64,
                    seconds: 21.5,
                    sampling_seconds: 0.0456,
                },
            ],
        }
    }

    #[test]
    fn the_table_of_fixed_figures() {
        let expected = "\
anneal       0.1.0, 2026-11-21T12:00:00.000Z
machine      AMD EPYC, 2 cores, avx512_bf16
bf16         own for few rows, own for many
model        smollm2-135m, 134,515,008 parameters, products in bf16, keys and values in bf16
matmul peak  512 GFLOP/s

                                             tokens/s   seconds   GFLOP/s   of peak
matmul, the engine's kernel                                           512
matmul, the gemm crate in f32                                         302
prefill, batch 32                               1,234
decode, batch 1                                  56.8
shared prompt, batch 8, 64 tokens computed        346
train, 8 x 128 tokens, recompute                  437      2.35       352    68.8 %
grpo step, 8 x 8 completions of 64 tokens                  21.5
grpo step, its sampling                                  0.0456

peak memory  3,072 MiB
unfused calls: none
";
        assert_eq!(table(&report()), expected);
        let slow = Report { unfused: vec![Unfused { operation: "linear", calls: 7 }], ..report() };
        assert!(table(&slow).ends_with("unfused calls: linear (7)\n"));
    }

    #[test]
    fn a_result_is_an_object_with_its_name() {
        let results = serde_json::to_value(report()).unwrap()["results"].take();
        assert_eq!(results[0], json!({"name": "matmul", "gflops": 512.34, "library_gflops": 301.5}));
        let names: Vec<&str> = results.as_array().unwrap().iter().filter_map(|r| r["name"].as_str()).collect();
        assert_eq!(names, ["matmul", "prefill", "decode", "shared_prompt", "train", "grpo_step"]);
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown = [0.0, 0.012_34, 0.999_6, 9.996, 99.96, 999.6, 1e6].map(number);
        assert_eq!(shown, ["0.0000", "0.0123", "1.00", "10.0", "100", "1,000", "1,000,000"]);
    }
}
