//! Which of several servers does what is done once for all of them: takes jobs back from machines that are silent, sends
//! webhooks, makes exports, pushes them. A row of the database says who leads, for a
//! short time by the database's clock, and whoever leads renews it. One that cannot stops leading before another begins;
//! and since everything that it does is done in transactions, two that believed to lead for a moment would do no harm.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::chain;
use crate::clock;
use crate::store::Store;

/// For how long a server leads without renewing it.
const LEASE: Duration = Duration::from_millis(1600);
const RENEWAL: Duration = Duration::from_millis(300);

/// Tries to lead until `shutdown` becomes true; what is returned says whether this server leads.
pub fn strive(store: Store, mut shutdown: watch::Receiver<bool>) -> watch::Receiver<bool> {
    let (told, leads) = watch::channel(!store.is_shared());
    if *leads.borrow() {
        return leads;
    }
    let server = uuid::Uuid::new_v4().simple().to_string();
    tokio::spawn(async move {
        let mut ticks = interval(RENEWAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut until = Instant::now();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = shutdown.wait_for(|down| *down) => break,
            }
            let asked = Instant::now();
            // One that leads does not wait for longer than it does.
            let patience = until.max(asked + RENEWAL);
            let led = timeout_at(patience, store.lead(&server, LEASE, clock::now())).await;
            match led {
                Ok(Ok(true)) => until = asked + LEASE,
                Ok(Ok(false)) => until = asked,
                Ok(Err(error)) => tracing::warn!(error = chain(&error), "who leads cannot be told"),
                Err(_) => tracing::warn!("the database does not say in time who leads"),
            }
            let now_leads = Instant::now() < until;
            let changed = told.send_if_modified(|leads| std::mem::replace(leads, now_leads) != now_leads);
            if changed {
                tracing::info!(
                    leads = now_leads,
                    "this server {} all servers",
                    if now_leads { "leads" } else { "no longer leads" }
                );
            }
        }
        told.send_replace(false);
        if let Err(error) = store.abdicate(&server).await {
            tracing::warn!(error = chain(&error), "another server leads when this one's time is over");
        }
    });
    leads
}

/// Has the tasks that `begin` starts run while this server leads, until `shutdown` becomes true. They end when what they are
/// given becomes true.
pub async fn while_leading(
    mut leads: watch::Receiver<bool>,
    mut shutdown: watch::Receiver<bool>,
    begin: impl Fn(&watch::Receiver<bool>) -> JoinSet<()>,
) {
    loop {
        tokio::select! {
            // Without a sender nothing changes any more.
            led = leads.wait_for(|leads| *leads) => if led.is_err() { return },
            _ = shutdown.wait_for(|down| *down) => return,
        }
        let (stop, stopped) = watch::channel(false);
        let tasks = begin(&stopped);
        tokio::select! {
            // The only server of a database leads to its end.
            () = async {
                if leads.wait_for(|leads| !*leads).await.is_err() {
                    std::future::pending::<()>().await;
                }
            } => {}
            _ = shutdown.wait_for(|down| *down) => {}
        }
        stop.send_replace(true);
        tasks.join_all().await;
    }
}
