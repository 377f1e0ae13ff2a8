//! Periodically compares a cluster with its units, and repairs what differs.
//!
//! An idle object without a unit is deleted. An occupied one is never touched: it becomes a unit, so that a tenant
//! does not lose work to a mistake in the records.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use api::ErrorChain;
use crds::GpuUnit;
use db::{Tx, lease};
use ids::{GpuSpecId, UnitId};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Preconditions},
};
use service::{Duty, Round, Task};
use sqlx::PgConnection;
use stock_api::GpuSpec;

use super::{
    model::{Differences, FoundObject, KnownUnit, differences},
    store,
};
use crate::{
    gpu_spec,
    repair::{self, Finding, RepairKind},
    unit::{
        Parts,
        cluster_store::{self, MissingObject},
        object::{self, Observation},
    },
};

/// Objects that are listed or recorded at a time.
const PAGE: u32 = 500;
/// How long the watch may take to record a change before the change counts as missed.
const WATCH_LAG: Duration = Duration::from_secs(2);

/// The task that compares a cluster.
pub(crate) fn task(parts: &Parts, cluster: &str) -> Task {
    // replicas check more often than a comparison is due: the first one to find it due runs it
    let period = parts.config.compare_every() / 2;
    let parts = (parts.clone(), cluster.to_owned());
    Task::every("comparison", Duty::Reconcile, period, &parts, |(parts, cluster)| async move {
        compare_if_due(&parts, &cluster).await.map(|()| Round::Done)
    })
    .of_cluster(cluster)
}

async fn compare_if_due(parts: &Parts, cluster: &str) -> anyhow::Result<()> {
    let mut tx = parts.db.worker().await?;
    if !lease::take_once(&mut tx, &format!("comparison of {cluster}"), parts.config.compare_every()).await? {
        return Ok(());
    }
    tx.commit().await?;
    let units: Api<GpuUnit> = Api::all(parts.clusters.client(cluster).await?);
    // the records before the objects: an object that is missing now was missing when its unit was idle
    let mut tx = parts.db.worker().await?;
    let known = store::known_units(&mut tx, cluster).await?;
    let specs = specs(&mut tx, &known).await?;
    tx.commit().await?;
    let objects = list(&units, &known, &specs).await?;
    tokio::time::sleep(WATCH_LAG).await;
    let comparison = Comparison { parts, cluster, known: &known, objects: &objects };
    comparison.repair(&units).await
}

async fn specs(conn: &mut PgConnection, known: &[KnownUnit]) -> sqlx::Result<HashMap<GpuSpecId, GpuSpec>> {
    let ids: HashSet<GpuSpecId> = known.iter().map(|unit| unit.gpu_spec_id).collect();
    let ids: Vec<GpuSpecId> = ids.into_iter().collect();
    let specs = gpu_spec::store::find_many(conn, &ids).await?;
    Ok(specs.into_iter().map(|spec| (spec.id, spec)).collect())
}

