//! Volumes: rows, `GpuStorage` resources, volume claims, and the namespaces of tenants.

use std::collections::{HashMap, HashSet};

use crds::{GpuStorage, StoragePhase, names};
use ids::{StorageId, TenantId};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::{Api, ResourceExt};
use sqlx::PgConnection;

use super::{Finding, Pages, Rows, created};
use crate::schemas;

pub(super) async fn check(
    conn: &mut PgConnection,
    client: &kube::Client,
    cluster: &str,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let seen = resources(conn, client, cluster, findings).await?;
    missing(conn, cluster, &seen, findings).await?;
    claims(client, cluster, &seen, findings).await?;
    if schemas::existing(&mut *conn).await?.contains(&"identity") {
        namespaces(conn, client, cluster, findings).await?;
    }
    Ok(())
}

/// Checks the resources. Returns their ids, and whether each has a volume.
async fn resources(
    conn: &mut PgConnection,
    client: &kube::Client,
    cluster: &str,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<HashMap<StorageId, bool>> {
    let mut pages = Pages::new(Api::<GpuStorage>::all(client.clone()), None);
    let mut seen = HashMap::new();
    while let Some(page) = pages.next().await? {
        let ids: Vec<StorageId> =
            page.iter().filter_map(|object| StorageId::from_k8s_name(&object.name_any()).ok()).collect();
        let rows: Vec<(StorageId, Option<String>, TenantId)> =
            sqlx::query_as("select id, cluster, tenant_id from storage.storages where id = any($1)")
                .bind(&ids)
                .fetch_all(&mut *conn)
                .await?;
        for object in &page {
            let name = object.name_any();
            // resources of other names are those of the Operator API
            let Ok(id) = StorageId::from_k8s_name(&name) else { continue };
            let bound = object.status.as_ref().is_some_and(|status| status.phase == StoragePhase::Bound);
            seen.insert(id, bound);
            let detail = match rows.iter().find(|(row, ..)| *row == id) {
                None => format!("of {} has no row", object.spec.tenant_id),
                Some((_, Some(own), _)) if own != cluster => format!("belongs to the cluster {own}"),
                Some((_, _, tenant)) if tenant.k8s_name() != object.spec.tenant_id => {
                    format!("is of {}, and its row of {tenant}", object.spec.tenant_id)
                }
                Some(_) => continue,
            };
            let subject = format!("{cluster}/{name}");
            findings.push(Finding { invariant: "volume-objects", subject, detail, since: created(object) });
        }
    }
    Ok(seen)
}

/// Volumes that are to exist, and do not.
async fn missing(
    conn: &mut PgConnection,
    cluster: &str,
    seen: &HashMap<StorageId, bool>,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let volumes = "select id, state, updated_at from storage.storages
        where cluster = $1 and state in ('available', 'resizing') and ($2::uuid is null or id > $2)
        order by id limit $3";
    let mut rows = Rows::<StorageId>::new(volumes, cluster);
    loop {
        let page = rows.next(conn).await?;
        if page.is_empty() {
            return Ok(());
        }
        findings.extend(page.iter().filter(|(id, ..)| !seen.contains_key(id)).map(|(id, state, since)| {
            Finding {
                invariant: "volume-objects",
                subject: format!("{cluster}/{}", id.k8s_name()),
                detail: format!("does not exist, and its storage is {state}"),
                since: Some(since.to_jiff()),
            }
        }));
    }
}

/// Volume claims without a resource, and resources without a volume claim.
async fn claims(
    client: &kube::Client,
    cluster: &str,
    seen: &HashMap<StorageId, bool>,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let api: Api<PersistentVolumeClaim> = Api::all(client.clone());
    let mut pages = Pages::new(api, Some(names::LABEL_STORAGE));
    let mut claimed = HashSet::new();
    while let Some(page) = pages.next().await? {
        for claim in page {
            let name = claim.name_any();
            let Ok(id) = StorageId::from_k8s_name(&name) else { continue };
            claimed.insert(id);
            if !seen.contains_key(&id) {
                findings.push(Finding {
                    invariant: "volume-claims",
                    subject: format!("{cluster}/{}/{name}", claim.namespace().unwrap_or_default()),
                    detail: "has no GpuStorage".to_owned(),
                    since: created(&claim),
                });
            }
        }
    }
    let without = seen.iter().filter(|(id, bound)| **bound && !claimed.contains(id));
    findings.extend(without.map(|(id, _)| Finding {
        invariant: "volume-claims",
        subject: format!("{cluster}/{}", id.k8s_name()),
        detail: "is bound, and has no volume claim".to_owned(),
        since: None,
    }));
    Ok(())
}

/// Namespaces of tenants that do not exist. The operator deletes no namespace: it may contain data that exists nowhere
/// else.
async fn namespaces(
    conn: &mut PgConnection,
    client: &kube::Client,
    cluster: &str,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let mut pages = Pages::new(Api::<Namespace>::all(client.clone()), Some(names::LABEL_TENANT));
    while let Some(page) = pages.next().await? {
        let ids: Vec<TenantId> =
            page.iter().filter_map(|found| TenantId::from_k8s_name(&found.name_any()).ok()).collect();
        let known: Vec<TenantId> = sqlx::query_scalar("select id from identity.tenants where id = any($1)")
            .bind(&ids)
            .fetch_all(&mut *conn)
            .await?;
        for namespace in page {
            let name = namespace.name_any();
            let Ok(id) = TenantId::from_k8s_name(&name) else { continue };
            if !known.contains(&id) && namespace.metadata.deletion_timestamp.is_none() {
                findings.push(Finding {
                    invariant: "tenant-namespaces",
                    subject: format!("{cluster}/{name}"),
                    detail: "is of a tenant that does not exist".to_owned(),
                    since: created(&namespace),
                });
            }
        }
    }
    Ok(())
}
