//! SQL of GPU specifications and their prices.

use std::collections::BTreeMap;

use ids::GpuSpecId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::{PgConnection, types::Json};

use super::model::{Allocation, GpuSpec, GpuSpecState, NewGpuSpec, Price};

/// A row of `gpu_specs`, also for joins of other slices.
#[derive(sqlx::FromRow)]
pub(crate) struct Row {
    id: GpuSpecId,
    name: String,
    gpu_model: String,
    gpu_count: i32,
    gpu_cores: i32,
    video_memory_mib: i64,
    cpu_millis: i64,
    memory_mib: i64,
    disk_gib: i64,
    allocation: Json<Allocation>,
    node_selector: Json<BTreeMap<String, String>>,
    price_per_hour: Decimal,
    currency: String,
    state: GpuSpecState,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for GpuSpec {
    fn from(row: Row) -> Self {
        let mut spec = Self {
            id: row.id,
            name: row.name,
            gpu_model: row.gpu_model,
            gpu_count: row.gpu_count,
            gpu_cores: row.gpu_cores,
            video_memory_mib: row.video_memory_mib,
            cpu_millis: row.cpu_millis,
            memory_mib: row.memory_mib,
            disk_gib: row.disk_gib,
            price_per_hour: row.price_per_hour.normalize(),
            currency: row.currency,
            allocation: row.allocation.0,
            node_selector: row.node_selector.0,
            state: row.state,
            summary: String::new(),
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
            generation: row.generation,
        };
        spec.summary = spec.shape().summary();
        spec
    }
}

/// What a list of specifications is narrowed to.
#[derive(Debug, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) name_prefix: &'a str,
    pub(crate) gpu_model: Option<&'a str>,
    pub(crate) state: Option<GpuSpecState>,
}

/// In the order of their names, after `after`. `~` sorts after every character that a name can have, so
/// that the prefix is a range of the names' index.
pub(crate) async fn list(
    conn: &mut PgConnection,
    filter: &Filter<'_>,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<GpuSpec>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from gpu_specs
         where name > $1 and name >= $2 and name < $2 || '~'
           and ($3::text is null or gpu_model = $3) and ($4::text is null or state = $4)
         order by name limit $5",
    )
    .bind(after)
    .bind(filter.name_prefix)
    .bind(filter.gpu_model)
    .bind(filter.state)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

