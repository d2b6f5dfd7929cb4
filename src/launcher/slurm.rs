//! Slurm (22.05 and later), by its commands: `sbatch`, `squeue`, `scancel`.

use std::collections::HashMap;
use std::io;
use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::{Order, Seen, State, Trouble};
use crate::config::scheduler_environment;
use crate::job::LaunchId;
use crate::job::launch::Size;

/// What runs on a machine of a cluster's, unless the operator has a script of their own.
pub const SCRIPT: &str = include_str!("../../deploy/slurm-launch.sh");

/// Launches that are asked for with one command.
const AT_ONCE: usize = 500;
/// What commands say when the controller cannot be reached, as opposed to what it refuses.
const AWAY: [&str; 6] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "Connection timed out",
    "Zero Bytes were transmitted or received",
    "Transport endpoint is not connected",
];
/// What `scancel` says of jobs that have ended.
const ENDED: [&str; 2] = ["Invalid job id", "already completing or completed"];
/// States of jobs that wait, and that run, in the words of `squeue`; all others are over.
const WAITING: [&str; 5] = ["PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED"];
const RUNNING: [&str; 6] = ["RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING", "RESIZING"];

/// The commands of Slurm, which find their cluster as those of the server's user do.
pub struct Slurm;

impl Slurm {
    /// One of the same name that is there already makes this one wait for it.
    pub async fn submit(&self, order: &Order<'_>) -> Result<String, Trouble> {
        let script = match &order.launcher.slurm.script {
            None => SCRIPT.to_owned(),
            Some(path) => tokio::fs::read_to_string(path)
                .await
                .map_err(|error| Trouble::Refused(format!("the script {} cannot be read: {error}", path.display())))?,
        };
        let ask = async |more: &[String]| {
            let mut command = command("sbatch");
            command.args(arguments(order)).args(more).envs(variables(order));
            let said = run(command, &script).await?;
            // `--parsable`: the number, and behind a `;` the cluster's name.
            Ok(said.trim().split(';').next().unwrap_or_default().to_owned())
        };
        if !order.avoid.is_empty()
            && let Ok(reference) = ask(&[format!("--exclude={}", order.avoid.join(","))]).await
        {
            return Ok(reference);
        }
        ask(&[]).await
    }

    pub async fn look(&self, launches: &[LaunchId]) -> Result<HashMap<LaunchId, Seen>, Trouble> {
        let mut seen = HashMap::new();
        for some in launches.chunks(AT_ONCE) {
            let names: Vec<String> = some.iter().map(job_name).collect();
            let mut command = command("squeue");
            command
                .args(["--me", "--noheader", "--states=all", "--format=%i|%j|%T|%r|%N", "--name"])
                .arg(names.join(","));
            for line in run(command, "").await?.lines() {
                read_line(line, &mut seen);
            }
        }
        Ok(seen)
    }

    /// Takes back all that has a launch's name.
    pub async fn cancel(&self, launch: LaunchId) -> Result<(), Trouble> {
        let mut command = command("scancel");
        command.args(["--me", &format!("--name={}", job_name(&launch))]);
        match run(command, "").await {
            // It has ended meanwhile.
            Err(Trouble::Refused(said)) if ENDED.iter().any(|ended| said.contains(ended)) => Ok(()),
            ended => ended.map(drop),
        }
    }
}

fn job_name(launch: &LaunchId) -> String {
    format!("anneal-{launch}")
}

fn arguments(Order { launcher, launch, .. }: &Order<'_>) -> Vec<String> {
    let slurm = &launcher.slurm;
    let name = job_name(&launch.id);
    let mut arguments = vec![
        String::from("--parsable"),
        format!("--job-name={name}"),
        String::from("--dependency=singleton"),
        String::from("--nodes=1"),
        String::from("--ntasks=1"),
        String::from("--no-requeue"),
        format!("--signal=B:TERM@{}", launcher.notice_seconds),
        format!("--time={}", launcher.time_limit_minutes),
        format!("--comment=anneal: machine for {}", launch.job),
    ];
    let mut add =
        |option: &str, value: Option<String>| arguments.extend(value.map(|value| format!("{option}={value}")));
    add("--partition", slurm.partition.clone());
    add("--account", slurm.account.clone());
    add("--qos", slurm.qos.clone());
    add("--gres", slurm.gres.as_ref().map(|gres| format!("{gres}:{}", launch.devices)));
    add("--cpus-per-task", slurm.cpus_per_device.map(|cpus| (cpus * launch.devices).to_string()));
    let host_memory = |size: Size| size.0.saturating_mul(launch.devices.into()).div_ceil(1 << 20);
    add("--mem", slurm.host_memory_per_device.map(|size| format!("{}M", host_memory(size))));
    add("--output", slurm.log_dir.as_ref().map(|folder| folder.join(format!("{name}.log")).display().to_string()));
    arguments.extend(slurm.options.iter().cloned());
    arguments
}

