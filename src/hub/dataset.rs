//! Data sets of the hub: what `hf:datasets/owner/name` stands for, and which files of a repository hold a split.
//!
//! A repository says so in the front of its README (`configs`), with patterns of paths. Where it does not, names do: a file is
//! of the split that a part of its name or its folder is called, and of the configuration that the folder above is called.
//!
//! ```text
//! main/train-00000-of-00001.parquet    configuration main, split train
//! data/test.jsonl.gz                   the default configuration, split test
//! problems.csv                         the default configuration, split train
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::{HubRef, MOST_BYTES, PREFIX, RemoteFile, Snapshot, is_plain};

/// What a text begins with that names a data set of the hub.
pub const DATASETS: &str = "hf:datasets/";
/// The file of a repository whose front may say where its data are.
pub const README: &str = "README.md";
/// The configuration that is meant where a repository names none.
const DEFAULT: &str = "default";
const TRAIN: &str = "train";
/// Ends of files with rows.
const ENDS: [&str; 7] = ["parquet", "jsonl", "ndjson", "json", "csv", "tsv", "jsonlines"];
const PACKED: [&str; 4] = [".gz", ".gzip", ".zst", ".zstd"];
/// What splits are called in names of files.
const SPLITS: [(&str, &str); 10] = [
    ("train", TRAIN),
    ("training", TRAIN),
    ("test", "test"),
    ("testing", "test"),
    ("eval", "test"),
    ("evaluation", "test"),
    ("validation", "validation"),
    ("valid", "validation"),
    ("val", "validation"),
    ("dev", "validation"),
];
/// Named in an error.
const MOST_NAMED: usize = 20;
/// Of a split.
const MOST_FILES: usize = 1000;
/// Patterns of a repository that are looked at.
const MOST_PATTERNS: usize = 1000;

/// A split of a data set of the hub: `hf:datasets/owner/name`, with `@revision` where it is not the default branch, and with
/// `:config/split` or `:split`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetRef {
    /// `owner/name`, or for a few old ones `name`.
    pub repository: String,
    /// A branch, a tag or a commit.
    pub revision: Option<String>,
    pub config: Option<String>,
    pub split: Option<String>,
}

/// A text that begins as a data set of the hub and is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no data set of the hub; write hf:datasets/owner/name, with @revision and :config/split or :split behind it"
)]
pub struct InvalidDatasetRef(String);

/// The files of a split, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub config: String,
    pub split: String,
    pub files: Vec<RemoteFile>,
}

/// Why no split was chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchosen {
    #[error(
        "the repository has no files of rows; those are .parquet, .jsonl, .json, .csv and .tsv, also with .gz or .zst"
    )]
    NoFiles,
    #[error("there is no {what} `{asked}`; there are {}; write it behind the name, as in :config/split", listed(.there))]
    Missing { what: &'static str, asked: String, there: Vec<String> },
    #[error("there are several {what}s: {}; write the one behind the name, as in :config/split", listed(.there))]
    Several { what: &'static str, there: Vec<String> },
    #[error("the split has more than {MOST_FILES} files; name a smaller one")]
    TooManyFiles,
}

impl DatasetRef {
    /// The repository as the hub's addresses have it, at the revision.
    pub fn hub_ref(&self) -> HubRef {
        HubRef { repository: format!("datasets/{}", self.repository), file: None, revision: self.revision.clone() }
    }

    /// The same at a commit, with the split that was chosen.
    pub fn at(&self, commit: &str, chosen: &Chosen) -> Self {
        let (config, split) = (Some(chosen.config.clone()), Some(chosen.split.clone()));
        Self { revision: Some(commit.to_owned()), config, split, ..self.clone() }
    }
}

impl FromStr for DatasetRef {
    type Err = InvalidDatasetRef;

    fn from_str(text: &str) -> Result<Self, InvalidDatasetRef> {
        let invalid = || InvalidDatasetRef(text.chars().take(120).collect());
        let rest = text.strip_prefix(DATASETS).ok_or_else(invalid)?;
        let (rest, part) = rest.split_once(':').map_or((rest, None), |(rest, part)| (rest, Some(part)));
        let (repository, revision) =
            rest.split_once('@').map_or((rest, None), |(path, revision)| (path, Some(revision)));
        let (config, split) = match part.map(|part| part.split_once('/').ok_or(part)) {
            None => (None, None),
            Some(Ok((config, split))) => (Some(config), Some(split)),
            Some(Err(split)) => (None, Some(split)),
        };
        let is_name = |part: &str| is_plain(part) && part.len() <= MOST_BYTES;
        let is_path = |path: &str| path.len() <= MOST_BYTES && path.split('/').all(is_plain);
        let is_sound = is_path(repository)
            && repository.split('/').count() <= 2
            && revision.is_none_or(is_path)
            && [config, split].into_iter().flatten().all(is_name);
        if !is_sound {
            return Err(invalid());
        }
        let owned = |part: Option<&str>| part.map(str::to_owned);
        Ok(Self {
            repository: repository.to_owned(),
            revision: owned(revision),
            config: owned(config),
            split: owned(split),
        })
    }
}

impl fmt::Display for DatasetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}datasets/{}", self.repository)?;
        self.revision.as_ref().map_or(Ok(()), |revision| write!(f, "@{revision}"))?;
        match (&self.config, &self.split) {
            (Some(config), Some(split)) => write!(f, ":{config}/{split}"),
            (None, Some(split)) => write!(f, ":{split}"),
            (_, None) => Ok(()),
        }
    }
}

