//! `evict`: removes instances from units that name them, if no service knows the instance. After a restore, they are those that
//! were created after the backup: without a record they can be neither reached, stopped nor billed. Their volumes stay.

use crds::{Clusters, GpuUnit, names};
use ids::InstanceId;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use sqlx::PgConnection;

use crate::Config;

/// Units that are read at a time.
const PAGE: u32 = 500;

/// A unit that names an instance which does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The cluster.
    pub cluster: String,
    /// Name of the unit's object.
    pub unit: String,
    /// Name of the instance.
    pub instance: String,
    /// Name of its tenant.
    pub tenant: String,
}

/// Returns the units of all clusters that name an instance which does not exist; with `remove`, removes these instances.
///
/// # Errors
/// If the database or a cluster does not answer.
pub async fn evict(config: &Config, remove: bool) -> anyhow::Result<Vec<Unknown>> {
    let mut conn = config.database.connect(&config.database.reader()?).await?;
    let clusters = Clusters::new(&config.clusters);
    let mut all = Vec::new();
    for cluster in config.clusters.keys() {
        let units: Api<GpuUnit> = Api::all(clusters.client(cluster).await?);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = units.list(&params).await?;
            for object in unknown(&mut conn, &page.items).await? {
                let Some(instance) = object.spec.instance.as_ref() else { continue };
                if remove {
                    vacate(&units, object).await?;
                }
                all.push(Unknown {
                    cluster: cluster.clone(),
                    unit: object.name_any(),
                    instance: instance.id.clone(),
                    tenant: instance.tenant_id.clone(),
                });
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
    }
    Ok(all)
}

/// Returns those of the stock service's units that name an instance without a row, or with the row of a deleted one.
async fn unknown<'a>(conn: &mut PgConnection, page: &'a [GpuUnit]) -> sqlx::Result<Vec<&'a GpuUnit>> {
    let named = |unit: &GpuUnit| InstanceId::from_k8s_name(&unit.spec.instance.as_ref()?.id).ok();
    let ids: Vec<InstanceId> = page.iter().filter_map(named).collect();
    let known: Vec<InstanceId> = sqlx::query_scalar("select id from gpu.instances where id = any($1)")
        .bind(&ids)
        .fetch_all(conn)
        .await?;
    let is_ours = |unit: &&GpuUnit| {
        let manager = unit.labels().get(names::LABEL_MANAGED_BY);
        manager.is_some_and(|manager| manager == names::MANAGED_BY_STOCK)
    };
    // an instance that exists and has not claimed the unit is removed by its reconciler
    Ok(page
        .iter()
        .filter(is_ours)
        .filter(|unit| named(unit).is_some_and(|id| !known.contains(&id)))
        .collect())
}

/// Removes the instance from exactly this version of the unit, as the gpu service does.
async fn vacate(units: &Api<GpuUnit>, unit: &GpuUnit) -> anyhow::Result<()> {
    let name = unit.name_any();
    let patch = json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": "GpuUnit",
        "metadata": { "name": name, "resourceVersion": unit.metadata.resource_version },
    });
    units.patch(&name, &PatchParams::apply(names::MANAGER_GPU), &Patch::Apply(&patch)).await?;
    Ok(())
}