/// What the script is told, by its environment: a key does not belong on a command line, or into a script.
fn variables(Order { launcher, launch, token, idle_seconds, .. }: &Order<'_>) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("ANNEAL_LAUNCH", launch.id.to_string()),
        ("ANNEAL_LAUNCHER", launcher.name.clone()),
        ("ANNEAL_AGENT_SERVER", launcher.server.clone()),
        ("ANNEAL_AGENT_DEVICES", launcher.devices.clone()),
        ("ANNEAL_AGENT_IDLE", idle_seconds.to_string()),
        ("ANNEAL_PROGRAM", launcher.program.clone()),
    ];
    variables.extend(token.iter().map(|token| ("ANNEAL_AGENT_TOKEN", token.clone())));
    variables
}

/// A command of Slurm's with what it needs of the server's environment, and nothing that only the server is to know: by
/// default a job gets all of it.
fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().envs(scheduler_environment()).kill_on_drop(true);
    command
}

async fn run(mut command: Command, input: &str) -> Result<String, Trouble> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let unable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            Trouble::Refused(format!("`{name}` is not installed on the server; it needs the commands of Slurm"))
        }
        _ => Trouble::Away(format!("{name}: {error}")),
    };
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(unable)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that has ended before it read all of it says why below.
        drop(stdin.write_all(input.as_bytes()).await);
    }
    let Output { status, stdout, stderr } = child.wait_with_output().await.map_err(unable)?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    let said = if said.is_empty() { format!("{name} ended with {status}") } else { said };
    let is_away = AWAY.iter().any(|away| said.contains(away));
    Err(if is_away { Trouble::Away(said) } else { Trouble::Refused(said) })
}

/// A line of `squeue`. Of several with a name one that is not over counts, and else the last.
fn read_line(line: &str, seen: &mut HashMap<LaunchId, Seen>) {
    let mut parts = line.split('|').map(str::trim);
    let (Some(reference), Some(name), Some(state)) = (parts.next(), parts.next(), parts.next()) else { return };
    let (reason, node) = (parts.next(), parts.next().filter(|node| !node.is_empty()).map(str::to_owned));
    let Some(launch) = name.strip_prefix("anneal-").and_then(|id| id.parse::<LaunchId>().ok()) else { return };
    let reason = reason.filter(|reason| !reason.is_empty() && *reason != "None");
    let is = |states: &[&str]| states.contains(&state);
    let known = if is(&WAITING) {
        State::Waits
    } else if is(&RUNNING) {
        State::Runs
    } else {
        State::Over
    };
    let reason = match reason {
        Some(reason) => format!("Slurm says {state} ({reason})"),
        None => format!("Slurm says {state}"),
    };
    let is_better = |before: &Seen| before.state == State::Over;
    if seen.get(&launch).is_none_or(is_better) {
        seen.insert(launch, Seen { reference: reference.to_owned(), state: known, reason, node });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_queue_are_read_and_those_of_others_left_out() {
        let (one, two, three) = (LaunchId::generate(), LaunchId::generate(), LaunchId::generate());
        let lines = [
            format!("7|anneal-{one}|COMPLETED|None|n1"),
            format!("9|anneal-{one}|PENDING|PartitionTimeLimit|"),
            format!("8|anneal-{one}|FAILED|NonZeroExitCode|n1"),
            format!("11|anneal-{two}|RUNNING|None|n2"),
            format!("12|anneal-{three}|NODE_FAIL|NodeDown|n1"),
            String::from("13|somebody's|RUNNING|None|n2"),
            String::from("nonsense"),
        ];
        let mut seen = HashMap::new();
        lines.iter().for_each(|line| read_line(line, &mut seen));
        let of = |launch| {
            let Seen { reference, state, reason, .. } = &seen[&launch];
            (reference.as_str(), *state, reason.as_str())
        };
        assert_eq!(of(one), ("9", State::Waits, "Slurm says PENDING (PartitionTimeLimit)"));
        assert_eq!(of(two), ("11", State::Runs, "Slurm says RUNNING"));
        assert_eq!(of(three), ("12", State::Over, "Slurm says NODE_FAIL (NodeDown)"));
        assert_eq!((seen.len(), seen[&one].node.as_deref(), seen[&two].node.as_deref()), (3, None, Some("n2")));
    }
}
