//! The table of storages, which is a row queue as well, and the attachments as its owner sees them.

use std::collections::HashSet;

use db::queue::Table;
use ids::{InstanceId, OperationId, StorageId, StorageSpecId, TenantId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use sqlx::PgConnection;
use storage_api::{AttachmentMode, StorageKind, StorageState};

use super::{
    model::{Phase, Storage},
    place::Place,
    reason::{Reason, ReasonCode},
    view::{AttachmentRef, Attachments},
};
use crate::storage_spec::{AccessMode, StorageSpec};

/// Storages that need a reconcile. A lane for each cluster, and one for the object store.
pub(crate) const QUEUE: Table =
    Table { name: "storages", channel: "storages", lane: "coalesce(q.cluster, 'object_store')" };

struct Row {
    id: StorageId,
    tenant_id: TenantId,
    name: String,
    spec_id: StorageSpecId,
    spec_name: String,
    kind: StorageKind,
    size_gib: i64,
    cluster: Option<String>,
    datacenter: Option<String>,
    storage_class: Option<String>,
    access_mode: AccessMode,
    price_per_gib_month: Decimal,
    currency: String,
    state: StorageState,
    reason: Option<ReasonCode>,
    message: Option<String>,
    capacity_gib: Option<i64>,
    operation_id: OperationId,
    generation: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<Row> for Storage {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self, sqlx::Error> {
        let reason = row.reason.map(|code| Reason { code, message: row.message.unwrap_or_default() });
        let phase = Phase::from_parts(row.state, reason)
            .ok_or_else(|| sqlx::Error::Decode(format!("{}: a failure without a reason", row.id).into()))?;
        let place = row.datacenter.zip(row.cluster);
        Ok(Self {
            id: row.id,
            tenant: row.tenant_id,
            name: row.name,
            spec_id: row.spec_id,
            spec_name: row.spec_name,
            kind: row.kind,
            size_gib: row.size_gib,
            place: place.map(|(datacenter, cluster)| Place { datacenter, cluster }),
            storage_class: row.storage_class,
            access_mode: row.access_mode,
            price_per_gib_month: row.price_per_gib_month,
            currency: row.currency,
            phase,
            capacity_gib: row.capacity_gib,
            operation_id: row.operation_id,
            generation: row.generation,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// Selects storages. A macro, as the text of a checked query is a literal.
macro_rules! select_storages {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select s.id, s.tenant_id, s.name, s.spec_id, p.name as spec_name, s.kind, s.size_gib, s.cluster,
                      s.datacenter, s.storage_class, s.access_mode,
                      trim_scale(s.price_per_gib_month) as "price_per_gib_month!", s.currency, s.state, s.reason,
                      s.message, s.capacity_gib, s.operation_id, s.generation, s.created_at, s.updated_at
               from storages s join storage_specs p on p.id = s.spec_id "# + $rest,
            $($arguments)*
        )
        .try_map(Storage::try_from)
    };
}

/// Returns the tenant's storage.
pub(crate) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<Option<Storage>> {
    select_storages!("where s.tenant_id = $1 and s.id = $2", tenant as TenantId, id as StorageId)
        .fetch_optional(conn)
        .await
}

/// Returns the tenant's storage, locked until the end of the transaction.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<Option<Storage>> {
    select_storages!(
        "where s.tenant_id = $1 and s.id = $2 for update of s",
        tenant as TenantId,
        id as StorageId
    )
    .fetch_optional(conn)
    .await
}

/// Returns the storage of any tenant, for workers.
pub(crate) async fn find_any(conn: &mut PgConnection, id: StorageId) -> sqlx::Result<Option<Storage>> {
    select_storages!("where s.id = $1", id as StorageId).fetch_optional(conn).await
}

/// Returns those of the storages that exist, for workers.
pub(crate) async fn exist(conn: &mut PgConnection, ids: &[StorageId]) -> sqlx::Result<HashSet<StorageId>> {
    let found = sqlx::query_scalar!("select id from storages where id = any($1)", ids as &[StorageId]);
    Ok(found.fetch_all(conn).await?.into_iter().collect())
}

/// Returns those of the storages that exist: of one tenant in its transaction, or of all in an administrator's.
pub(super) async fn read_all(conn: &mut PgConnection, ids: &[StorageId]) -> sqlx::Result<Vec<Storage>> {
    select_storages!("where s.id = any($1)", ids as &[StorageId]).fetch_all(conn).await
}

/// Returns up to `limit` of the tenant's storages that are not being deleted and that no instance uses, locked until the
/// end of the transaction.
pub(super) async fn lock_unused(
    conn: &mut PgConnection,
    tenant: TenantId,
    limit: i64,
) -> sqlx::Result<Vec<StorageId>> {
    sqlx::query_scalar!(
        "select id from storages s where tenant_id = $1 and state <> 'deleting'
           and not exists (select from attachments a where a.storage_id = s.id)
         order by id limit $2 for update",
        tenant as TenantId,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Counts the tenant's storages, with those that are being deleted.
pub(crate) async fn count(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from storages where tenant_id = $1"#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// A storage to insert.
pub(crate) struct Order<'a> {
    pub(crate) id: StorageId,
    pub(crate) tenant: TenantId,
    pub(crate) name: &'a str,
    pub(crate) spec: &'a StorageSpec,
    pub(crate) size_gib: i64,
    pub(crate) place: Option<&'a Place>,
    pub(crate) operation: OperationId,
}

/// Inserts a storage, due for a reconcile. False if the name is taken.
pub(crate) async fn insert(conn: &mut PgConnection, order: &Order<'_>) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into storages (id, tenant_id, name, spec_id, kind, size_gib, cluster, datacenter, storage_class,
                               access_mode, price_per_gib_month, currency, state, operation_id, wake_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', $13, now())
         on conflict (tenant_id, lower(name)) where state <> 'deleting' do nothing",
        order.id as StorageId,
        order.tenant as TenantId,
        order.name,
        order.spec.id as StorageSpecId,
        order.spec.kind as StorageKind,
        order.size_gib,
        order.place.map(|place| place.cluster.as_str()),
        order.place.map(|place| place.datacenter.as_str()),
        order.spec.storage_class,
        order.spec.access_mode as AccessMode,
        order.spec.price_per_gib_month,
        order.spec.currency,
        order.operation as OperationId,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.notify(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Changes the name of a locked storage.
pub(super) async fn rename(conn: &mut PgConnection, id: StorageId, name: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update storages set name = $2, generation = generation + 1, updated_at = now() where id = $1",
        id as StorageId,
        name,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Changes the size of a locked storage and enqueues it.
pub(super) async fn resize(
    conn: &mut PgConnection,
    id: StorageId,
    size_gib: i64,
    operation: OperationId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update storages set size_gib = $2, operation_id = $3, state = 'resizing', reason = null,
                message = null, generation = generation + 1, updated_at = now()
         where id = $1",
        id as StorageId,
        size_gib,
        operation as OperationId,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.enqueue(conn, &[id]).await
}

/// Marks a locked storage for deletion and enqueues it.
pub(super) async fn mark_deleting(
    conn: &mut PgConnection,
    id: StorageId,
    operation: OperationId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update storages set operation_id = $2, state = 'deleting', reason = null, message = null,
                generation = generation + 1, updated_at = now()
         where id = $1",
        id as StorageId,
        operation as OperationId,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.enqueue(conn, &[id]).await
}

/// Returns the instances that use the tenant's storage.
pub(super) async fn instances(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<Vec<InstanceId>> {
    sqlx::query_scalar!(
        "select instance_id from attachments where tenant_id = $1 and storage_id = $2 order by instance_id",
        tenant as TenantId,
        id as StorageId,
    )
    .fetch_all(conn)
    .await
}

/// Returns the attachments of these storages of the tenant, oldest first.
pub(super) async fn attachments(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &[StorageId],
) -> sqlx::Result<Attachments> {
    let rows = sqlx::query_as!(
        AttachmentRow,
        "select storage_id, instance_id, mode, created_at from attachments
         where tenant_id = $1 and storage_id = any($2) order by created_at, instance_id",
        tenant as TenantId,
        ids as &[StorageId],
    )
    .fetch_all(conn)
    .await?;
    Ok(by_storage(rows))
}

/// Like [`attachments`], for storages of any tenant: in an administrator's transaction.
pub(super) async fn attachments_of_all(
    conn: &mut PgConnection,
    ids: &[StorageId],
) -> sqlx::Result<Attachments> {
    let rows = sqlx::query_as!(
        AttachmentRow,
        "select storage_id, instance_id, mode, created_at from attachments
         where storage_id = any($1) order by created_at, instance_id",
        ids as &[StorageId],
    )
    .fetch_all(conn)
    .await?;
    Ok(by_storage(rows))
}

struct AttachmentRow {
    storage_id: StorageId,
    instance_id: InstanceId,
    mode: AttachmentMode,
    created_at: Timestamp,
}

fn by_storage(rows: Vec<AttachmentRow>) -> Attachments {
    let mut attachments = Attachments::new();
    for AttachmentRow { storage_id, instance_id, mode, created_at } in rows {
        let attachment = AttachmentRef { instance_id, mode, since: created_at };
        attachments.entry(storage_id).or_default().push(attachment);
    }
    attachments
}

/// The findings of a reconcile about a storage.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) phase: Phase,
    pub(crate) capacity_gib: Option<i64>,
}

impl Finding {
    /// Whether this differs from what is recorded.
    pub(crate) fn changes(&self, storage: &Storage) -> bool {
        self.phase != storage.phase || self.capacity_gib != storage.capacity_gib
    }
}

/// Records a finding. False if the storage has changed since it was read.
pub(crate) async fn record(
    conn: &mut PgConnection,
    storage: &Storage,
    finding: &Finding,
) -> sqlx::Result<bool> {
    let reason = finding.phase.reason();
    sqlx::query!(
        "update storages
         set state = $3, reason = $4, message = $5, capacity_gib = $6, generation = generation + 1,
             updated_at = now()
         where id = $1 and generation = $2",
        storage.id as StorageId,
        storage.generation,
        finding.phase.state() as StorageState,
        reason.map(|reason| reason.code) as Option<ReasonCode>,
        reason.map(|reason| reason.message.as_str()),
        finding.capacity_gib,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Deletes the row of a storage that is being deleted. False if the storage has changed since it was read.
pub(crate) async fn delete_row(conn: &mut PgConnection, storage: &Storage) -> sqlx::Result<bool> {
    sqlx::query!(
        "delete from storages where id = $1 and generation = $2 and state = 'deleting'",
        storage.id as StorageId,
        storage.generation,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Returns whether the tenant has another bucket that is not being deleted.
pub(crate) async fn has_other_buckets(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists(select from storages where tenant_id = $1 and id <> $2 and kind = 'bucket'
                         and state <> 'deleting') as "exists!""#,
        tenant as TenantId,
        id as StorageId,
    )
    .fetch_one(conn)
    .await
}
