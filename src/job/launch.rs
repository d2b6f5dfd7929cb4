//! Launches: machines that a cluster's own scheduler starts for jobs that no device fits. What a launcher can give, and which
//! launches a queue needs; pure, so that what is asked of a cluster can be tried without one.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::device::is_host_name;
use super::status::names;
use super::{JobId, LaunchId};

names!(
    /// How far a launch is.
    LaunchStatus {
        /// It is to be handed to the cluster.
        Requested = "requested",
        /// It waits in the cluster's queue, or its machine begins.
        Waiting = "waiting",
        /// Its machine works for this server.
        Running = "running",
        /// It is over.
        Ended = "ended",
        /// The cluster refused it, or its machine never came to work.
        Failed = "failed",
    }
);

impl LaunchStatus {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Failed)
    }
}

/// What starts machines: a table `[[launchers]]` of the settings file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// What it is called; the pool of its machines.
    pub name: String,
    pub r#type: LauncherType,
    /// The address under which its machines find this server.
    pub server: String,
    /// Machines that it starts at the same time, at most.
    #[serde(default = "default_launches")]
    pub max_launches: u32,
    /// Devices that it gives to one machine, at most.
    #[serde(default = "one")]
    pub max_devices: u32,
    /// Memory of each device, as `80GiB`.
    pub memory: Size,
    /// Which devices of its machine the agent takes, as for `--devices`.
    #[serde(default = "all_devices")]
    pub devices: String,
    /// Seconds for which a machine without a job waits for one; ten times as long where the job is on several.
    #[serde(default = "default_idle")]
    pub idle_seconds: u64,
    /// Minutes that a machine has at most; its jobs are saved before, and go on on the next one.
    #[serde(default = "default_minutes")]
    pub time_limit_minutes: u64,
    /// Seconds before that limit at which they are saved.
    #[serde(default = "default_notice")]
    pub notice_seconds: u64,
    /// Seconds between two looks at the cluster's queue.
    #[serde(default = "default_poll")]
    pub poll_seconds: u64,
    /// Where the program is on the cluster's machines.
    #[serde(default = "program")]
    pub program: String,
    /// What only Slurm is asked for.
    #[serde(default)]
    pub slurm: SlurmOptions,
    /// What only Kubernetes is asked for.
    #[serde(default)]
    pub kubernetes: KubernetesOptions,
}

/// Who schedules a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LauncherType {
    Slurm,
    Kubernetes,
}

/// What is asked of Slurm for every launch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmOptions {
    pub partition: Option<String>,
    pub account: Option<String>,
    pub qos: Option<String>,
    /// What a device is to Slurm, as `gpu` or `gpu:h100`; without it launches ask for CPUs alone.
    pub gres: Option<String>,
    /// CPUs beside each device.
    pub cpus_per_device: Option<u32>,
    /// Main memory beside each device, as `64GiB`.
    pub host_memory_per_device: Option<Size>,
    /// Further options of `sbatch`, as they are written there.
    pub options: Vec<String>,
    /// A script in the place of the built-in one (`anneal launches --script` prints that).
    pub script: Option<std::path::PathBuf>,
    /// The folder into which machines write their logs.
    pub log_dir: Option<std::path::PathBuf>,
}

/// What is asked of Kubernetes for every launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KubernetesOptions {
    /// Where its objects are; the one of the server's own access unless it is set.
    pub namespace: Option<String>,
    /// The image of the program.
    pub image: String,
    /// What a device is to Kubernetes; empty for machines without.
    pub device_resource: String,
    /// The local queue of Kueue that admits launches.
    pub queue: Option<String>,
    /// What is merged into the pod's `spec` (RFC 7386), as `nodeSelector` and `tolerations`.
    pub pod: Value,
    /// What is merged into its container, as `env` and `resources`.
    pub container: Value,
}

impl Default for KubernetesOptions {
    fn default() -> Self {
        Self {
            namespace: None,
            image: String::new(),
            device_resource: String::from("nvidia.com/gpu"),
            queue: None,
            pod: Value::Null,
            container: Value::Null,
        }
    }
}