pub(crate) async fn find(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<Option<GpuSpec>> {
    let row: Option<Row> =
        sqlx::query_as("select * from gpu_specs where id = $1").bind(id).fetch_optional(conn).await?;
    Ok(row.map(Into::into))
}

/// The same, kept as it is until the transaction ends.
pub(crate) async fn find_for_update(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<Option<GpuSpec>> {
    let row: Option<Row> = sqlx::query_as("select * from gpu_specs where id = $1 for update")
        .bind(id)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(Into::into))
}

/// All of these that exist.
pub(crate) async fn find_many(conn: &mut PgConnection, ids: &[GpuSpecId]) -> sqlx::Result<Vec<GpuSpec>> {
    let rows: Vec<Row> =
        sqlx::query_as("select * from gpu_specs where id = any($1)").bind(ids).fetch_all(conn).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// By id or name.
pub(crate) async fn find_by_reference(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<GpuSpec>> {
    let row: Option<Row> =
        sqlx::query_as("select * from gpu_specs where ($1::uuid is null and name = $2) or id = $1")
            .bind(reference.parse::<GpuSpecId>().ok())
            .bind(reference)
            .fetch_optional(conn)
            .await?;
    Ok(row.map(Into::into))
}

/// The same, kept as it is until the transaction ends.
pub(crate) async fn keep_by_reference(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<GpuSpec>> {
    let row: Option<Row> =
        sqlx::query_as("select * from gpu_specs where ($1::uuid is null and name = $2) or id = $1 for share")
            .bind(reference.parse::<GpuSpecId>().ok())
            .bind(reference)
            .fetch_optional(conn)
            .await?;
    Ok(row.map(Into::into))
}

/// None when the name is taken.
pub(crate) async fn insert(conn: &mut PgConnection, new: &NewGpuSpec) -> sqlx::Result<Option<GpuSpec>> {
    let row: Option<Row> = sqlx::query_as(
        "insert into gpu_specs (id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis,
             memory_mib, disk_gib, allocation, node_selector, price_per_hour, currency)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         on conflict (name) do nothing returning *",
    )
    .bind(GpuSpecId::new())
    .bind(&new.name)
    .bind(&new.gpu_model)
    .bind(new.gpu_count)
    .bind(new.gpu_cores)
    .bind(new.video_memory_mib)
    .bind(new.cpu_millis)
    .bind(new.memory_mib)
    .bind(new.disk_gib)
    .bind(Json(&new.allocation))
    .bind(Json(&new.node_selector))
    .bind(new.price_per_hour)
    .bind(&new.currency)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Writes `to` over the version it was made from. None when that is not the newest.
///
/// # Errors
/// The unique violation of its name among others.
pub(crate) async fn update(conn: &mut PgConnection, to: &GpuSpec) -> sqlx::Result<Option<GpuSpec>> {
    let row: Option<Row> = sqlx::query_as(
        "update gpu_specs set name = $3, gpu_model = $4, gpu_count = $5, gpu_cores = $6,
             video_memory_mib = $7, cpu_millis = $8, memory_mib = $9, disk_gib = $10, allocation = $11,
             node_selector = $12, price_per_hour = $13, currency = $14, state = $15,
             generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2 returning *",
    )
    .bind(to.id)
    .bind(to.generation)
    .bind(&to.name)
    .bind(&to.gpu_model)
    .bind(to.gpu_count)
    .bind(to.gpu_cores)
    .bind(to.video_memory_mib)
    .bind(to.cpu_millis)
    .bind(to.memory_mib)
    .bind(to.disk_gib)
    .bind(Json(&to.allocation))
    .bind(Json(&to.node_selector))
    .bind(to.price_per_hour)
    .bind(&to.currency)
    .bind(to.state)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Whether there was one.
///
/// # Errors
/// The foreign-key violation of its units among others.
pub(crate) async fn delete(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<bool> {
    let done = sqlx::query("delete from gpu_specs where id = $1").bind(id).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Units of it, in whatever state.
pub(crate) async fn count_units(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select coalesce(sum(available + inactive + used + changing), 0)::bigint
         from stock_counts where gpu_spec_id = $1",
    )
    .bind(id)
    .fetch_one(conn)
    .await
}

/// Notes the specification's present price as in force from now on.
pub(crate) async fn insert_price(conn: &mut PgConnection, spec: &GpuSpec) -> sqlx::Result<()> {
    sqlx::query(
        "insert into gpu_spec_prices (gpu_spec_id, effective_from, price_per_hour, currency)
         values ($1, clock_timestamp(), $2, $3)",
    )
    .bind(spec.id)
    .bind(spec.price_per_hour)
    .bind(&spec.currency)
    .execute(conn)
    .await
    .map(drop)
}

#[derive(sqlx::FromRow)]
struct PriceRow {
    price_per_hour: Decimal,
    currency: String,
    effective_from: jiff_sqlx::Timestamp,
    effective_until: Option<jiff_sqlx::Timestamp>,
}

/// The newest first, before `before`.
pub(crate) async fn prices(
    conn: &mut PgConnection,
    id: GpuSpecId,
    before: Option<Timestamp>,
    limit: i64,
) -> sqlx::Result<Vec<Price>> {
    let rows: Vec<PriceRow> = sqlx::query_as(
        "select p.price_per_hour, p.currency, p.effective_from,
             (select min(n.effective_from) from gpu_spec_prices n
              where n.gpu_spec_id = p.gpu_spec_id and n.effective_from > p.effective_from) as effective_until
         from gpu_spec_prices p
         where p.gpu_spec_id = $1 and ($2::timestamptz is null or p.effective_from < $2)
         order by p.effective_from desc limit $3",
    )
    .bind(id)
    .bind(before.map(ToSqlx::to_sqlx))
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Price {
            price_per_hour: row.price_per_hour.normalize(),
            currency: row.currency,
            effective_from: row.effective_from.to_jiff(),
            effective_until: row.effective_until.map(|at| at.to_jiff()),
        })
        .collect())
}
