//! `anneal bundle` and `anneal replay`: a finished job with all that another server needs to run it again, and whether it
//! ends with the same weights there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::checkpoints::bar_of_bytes;
use super::client::{Client, Source, escape, with_query};
use super::jobs::follow::{Outcome, conclude, detach_on_interrupt, follow_visibly};
use super::output::{Fields, Output, member};
use super::remote::RemoteArgs;
use crate::config::Config;
use crate::engine::artifact::digest;
use crate::job::adapter;
use crate::modelfile::read_limited;
use crate::modelfile::safetensors::SINGLE_FILE;

/// The file of a bundle that says what is in it.
const FILE: &str = "bundle.json";
const MOST_BYTES: u64 = 16 << 20;
/// Where a spec names data sets.
const DATA: [&str; 2] = ["/dataset/train", "/dataset/eval"];
/// Where a spec names other things that a server has.
const OTHERS: [(&str, &str); 3] = [
    ("/rollouts/from", "a stored rollout set"),
    ("/rollouts/mix/rollout_set", "a stored rollout set"),
    ("/adapter/start", "an adapter to go on from"),
];
/// The job ended with other weights.
const OTHER_WEIGHTS: u8 = 10;

/// A job with what it needs and what it ended with.
#[derive(Debug, Serialize, Deserialize)]
struct Bundle {
    /// Version of this format.
    format: u32,
    /// Of the program that ran the job.
    program: String,
    job: String,
    spec: Value,
    /// The columns of each data set that lies beside this file as `ID.jsonl`.
    datasets: Map<String, Value>,
    /// Of each file of weights.
    weights: Map<String, Value>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal bundle JOB --output bundle          its spec, its data, and the digests of its weights
  anneal replay bundle                       on another server: the same weights?")]
pub struct BundleArgs {
    /// The finished job
    job: String,
    /// The folder for the bundle
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal replay bundle
  anneal replay bundle --model mdl_...       the model, where the bundle's server alone had it

Exit codes: 0 the same weights, 10 others, 20 the job failed, 30 cancelled, 40 paused, 1 anything else.")]
pub struct ReplayArgs {
    /// The folder that `anneal bundle` made
    bundle: PathBuf,
    /// The model to start from [default: the one that the spec names]
    #[arg(long)]
    model: Option<String>,
    /// Run it although the server is of another version of the program
    #[arg(long)]
    other_version: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn bundle(config: &Config, args: &BundleArgs) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| make(client, output, args))
}

pub fn replay(config: &Config, args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| run(client, output, args))
}

fn make(client: &Client, output: Output, args: &BundleArgs) -> anyhow::Result<ExitCode> {
    let job = client.get(&format!("/v1/jobs/{}", escape(&args.job)))?;
    let checkpoint = job["result"]["checkpoint"].as_str().context("the job has made no model (no_checkpoint)")?;
    let of = format!("/v1/checkpoints/{}", escape(checkpoint));
    let mut spec = job["spec_resolved"].clone();
    for (pointer, what) in OTHERS {
        if spec.pointer(pointer).is_some_and(|value| !value.is_null()) {
            bail!("the job needs {what} ({pointer}), which is not part of a bundle (not_portable)");
        }
    }
    fs::create_dir_all(&args.output).with_context(|| format!("cannot make {}", args.output.display()))?;
    let mut datasets = Map::new();
    for id in DATA.iter().filter_map(|pointer| spec.pointer(pointer)?.as_str()).filter(|id| id.starts_with("dsv_")) {
        let path = format!("/v1/dataset-versions/{}", escape(id));
        let version = client.get(&path)?;
        let sha256 = version["sha256"].as_str().context("the version has no digest")?;
        client.download_one(
            &format!("{path}/content"),
            sha256,
            &args.output.join(format!("{id}.jsonl")),
            &bar_of_bytes(),
        )?;
        let mut about = version["columns"].clone();
        if let Some(split) = version["split"].as_object() {
            about["split"] = json!({"eval": split.get("eval"), "by": split.get("by")});
        }
        datasets.insert(id.to_owned(), about);
    }
    if let Some(id) = spec["model"].as_str().filter(|model| model.starts_with("mdl_")) {
        let model = client.get(&format!("/v1/models/{}", escape(id)))?;
        // Of another kind of source the bundle's reader has to say what the model is there.
        if let Some(source) = model["source"].as_str().filter(|source| source.starts_with("hf:")) {
            spec["model"] = json!(source);
        }
    }
    let manifest = client.get(&format!("{of}/manifest"))?;
    let files = manifest["files"].as_array().context("the manifest lists no files")?;
    let weights = files.iter().filter(|file| [SINGLE_FILE, adapter::WEIGHTS].iter().any(|name| file["path"] == *name));
    let weights =
        weights.filter_map(|file| Some((file["path"].as_str()?.to_owned(), file["sha256"].clone()))).collect();
    let program = version(client)?;
    let bundle = Bundle { format: 1, program, job: member(&job, "/id"), spec, datasets, weights };
    let path = args.output.join(FILE);
    let text = serde_json::to_vec_pretty(&bundle)?;
    crate::engine::artifact::write_file(&path, &text)?;
    let answer = json!({"object": "bundle", "job": bundle.job, "folder": args.output, "weights": bundle.weights});
    output.answer(&answer, || format!("{} is in {}", bundle.job, args.output.display()));
    Ok(ExitCode::SUCCESS)
}

