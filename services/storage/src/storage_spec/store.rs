//! The table of storage specifications.

use ids::StorageSpecId;
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::model::{AccessMode, Kind, NewStorageSpec, Sizes, SpecState, StorageSpec, StorageSpecChange};

#[derive(sqlx::FromRow)]
struct Row {
    id: StorageSpecId,
    name: String,
    kind: Kind,
    min_size_gib: i64,
    max_size_gib: i64,
    price_per_gib_month: Decimal,
    currency: String,
    storage_class: Option<String>,
    access_mode: AccessMode,
    state: SpecState,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for StorageSpec {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            min_size_gib: row.min_size_gib,
            max_size_gib: row.max_size_gib,
            price_per_gib_month: row.price_per_gib_month.normalize(),
            currency: row.currency,
            storage_class: row.storage_class,
            access_mode: row.access_mode,
            state: row.state,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

/// The specification.
pub(crate) async fn find(conn: &mut PgConnection, id: StorageSpecId) -> sqlx::Result<Option<StorageSpec>> {
    let row: Option<Row> =
        sqlx::query_as("select * from storage_specs where id = $1").bind(id).fetch_optional(conn).await?;
    Ok(row.map(Into::into))
}

/// The specification, locked to the end of the transaction.
pub(super) async fn lock(conn: &mut PgConnection, id: StorageSpecId) -> sqlx::Result<Option<StorageSpec>> {
    let row: Option<Row> = sqlx::query_as("select * from storage_specs where id = $1 for update")
        .bind(id)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(Into::into))
}

/// The specification with this id or this name, as it stays to the end of the transaction: for making a
/// storage of it.
pub(crate) async fn find_for_use(
    conn: &mut PgConnection,
    name_or_id: &str,
) -> sqlx::Result<Option<StorageSpec>> {
    let id: Option<StorageSpecId> = name_or_id.parse().ok();
    let row: Option<Row> =
        sqlx::query_as("select * from storage_specs where id = $1 or ($1 is null and name = $2) for share")
            .bind(id)
            .bind(name_or_id)
            .fetch_optional(conn)
            .await?;
    Ok(row.map(Into::into))
}

/// What a list is narrowed to.
pub(super) struct Narrow<'a> {
    pub(super) name_prefix: Option<&'a str>,
    pub(super) kind: Option<Kind>,
    pub(super) state: Option<SpecState>,
}

/// Specifications by name, after `after`.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<String>,
    narrow: Narrow<'_>,
    limit: i64,
) -> sqlx::Result<Vec<StorageSpec>> {
    let rows: Vec<Row> = sqlx::query_as(
        r#"select * from storage_specs
         where ($1::text is null or name collate "C" > $1)
           and ($2::text is null or starts_with(name, $2))
           and ($3::text is null or kind = $3)
           and ($4::text is null or state = $4)
         order by name collate "C" limit $5"#,
    )
    .bind(after)
    .bind(narrow.name_prefix)
    .bind(narrow.kind)
    .bind(narrow.state)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Adds a specification; none when the name is taken.
pub(super) async fn insert(
    conn: &mut PgConnection,
    new: &NewStorageSpec,
    (min, max): Sizes,
) -> sqlx::Result<Option<StorageSpec>> {
    let row: Option<Row> = sqlx::query_as(
        "insert into storage_specs (id, name, kind, min_size_gib, max_size_gib, price_per_gib_month,
                                    currency, storage_class, access_mode)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (name) do nothing returning *",
    )
    .bind(StorageSpecId::new())
    .bind(&new.name)
    .bind(new.kind)
    .bind(min)
    .bind(max)
    .bind(new.price_per_gib_month)
    .bind(&new.currency)
    .bind(&new.storage_class)
    .bind(new.access_mode)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Changes the specification of this generation; none when it has moved on.
pub(super) async fn update(
    conn: &mut PgConnection,
    id: StorageSpecId,
    generation: i64,
    change: &StorageSpecChange,
) -> sqlx::Result<Option<StorageSpec>> {
    let row: Option<Row> = sqlx::query_as(
        "update storage_specs
         set max_size_gib = coalesce($3, max_size_gib),
             price_per_gib_month = coalesce($4, price_per_gib_month),
             state = coalesce($5, state), generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2 returning *",
    )
    .bind(id)
    .bind(generation)
    .bind(change.max_size_gib)
    .bind(change.price_per_gib_month)
    .bind(change.state)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Removes the specification; false when storages of it exist (of whatever tenant: the foreign key sees
/// what row-level security hides).
pub(super) async fn delete(conn: &mut PgConnection, id: StorageSpecId) -> sqlx::Result<bool> {
    match sqlx::query("delete from storage_specs where id = $1").bind(id).execute(conn).await {
        Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Ok(false),
        done => done.map(|_| true),
    }
}
