//! The table of tenants.

use db::queue::Table;
use ids::{OperationId, TenantId};
use jiff::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::model::{NewTenant, Tenant, TenantChange, TenantState, TenantStep};

/// Tenants with a state to carry out in the services.
pub(super) const QUEUE: Table = Table { name: "tenants", channel: "identity_tenants", lane: "''" };

struct Row {
    id: TenantId,
    name: String,
    state: TenantState,
    stop_instances: bool,
    delete_storages_at: Option<jiff_sqlx::Timestamp>,
    steps: Json<Vec<TenantStep>>,
    deletion_id: Option<OperationId>,
    generation: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Row> for Tenant {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            state: row.state,
            stop_instances: row.stop_instances,
            delete_storages_at: row.delete_storages_at.map(jiff_sqlx::Timestamp::to_jiff),
            steps: row.steps.0,
            deletion_id: row.deletion_id,
            generation: row.generation,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// Selects tenants. A macro, as the text of a checked query is a literal.
macro_rules! tenants {
    ($head:literal, $tail:literal $(, $parameter:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + r#" id, name, case when deletion_id is null then state else 'deleting' end as "state!: TenantState",
                      stop_instances, delete_storages_at, steps, deletion_id, generation, created_at, updated_at "#
                + $tail
            $(, $parameter)*
        )
        .map(Tenant::from)
    };
}

/// Serializes transactions that assign names. Held until the transaction ends.
pub(super) async fn lock_names(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended(current_schema() || ' tenant names', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// Returns the names of tenants with characters outside ASCII, except that of one tenant.
pub(super) async fn special_names(
    conn: &mut PgConnection,
    except: Option<TenantId>,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select name from tenants where name ~ '[^ -~]' and ($1::uuid is null or id <> $1)",
        except as Option<TenantId>,
    )
    .fetch_all(conn)
    .await
}

/// Returns the tenant.
pub async fn find(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    tenants!("select", "from tenants where id = $1", id as TenantId).fetch_optional(conn).await
}

/// Returns the tenant, locked until the transaction ends. Changes of its members take this lock first.
pub async fn lock(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    tenants!("select", "from tenants where id = $1 for update", id as TenantId).fetch_optional(conn).await
}

/// Returns the tenant, which does not change until the transaction ends; nor do its members.
pub async fn lock_shared(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    tenants!("select", "from tenants where id = $1 for share", id as TenantId).fetch_optional(conn).await
}

/// Returns tenants after `after` whose names begin with `name_prefix`.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<TenantId>,
    name_prefix: Option<&str>,
    state: Option<TenantState>,
    limit: i64,
) -> sqlx::Result<Vec<Tenant>> {
    tenants!(
        "select",
        "from tenants
         where ($1::uuid is null or id > $1)
           and ($2::text is null or starts_with(lower(name), lower($2)))
           and ($3::text is null or case when deletion_id is null then state else 'deleting' end = $3)
         order by id limit $4",
        after as Option<TenantId>,
        name_prefix,
        state as Option<TenantState>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Adds a tenant. Returns none if the name is in use.
pub(super) async fn insert(
    conn: &mut PgConnection,
    id: TenantId,
    new: &NewTenant,
) -> sqlx::Result<Option<Tenant>> {
    tenants!(
        "insert into tenants (id, name) values ($1, $2) on conflict (lower(name)) do nothing returning",
        "",
        id as TenantId,
        new.name,
    )
    .fetch_optional(conn)
    .await
}

/// Changes the tenant of this generation. Returns none if the tenant has changed since. A new state cancels a
/// deletion, and is not carried out before [`carry_out`].
pub(super) async fn update(
    conn: &mut PgConnection,
    id: TenantId,
    generation: i64,
    change: &TenantChange,
) -> sqlx::Result<Option<Tenant>> {
    tenants!(
        "update tenants set name = coalesce($3, name), state = coalesce($4, state),
                stop_instances = coalesce($5, stop_instances),
                deletion_id = case when $4::text is null then deletion_id end,
                delete_storages_at = case when $4::text is null then delete_storages_at end,
                generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2 returning",
        "",
        id as TenantId,
        generation,
        change.name.as_deref(),
        change.state as Option<TenantState>,
        change.stop_instances,
    )
    .fetch_optional(conn)
    .await
}

/// Marks a suspended tenant for deletion by this operation. It is not carried out before [`carry_out`].
pub(super) async fn mark_deleting(
    conn: &mut PgConnection,
    id: TenantId,
    operation: OperationId,
    delete_storages_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update tenants set deletion_id = $2, delete_storages_at = $3, generation = generation + 1,
                updated_at = now()
         where id = $1",
        id as TenantId,
        operation as OperationId,
        jiff_sqlx::Timestamp::from(delete_storages_at) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Changes when the storages of a tenant that is being deleted are deleted.
pub(super) async fn delete_storages_at(
    conn: &mut PgConnection,
    id: TenantId,
    at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update tenants set delete_storages_at = $2 where id = $1 and deletion_id is not null",
        id as TenantId,
        jiff_sqlx::Timestamp::from(at) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Enqueues the tenant, so that its state is carried out.
pub(super) async fn carry_out(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<()> {
    QUEUE.enqueue(conn, &[id]).await
}

/// Records the progress of the services.
pub(super) async fn record_steps(
    conn: &mut PgConnection,
    id: TenantId,
    steps: &[TenantStep],
) -> sqlx::Result<()> {
    sqlx::query!("update tenants set steps = $2 where id = $1", id as TenantId, Json(steps) as _)
        .execute(conn)
        .await
        .map(drop)
}

/// Returns whether the tenant has members who are not owners.
pub(super) async fn has_more_than_owners(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from members where tenant_id = $1 and role <> 'owner') as \"exists!\"",
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// Deletes all members of a tenant.
pub(super) async fn delete_members(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!("delete from members where tenant_id = $1", tenant as TenantId).execute(conn).await.map(drop)
}

/// Deletes a tenant without members.
pub(super) async fn delete(conn: &mut PgConnection, id: TenantId) -> sqlx::Result<()> {
    sqlx::query!("delete from tenants where id = $1", id as TenantId).execute(conn).await.map(drop)
}
