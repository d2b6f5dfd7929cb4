//! Launchers: a queued job that no device fits gets a machine from a cluster's own scheduler, which starts an agent there
//! (`anneal worker --server`) that takes the job like any other. What is asked of a cluster stands in the database first and
//! carries a name, by which it is found again after a crash of either side; the lease, and not the cluster, says who runs a
//! job.

mod kubernetes;
mod slurm;

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use kubernetes::Kubernetes;
pub use slurm::SCRIPT;
use slurm::Slurm;

use crate::clock;
use crate::job::launch::{Launcher, LauncherType, Plan, Spare, plan};
use crate::job::{LaunchId, LaunchStatus, Timestamp};
use crate::store::{LaunchRow, Store, StoreError};

/// How often the queue is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a cluster may take for an answer.
const ANSWER: Duration = Duration::from_secs(60);
/// For how long after a launch was handed over its cluster need not know it yet.
const SETTLE_MILLISECONDS: i64 = 20_000;
/// How long a machine may take from its first word to taking jobs.
const START_MILLISECONDS: i64 = 60_000;
/// How long a cluster is left alone that does not answer.
const AWAY: Duration = Duration::from_secs(5);
/// A machine that was not seen for so long starts no jobs.
const GONE: Duration = Duration::from_secs(30);
/// How long a launcher rests after a launch that came to nothing; twice as long after the next.
const FIRST_REST: Duration = Duration::from_secs(10);
const LONGEST_REST: Duration = Duration::from_secs(600);
/// How many times as long a machine waits for a job that is on several: the cluster may start the others later.
const WAITS_FOR_OTHERS: u64 = 10;
/// Jobs that are launched for at a time.
const MOST_NEEDS: usize = 1000;

/// Why a cluster did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It does not answer; whether it did it is not known.
    #[error("the cluster does not answer: {0}")]
    Away(String),
    /// It said no, and would again.
    #[error("{0}")]
    Refused(String),
}

/// How a cluster sees a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it calls it.
    pub reference: String,
    pub state: State,
    /// In its words.
    pub reason: String,
    /// Its machine.
    pub node: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waits,
    Runs,
    Over,
}

/// What a machine is told.
pub struct Order<'a> {
    pub launcher: &'a Launcher,
    pub launch: &'a LaunchRow,
    /// The key that lets it in; none where nobody needs one.
    pub token: Option<String>,
    /// Seconds for which it waits for a job.
    pub idle_seconds: u64,
    /// Machines of the cluster that fell silent, and that it may not have noticed yet.
    pub avoid: Vec<&'a str>,
}

/// A cluster, by the way in which it is talked to.
enum Cluster {
    Slurm(Slurm),
    Kubernetes(Box<Kubernetes>),
}

impl Cluster {
    fn of(launcher: &Launcher) -> Self {
        match launcher.r#type {
            LauncherType::Slurm => Self::Slurm(Slurm),
            LauncherType::Kubernetes => Self::Kubernetes(Box::new(Kubernetes::of(launcher))),
        }
    }

    /// Hands a launch over; says what the cluster calls it.
    async fn submit(&self, order: &Order<'_>) -> Result<String, Trouble> {
        match self {
            Self::Slurm(slurm) => in_time(slurm.submit(order)).await,
            Self::Kubernetes(kubernetes) => in_time(kubernetes.submit(order)).await,
        }
    }

    /// How it sees launches. Those that it does not know, or not any more, are left out.
    async fn look(&self, launches: &[LaunchId]) -> Result<HashMap<LaunchId, Seen>, Trouble> {
        match self {
            Self::Slurm(slurm) => in_time(slurm.look(launches)).await,
            Self::Kubernetes(kubernetes) => in_time(kubernetes.look(launches)).await,
        }
    }

    /// Takes a launch back, and removes what is left of one that is over; says whether the cluster has answered.
    async fn clear(&self, launch: LaunchId) -> bool {
        let cleared = match self {
            Self::Slurm(slurm) => in_time(slurm.cancel(launch)).await,
            Self::Kubernetes(kubernetes) => in_time(kubernetes.clear(launch)).await,
        };
        if let Err(trouble) = &cleared {
            tracing::warn!(%launch, %trouble, "what is left of a launch could not be removed");
        }
        !matches!(cleared, Err(Trouble::Away(_)))
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let late = |_| Err(Trouble::Away(format!("no answer within {} s", ANSWER.as_secs())));
    timeout(ANSWER, asked).await.unwrap_or_else(late)
}

