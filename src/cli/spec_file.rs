//! Specs in files: JSON, YAML or TOML, with data of this machine that the server does not have yet.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::checkpoints::bar_of_bytes;
use super::client::{Client, Refused, Source, with_query};
use super::remote::{PageArgs, items};
use crate::engine::artifact;

/// The members that name data sets.
const DATA: [&str; 2] = ["/dataset/train", "/dataset/eval"];
/// Data sets, the newest first, among which one with the same bytes is looked for.
const LOOKED_THROUGH: u64 = 1000;

/// The text of a file, or of standard input where it is `-`.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A spec as TOML or YAML where its name ends so, and otherwise as JSON.
pub fn parse(path: &Path, text: &str) -> Result<Value, Refused> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let (form, read) = match ending {
        "toml" => ("TOML", toml::from_str(text).map_err(|error| error.to_string())),
        "yaml" | "yml" => ("YAML", serde_saphyr::from_str(text).map_err(|error| error.to_string())),
        _ => ("JSON", serde_json::from_str(text).map_err(|error| error.to_string())),
    };
    read.map_err(|error| {
        let detail = format!("{} is not valid {form}: {error}", path.display());
        Refused::new(400, json!({"code": "invalid_json", "detail": detail}).to_string().as_bytes(), false)
    })
}

/// Puts paths that do not depend on the present folder in the place of those in a spec, which are relative to its own.
pub fn settle_paths(spec_file: &Path, spec: &mut Value) -> anyhow::Result<()> {
    let folder = spec_file.parent().filter(|_| spec_file != Path::new("-")).unwrap_or(Path::new(""));
    for pointer in DATA {
        let Some(member) = spec.pointer_mut(pointer) else { continue };
        let Some(path) = member.as_str().and_then(local) else { continue };
        *member = std::path::absolute(folder.join(path))?.to_string_lossy().into();
    }
    Ok(())
}

/// Puts versions of data sets in the place of files of this machine, which are uploaded unless the server has them.
pub fn upload_data(client: &Client, spec: &mut Value) -> anyhow::Result<()> {
    for pointer in DATA {
        let Some(member) = spec.pointer_mut(pointer) else { continue };
        let Some(path) = member.as_str().and_then(local) else { continue };
        let version = version_of(client, &path).with_context(|| format!("{pointer} of the spec"))?;
        *member = Value::String(version);
    }
    Ok(())
}

/// The path that a member of a spec is, if it is one: ids and names have no slash, and no such ending.
fn local(text: &str) -> Option<PathBuf> {
    let is_path = ["./", "../", "/"].iter().any(|begin| text.starts_with(begin)) || text.ends_with(".jsonl");
    is_path.then(|| PathBuf::from(text))
}

/// The version of a data set that holds the bytes of a file; made if there is none.
fn version_of(client: &Client, path: &Path) -> anyhow::Result<String> {
    let (_, digest) = artifact::digest(path)?;
    let id = |version: &Value| version["id"].as_str().map(str::to_owned).context("the server's answer has no id");
    let list = PageArgs::first(LOOKED_THROUGH).list(client, "/v1/datasets", &[])?;
    if let Some(known) = items(&list).find(|dataset| dataset["latest"]["sha256"] == digest.as_str()) {
        return id(&known["latest"]);
    }
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let path_of = with_query("/v1/datasets", &[("name", name)]);
    // Whoever repeats this, or runs it twice at once, makes one data set.
    let key = format!("file-{digest}");
    let made = client.upload(&path_of, &Source::File(path.to_owned()), Some(&key), &bar_of_bytes())?;
    eprintln!("{} is uploaded as {}", path.display(), super::output::member(&made, "/id"));
    id(&made["latest"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_spec_say_the_same_and_a_broken_one_says_where() {
        let json = r#"{"model": "builtin:arith-tiny", "train": {"steps": 6}, "sampling": {"stop": ["\n"]}}"#;
        let yaml = "model: builtin:arith-tiny\ntrain:\n  steps: 6 # few\nsampling:\n  stop: [\"\\n\"]\n";
        let toml = "model = \"builtin:arith-tiny\"\ntrain.steps = 6\nsampling.stop = [\"\\n\"]\n";
        let expected = parse(Path::new("-"), json).unwrap();
        for (name, text) in [("a.yaml", yaml), ("a.yml", yaml), ("a.toml", toml), ("a.json", json)] {
            assert_eq!(parse(Path::new(name), text).unwrap(), expected, "{name}");
        }
        for (name, form) in [("a.yaml", "YAML"), ("a.toml", "TOML"), ("a", "JSON")] {
            let refused = parse(Path::new(name), "model: [1").unwrap_err().to_string();
            assert!(refused.contains(form), "{refused}");
        }
    }

    #[test]
    fn paths_in_a_spec_are_below_its_folder() {
        let mut spec = json!({"dataset": {"train": "./rows", "eval": "builtin:arithmetic"}});
        settle_paths(Path::new("/specs/job.yaml"), &mut spec).unwrap();
        assert_eq!(spec, json!({"dataset": {"train": "/specs/rows", "eval": "builtin:arithmetic"}}));
        settle_paths(Path::new("/elsewhere/job.yaml"), &mut spec).unwrap();
        assert_eq!(spec["dataset"]["train"], "/specs/rows", "it is settled");
    }

    #[test]
    fn paths_are_told_from_ids_and_names() {
        for path in ["./rows", "../a.jsonl", "/data/rows.jsonl", "rows.jsonl"] {
            assert!(local(path).is_some(), "{path}");
        }
        for name in ["ds_0198f6c2a7d47e0c8f6f0d9f0e6b5a31", "builtin:arithmetic", "sums", "sums@latest"] {
            assert!(local(name).is_none(), "{name}");
        }
    }
}
