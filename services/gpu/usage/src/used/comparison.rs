//! Compares the meter with the histories of the clusters' units, and corrects it.

use std::collections::HashMap;

use clusters::Clusters;
use db::{Db, queue::Queue};
use gpu_core::{
    compare::{Finding, Reported, compare},
    ends::EndReason,
    meter::{EndedRun, RunKey},
    unit::Unit,
};
use ids::{InstanceId, UnitId};
use instances::instance;
use jiff::Timestamp;

use super::compare_store::{self, UnitRun};

/// Units compared at a time.
const BATCH: usize = 200;

/// A unit with what its cluster reports of ended runs.
struct Evidence {
    unit: UnitId,
    history: Vec<Reported>,
    since: Timestamp,
}

impl Evidence {
    fn of(unit: &Unit) -> Option<Self> {
        let id = UnitId::from_k8s_name(&unit.name).ok()?;
        let history: Vec<Reported> = unit.runs.iter().filter_map(reported).collect();
        let since = history.iter().map(|reported| reported.run.key.since).min()?;
        Some(Self { unit: id, history, since })
    }
}

fn reported(run: &crds::Run) -> Option<Reported> {
    let instance = InstanceId::from_k8s_name(&run.instance_id).ok()?;
    let run = EndedRun {
        key: RunKey { attempt: run.attempt, since: run.running_since.0 },
        ended_at: run.ended_at.0.max(run.running_since.0),
        unseen: run.end_unseen,
        reason: EndReason::reported(&run.reason),
    };
    Some(Reported { instance, run })
}

/// Compares all units that clusters report. Returns the number of corrections.
///
/// # Errors
/// If the database fails.
pub async fn run(db: &Db, clusters: &Clusters, queue: &Queue<InstanceId>) -> anyhow::Result<u64> {
    let units = clusters.units();
    let evidence: Vec<Evidence> = units.iter().filter_map(|unit| Evidence::of(unit)).collect();
    let mut corrected = 0;
    for batch in evidence.chunks(BATCH) {
        corrected += compare_batch(db, batch, queue).await?;
    }
    Ok(corrected)
}

async fn compare_batch(db: &Db, batch: &[Evidence], queue: &Queue<InstanceId>) -> anyhow::Result<u64> {
    let (units, since): (Vec<UnitId>, Vec<Timestamp>) =
        batch.iter().map(|evidence| (evidence.unit, evidence.since)).unzip();
    let mut tx = db.worker().await?;
    let runs = compare_store::runs_of_units(&mut tx, &units, &since).await?;
    tx.commit().await?;
    let mut of_unit: HashMap<UnitId, Vec<UnitRun>> = HashMap::new();
    for run in runs {
        of_unit.entry(run.unit_id).or_default().push(run);
    }
    let mut corrected = 0;
    for Evidence { unit, history, .. } in batch {
        let runs = of_unit.remove(unit).unwrap_or_default();
        let recorded: Vec<_> = runs.iter().filter_map(UnitRun::recorded).collect();
        let open = runs.iter().filter(|run| run.ended_at.is_none()).map(|run| (run.instance_id, run.key()));
        let open: Vec<_> = open.collect();
        for finding in compare(&recorded, &open, history) {
            corrected += u64::from(correct(db, *unit, &finding, queue).await?);
        }
    }
    Ok(corrected)
}

/// Corrects one run, unless its instance has not recorded it yet.
async fn correct(
    db: &Db,
    unit: UnitId,
    finding: &Finding,
    queue: &Queue<InstanceId>,
) -> anyhow::Result<bool> {
    let mut tx = db.worker().await?;
    let done = match finding {
        Finding::Missed(missed) => {
            // reconciles do not write the row until this transaction ends
            let instance = instance::store::lock_any(&mut tx, missed.instance).await?;
            let Some(instance) = instance else { return Ok(false) };
            if instance.state.claim().is_some_and(|claim| claim.unit_id == unit)
                && !instance.meter.knows(&missed.run)
            {
                queue.wake(instance.id);
                return Ok(false);
            }
            let added = compare_store::add_missed(&mut tx, unit, missed).await?;
            if !added {
                tracing::warn!(instance.id = %missed.instance, unit.id = %unit, run = ?missed.run, "a run is not metered");
            }
            added
        }
        Finding::Differs { recorded, ended_at, correction } => {
            compare_store::correct(&mut tx, recorded, *ended_at, *correction).await?
        }
    };
    tx.commit().await?;
    if done {
        tracing::warn!(unit.id = %unit, ?finding, "usage corrected");
    }
    Ok(done)
}

#[cfg(test)]
mod tests;
