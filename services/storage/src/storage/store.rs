//! The table of storages.

use ids::{InstanceId, OperationId, StorageId, StorageSpecId, TenantId};
use rust_decimal::Decimal;
use sqlx::{PgConnection, postgres::types::PgInterval};

use super::model::{Phase, Storage, StorageState, Why};
use crate::storage_spec::{AccessMode, Kind, StorageSpec};

/// The channel on which reconcilers are called.
pub(super) const CHANNEL: &str = "storages";

#[derive(sqlx::FromRow)]
struct Row {
    id: StorageId,
    tenant_id: TenantId,
    name: String,
    spec_id: StorageSpecId,
    spec_name: String,
    kind: Kind,
    size_gib: i64,
    cluster: Option<String>,
    datacenter: Option<String>,
    storage_class: Option<String>,
    access_mode: AccessMode,
    price_per_gib_month: Decimal,
    currency: String,
    state: StorageState,
    reason: Option<String>,
    message: Option<String>,
    capacity_gib: Option<i64>,
    operation_id: OperationId,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for Storage {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self, sqlx::Error> {
        let why = row.reason.map(|reason| Why { reason, message: row.message.unwrap_or_default() });
        let phase = Phase::from_parts(row.state, why)
            .ok_or_else(|| sqlx::Error::Decode(format!("{}: a failure without a reason", row.id).into()))?;
        Ok(Self {
            id: row.id,
            tenant: row.tenant_id,
            name: row.name,
            spec_id: row.spec_id,
            spec_name: row.spec_name,
            kind: row.kind,
            size_gib: row.size_gib,
            cluster: row.cluster,
            datacenter: row.datacenter,
            storage_class: row.storage_class,
            access_mode: row.access_mode,
            price_per_gib_month: row.price_per_gib_month.normalize(),
            currency: row.currency,
            phase,
            capacity_gib: row.capacity_gib,
            operation_id: row.operation_id,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}

/// Calls the reconcilers of all replicas when the transaction commits.
async fn call(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select pg_notify($1, '')").bind(CHANNEL).execute(conn).await.map(drop)
}

/// The tenant's storage.
pub(crate) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<Option<Storage>> {
    let row: Option<Row> = sqlx::query_as(
        "select s.*, p.name as spec_name from storages s join storage_specs p on p.id = s.spec_id
         where s.tenant_id = $1 and s.id = $2",
    )
    .bind(tenant)
    .bind(id)
    .fetch_optional(conn)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The tenant's storage, locked to the end of the transaction.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<Option<Storage>> {
    let row: Option<Row> = sqlx::query_as(
        "select s.*, p.name as spec_name from storages s join storage_specs p on p.id = s.spec_id
         where s.tenant_id = $1 and s.id = $2 for update of s",
    )
    .bind(tenant)
    .bind(id)
    .fetch_optional(conn)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// What a list is narrowed to.
pub(super) struct Narrow {
    pub(super) state: Option<StorageState>,
    pub(super) kind: Option<Kind>,
}

/// The tenant's storages before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Option<StorageId>,
    narrow: Narrow,
    limit: i64,
) -> sqlx::Result<Vec<Storage>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select s.*, p.name as spec_name from storages s join storage_specs p on p.id = s.spec_id
         where s.tenant_id = $1 and ($2::uuid is null or s.id < $2)
           and ($3::text is null or s.state = $3) and ($4::text is null or s.kind = $4)
         order by s.id desc limit $5",
    )
    .bind(tenant)
    .bind(before)
    .bind(narrow.state)
    .bind(narrow.kind)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// What is ordered.
pub(super) struct Order<'a> {
    pub(super) id: StorageId,
    pub(super) tenant: TenantId,
    pub(super) name: &'a str,
    pub(super) spec: &'a StorageSpec,
    pub(super) size_gib: i64,
    /// Datacenter and cluster of a volume.
    pub(super) place: Option<(String, String)>,
    pub(super) operation: OperationId,
}

/// Records the order. False when the name is taken.
pub(super) async fn insert(conn: &mut PgConnection, order: &Order<'_>) -> sqlx::Result<bool> {
    let (datacenter, cluster) = order.place.clone().unzip();
    let done = sqlx::query(
        "insert into storages (id, tenant_id, name, spec_id, kind, size_gib, cluster, datacenter,
                               storage_class, access_mode, price_per_gib_month, currency, state, operation_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', $13)
         on conflict (tenant_id, lower(name)) where state <> 'deleting' do nothing",
    )
    .bind(order.id)
    .bind(order.tenant)
    .bind(order.name)
    .bind(order.spec.id)
    .bind(order.spec.kind)
    .bind(order.size_gib)
    .bind(cluster)
    .bind(datacenter)
    .bind(&order.spec.storage_class)
    .bind(order.spec.access_mode)
    .bind(order.spec.price_per_gib_month)
    .bind(&order.spec.currency)
    .bind(order.operation)
    .execute(&mut *conn)
    .await?;
    call(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Changes the name of a locked storage.
pub(super) async fn rename(conn: &mut PgConnection, id: StorageId, name: &str) -> sqlx::Result<()> {
    sqlx::query(
        "update storages set name = $2, generation = generation + 1, updated_at = now() where id = $1",
    )
    .bind(id)
    .bind(name)
    .execute(conn)
    .await
    .map(drop)
}

/// Orders a locked storage to be of another size.
pub(super) async fn resize(
    conn: &mut PgConnection,
    id: StorageId,
    size_gib: i64,
    operation: OperationId,
) -> sqlx::Result<()> {
    sqlx::query(
        "update storages set size_gib = $2, operation_id = $3, state = 'resizing', reason = null,
                message = null, generation = generation + 1, updated_at = now(), wake_at = now()
         where id = $1",
    )
    .bind(id)
    .bind(size_gib)
    .bind(operation)
    .execute(&mut *conn)
    .await?;
    call(conn).await
}

/// Orders a locked storage to be removed.
pub(super) async fn delete(
    conn: &mut PgConnection,
    id: StorageId,
    operation: OperationId,
) -> sqlx::Result<()> {
    sqlx::query(
        "update storages set operation_id = $2, state = 'deleting', reason = null, message = null,
                generation = generation + 1, updated_at = now(), wake_at = now()
         where id = $1",
    )
    .bind(id)
    .bind(operation)
    .execute(&mut *conn)
    .await?;
    call(conn).await
}

/// The instances for which the tenant's storage is kept.
pub(super) async fn holders(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<Vec<InstanceId>> {
    sqlx::query_scalar(
        "select instance_id from attachments where tenant_id = $1 and storage_id = $2 order by instance_id",
    )
    .bind(tenant)
    .bind(id)
    .fetch_all(conn)
    .await
}

/// Has the storages looked at now. Gives those that there are.
pub(crate) async fn wake(conn: &mut PgConnection, ids: &[StorageId]) -> sqlx::Result<Vec<StorageId>> {
    sqlx::query_scalar("update storages set wake_at = now() where id = any($1) returning id")
        .bind(ids)
        .fetch_all(conn)
        .await
}

/// A storage that is this worker's for the time of the lease.
pub(super) struct Leased {
    pub(super) storage: Storage,
    /// When it would be looked at again if nobody said anything; if this has changed at the end, somebody
    /// has.
    wake_at: jiff_sqlx::Timestamp,
}

#[derive(sqlx::FromRow)]
struct LeasedRow {
    #[sqlx(flatten)]
    row: Row,
    wake_at: jiff_sqlx::Timestamp,
}

/// Leases up to `limit` storages that are due to `owner`.
pub(super) async fn take_due(
    conn: &mut PgConnection,
    owner: &str,
    lease: std::time::Duration,
    limit: i64,
) -> sqlx::Result<Vec<Leased>> {
    let rows: Vec<LeasedRow> = sqlx::query_as(
        "with due as (
             select id from storages
             where wake_at <= now() and (lease_until is null or lease_until <= now())
             order by wake_at limit $3 for update skip locked)
         update storages s
         set lease_owner = $1, lease_until = now() + $2, wake_at = now() + $2
         from due, storage_specs p where s.id = due.id and p.id = s.spec_id
         returning s.*, p.name as spec_name",
    )
    .bind(owner)
    .bind(interval(lease))
    .bind(limit)
    .fetch_all(conn)
    .await?;
    let leased = |row: LeasedRow| Ok(Leased { wake_at: row.wake_at, storage: row.row.try_into()? });
    rows.into_iter().map(leased).collect()
}

/// Makes a storage `owner`'s for `lease` from now; false when it is another's by now.
pub(super) async fn renew(
    conn: &mut PgConnection,
    owner: &str,
    id: StorageId,
    lease: std::time::Duration,
) -> sqlx::Result<bool> {
    sqlx::query("update storages set lease_until = now() + $3 where id = $1 and lease_owner = $2")
        .bind(id)
        .bind(owner)
        .bind(interval(lease))
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// What a worker found out about a storage it has leased.
pub(super) struct Finding<'a> {
    pub(super) phase: &'a Phase,
    pub(super) capacity_gib: Option<i64>,
    /// When to look again unless somebody calls sooner.
    pub(super) again_in: std::time::Duration,
}

/// Records a finding and gives the lease back. False when nothing was recorded, because the storage has
/// changed meanwhile (it is due at once then) or is another worker's by now.
pub(super) async fn settle(
    conn: &mut PgConnection,
    owner: &str,
    leased: &Leased,
    finding: &Finding<'_>,
) -> sqlx::Result<bool> {
    let storage = &leased.storage;
    let changed = *finding.phase != storage.phase || finding.capacity_gib != storage.capacity_gib;
    let why = finding.phase.why();
    let done = sqlx::query(
        "update storages
         set state = $4, reason = $5, message = $6, capacity_gib = $7,
             generation = generation + $8::int,
             updated_at = case when $8 = 1 then now() else updated_at end,
             wake_at = case when wake_at = $9 then now() + $10 else wake_at end,
             lease_owner = null, lease_until = null
         where id = $1 and lease_owner = $2 and generation = $3",
    )
    .bind(storage.id)
    .bind(owner)
    .bind(storage.generation)
    .bind(finding.phase.state())
    .bind(why.map(|w| &w.reason))
    .bind(why.map(|w| &w.message))
    .bind(finding.capacity_gib)
    .bind(i32::from(changed))
    .bind(leased.wake_at)
    .bind(interval(finding.again_in))
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        give_back(conn, owner, storage.id).await?;
        return Ok(false);
    }
    Ok(true)
}

/// Removes the row of a storage whose object is gone; false as with [`settle`].
pub(super) async fn remove(conn: &mut PgConnection, owner: &str, leased: &Leased) -> sqlx::Result<bool> {
    let storage = &leased.storage;
    let done = sqlx::query(
        "delete from storages where id = $1 and lease_owner = $2 and generation = $3 and state = 'deleting'",
    )
    .bind(storage.id)
    .bind(owner)
    .bind(storage.generation)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        give_back(conn, owner, storage.id).await?;
        return Ok(false);
    }
    Ok(true)
}

async fn give_back(conn: &mut PgConnection, owner: &str, id: StorageId) -> sqlx::Result<()> {
    sqlx::query(
        "update storages set lease_owner = null, lease_until = null, wake_at = now()
         where id = $1 and lease_owner = $2",
    )
    .bind(id)
    .bind(owner)
    .execute(conn)
    .await
    .map(drop)
}

/// Whether the tenant has a bucket that is to stay, beside this one.
pub(super) async fn has_other_buckets(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select exists(select from storages where tenant_id = $1 and id <> $2 and kind = 'bucket'
                       and state <> 'deleting')",
    )
    .bind(tenant)
    .bind(id)
    .fetch_one(conn)
    .await
}

fn interval(duration: std::time::Duration) -> PgInterval {
    PgInterval { months: 0, days: 0, microseconds: i64::try_from(duration.as_micros()).unwrap_or(i64::MAX) }
}
