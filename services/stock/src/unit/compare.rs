//! The full comparison of a cluster with the units recorded here, in both directions, from time to time.
//! What it puts right it records: each repair is something that a watch, a worker or a person missed.
//!
//! An object without a unit is removed when it is idle. One in which an instance stands is never touched: it
//! becomes a unit, so that a tenant's work is not lost to a mistake in our books.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use crds::GpuUnit;
use db::Tx;
use ids::{GpuSpecId, UnitId};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Preconditions},
};
use tokio_util::sync::CancellationToken;

use super::{
    cluster_store::{self, Known},
    model::UnitState,
    object::{self, Observation},
};
use crate::{App, spec, spec::model::GpuSpec};

/// Objects asked for at a time.
const PAGE: u32 = 500;
/// What the watch gets to write up a change before it counts as missed.
const WATCH_LAG: Duration = Duration::from_secs(2);

pub(crate) async fn run(app: App, cluster: String, stop: CancellationToken) {
    let every = app.tuning().compare_every();
    // each replica looks more often than one is due: whichever comes first runs it
    let mut ticks = tokio::time::interval(every / 2);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            result = compare_if_due(&app, &cluster) => if let Err(error) = result {
                tracing::warn!(cluster, error = format!("{error:#}"), "comparison failed");
            }
        }
    }
}