/// A launcher at work.
struct Post {
    launcher: Launcher,
    cluster: Cluster,
    /// When its cluster is looked at next, and when something is handed over to it again.
    next_look: Instant,
    next_try: Instant,
    /// It starts nothing before.
    rests_until: Instant,
    /// Rounds in a row of which launches came to nothing.
    failures: u32,
    /// Whether one of this round did.
    failed: bool,
}

impl Post {
    fn new(launcher: Launcher) -> Self {
        let now = Instant::now();
        Self {
            cluster: Cluster::of(&launcher),
            launcher,
            next_look: now,
            next_try: now,
            rests_until: now,
            failures: 0,
            failed: false,
        }
    }

    /// Rests after a round of which a launch came to nothing.
    fn rest(&mut self) {
        if !std::mem::take(&mut self.failed) {
            return;
        }
        let rest = FIRST_REST.saturating_mul(1 << self.failures.min(10)).min(LONGEST_REST);
        self.failures += 1;
        self.rests_until = Instant::now() + rest;
        tracing::warn!(
            launcher = self.launcher.name,
            rest = rest.as_secs(),
            "a launch came to nothing; waiting a while"
        );
    }

    /// Looks at the open launches of this launcher and does what is due. Asks the cluster only when it is time, or there is
    /// something to hand over.
    async fn tend(&mut self, store: &Store, launches: &[LaunchRow]) -> Result<(), StoreError> {
        let own: Vec<&LaunchRow> = launches.iter().filter(|launch| launch.launcher == self.launcher.name).collect();
        let now = Instant::now();
        let tries = own.iter().any(|launch| launch.status == LaunchStatus::Requested) && now >= self.next_try;
        if own.is_empty() || now < self.next_look && !tries {
            return Ok(());
        }
        self.next_look = now + Duration::from_secs(self.launcher.poll_seconds);
        let ids: Vec<LaunchId> = own.iter().map(|launch| launch.id).collect();
        let seen = match self.cluster.look(&ids).await {
            Ok(seen) => seen,
            Err(trouble) => {
                self.next_try = now + AWAY;
                tracing::warn!(launcher = self.launcher.name, %trouble, "the cluster cannot be looked at");
                for launch in own.iter().filter(|launch| launch.status == LaunchStatus::Requested) {
                    note(store, launch, &trouble.to_string(), None).await?;
                }
                return Ok(());
            }
        };
        let silent = |launch: &&&LaunchRow| launch.began_at.is_some() && !launch.works;
        let avoid: Vec<&str> = own.iter().filter(silent).filter_map(|launch| launch.node.as_deref()).collect();
        for launch in &own {
            // What goes wrong with one does not hold up the others.
            if let Err(error) = self.settle(store, (launch, launches), seen.get(&launch.id), &avoid).await {
                tracing::warn!(launch = %launch.id, %error, "a launch cannot be looked after; trying again");
            }
        }
        self.rest();
        Ok(())
    }