/// Lists the cluster's objects, compared with their desired state.
async fn list(
    units: &Api<GpuUnit>,
    known: &[KnownUnit],
    specs: &HashMap<GpuSpecId, GpuSpec>,
) -> kube::Result<Vec<FoundObject>> {
    let by_id: HashMap<UnitId, &KnownUnit> = known.iter().map(|unit| (unit.id, unit)).collect();
    let desired = |unit: UnitId| {
        let known = by_id.get(&unit)?;
        Some(object::desired(unit, specs.get(&known.gpu_spec_id)?, &known.datacenter))
    };
    let mut objects = Vec::new();
    let mut params = ListParams::default().labels(&object::selector()).limit(PAGE);
    loop {
        let page = units.list(&params).await?;
        objects.extend(page.items.iter().map(|found| FoundObject::read(found, &desired)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

/// The units and objects of one comparison.
struct Comparison<'a> {
    parts: &'a Parts,
    cluster: &'a str,
    known: &'a [KnownUnit],
    objects: &'a [FoundObject],
}

impl Comparison<'_> {
    async fn repair(&self, units: &Api<GpuUnit>) -> anyhow::Result<()> {
        let differences = differences(self.known, self.objects);
        let mut tx = self.parts.db.worker().await?;
        let mut findings = self.repair_units(&mut tx, &differences).await?;
        let (adopted, orphans) = self.adopt_occupied(&mut tx, &differences).await?;
        findings.extend(adopted);
        self.record(tx, &findings).await?;

        let mut deleted = Vec::new();
        for orphan in orphans {
            match delete_orphan(units, orphan).await {
                Ok(true) => deleted.push(Finding {
                    kind: RepairKind::ObjectOrphaned,
                    unit: orphan.unit,
                    detail: format!("The object {} had no unit. It was deleted.", orphan.name),
                }),
                // it is gone or has changed: the next comparison decides
                Ok(false) => {}
                Err(error) => tracing::warn!(
                    cluster = self.cluster, name = orphan.name, error = %ErrorChain(&error),
                    "cannot delete an object without a unit"
                ),
            }
        }
        self.record(self.parts.db.worker().await?, &deleted).await?;
        Ok(())
    }

    /// Repairs units whose object is missing, altered, or has a status that the watch missed.
    async fn repair_units(
        &self,
        conn: &mut PgConnection,
        differences: &Differences,
    ) -> sqlx::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let uids: HashMap<UnitId, &Option<String>> =
            self.known.iter().map(|unit| (unit.id, &unit.object_uid)).collect();
        let missing: Vec<MissingObject> = differences
            .missing
            .iter()
            .map(|unit| MissingObject { unit: *unit, uid: uids.get(unit).copied().cloned().flatten() })
            .collect();
        for unit in cluster_store::record_missing(&mut *conn, &missing).await? {
            let detail = "The unit had no object in the cluster. It is created again.";
            findings.push(Finding::of_unit(RepairKind::ObjectMissing, unit, detail));
        }
        for unit in cluster_store::apply_again(&mut *conn, &differences.altered).await? {
            let detail = "The object differed from its unit. It is applied again.";
            findings.push(Finding::of_unit(RepairKind::ObjectAltered, unit, detail));
        }
        let observations: Vec<Observation> =
            self.objects.iter().filter_map(|found| found.observation.clone()).collect();
        for chunk in observations.chunks(PAGE as usize) {
            for unit in cluster_store::record_observations(&mut *conn, chunk).await? {
                let detail = "The watch had not reported a change in the cluster.";
                findings.push(Finding::of_unit(RepairKind::StatusMissed, unit, detail));
            }
        }
        Ok(findings)
    }

    /// Records units for occupied objects that have none. Returns the idle objects that have none.
    async fn adopt_occupied(
        &self,
        conn: &mut PgConnection,
        differences: &Differences,
    ) -> sqlx::Result<(Vec<Finding>, Vec<&FoundObject>)> {
        let unknown: Vec<&FoundObject> =
            differences.unknown.iter().map(|index| &self.objects[*index]).collect();
        // units may have been added since the records were read
        let named: Vec<UnitId> = unknown.iter().filter_map(|found| found.unit).collect();
        let added: HashSet<UnitId> = store::existing(&mut *conn, &named).await?.into_iter().collect();
        let (mut findings, mut orphans) = (Vec::new(), Vec::new());
        for found in unknown {
            match found.unit {
                Some(unit) if added.contains(&unit) => {}
                Some(unit) if found.occupied => {
                    let adopted =
                        store::adopt(&mut *conn, unit, &found.gpu_spec, &found.datacenter, self.cluster)
                            .await?;
                    if adopted {
                        cluster_store::record_observations(&mut *conn, found.observation.as_slice()).await?;
                        let detail =
                            "An object without a unit is occupied by an instance. A unit was recorded.";
                        findings.push(Finding::of_unit(RepairKind::ObjectAdopted, unit, detail));
                    } else {
                        tracing::warn!(
                            cluster = self.cluster,
                            name = found.name,
                            "an occupied object without a unit has no known specification or datacenter"
                        );
                    }
                }
                None if found.occupied => tracing::warn!(
                    cluster = self.cluster,
                    name = found.name,
                    "an occupied object does not have the name of a unit"
                ),
                _ => orphans.push(found),
            }
        }
        Ok((findings, orphans))
    }

    /// Records repairs in the transaction that makes them, and commits it.
    async fn record(&self, mut tx: Tx, findings: &[Finding]) -> sqlx::Result<()> {
        for finding in findings {
            repair::store::record(&mut tx, Some(self.cluster), finding).await?;
        }
        tx.commit().await?;
        for Finding { kind, unit, .. } in findings {
            let unit = unit.map(|id| id.to_string());
            tracing::warn!(cluster = self.cluster, kind = kind.as_str(), unit.id = unit, "drift repaired");
            self.parts.metrics.repaired(kind.as_str());
        }
        Ok(())
    }
}

/// Deletes an idle object if it is unchanged since it was listed. Returns whether it did.
async fn delete_orphan(units: &Api<GpuUnit>, found: &FoundObject) -> kube::Result<bool> {
    let unchanged = Preconditions { uid: found.uid.clone(), resource_version: found.version.clone() };
    let params = DeleteParams { preconditions: Some(unchanged), ..DeleteParams::default() };
    match units.delete(&found.name, &params).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}
