//! Buckets, users and keys of the object store.

use std::collections::{BTreeMap, HashSet};

use atelier_storage::{Inventory, ObjectStoreConfig};
use ids::{StorageId, TenantId};
use jiff_sqlx::Timestamp;
use sqlx::PgConnection;

use super::{Finding, PAGE};

pub(super) async fn check(
    conn: &mut PgConnection,
    store: &ObjectStoreConfig,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let inventory = Inventory::new(store.clone())?;
    let mut seen = HashSet::new();
    let mut after = None;
    loop {
        let page = inventory.users(after.as_deref(), PAGE).await?;
        for user in &page.names {
            // other users are not the platform's
            let Ok(tenant) = TenantId::from_k8s_name(user) else { continue };
            check_user(conn, &inventory, tenant, &mut seen, findings).await?;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    missing(conn, &seen, findings).await
}

async fn check_user(
    conn: &mut PgConnection,
    inventory: &Inventory,
    tenant: TenantId,
    seen: &mut HashSet<StorageId>,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let rows: Vec<(StorageId, TenantId)> =
        sqlx::query_as("select id, tenant_id from storage.storages where kind = 'bucket' and tenant_id = $1")
            .bind(tenant)
            .fetch_all(&mut *conn)
            .await?;
    let rows: BTreeMap<StorageId, TenantId> = rows.into_iter().collect();
    let mut owned = 0;
    for bucket in inventory.buckets_of(tenant).await? {
        // buckets of other names were created by the tenant, and accept no data
        let Ok(id) = StorageId::from_k8s_name(&bucket) else { continue };
        owned += 1;
        seen.insert(id);
        if !rows.contains_key(&id) {
            findings.push(Finding {
                invariant: "buckets",
                subject: bucket,
                detail: format!("of {tenant} has no row"),
                since: None,
            });
        }
    }
    if owned == 0 && rows.is_empty() {
        findings.push(Finding {
            invariant: "bucket-users",
            subject: tenant.k8s_name(),
            detail: "exists, and has no bucket".to_owned(),
            since: None,
        });
    }
    let recorded: Vec<String> =
        sqlx::query_scalar("select access_key_id from storage.credentials where tenant_id = $1")
            .bind(tenant)
            .fetch_all(&mut *conn)
            .await?;
    let active: Vec<String> = sqlx::query_scalar(
        "select access_key_id from storage.credentials where tenant_id = $1 and state = 'active'",
    )
    .bind(tenant)
    .fetch_all(&mut *conn)
    .await?;
    let actual = inventory.credentials_of(tenant).await?;
    let mut report = |key: &String, detail: &str| {
        let (subject, detail) = (format!("{key} of {tenant}"), detail.to_owned());
        findings.push(Finding { invariant: "bucket-keys", subject, detail, since: None });
    };
    actual.iter().filter(|key| !recorded.contains(key)).for_each(|key| report(key, "has no record"));
    active.iter().filter(|key| !actual.contains(key)).for_each(|key| report(key, "does not exist"));
    Ok(())
}

/// Buckets that are to exist, and do not.
async fn missing(
    conn: &mut PgConnection,
    seen: &HashSet<StorageId>,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let mut after = None::<StorageId>;
    loop {
        let rows: Vec<(StorageId, Timestamp)> = sqlx::query_as(
            "select id, updated_at from storage.storages
             where kind = 'bucket' and state in ('available', 'resizing') and ($1::uuid is null or id > $1)
             order by id limit $2",
        )
        .bind(after)
        .bind(i64::from(PAGE))
        .fetch_all(&mut *conn)
        .await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(*last);
        findings.extend(rows.iter().filter(|(id, _)| !seen.contains(id)).map(|(id, since)| Finding {
            invariant: "buckets",
            subject: id.k8s_name(),
            detail: "does not exist, and its storage is available".to_owned(),
            since: Some(since.to_jiff()),
        }));
    }
}
