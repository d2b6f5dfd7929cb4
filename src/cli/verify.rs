//! `anneal verify`: whether a downloaded folder is what a server says it made, without asking it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::output::{Fields, Output, member};
use super::remote::RemoteArgs;
use crate::config::Config;
use crate::engine::artifact::digest;
use crate::job::artifact::MANIFEST;
use crate::job::provenance::{Envelope, FILE, MOST_BYTES, PublicKeys};
use crate::modelfile::read_limited;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  curl -o jwks.json http://SERVER/.well-known/jwks.json    once, from a place that you trust
  anneal verify model --key jwks.json                      offline, whenever you like

Without --key the server that other commands talk to is asked for its key. Exit codes: 0 the folder is as it was signed,
1 it is not.")]
pub struct Args {
    /// The folder of a checkpoint or an export, as `download`, `export` or an unpacked archive leave it
    folder: PathBuf,
    /// The public keys that are trusted: a JSON Web Key Set
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.key {
        return args.remote.run_alone(|output| {
            let keys = read_limited(path, MOST_BYTES)?;
            let keys = serde_json::from_slice(&keys);
            verify(&args.folder, &keys.with_context(|| format!("{} is no JSON Web Key Set", path.display()))?, output)
        });
    }
    args.remote.run(config, |client, output| {
        let keys = serde_json::from_value(client.get("/.well-known/jwks.json")?)?;
        verify(&args.folder, &keys, output)
    })
}

fn verify(folder: &Path, keys: &PublicKeys, output: Output) -> anyhow::Result<ExitCode> {
    let path = folder.join(FILE);
    let envelope = read_limited(&path, MOST_BYTES).with_context(|| {
        format!(
            "{} is not there; download the folder with `anneal checkpoints download` or as an archive",
            path.display()
        )
    })?;
    let envelope: Envelope = serde_json::from_slice(&envelope)
        .with_context(|| format!("{} is no envelope (provenance_invalid)", path.display()))?;
    let (statement, key) = match envelope.open(&keys.keys) {
        Ok(opened) => opened,
        Err(error) => bail!("{}: {error} ({})", path.display(), error.code()),
    };
    let mut wrong = BTreeMap::new();
    let subjects = statement["subject"].as_array().context("the statement lists no files (provenance_invalid)")?;
    for subject in subjects {
        let name = subject["name"].as_str().context("a file of the statement has no name (provenance_invalid)")?;
        let found = match name.contains(['/', '\\']) || name == ".." {
            true => Err(String::from("has no plain name")),
            false => digest(&folder.join(name)).map(|(_, sha256)| sha256).map_err(|error| error.to_string()),
        };
        match found {
            Ok(sha256) if subject["digest"]["sha256"] == sha256 => {}
            Ok(_) => drop(wrong.insert(name, String::from("was changed"))),
            Err(error) => drop(wrong.insert(name, error)),
        }
    }
    let unsigned = others(folder, subjects)?;
    let answer = json!({
        "object": "verification", "verified": wrong.is_empty(), "key": key.id(), "files": subjects.len(),
        "wrong": wrong, "unsigned": unsigned, "predicate": statement["predicate"],
    });
    output.answer(&answer, || described(&statement, &key.id(), subjects.len()));
    for name in &unsigned {
        eprintln!("{name} is not in the statement: nobody has signed it");
    }
    if !wrong.is_empty() {
        let list: Vec<String> = wrong.iter().map(|(name, what)| format!("{name} {what}")).collect();
        bail!("the folder is not as it was signed (digest_mismatch): {}", list.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Files of the folder of which the statement says nothing.
fn others(folder: &Path, subjects: &[Value]) -> anyhow::Result<Vec<String>> {
    let is_known = |name: &str| name == FILE || name == MANIFEST || subjects.iter().any(|s| s["name"] == name);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !is_known(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn described(statement: &Value, key: &str, files: usize) -> String {
    let mut fields = Fields::default();
    let predicate = &statement["predicate"];
    fields.add("files", format!("{files}, all checked"));
    fields.add("key", key.to_owned());
    fields.add("job", member(predicate, "/runDetails/metadata/invocationId"));
    fields.add("finished", member(predicate, "/runDetails/metadata/finishedOn"));
    fields.add("program", format!("anneal {}", member(predicate, "/runDetails/builder/version/anneal")));
    fields.add("spec", member(predicate, "/buildDefinition/externalParameters/spec_digest"));
    for of in predicate["buildDefinition"]["resolvedDependencies"].as_array().into_iter().flatten() {
        let digest = of["digest"]["sha256"].as_str().map_or(String::new(), |sha256| format!(" sha256:{sha256}"));
        fields.add(member(of, "/name"), format!("{}{digest}", member(of, "/uri").replace("urn:anneal:", "")));
    }
    fields.text()
}