async fn compare_if_due(app: &App, cluster: &str) -> anyhow::Result<()> {
    let mut tx = app.db().worker().await?;
    let due =
        cluster_store::begin_comparison(&mut tx, cluster, app.tuning().compare_every().as_secs_f64()).await?;
    tx.commit().await?;
    if !due {
        return Ok(());
    }
    let units = app.clusters().units(cluster).await?;
    // the records before the objects: an object that is missing now was missing when its unit was settled
    let mut tx = app.db().worker().await?;
    let known = cluster_store::known(&mut tx, cluster).await?;
    let mut spec_ids: Vec<GpuSpecId> = known.iter().map(|unit| unit.gpu_spec_id).collect();
    spec_ids.sort_unstable();
    spec_ids.dedup();
    let specs: HashMap<GpuSpecId, GpuSpec> =
        spec::store::find_many(&mut tx, &spec_ids).await?.into_iter().map(|spec| (spec.id, spec)).collect();
    tx.commit().await?;
    let by_id: HashMap<UnitId, &Known> = known.iter().map(|unit| (unit.id, unit)).collect();
    let desired = |unit: UnitId| {
        let known = by_id.get(&unit)?;
        Some(object::desired(unit, specs.get(&known.gpu_spec_id)?, &known.datacenter))
    };

    let mut objects = Vec::new();
    let mut params = ListParams::default().labels(&object::selector()).limit(PAGE);
    loop {
        let page = units.list(&params).await?;
        objects.extend(page.items.iter().map(|found| Found::read(found, &desired)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    tokio::time::sleep(WATCH_LAG).await;
    repair(app, cluster, &units, &known, &objects).await?;

    let mut tx = app.db().worker().await?;
    cluster_store::end_comparison(&mut tx, cluster).await?;
    tx.commit().await?;
    Ok(())
}

/// What a comparison keeps of an object.
#[derive(Debug, Clone)]
struct Found {
    name: String,
    unit: Option<UnitId>,
    uid: Option<String>,
    version: Option<String>,
    occupied: bool,
    deleting: bool,
    altered: bool,
    gpu_spec: String,
    datacenter: String,
    sight: Option<Observation>,
}

impl Found {
    fn read(found: &GpuUnit, desired: &impl Fn(UnitId) -> Option<GpuUnit>) -> Self {
        let name = found.name_any();
        let unit = UnitId::from_k8s_name(&name).ok();
        Self {
            unit,
            uid: found.uid(),
            version: found.resource_version(),
            occupied: object::is_occupied(found),
            deleting: found.metadata.deletion_timestamp.is_some(),
            altered: unit.and_then(desired).is_some_and(|wanted| object::altered(found, &wanted)),
            gpu_spec: found.spec.gpu_spec.clone(),
            datacenter: found.spec.datacenter.clone(),
            sight: object::observe(found),
            name,
        }
    }
}

/// What differs between records and objects.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    missing: Vec<UnitId>,
    altered: Vec<UnitId>,
    /// Positions in the list of objects.
    unknown: Vec<usize>,
}

fn differences(known: &[Known], objects: &[Found]) -> Differences {
    let present: HashSet<UnitId> = objects.iter().filter_map(|found| found.unit).collect();
    let recorded: HashMap<UnitId, &Known> = known.iter().map(|unit| (unit.id, unit)).collect();
    // a unit that the maker is at, or that is being removed, is allowed to differ
    let settled = |unit: &Known| unit.settled && unit.state != UnitState::Removing;
    Differences {
        missing: known.iter().filter(|u| settled(u) && !present.contains(&u.id)).map(|u| u.id).collect(),
        altered: objects
            .iter()
            .filter(|found| found.altered && !found.deleting)
            .filter_map(|found| found.unit)
            .filter(|id| recorded.get(id).is_some_and(|u| settled(u)))
            .collect(),
        unknown: objects
            .iter()
            .enumerate()
            .filter(|(_, found)| !found.deleting && found.unit.is_none_or(|id| !recorded.contains_key(&id)))
            .map(|(at, _)| at)
            .collect(),
    }
}

async fn repair(
    app: &App,
    cluster: &str,
    units: &Api<GpuUnit>,
    known: &[Known],
    objects: &[Found],
) -> anyhow::Result<()> {
    let differences = differences(known, objects);
    let mut repairs: Vec<Repair> = Vec::new();

    let mut tx = app.db().worker().await?;
    let uids: HashMap<UnitId, Option<String>> = known.iter().map(|u| (u.id, u.object_uid.clone())).collect();
    let missing_uids: Vec<Option<String>> =
        differences.missing.iter().map(|id| uids.get(id).cloned().flatten()).collect();
    for unit in cluster_store::lost(&mut tx, &differences.missing, &missing_uids).await? {
        repairs.push((
            "object_missing",
            Some(unit),
            "it had no object in the cluster; it is made again".into(),
        ));
    }
    for unit in cluster_store::apply_again(&mut tx, &differences.altered).await? {
        repairs.push((
            "object_altered",
            Some(unit),
            "its object said something else; it is applied again".into(),
        ));
    }
    let sights: Vec<Observation> = objects.iter().filter_map(|found| found.sight.clone()).collect();
    for chunk in sights.chunks(PAGE as usize) {
        for unit in cluster_store::seen(&mut tx, chunk).await? {
            repairs.push((
                "status_missed",
                Some(unit),
                "its change in the cluster had not been reported".into(),
            ));
        }
    }
    // units that were added since the records were read are no strangers
    let strangers: Vec<UnitId> = differences.unknown.iter().filter_map(|at| objects[*at].unit).collect();
    let added: HashSet<UnitId> = cluster_store::recorded(&mut tx, &strangers).await?.into_iter().collect();
    let mut orphans = Vec::new();
    for found in differences.unknown.iter().map(|at| &objects[*at]) {
        match found.unit {
            Some(unit) if added.contains(&unit) => {}
            Some(unit) if found.occupied => {
                if cluster_store::adopt(&mut tx, unit, &found.gpu_spec, &found.datacenter, cluster).await? {
                    cluster_store::seen(&mut tx, found.sight.as_slice()).await?;
                    let detail = "an object without a unit, in which an instance stands, became a unit";
                    repairs.push(("object_adopted", Some(unit), detail.into()));
                } else {
                    tracing::warn!(
                        cluster,
                        name = found.name,
                        "an object in use is of no known specification"
                    );
                }
            }
            _ if found.occupied => {
                tracing::warn!(cluster, name = found.name, "an object in use bears no unit's name");
            }
            _ => orphans.push(found),
        }
    }
    note(app, tx, cluster, &repairs).await?;
    let mut removed: Vec<Repair> = Vec::new();
    for found in orphans {
        match remove_orphan(units, found).await {
            Ok(true) => {
                let detail = format!("the object {} had no unit; it was removed", found.name);
                removed.push(("object_orphaned", found.unit, detail));
            }
            // it went, or changed: the next comparison looks again
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(cluster, name = found.name, %error, "an object without a unit stays");
            }
        }
    }
    note(app, app.db().worker().await?, cluster, &removed).await?;
    Ok(())
}

/// Records the repairs in the transaction that made them, and ends it.
async fn note(app: &App, mut tx: Tx, cluster: &str, repairs: &[Repair]) -> sqlx::Result<()> {
    for (kind, unit, detail) in repairs {
        cluster_store::record_repair(&mut tx, Some(cluster), kind, *unit, detail).await?;
        tracing::warn!(cluster, kind, unit.id = unit.map(|id| id.to_string()), "drift repaired");
        app.counters().repaired(kind);
    }
    tx.commit().await?;
    if !repairs.is_empty() {
        app.work().notify_one();
        app.settle().notify_one();
    }
    Ok(())
}

/// Kind, unit and what was found.
type Repair = (&'static str, Option<UnitId>, String);

/// Removes an idle object, exactly as it was seen. Whether that was done.
async fn remove_orphan(units: &Api<GpuUnit>, found: &Found) -> kube::Result<bool> {
    let exactly = Preconditions { uid: found.uid.clone(), resource_version: found.version.clone() };
    let params = DeleteParams { preconditions: Some(exactly), ..DeleteParams::default() };
    match units.delete(&found.name, &params).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(unit: Option<UnitId>, altered: bool, deleting: bool) -> Found {
        Found {
            name: unit.map_or_else(|| "stray".to_owned(), UnitId::k8s_name),
            unit,
            uid: None,
            version: None,
            occupied: false,
            deleting,
            altered,
            gpu_spec: String::new(),
            datacenter: String::new(),
            sight: None,
        }
    }

    proptest! {
        /// Every unit and every object is accounted for exactly once, and nothing in work is touched.
        #[test]
        fn each_difference_is_found_once(
            cases in prop::collection::vec((any::<[bool; 6]>(), 0u8..5), 0..40)
        ) {
            let (mut known, mut objects, mut expected) = (vec![], vec![], Differences::default());
            for ([has_row, has_object, settled, altered, deleting, named], state) in cases {
                let state = [UnitState::Making, UnitState::Available, UnitState::Inactive, UnitState::Used,
                    UnitState::Removing][usize::from(state)];
                let id = UnitId::new();
                let named = named || has_row;
                if has_row {
                    known.push(Known { id, state, gpu_spec_id: GpuSpecId::new(), datacenter: String::new(),
                        object_uid: None, settled });
                }
                if has_object {
                    objects.push(found(named.then_some(id), altered && has_row, deleting));
                }
                let quiet = settled && state != UnitState::Removing;
                match (has_row, has_object) {
                    (true, false) if quiet => expected.missing.push(id),
                    (true, true) if quiet && altered && !deleting => expected.altered.push(id),
                    (false, true) if !deleting => expected.unknown.push(objects.len() - 1),
                    _ => {}
                }
            }
            prop_assert_eq!(differences(&known, &objects), expected);
        }
    }
}
