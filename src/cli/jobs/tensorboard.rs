//! `anneal jobs tensorboard`

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use super::super::client::{Client, escape, with_query};
use super::super::interrupt::on_interrupt;
use super::super::output::{Output, member};

/// How often a job that runs is asked for more.
const LOOK: Duration = Duration::from_secs(2);
/// Steps of one request.
const STEPS: u64 = 1000;
/// Letters of a folder's name.
const MOST_NAME: usize = 100;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  anneal jobs tensorboard --dir runs JOB OTHER_JOB &
  tensorboard --logdir runs

Each job gets a folder, which is written anew and then grows while the job runs. The wall-clock time of all values is the job's start.")]
pub struct Args {
    /// The jobs, job_...
    #[arg(required = true)]
    jobs: Vec<String>,
    /// Where TensorBoard looks for runs
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Write what there is, and do not wait for more
    #[arg(long)]
    once: bool,
}

/// The file of a job, and up to which step it is written.
struct Run<'a> {
    job: &'a str,
    file: File,
    written: u64,
    is_over: bool,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let mut runs = Vec::new();
    for job in &args.jobs {
        runs.push(Run::begin(client, job, &args.dir)?);
    }
    if !args.once && !output.json {
        eprintln!("tensorboard --logdir {} shows them; it is written until the jobs are over", args.dir.display());
        on_interrupt(String::from("nothing more is written; the jobs go on"));
    }
    loop {
        for run in runs.iter_mut().filter(|run| !run.is_over) {
            run.go_on(client)?;
        }
        if args.once || runs.iter().all(|run| run.is_over) {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(LOOK);
    }
}

impl<'a> Run<'a> {
    /// A new file with what every such file begins with, in the place of one that an earlier call has left.
    fn begin(client: &Client, id: &'a str, dir: &Path) -> anyhow::Result<Self> {
        let job = client.get(&format!("/v1/jobs/{}", escape(id)))?;
        let folder = dir.join(folder_name(&member(&job, "/name"), id));
        let cannot = || format!("cannot write below {}", folder.display());
        fs::create_dir_all(&folder).with_context(cannot)?;
        // The same whenever it is called.
        let made = job["created_at"].as_i64().unwrap_or_default();
        let path = folder.join(format!("events.out.tfevents.{made}.anneal.{id}"));
        let mut file = File::create(&path).with_context(cannot)?;
        file.write_all(&client.bytes(&Self::path(id, 0, 0, true))?).with_context(cannot)?;
        drop(file);
        let file = OpenOptions::new().append(true).open(&path).with_context(cannot)?;
        Ok(Self { job: id, file, written: 0, is_over: false })
    }

    /// Adds the steps that were taken since.
    fn go_on(&mut self, client: &Client) -> anyhow::Result<()> {
        let job = client.get(&format!("/v1/jobs/{}", escape(self.job)))?;
        let step = job["step"].as_u64().unwrap_or_default();
        while self.written < step {
            let to = step.min(self.written + STEPS);
            let bytes = client.bytes(&Self::path(self.job, self.written + 1, to, false))?;
            self.file.write_all(&bytes).context("cannot add to the file")?;
            self.written = to;
        }
        self.is_over = matches!(job["status"].as_str(), Some("succeeded" | "failed" | "cancelled"));
        Ok(())
    }

    fn path(job: &str, from: u64, to: u64, head: bool) -> String {
        let parameters = [
            ("format", Some(String::from("tensorboard"))),
            ("from_step", Some(from.to_string())),
            ("to_step", Some(to.to_string())),
            ("points", Some((to - from + 1).max(2).to_string())),
            ("head", Some(head.to_string())),
        ];
        with_query(&format!("/v1/jobs/{}/metrics", escape(job)), &parameters)
    }
}

/// The job's name, as far as it can be one of a folder, and its id.
fn folder_name(name: &str, id: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() || "-_.,=+ ".contains(letter) { letter } else { '_' };
    let name: String = name.chars().take(MOST_NAME).map(safe).collect();
    let name = name.trim().trim_start_matches('.');
    if name.is_empty() { id.to_owned() } else { format!("{name} {id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_called_as_jobs_are_and_stay_where_they_belong() {
        assert_eq!(folder_name("rates: lr 0.1, seed 3", "job_1"), "rates_ lr 0.1, seed 3 job_1");
        assert_eq!(folder_name("../../etc/passwd", "job_1"), "_.._etc_passwd job_1");
        for name in ["", "  ", "..."] {
            assert_eq!(folder_name(name, "job_1"), "job_1");
        }
    }
}