/// A split that a repository has.
struct Found {
    config: String,
    split: String,
    is_default: bool,
    files: Vec<RemoteFile>,
}

/// The files of the split that is asked for; `readme` is the text of the repository's README. Where no configuration is named
/// it is the default one, or the only one; the split is then `train`, or the only one.
pub fn choose(snapshot: &Snapshot, readme: Option<&str>, asked: &DatasetRef) -> Result<Chosen, Unchosen> {
    let said = readme.and_then(front).map(|front| said(snapshot, &front)).filter(|found| !found.is_empty());
    let found = said.unwrap_or_else(|| by_name(snapshot));
    if found.is_empty() {
        return Err(Unchosen::NoFiles);
    }
    let configs: BTreeSet<&str> = found.iter().map(|found| found.config.as_str()).collect();
    let default = found.iter().find(|found| found.is_default || found.config == DEFAULT);
    let config = one("configuration", asked.config.as_deref(), default.map(|found| found.config.as_str()), &configs)?;
    let splits: BTreeSet<&str> =
        found.iter().filter(|found| found.config == config).map(|found| found.split.as_str()).collect();
    let split = one("split", asked.split.as_deref(), splits.contains(TRAIN).then_some(TRAIN), &splits)?;
    let matching = found.iter().filter(|found| found.config == config && found.split == split);
    let mut files: Vec<RemoteFile> = matching.flat_map(|found| found.files.clone()).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup();
    if files.len() > MOST_FILES {
        return Err(Unchosen::TooManyFiles);
    }
    Ok(Chosen { config, split, files })
}

/// The name that is asked for, or usual, or the only one.
fn one(
    what: &'static str,
    asked: Option<&str>,
    usual: Option<&str>,
    there: &BTreeSet<&str>,
) -> Result<String, Unchosen> {
    let all = || there.iter().map(|name| (*name).to_owned()).collect();
    if let Some(asked) = asked {
        return if there.contains(asked) {
            Ok(asked.to_owned())
        } else {
            Err(Unchosen::Missing { what, asked: asked.to_owned(), there: all() })
        };
    }
    let only = there.first().filter(|_| there.len() == 1).copied();
    usual.or(only).map(str::to_owned).ok_or_else(|| Unchosen::Several { what, there: all() })
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let named: Vec<String> = names.iter().take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}

/// What the front of a README says of its data.
#[derive(Debug, Deserialize)]
struct Front {
    #[serde(default)]
    configs: Vec<Config>,
}