fn run(client: &Client, output: Output, args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let path = args.bundle.join(FILE);
    let bundle: Bundle = serde_json::from_slice(&read_limited(&path, MOST_BYTES)?)
        .with_context(|| format!("{} is no bundle (bundle_invalid)", path.display()))?;
    ensure!(bundle.format == 1, "{} has format {}, and 1 is read (bundle_invalid)", path.display(), bundle.format);
    let here = version(client)?;
    if here != bundle.program && !args.other_version {
        bail!(
            "the job ran on anneal {}, and the server is {here} (bundle_version); another version may round otherwise. Run it \
             all the same with --other-version",
            bundle.program
        );
    }
    let spec = settled(client, args, &bundle)?;
    let job = client.post("/v1/jobs", &spec)?;
    eprintln!("{} runs {} again", member(&job, "/id"), bundle.job);
    detach_on_interrupt(&job);
    let (job, outcome) = follow_visibly(client, &job, None)?;
    let checkpoint = match (outcome, job["result"]["checkpoint"].as_str()) {
        (Outcome::Over, Some(checkpoint)) => checkpoint,
        _ => return Ok(conclude(&job, outcome, output)),
    };
    let manifest = client.get(&format!("/v1/checkpoints/{}/manifest", escape(checkpoint)))?;
    let found = |name: &str| {
        let file = manifest["files"].as_array().into_iter().flatten().find(|file| file["path"] == name);
        file.map_or(Value::Null, |file| file["sha256"].clone())
    };
    let same = bundle.weights.iter().all(|(name, sha256)| found(name) == *sha256);
    let there: Map<String, Value> = bundle.weights.keys().map(|name| (name.clone(), found(name))).collect();
    let answer = json!({
        "object": "replay", "job": job["id"], "of": bundle.job, "same_weights": same, "expected": bundle.weights,
        "found": there,
    });
    output.answer(&answer, || {
        let mut fields = Fields::default();
        fields.add("weights", String::from(if same { "the same" } else { "others" }));
        for (name, sha256) in &bundle.weights {
            fields.add(
                name.clone(),
                format!("{} there, {} here", sha256.as_str().unwrap_or("-"), member(&found(name), "")),
            );
        }
        fields.text()
    });
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(OTHER_WEIGHTS) })
}

/// The spec with the data sets of this server, which are uploaded, in the place of those of the other.
fn settled(client: &Client, args: &ReplayArgs, bundle: &Bundle) -> anyhow::Result<Value> {
    let mut spec = bundle.spec.clone();
    if let Some(model) = &args.model {
        spec["model"] = json!(model);
    }
    if let Some(model) = spec["model"].as_str().filter(|model| model.starts_with("mdl_") || model.starts_with("ckpt_"))
        && args.model.is_none()
    {
        bail!("`{model}` is a model of the server that ran the job; import it here, and name it with --model");
    }
    for pointer in DATA {
        let Some(member) = spec.pointer_mut(pointer) else { continue };
        let Some(columns) = member.as_str().and_then(|id| bundle.datasets.get(id)) else { continue };
        let id = member.as_str().unwrap_or_default().to_owned();
        *member = uploaded(client, &args.bundle.join(format!("{id}.jsonl")), &id, columns)?;
    }
    Ok(spec)
}

/// The version of a data set with the rows in a file.
fn uploaded(client: &Client, path: &Path, id: &str, columns: &Value) -> anyhow::Result<Value> {
    let (_, sha256) = digest(path)?;
    let column = |name: &str| columns[name].as_str().map(str::to_owned);
    let query = [
        ("name", Some(format!("replay {id}"))),
        ("prompt_column", column("prompt")),
        ("answer_column", column("answer")),
        ("completion_column", column("completion")),
        ("split", columns.get("split").map(Value::to_string)),
    ];
    // Whoever replays a bundle twice uploads its rows once.
    let key = format!("replay-{id}-{sha256}");
    let source = Source::File(path.to_owned());
    let made = client.upload(&with_query("/v1/datasets", &query), &source, Some(&key), &bar_of_bytes())?;
    Ok(made["latest"]["id"].clone())
}

/// The version of the program that answers.
fn version(client: &Client) -> anyhow::Result<String> {
    let health = client.get("/healthz")?;
    health["version"].as_str().map(str::to_owned).context("the server does not say what it is")
}
