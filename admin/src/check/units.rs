//! Units of stock and their objects, and the instances in them.

use std::collections::{HashMap, HashSet};

use crds::{GpuUnit, names};
use ids::{InstanceId, UnitId};
use kube::{Api, ResourceExt};
use sqlx::PgConnection;

use super::{Finding, Pages, Rows, created};

/// The units that name each instance, in all clusters.
#[derive(Debug, Default)]
pub(super) struct Occupants(HashMap<InstanceId, Vec<String>>);

impl Occupants {
    /// Whether this unit (`cluster/name`) names the instance.
    pub(super) fn names(&self, unit: &str, instance: InstanceId) -> bool {
        self.0.get(&instance).is_some_and(|units| units.iter().any(|named| named == unit))
    }

    /// Returns the instances that more than one unit names.
    pub(super) fn twice(self) -> impl Iterator<Item = Finding> {
        self.0.into_iter().filter(|(_, units)| units.len() > 1).map(|(instance, units)| Finding {
            invariant: "instance-in-two-units",
            subject: instance.to_string(),
            detail: format!("is in {}", units.join(" and ")),
            since: None,
        })
    }
}

struct Unit {
    cluster: String,
    holder: Option<InstanceId>,
}

pub(super) async fn check(
    conn: &mut PgConnection,
    client: &kube::Client,
    cluster: &str,
    occupants: &mut Occupants,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let selector = format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY_STOCK);
    let mut pages = Pages::new(Api::<GpuUnit>::all(client.clone()), Some(&selector));
    let mut seen = HashSet::new();
    while let Some(page) = pages.next().await? {
        let ids: Vec<UnitId> =
            page.iter().filter_map(|object| UnitId::from_k8s_name(&object.name_any()).ok()).collect();
        let rows = rows(conn, &ids).await?;
        seen.extend(ids);
        let named: Vec<InstanceId> = page.iter().filter_map(occupant).collect();
        let instances = instances(conn, &named).await?;
        for object in &page {
            let name = object.name_any();
            let subject = format!("{cluster}/{name}");
            let mut report = |invariant, detail: String| {
                let subject = subject.clone();
                findings.push(Finding { invariant, subject, detail, since: created(object) });
            };
            let row = UnitId::from_k8s_name(&name).ok().and_then(|id| rows.get(&id));
            match row {
                None => report("unit-objects", "has no row".to_owned()),
                Some(row) if row.cluster != cluster => {
                    report("unit-objects", format!("belongs to the cluster {}", row.cluster));
                }
                Some(_) => {}
            }
            let Some(desired) = object.spec.instance.as_ref() else { continue };
            let id = InstanceId::from_k8s_name(&desired.id).ok();
            if let Some(id) = id {
                occupants.0.entry(id).or_default().push(subject.clone());
            }
            if id.and_then(|id| instances.get(&id)).is_some_and(|instance| instance.is_leaving) {
                continue;
            }
            let problem = match id.and_then(|id| instances.get(&id)) {
                None => Some("which does not exist".to_owned()),
                Some(Occupant { state, .. }) if row.is_some_and(|row| row.holder != id) => {
                    Some(format!("which is {state} and has not claimed it"))
                }
                Some(_) => None,
            };
            if let Some(problem) = problem {
                report("unit-occupants", format!("is occupied by {}, {problem}", desired.id));
            }
        }
    }
    missing(conn, cluster, &seen, findings).await?;
    absent(conn, cluster, occupants, findings).await
}

fn occupant(object: &GpuUnit) -> Option<InstanceId> {
    InstanceId::from_k8s_name(&object.spec.instance.as_ref()?.id).ok()
}

async fn rows(conn: &mut PgConnection, ids: &[UnitId]) -> sqlx::Result<HashMap<UnitId, Unit>> {
    let rows: Vec<(UnitId, String, Option<InstanceId>)> = sqlx::query_as(
        "select u.id, d.cluster, u.holder_instance
         from stock.units u join stock.datacenters d on d.id = u.datacenter_id where u.id = any($1)",
    )
    .bind(ids)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|(id, cluster, holder)| (id, Unit { cluster, holder })).collect())
}

/// An instance that a unit names.
struct Occupant {
    state: String,
    /// Whether it has time to leave the unit, which another claim has taken.
    is_leaving: bool,
}

/// Returns those of the instances that exist.
async fn instances(
    conn: &mut PgConnection,
    ids: &[InstanceId],
) -> sqlx::Result<HashMap<InstanceId, Occupant>> {
    let rows: Vec<(InstanceId, String, bool)> = sqlx::query_as(
        "select id, state, coalesce(leave_by > now() - interval '2 minutes', false)
         from gpu.instances where id = any($1) and state <> 'deleted'",
    )
    .bind(ids)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|(id, state, is_leaving)| (id, Occupant { state, is_leaving })).collect())
}

/// Returns units whose object should exist, but does not.
async fn missing(
    conn: &mut PgConnection,
    cluster: &str,
    seen: &HashSet<UnitId>,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let units = "select u.id, u.state, u.since from stock.units u join stock.datacenters d on d.id = u.datacenter_id
        where d.cluster = $1 and u.state in ('available', 'inactive', 'used') and ($2::uuid is null or u.id > $2)
        order by u.id limit $3";
    let mut rows = Rows::<UnitId>::new(units, cluster);
    loop {
        let page = rows.next(conn).await?;
        if page.is_empty() {
            return Ok(());
        }
        findings.extend(page.iter().filter(|(id, ..)| !seen.contains(id)).map(|(id, state, since)| {
            Finding {
                invariant: "unit-objects",
                subject: format!("{cluster}/{}", id.k8s_name()),
                detail: format!("does not exist, and its unit is {state}"),
                since: Some(since.to_jiff()),
            }
        }));
    }
}

/// Running instances that their unit does not name.
async fn absent(
    conn: &mut PgConnection,
    cluster: &str,
    occupants: &Occupants,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let running = "select id, phase #>> '{claim,unit_name}', updated_at from gpu.instances
        where state = 'running' and cluster = $1 and ($2::uuid is null or id > $2) order by id limit $3";
    let mut rows = Rows::<InstanceId>::new(running, cluster);
    loop {
        let page = rows.next(conn).await?;
        if page.is_empty() {
            return Ok(());
        }
        for (id, unit, since) in &page {
            let subject = format!("{cluster}/{unit}");
            if !occupants.names(&subject, *id) {
                findings.push(Finding {
                    invariant: "unit-occupants",
                    subject,
                    detail: format!("is not occupied by {id}, which is running in it"),
                    since: Some(since.to_jiff()),
                });
            }
        }
    }
}