/// Bytes, written `80GiB`, `512MiB` or as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "SizeText")]
pub struct Size(pub u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum SizeText {
    Bytes(u64),
    Text(String),
}

impl TryFrom<SizeText> for Size {
    type Error = String;

    fn try_from(text: SizeText) -> Result<Self, String> {
        match text {
            SizeText::Bytes(bytes) => Ok(Self(bytes)),
            SizeText::Text(text) => text.parse(),
        }
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("", 1)];
        let found = units.iter().find_map(|(unit, bytes)| Some((trimmed.strip_suffix(unit)?, *bytes)));
        let (number, unit): (&str, u64) = found.unwrap_or((trimmed, 1));
        let bytes = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        bytes.map(Self).ok_or_else(|| format!("`{text}` is no size; write it as 80GiB, 512MiB or a number of bytes"))
    }
}

fn default_launches() -> u32 {
    8
}

fn one() -> u32 {
    1
}

fn all_devices() -> String {
    String::from("all")
}

fn default_idle() -> u64 {
    60
}

fn default_minutes() -> u64 {
    240
}

fn default_notice() -> u64 {
    120
}

fn default_poll() -> u64 {
    5
}

fn program() -> String {
    String::from("anneal")
}

impl Launcher {
    /// What is wrong with the settings of a launcher.
    pub fn check(&self) -> Result<(), String> {
        let of = |what: &str| Err(format!("`{}`: {what}", self.name));
        if !is_host_name(&self.name) {
            return of("`name` must be 1 to 63 lower-case letters, digits, `-`, `.` and `_`");
        }
        if !["http://", "https://"].iter().any(|scheme| self.server.starts_with(scheme)) {
            return of(
                "`server` must begin with https:// or http://, and be an address that the cluster's machines reach",
            );
        }
        if !(1..=10_000).contains(&self.max_launches) || !(1..=256).contains(&self.max_devices) {
            return of("`max_launches` must lie between 1 and 10000, `max_devices` between 1 and 256");
        }
        if !(1..=86_400).contains(&self.idle_seconds) || !(1..=60).contains(&self.poll_seconds) {
            return of("`idle_seconds` must lie between 1 and 86400, `poll_seconds` between 1 and 60");
        }
        if self.r#type == LauncherType::Kubernetes && self.kubernetes.image.is_empty() {
            return of("`kubernetes.image` must be set: an image of this program that the cluster can bring");
        }
        if [&self.kubernetes.pod, &self.kubernetes.container].iter().any(|more| !more.is_null() && !more.is_object()) {
            return of("`kubernetes.pod` and `kubernetes.container` are tables");
        }
        // Schedulers may give notice a minute early.
        if self.time_limit_minutes > 100_000 || self.time_limit_minutes * 60 < self.notice_seconds.saturating_add(120) {
            return of("`time_limit_minutes` must be at most 100000, and leave two minutes before `notice_seconds`");
        }
        Ok(())
    }

    /// Whether its machines have what a job needs.
    fn offers(&self, need: &Need) -> bool {
        let is_in = need.pool.as_deref().is_none_or(|pool| pool == self.name);
        is_in && need.hosts <= self.max_launches && need.devices <= self.max_devices && need.memory <= self.memory.0
    }
}

/// A queued job that no device fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub job: JobId,
    /// Machines at the same time.
    pub hosts: u32,
    /// On each of them.
    pub devices: u32,
    /// Bytes on each of them.
    pub memory: u64,
    /// The pool of its machines, unless any will do.
    pub pool: Option<Arc<str>>,
}

/// A launch whose machine has begun no job yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spare {
    pub id: LaunchId,
    /// For which it was made.
    pub job: JobId,
    pub devices: u32,
    pub memory: u64,
    /// The pool of its machine.
    pub pool: String,
    /// Whether its machine works already, and ends by itself when there is nothing to do.
    pub runs: bool,
}