    async fn settle(
        &mut self,
        store: &Store,
        (launch, launches): (&LaunchRow, &[LaunchRow]),
        seen: Option<&Seen>,
        avoid: &[&str],
    ) -> Result<(), StoreError> {
        let now = clock::now();
        let lost = "the cluster knows it no more";
        match (launch.status, seen) {
            // It was handed over, and the answer was lost.
            (_, Some(seen)) if launch.reference.is_none() => store.submit_launch(launch.id, &seen.reference, now).await,
            (LaunchStatus::Requested, None) if Instant::now() < self.rests_until.max(self.next_try) => Ok(()),
            (LaunchStatus::Requested, None) => self.submit(store, (launch, launches), avoid).await,
            // Whoever takes its key from a machine that works ends what it does, whatever its cluster thinks of it.
            (_, Some(Seen { state: State::Over, reason, .. })) if !launch.works => {
                self.end(store, launch, reason).await
            }
            // Taken from its machine, as by a queue that gives its place to others.
            (_, Some(Seen { state: State::Waits, reason, .. })) if launch.began_at.is_some() && !launch.works => {
                self.end(store, launch, reason).await
            }
            (_, Some(seen)) => note(store, launch, &seen.reason, seen.node.as_deref()).await,
            (_, None) if launch.works || !is_settled(launch, now) => Ok(()),
            (LaunchStatus::Waiting, None) => {
                self.failed = true;
                store.launch_again(launch.id, lost).await
            }
            (_, None) => self.end(store, launch, lost).await,
        }
    }

    async fn submit(
        &mut self,
        store: &Store,
        (launch, launches): (&LaunchRow, &[LaunchRow]),
        avoid: &[&str],
    ) -> Result<(), StoreError> {
        let token = store.launch_key(launch.id, clock::now()).await?;
        let idle_seconds = self.idle_seconds(launch, launches);
        let order = Order { launcher: &self.launcher, launch, token, idle_seconds, avoid: avoid.to_vec() };
        match self.cluster.submit(&order).await {
            Ok(reference) => {
                tracing::info!(launcher = self.launcher.name, launch = %launch.id, job = %launch.job, reference, "launched");
                store.submit_launch(launch.id, &reference, clock::now()).await
            }
            // It is looked for by its name before it is handed over again.
            Err(trouble @ Trouble::Away(_)) => {
                self.next_try = Instant::now() + AWAY;
                note(store, launch, &trouble.to_string(), None).await
            }
            Err(Trouble::Refused(reason)) => {
                self.failed = true;
                self.cluster.clear(launch.id).await;
                store.end_launch(launch.id, LaunchStatus::Failed, &reason, clock::now()).await
            }
        }
    }

    async fn end(&mut self, store: &Store, launch: &LaunchRow, reason: &str) -> Result<(), StoreError> {
        let (status, message) = match (launch.began_at, launch.claimed_at) {
            (None, _) => {
                let hint = "its machine never came to work for this server; see its log";
                (LaunchStatus::Failed, format!("{reason}; {hint}"))
            }
            (Some(_), None) => (LaunchStatus::Ended, format!("{reason}; no job began on its machine")),
            (Some(_), Some(_)) => (LaunchStatus::Ended, reason.to_owned()),
        };
        if !self.cluster.clear(launch.id).await {
            return Ok(());
        }
        if launch.claimed_at.is_some() {
            self.failures = 0;
        } else if self.is_wanted(store, launch).await? {
            self.failed = true;
        }
        tracing::info!(launcher = self.launcher.name, launch = %launch.id, message, "a launch is over");
        store.end_launch(launch.id, status, &message, clock::now()).await
    }

    /// Whether the job of a launch still waits for a device.
    async fn is_wanted(&self, store: &Store, launch: &LaunchRow) -> Result<bool, StoreError> {
        Ok(store.needs(MOST_NEEDS, None, clock::now()).await?.iter().any(|need| need.job == launch.job))
    }

    /// A launch on which no job has begun yet, and may begin: one that found none for longer than it waits is ill.
    fn spare(&self, launch: &LaunchRow, launches: &[LaunchRow], now: Timestamp) -> Option<Spare> {
        let LaunchRow { id, job, devices, memory, status, .. } = *launch;
        let longest = (self.idle_seconds(launch, launches) * 1000).cast_signed() + START_MILLISECONDS;
        let is_ill = launch.began_at.is_some_and(|at| now.0 - at.0 > longest);
        let runs = status == LaunchStatus::Running;
        (launch.claimed_at.is_none() && !is_ill).then_some(Spare {
            id,
            job,
            devices,
            memory,
            pool: launch.launcher.clone(),
            runs,
        })
    }

