//! Makes the objects of units that shall be and removes those of units that shall not, in any cluster, with
//! bounded concurrency. It takes no input but the rows: what wants work says so by `work_at`. Every step
//! can be repeated, so one that is killed is done again when its lease has run out.

use std::time::Duration;

use api::Problem;
use crds::names::MANAGER_STOCK;
use futures::{StreamExt, stream};
use kube::api::{DeleteParams, Patch, PatchParams};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    cluster_store::{self, Leased, Setback},
    model::UnitState,
    object,
};
use crate::{App, cluster::ClusterError};

/// How often it looks without being told: for leases that ran out and units put off.
const TICK: Duration = Duration::from_millis(500);
/// Units leased at a time.
const BATCH: i64 = 64;
/// Seconds after which it asks whether an object that is being deleted is gone, should the watch not tell.
const STILL_THERE: f64 = 1.0;

pub(crate) async fn run(app: App, stop: CancellationToken) {
    loop {
        match work(&app, &stop).await {
            Ok(true) if !stop.is_cancelled() => continue,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "units could not be worked on"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = app.work().notified() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// What came of one unit.
enum Outcome {
    Made(Leased),
    Gone(Leased),
    Later(Setback),
}

/// Works on what is due. Whether there was anything.
async fn work(app: &App, stop: &CancellationToken) -> Result<bool, Problem> {
    let lease = app.tuning().lease_seconds.max(2);
    // the leases must outlive the calls, or another worker begins beside this one: none begins after a
    // quarter of the time, none takes longer than half of it
    let patience = Duration::from_secs(lease.into()) / 2;
    let begin_until = Instant::now() + patience / 2;
    let mut tx = app.db().worker().await?;
    let leased = cluster_store::lease(&mut tx, BATCH, lease).await?;
    tx.commit().await?;
    if leased.is_empty() {
        return Ok(false);
    }
    let outcomes: Vec<Outcome> = stream::iter(leased)
        .map(async |unit| {
            if stop.is_cancelled() || Instant::now() >= begin_until {
                // for another replica, or for the next time, at once
                return later(&unit, 0.0, None);
            }
            act(app, unit, patience).await
        })
        .buffer_unordered(app.tuning().cluster_concurrency.max(1))
        .collect()
        .await;
    let (mut made, mut leases, mut gone, mut later) = (vec![], vec![], vec![], vec![]);
    for outcome in outcomes {
        match outcome {
            Outcome::Made(unit) => {
                made.push(unit.id);
                leases.push(unit.until);
            }
            Outcome::Gone(unit) => gone.push(unit.id),
            Outcome::Later(setback) => later.push(setback),
        }
    }
    let mut tx = app.db().worker().await?;
    cluster_store::made(&mut tx, &made, &leases).await?;
    cluster_store::removed(&mut tx, &gone).await?;
    cluster_store::put_off(&mut tx, &later).await?;
    tx.commit().await?;
    if !gone.is_empty() {
        app.settle().notify_one();
    }
    Ok(true)
}

async fn act(app: &App, unit: Leased, patience: Duration) -> Outcome {
    match tokio::time::timeout(patience, apply(app, &unit)).await {
        Ok(Ok(Done::Made)) => Outcome::Made(unit),
        Ok(Ok(Done::Gone)) => Outcome::Gone(unit),
        Ok(Ok(Done::Going)) => later(&unit, STILL_THERE, None),
        Ok(Err(trouble)) => put_off(&unit, trouble),
        Err(_) => put_off(&unit, ("ClusterUnreachable", "the cluster does not answer".to_owned())),
    }
}

fn put_off(unit: &Leased, trouble: (&'static str, String)) -> Outcome {
    tracing::warn!(unit.id = %unit.id, reason = trouble.0, message = trouble.1, "unit put off");
    later(unit, backoff(unit.tries, unit.id.uuid().as_u128()), Some(trouble))
}

fn later(unit: &Leased, again_in: f64, trouble: Option<(&'static str, String)>) -> Outcome {
    Outcome::Later(Setback { unit: unit.id, until: unit.until, again_in, trouble })
}

/// Seconds until the next try: doubling from one half to sixty, the units spread over half of it.
fn backoff(tries: i32, spread: u128) -> f64 {
    let full = (0.5 * 2f64.powi(tries.clamp(0, 10))).min(60.0);
    let share = u32::try_from(spread % 1000).map_or(0.5, |n| f64::from(n) / 1000.0);
    full * (0.75 + share / 2.0)
}

enum Done {
    Made,
    Gone,
    Going,
}

async fn apply(app: &App, unit: &Leased) -> Result<Done, (&'static str, String)> {
    let units = app.clusters().units(&unit.cluster).await.map_err(|error| match error {
        ClusterError::Unknown(_) => ("ClusterUnknown", error.to_string()),
        ClusterError::Credentials(_) => ("ClusterUnreachable", error.to_string()),
    })?;
    let name = unit.id.k8s_name();
    if unit.state == UnitState::Removing {
        return match units.delete(&name, &DeleteParams::default()).await {
            Ok(either) => Ok(either.either(|_| Done::Going, |_| Done::Gone)),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Done::Gone),
            Err(error) => Err(explain(error)),
        };
    }
    let object = object::desired(unit.id, &unit.spec, &unit.datacenter);
    let params = PatchParams::apply(MANAGER_STOCK).force();
    units.patch(&name, &params, &Patch::Apply(&object)).await.map_err(explain)?;
    Ok(Done::Made)
}

fn explain(error: kube::Error) -> (&'static str, String) {
    match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
            ("ClusterRefused", status.message.clone())
        }
        kube::Error::Api(status) => ("ClusterUnreachable", status.message.clone()),
        other => {
            tracing::debug!(error = %other, "call to the cluster failed");
            ("ClusterUnreachable", "the cluster does not answer".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::backoff;

    proptest! {
        #[test]
        fn a_unit_is_tried_again_soon_and_at_least_about_each_minute(tries in 0i32..1000, spread: u128) {
            let seconds = backoff(tries, spread);
            prop_assert!((0.3..=80.0).contains(&seconds), "{}", seconds);
        }
    }
}