#[derive(Debug, Deserialize)]
struct Config {
    #[serde(default)]
    config_name: Option<String>,
    #[serde(default)]
    data_files: Option<DataFiles>,
    #[serde(default)]
    data_dir: Option<String>,
    #[serde(default)]
    default: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DataFiles {
    Pattern(String),
    Splits(Vec<SplitFiles>),
    Patterns(Vec<String>),
}

#[derive(Debug, Deserialize)]
struct SplitFiles {
    split: String,
    path: Paths,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

/// The YAML between the lines of dashes at the beginning; none where there is none that says something of data.
fn front(readme: &str) -> Option<Front> {
    let rest = readme.strip_prefix("---")?.trim_start_matches('\r').strip_prefix('\n')?;
    let end = rest.find("\n---")?;
    let front: Front = serde_saphyr::from_str(&rest[..end]).ok()?;
    (!front.configs.is_empty()).then_some(front)
}

/// The splits that the front of a README names.
fn said(snapshot: &Snapshot, front: &Front) -> Vec<Found> {
    let mut found = Vec::new();
    let mut patterns = 0;
    let mut add = |config: &Config, split: &str, paths: &[String]| {
        patterns += paths.len();
        if patterns > MOST_PATTERNS {
            return;
        }
        let folder =
            config.data_dir.as_deref().map(|folder| folder.trim_matches('/')).filter(|folder| !folder.is_empty());
        let paths: Vec<String> =
            paths.iter().map(|path| folder.map_or_else(|| path.clone(), |folder| format!("{folder}/{path}"))).collect();
        let is_meant = |file: &&RemoteFile| has_rows(&file.path) && paths.iter().any(|path| matches(path, &file.path));
        let files: Vec<RemoteFile> = snapshot.files.iter().filter(is_meant).cloned().collect();
        if !files.is_empty() {
            let config_name = config.config_name.clone().unwrap_or_else(|| DEFAULT.to_owned());
            found.push(Found { config: config_name, split: split.to_owned(), is_default: config.default, files });
        }
    };
    for config in &front.configs {
        match &config.data_files {
            Some(DataFiles::Pattern(path)) => add(config, TRAIN, std::slice::from_ref(path)),
            Some(DataFiles::Patterns(paths)) => add(config, TRAIN, paths),
            Some(DataFiles::Splits(splits)) => splits.iter().for_each(|split| match &split.path {
                Paths::One(path) => add(config, &split.split, std::slice::from_ref(path)),
                Paths::Many(paths) => add(config, &split.split, paths),
            }),
            None => {
                for (split, files) in by_split(snapshot, config.data_dir.as_deref().unwrap_or_default()) {
                    add(config, &split, &files);
                }
            }
        }
    }
    found
}

/// The splits of a folder, with the paths of their files within it.
fn by_split(snapshot: &Snapshot, folder: &str) -> Vec<(String, Vec<String>)> {
    let folder = folder.trim_matches('/');
    let mut splits: Vec<(String, Vec<String>)> = Vec::new();
    for file in snapshot.files.iter().filter(|file| has_rows(&file.path)) {
        let within = if folder.is_empty() { Some(file.path.as_str()) } else { file.path.strip_prefix(folder) };
        let Some(within) = within.map(|path| path.trim_start_matches('/')).filter(|path| !path.is_empty()) else {
            continue;
        };
        let split = split_of(within).1;
        match splits.iter_mut().find(|(name, _)| *name == split) {
            Some((_, paths)) => paths.push(within.to_owned()),
            None => splits.push((split, vec![within.to_owned()])),
        }
    }
    splits
}

/// The splits that names of files and folders tell.
fn by_name(snapshot: &Snapshot) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for file in snapshot.files.iter().filter(|file| has_rows(&file.path)) {
        let (config, split) = split_of(&file.path);
        match found.iter_mut().find(|found| found.config == config && found.split == split) {
            Some(found) => found.files.push(file.clone()),
            None => found.push(Found { config, split, is_default: false, files: vec![file.clone()] }),
        }
    }
    found
}

/// Configuration and split of a file by its path.
fn split_of(path: &str) -> (String, String) {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folders: Vec<&str> = folders.split('/').filter(|folder| !folder.is_empty()).collect();
    let split_in = |text: &str| {
        let text = text.to_ascii_lowercase();
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.find_map(|word| SPLITS.iter().find(|(called, _)| *called == word)).map(|(_, split)| *split)
    };
    let stem = name.split('.').next().unwrap_or(name);
    let split = split_in(stem).or_else(|| {
        let split = folders.last().and_then(|folder| split_in(folder))?;
        folders.pop();
        Some(split)
    });
    let config = folders.into_iter().rfind(|folder| *folder != "data").unwrap_or(DEFAULT);
    (config.to_owned(), split.unwrap_or(TRAIN).to_owned())
}

fn has_rows(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let unpacked = PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let is_described = matches!(unpacked, "dataset_infos.json" | "dataset_info.json" | "state.json" | "config.json");
    !is_described && unpacked.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end))
}

/// Whether a path matches a pattern: `*` and `?` stand for characters of a name, `**` for folders as well.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<char> = pattern.trim_start_matches("./").chars().collect();
    let path: Vec<char> = path.chars().collect();
    // Where in the path the pattern up to here may have come to.
    let mut places = vec![false; path.len() + 1];
    places[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let any = pattern[at] == '*';
        let deep = any && pattern.get(at + 1) == Some(&'*');
        let mut next = vec![false; path.len() + 1];
        for place in 0..=path.len() {
            if any {
                let reached = place > 0 && next[place - 1] && (deep || path[place - 1] != '/');
                next[place] = places[place] || reached;
            } else if place > 0 && places[place - 1] {
                let found = path[place - 1];
                next[place] = found == pattern[at] || pattern[at] == '?' && found != '/';
            }
        }
        places = next;
        at += if deep { 2 } else { 1 };
        // `**/` also stands for no folder at all.
        if deep && pattern.get(at) == Some(&'/') {
            let skipped = places.clone();
            places = step_over(&places, &path);
            places.iter_mut().zip(skipped).enumerate().for_each(|(place, (to, from))| {
                *to |= from && (place == 0 || path[place - 1] == '/');
            });
            at += 1;
        }
    }
    places[path.len()]
}

