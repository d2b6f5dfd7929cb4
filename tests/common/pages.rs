//! Pages with commands, which are run as they stand there.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus};

use regex::Regex;

/// Seconds after which the commands are ended.
const LONGEST: &str = "240";
/// Is written before each block.
const MARK: &str = "=== block";

/// The text of every block of commands of a page.
pub fn blocks(page: &str) -> Vec<String> {
    blocks_of(&text(page), "sh")
}

/// The text of every block in a language.
pub fn blocks_of(text: &str, language: &str) -> Vec<String> {
    let fence = Regex::new(&format!(r"(?ms)^```{language}\n(.*?)^```$")).unwrap();
    fence.captures_iter(text).map(|block| block[1].to_owned()).collect()
}

/// What stands below a heading of the second level, up to the next.
pub fn section(page: &str, heading: &str) -> String {
    let text = text(page);
    let (_, below) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{page} has no {heading}"));
    below.split("\n## ").next().unwrap_or_default().to_owned()
}

/// The headings of the second level of a page.
pub fn headings(page: &str) -> Vec<String> {
    text(page).lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_owned).collect()
}

fn text(page: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

/// Runs the blocks as one script in `folder`/work, with a server at `base`; all of them must succeed.
pub fn all_work(blocks: &[String], base: &str, folder: &Path) {
    let (status, output) = run(blocks, base, folder);
    let last = output.rfind(MARK).map_or(output.as_str(), |begin| &output[begin..]);
    let number = last.strip_prefix(MARK).and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    let block = number.and_then(|number| blocks.get(number - 1)).map_or("", String::as_str);
    assert!(status.success(), "{status} in this block:\n{block}\nwhich said:\n{last}");
    assert_eq!(number, Some(blocks.len()), "the tour ended early:\n{last}");
}

/// What it wrote is the second.
fn run(blocks: &[String], base: &str, folder: &Path) -> (ExitStatus, String) {
    let marked = blocks.iter().enumerate().map(|(index, block)| format!("echo '{MARK} {}'\n{block}", index + 1));
    let script = format!("set -euo pipefail\n{}", marked.collect::<String>());
    let (work, file, log) = (folder.join("work"), folder.join("tour.sh"), folder.join("tour.log"));
    fs::create_dir_all(&work).unwrap();
    fs::write(&file, script).unwrap();
    let output = File::create(&log).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_anneal")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    // `timeout` also ends what bash has started.
    let status = Command::new("timeout")
        .args(["--signal=KILL", LONGEST, "bash"])
        .arg(&file)
        .current_dir(&work)
        .envs([
            ("ANNEAL", base),
            ("ANNEAL_SERVER", base),
            ("DATA", "../data"),
            ("PATH", &path),
            ("NO_PROXY", "127.0.0.1"),
            ("LC_ALL", "C"),
        ])
        .envs(crate::common::database_url(&folder.join("data")).map(|url| ("ANNEAL_DATABASE", url)))
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .status()
        .unwrap();
    (status, String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned())
}
