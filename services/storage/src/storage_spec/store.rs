//! The table of storage specifications.

use ids::StorageSpecId;
use rust_decimal::Decimal;
use sqlx::PgConnection;
use storage_api::StorageKind;

use super::model::{AccessMode, NewStorageSpec, SizeRange, SpecState, StorageSpec, StorageSpecChange};

/// Selects [`StorageSpec`]s. A macro, as the text of a checked query is a literal.
macro_rules! select_specs {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            StorageSpec,
            r#"select id, name, kind, min_size_gib, max_size_gib,
                      trim_scale(price_per_gib_month) as "price_per_gib_month!", currency, storage_class,
                      access_mode, state, generation, created_at, updated_at
               from storage_specs "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns the specification.
pub(crate) async fn find(conn: &mut PgConnection, id: StorageSpecId) -> sqlx::Result<Option<StorageSpec>> {
    select_specs!("where id = $1", id as StorageSpecId).fetch_optional(conn).await
}

/// Returns the specification with this id or name.
pub(super) async fn find_by_reference(
    conn: &mut PgConnection,
    name_or_id: &str,
) -> sqlx::Result<Option<StorageSpec>> {
    let id: Option<StorageSpecId> = name_or_id.parse().ok();
    select_specs!(
        "where id = $1 or ($1::uuid is null and name = $2)",
        id as Option<StorageSpecId>,
        name_or_id
    )
    .fetch_optional(conn)
    .await
}

/// Returns the specification, locked until the end of the transaction.
pub(super) async fn lock(conn: &mut PgConnection, id: StorageSpecId) -> sqlx::Result<Option<StorageSpec>> {
    select_specs!("where id = $1 for update", id as StorageSpecId).fetch_optional(conn).await
}

/// Returns the specification with this id or name, for creating a storage: it does not change before the end of
/// the transaction.
pub(crate) async fn find_for_use(
    conn: &mut PgConnection,
    name_or_id: &str,
) -> sqlx::Result<Option<StorageSpec>> {
    let id: Option<StorageSpecId> = name_or_id.parse().ok();
    select_specs!(
        "where id = $1 or ($1::uuid is null and name = $2) for share",
        id as Option<StorageSpecId>,
        name_or_id
    )
    .fetch_optional(conn)
    .await
}

/// Returns the cheapest active specification of buckets, for creating one: it does not change before the end of the
/// transaction.
pub(crate) async fn find_cheapest_bucket(conn: &mut PgConnection) -> sqlx::Result<Option<StorageSpec>> {
    select_specs!(
        "where kind = $1 and state = $2 order by price_per_gib_month, id limit 1 for share",
        StorageKind::Bucket as StorageKind,
        SpecState::Active as SpecState
    )
    .fetch_optional(conn)
    .await
}

/// Which specifications a list shows.
pub(super) struct Filter<'a> {
    pub(super) name_prefix: Option<&'a str>,
    pub(super) kind: Option<StorageKind>,
    pub(super) state: Option<SpecState>,
}

/// Returns specifications after the name `after`, by name.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<&str>,
    filter: Filter<'_>,
    limit: i64,
) -> sqlx::Result<Vec<StorageSpec>> {
    select_specs!(
        r#"where ($1::text is null or name collate "C" > $1)
             and ($2::text is null or starts_with(name, $2))
             and ($3::text is null or kind = $3)
             and ($4::text is null or state = $4)
           order by name collate "C" limit $5"#,
        after,
        filter.name_prefix,
        filter.kind as Option<StorageKind>,
        filter.state as Option<SpecState>,
        limit
    )
    .fetch_all(conn)
    .await
}

/// Inserts a specification; returns its id, or none if the name is taken.
pub(super) async fn insert(
    conn: &mut PgConnection,
    new: &NewStorageSpec,
    sizes: SizeRange,
) -> sqlx::Result<Option<StorageSpecId>> {
    sqlx::query_scalar!(
        "insert into storage_specs (id, name, kind, min_size_gib, max_size_gib, price_per_gib_month,
                                    currency, storage_class, access_mode)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (name) do nothing returning id",
        StorageSpecId::new() as StorageSpecId,
        new.name,
        new.kind as StorageKind,
        sizes.min,
        sizes.max,
        new.price_per_gib_month,
        new.currency,
        new.storage_class,
        new.access_mode as AccessMode,
    )
    .fetch_optional(conn)
    .await
}

/// Changes a locked specification.
pub(super) async fn update(
    conn: &mut PgConnection,
    id: StorageSpecId,
    change: &StorageSpecChange,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update storage_specs
         set max_size_gib = coalesce($2, max_size_gib),
             price_per_gib_month = coalesce($3, price_per_gib_month),
             state = coalesce($4, state), generation = generation + 1, updated_at = now()
         where id = $1",
        id as StorageSpecId,
        change.max_size_gib,
        change.price_per_gib_month as Option<Decimal>,
        change.state as Option<SpecState>,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the specification. False if storages of any tenant use it: the foreign key sees the rows that row-level
/// security hides.
pub(super) async fn delete(conn: &mut PgConnection, id: StorageSpecId) -> sqlx::Result<bool> {
    let deleted = sqlx::query!("delete from storage_specs where id = $1", id as StorageSpecId).execute(conn);
    match deleted.await {
        Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Ok(false),
        done => done.map(|_| true),
    }
}