/// The places behind a slash.
fn step_over(places: &[bool], path: &[char]) -> Vec<bool> {
    (0..places.len()).map(|place| place > 0 && places[place - 1] && path[place - 1] == '/').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(paths: &[&str]) -> Snapshot {
        let file = |path: &&str| RemoteFile { path: (*path).to_owned(), bytes: 1, digest: None };
        let files = paths.iter().map(file).collect();
        Snapshot { repository: "datasets/a/b".into(), commit: "c".into(), private: None, files }
    }

    fn chosen(paths: &[&str], readme: Option<&str>, part: &str) -> Result<(String, String, Vec<String>), Unchosen> {
        let asked = format!("hf:datasets/a/b{part}").parse().unwrap();
        let Chosen { config, split, files } = choose(&snapshot(paths), readme, &asked)?;
        Ok((config, split, files.into_iter().map(|file| file.path).collect()))
    }

    #[test]
    fn references_read_back_from_their_texts() {
        for text in [
            "hf:datasets/squad",
            "hf:datasets/openai/gsm8k:main/train",
            "hf:datasets/a/b@refs/pr/1:test",
            "hf:datasets/a/b@v1",
        ] {
            assert_eq!(text.parse::<DatasetRef>().unwrap().to_string(), text);
        }
        for text in [
            "hf:a/b",
            "hf:datasets/",
            "hf:datasets/a/b/c",
            "hf:datasets/a/..",
            "hf:datasets/a/b:",
            "hf:datasets/a/b:c/d/e",
            "hf:datasets/a/b@",
            "hf:datasets/a/b?c",
        ] {
            assert!(text.parse::<DatasetRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_tell_configuration_and_split() {
        let paths = [
            "README.md",
            "main/test-00000-of-00001.parquet",
            "main/train-00001-of-00002.parquet",
            "main/train-00000-of-00002.parquet",
            "socratic/train-00000-of-00001.parquet",
            "dataset_infos.json",
        ];
        let (config, split, files) = chosen(&paths, None, ":main/train").unwrap();
        assert_eq!((config.as_str(), split.as_str()), ("main", "train"));
        assert_eq!(files, ["main/train-00000-of-00002.parquet", "main/train-00001-of-00002.parquet"]);
        let Err(Unchosen::Several { what: "configuration", there }) = chosen(&paths, None, "") else { panic!() };
        assert_eq!(there, ["main", "socratic"]);
        assert!(matches!(chosen(&paths, None, ":main/dev"), Err(Unchosen::Missing { what: "split", .. })));
        for (path, config, split) in [
            ("data/test.jsonl.gz", "default", "test"),
            ("problems.csv", "default", "train"),
            ("en/validation/0.parquet", "en", "validation"),
            ("gsm8k_train_v2.json", "default", "train"),
            ("contest.csv", "default", "train"),
        ] {
            assert_eq!(chosen(&[path], None, "").unwrap(), (config.into(), split.into(), vec![path.to_owned()]));
        }
        assert_eq!(chosen(&["README.md", "a.py"], None, ""), Err(Unchosen::NoFiles));
    }

    #[test]
    fn the_front_of_the_readme_comes_first() {
        let readme = "---\nlicense: mit\nconfigs:\n- config_name: main\n  default: true\n  data_files:\n  - split: train\n    path: rows/part-*\n  - split: hidden\n    path:\n    - rows/test.csv\n- config_name: other\n  data_files: \"**/x.json\"\n---\n# Rows\n";
        let paths =
            ["rows/part-1.parquet", "rows/part-0.parquet", "rows/test.csv", "a/b/x.json", "rows/deep/part-2.parquet"];
        let of = |part| chosen(&paths, Some(readme), part).unwrap();
        assert_eq!(of("").2, ["rows/part-0.parquet", "rows/part-1.parquet"]);
        assert_eq!(of(":main/hidden").2, ["rows/test.csv"]);
        assert_eq!(of(":other/train").2, ["a/b/x.json"]);
        for other in ["no front", "---\nlicense: mit\n---\n", "---\nconfigs: 3\n---\n"] {
            assert_eq!(chosen(&["train.csv"], Some(other), "").unwrap().2, ["train.csv"]);
        }
    }

    #[test]
    fn patterns_match_names_and_folders() {
        for (pattern, path, expected) in [
            ("data/train-*", "data/train-0.parquet", true),
            ("data/train-*", "data/train-/x", false),
            ("**/x.json", "a/b/x.json", true),
            ("**/x.json", "x.json", true),
            ("**/x.json", "ax.json", false),
            ("a/**", "a/b/c.csv", true),
            ("?.csv", "a.csv", true),
            ("?.csv", "/.csv", false),
            ("*", "a/b", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        assert!(!matches(&"*a".repeat(200), &"a".repeat(190)), "it takes no longer than the product of both");
    }
}