/// A launch that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLaunch {
    pub launcher: String,
    pub job: JobId,
    pub devices: u32,
    /// Bytes that each of its devices is said to have.
    pub memory: u64,
}

/// What is to be done so that each job has its launches and no launch is for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub make: Vec<NewLaunch>,
    /// Launches that are for another job from now on.
    pub give: Vec<(LaunchId, JobId)>,
    pub cancel: Vec<LaunchId>,
}

/// Plans for jobs in the order of the queue. `launchers` are those that may start machines now, each with how many more.
pub fn plan(needs: &[Need], launchers: &[(&Launcher, u32)], mut spare: Vec<Spare>) -> Plan {
    let mut plan = Plan::default();
    let mut room: Vec<u32> = launchers.iter().map(|(_, room)| *room).collect();
    for need in needs {
        let fits = |launch: &Spare| {
            let is_in = need.pool.as_deref().is_none_or(|pool| pool == launch.pool);
            is_in && launch.devices >= need.devices && launch.memory >= need.memory
        };
        // Its own ones first, then those that are there soon, then the smallest.
        let rank = |launch: &Spare| (launch.job != need.job, !launch.runs, launch.devices, launch.memory, launch.id);
        let mut missing = need.hosts;
        while missing > 0
            && let Some(best) = (0..spare.len()).filter(|i| fits(&spare[*i])).min_by_key(|i| rank(&spare[*i]))
        {
            let launch = spare.swap_remove(best);
            if launch.job != need.job {
                plan.give.push((launch.id, need.job));
            }
            missing -= 1;
        }
        let offering = |i: &usize| launchers[*i].0.offers(need);
        if let Some(i) = (0..launchers.len()).filter(offering).find(|i| room[*i] >= missing) {
            let launcher = launchers[i].0;
            room[i] -= missing;
            let (name, memory) = (launcher.name.clone(), launcher.memory.0);
            let new = NewLaunch { launcher: name, job: need.job, devices: need.devices, memory };
            plan.make.extend(std::iter::repeat_n(new, missing as usize));
        } else if let Some(i) = (0..launchers.len()).find(offering) {
            // What it may start becomes enough once others' machines are gone, unless later jobs take it.
            room[i] = 0;
        }
    }
    plan.cancel = spare.into_iter().filter(|launch| !launch.runs).map(|launch| launch.id).collect();
    plan.cancel.sort_unstable();
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(name: &str, devices: u32, memory: &str) -> Launcher {
        let text = format!(
            "name = '{name}'\ntype = 'slurm'\nserver = 'http://here'\nmax_devices = {devices}\nmemory = '{memory}'"
        );
        toml::from_str(&text).unwrap()
    }

    fn need(devices: u32, gibibytes: u64) -> Need {
        Need { job: JobId::generate(), hosts: 1, devices, memory: gibibytes << 30, pool: None }
    }

    fn spare(job: JobId, devices: u32, gibibytes: u64) -> Spare {
        let (id, pool) = (LaunchId::generate(), String::from("any"));
        Spare { id, job, devices, memory: gibibytes << 30, pool, runs: false }
    }

    #[test]
    fn a_job_that_names_a_pool_gets_machines_of_the_launcher_of_that_name() {
        let (first, second) = (launcher("first", 1, "80GiB"), launcher("second", 1, "80GiB"));
        let of = |pool: &str| Need { pool: Some(Arc::from(pool)), ..need(1, 10) };
        let needs = [of("second"), of("third"), of("any")];
        let planned = plan(&needs, &[(&first, 8), (&second, 8)], vec![spare(needs[0].job, 1, 80)]);
        let made: Vec<(&str, JobId)> = planned.make.iter().map(|new| (&*new.launcher, new.job)).collect();
        assert_eq!(made, [("second", needs[0].job)]);
        assert_eq!(planned.give.len(), 1, "the machine that is there is in another pool: {planned:?}");
        assert_eq!(planned.give[0].1, needs[2].job);
    }

    #[test]
    fn each_job_that_nothing_fits_gets_a_launch_of_the_first_launcher_that_can() {
        let (small, large) = (launcher("small", 1, "24GiB"), launcher("large", 8, "80GiB"));
        let needs = [need(1, 10), need(4, 10), need(1, 60), need(1, 100), need(1, 10)];
        let made = plan(&needs, &[(&small, 1), (&large, 9)], Vec::new()).make;
        let made: Vec<_> = made.iter().map(|new| (new.launcher.as_str(), new.job, new.devices)).collect();
        let expected = [
            ("small", needs[0].job, 1),
            ("large", needs[1].job, 4),
            ("large", needs[2].job, 1),
            // What needs 100 GiB gets none, and the small launcher may start no more.
            ("large", needs[4].job, 1),
        ];
        assert_eq!(made, expected);
    }

    #[test]
    fn a_launch_whose_job_began_elsewhere_is_for_the_next_one_or_cancelled() {
        let large = launcher("large", 8, "80GiB");
        let (gone, waits) = (JobId::generate(), need(1, 60));
        let launches = vec![spare(gone, 1, 80), spare(gone, 1, 24), Spare { runs: true, ..spare(gone, 1, 24) }];
        let (first, second) = (launches[0].id, launches[1].id);
        let planned = plan(std::slice::from_ref(&waits), &[(&large, 5)], launches);
        // One that runs ends by itself.
        assert_eq!(planned, Plan { make: Vec::new(), give: vec![(first, waits.job)], cancel: vec![second] });
        // A job's own launch stays its own, whatever comes before.
        let (one, two) = (need(1, 10), need(1, 10));
        let planned =
            plan(&[one.clone(), two.clone()], &[(&large, 5)], vec![spare(two.job, 1, 80), spare(one.job, 1, 80)]);
        assert_eq!(planned, Plan::default());
    }

    #[test]
    fn a_job_on_several_machines_gets_as_many_launches_or_none_and_is_not_overtaken_for_ever() {
        let large = launcher("large", 8, "80GiB");
        let (gang, single) = (Need { hosts: 3, ..need(4, 60) }, need(1, 60));
        let made = |room, spare| {
            let planned = plan(&[gang.clone(), single.clone()], &[(&large, room)], spare);
            planned.make.into_iter().map(|new| (new.job, new.devices)).collect::<Vec<_>>()
        };
        assert_eq!(made(4, Vec::new()), [(gang.job, 4), (gang.job, 4), (gang.job, 4), (single.job, 1)]);
        assert_eq!(made(2, Vec::new()), [], "room is kept for the job that comes first");
        let spares = vec![spare(gang.job, 4, 80), spare(single.job, 8, 80)];
        assert_eq!(made(1, spares.clone()), [(gang.job, 4)]);
        let planned = plan(&[gang.clone(), single.clone()], &[(&large, 1)], spares.clone());
        assert_eq!((planned.give, planned.cancel), (vec![(spares[1].id, gang.job)], Vec::new()));
        // What a launcher never has at the same time keeps nothing.
        let few = Launcher { max_launches: 2, ..launcher("few", 8, "80GiB") };
        assert_eq!(plan(&[gang, single], &[(&few, 2)], Vec::new()).make.len(), 1);
    }

    #[test]
    fn what_is_wrong_with_a_launcher_is_said() {
        assert_eq!(launcher("a", 1, "80GiB").check(), Ok(()));
        let wrong = Launcher { server: String::from("here:8080"), ..launcher("a", 1, "1") };
        assert!(wrong.check().unwrap_err().contains("`server`"));
        let wrong = Launcher { time_limit_minutes: 3, ..launcher("a", 1, "1") };
        assert!(wrong.check().unwrap_err().contains("`notice_seconds`"));
        for (text, bytes) in [("80GiB", Some(80 << 30)), ("512 MiB", Some(512 << 20)), ("17", Some(17)), ("much", None)]
        {
            assert_eq!(text.parse::<Size>().ok(), bytes.map(Size), "{text}");
        }
    }
}