    /// For how many seconds the machine of a launch waits for a job.
    fn idle_seconds(&self, launch: &LaunchRow, launches: &[LaunchRow]) -> u64 {
        // One that was claimed is of an attempt that is over, or about to be.
        let is_other = |other: &LaunchRow| other.id != launch.id && other.claimed_at.is_none();
        let has_others = launches.iter().any(|other| is_other(other) && other.job == launch.job);
        self.launcher.idle_seconds * if has_others { WAITS_FOR_OTHERS } else { 1 }
    }

    /// How many more machines it may start now.
    fn room(&self, launches: &[LaunchRow]) -> u32 {
        if Instant::now() < self.rests_until {
            return 0;
        }
        let open = launches.iter().filter(|launch| launch.launcher == self.launcher.name).count();
        self.launcher.max_launches.saturating_sub(u32::try_from(open).unwrap_or(u32::MAX))
    }

    async fn cancel(&self, store: &Store, launch: &LaunchRow) -> Result<(), StoreError> {
        // Should its machine have begun meanwhile it ends by itself, or has a job.
        if store.retract_launch(launch.id, "no job needs it any more", clock::now()).await? {
            self.cluster.clear(launch.id).await;
        }
        Ok(())
    }
}

/// Launches machines for jobs that need them until `stop` becomes true. Where agents may be silent for `lease`, they are not
/// taken for gone before.
pub async fn watch(store: Store, launchers: Vec<Launcher>, lease: Duration, mut stop: watch::Receiver<bool>) {
    let mut posts: Vec<Post> = launchers.into_iter().map(Post::new).collect();
    let (began, patience) = (Instant::now(), lease.max(GONE));
    let pause = if posts.is_empty() { GONE } else { LOOK };
    loop {
        let turn = async {
            tokio::time::sleep(pause).await;
            // Whoever was there before the server was away has to be heard first.
            let patience = (began.elapsed() > patience).then_some(patience);
            if let Err(error) = round(&store, &mut posts, patience).await {
                tracing::warn!(%error, "launches cannot be looked after; trying again");
            }
        };
        // What is broken off is found again by its name.
        tokio::select! {
            () = turn => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// One look at the queue and at what is under way.
async fn round(store: &Store, posts: &mut [Post], patience: Option<Duration>) -> Result<(), StoreError> {
    let launches = store.open_launches().await?;
    for post in &mut *posts {
        post.tend(store, &launches).await?;
    }
    let (launches, now) = (store.open_launches().await?, clock::now());
    let mut spares = Vec::new();
    for launch in &launches {
        match posts.iter().find(|post| post.launcher.name == launch.launcher) {
            Some(post) => spares.extend(post.spare(launch, &launches, now)),
            None if launch.works => {}
            None => {
                let reason = format!("there is no launcher `{}` in the settings any more", launch.launcher);
                store.end_launch(launch.id, LaunchStatus::Failed, &reason, now).await?;
            }
        }
    }
    if posts.is_empty() {
        return Ok(());
    }
    let needs = store.needs(MOST_NEEDS, patience, now).await?;
    let room: Vec<(&Launcher, u32)> = posts.iter().map(|post| (&post.launcher, post.room(&launches))).collect();
    let Plan { make, give, cancel } = plan(&needs, &room, spares);
    for launch in launches.iter().filter(|launch| cancel.contains(&launch.id)) {
        if let Some(post) = posts.iter().find(|post| post.launcher.name == launch.launcher) {
            post.cancel(store, launch).await?;
        }
    }
    store.plan_launches(&make, &give, now).await
}

async fn note(store: &Store, launch: &LaunchRow, message: &str, node: Option<&str>) -> Result<(), StoreError> {
    let is_known = launch.message.as_deref() == Some(message) && (node.is_none() || launch.node.as_deref() == node);
    if is_known { Ok(()) } else { store.note_launch(launch.id, message, node).await }
}

/// Whether a cluster must know a launch by now.
fn is_settled(launch: &LaunchRow, now: Timestamp) -> bool {
    launch.submitted_at.is_none_or(|at| now.0 - at.0 > SETTLE_MILLISECONDS)
}
