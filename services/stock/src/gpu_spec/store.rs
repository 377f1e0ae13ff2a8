//! SQL of GPU specifications and their prices.

use std::collections::BTreeMap;

use ids::GpuSpecId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use rust_decimal::Decimal;
use sqlx::{PgConnection, types::Json};

use super::model::{NewGpuSpec, Price, shape};
use stock_api::{Allocation, GpuSpec, GpuSpecState};

struct Row {
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
    hold_price_fraction: Option<Decimal>,
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
            hold_price_fraction: row.hold_price_fraction.map(|fraction| fraction.normalize()),
            allocation: row.allocation.0,
            node_selector: row.node_selector.0,
            state: row.state,
            summary: String::new(),
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
            generation: row.generation,
        };
        spec.summary = shape(&spec).summary();
        spec
    }
}

/// A checked query for specifications: `$head`, the columns, `$tail`. Eight queries share these 18 columns.
macro_rules! query_specs {
    ($head:literal, $tail:literal $(, $param:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head + " id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis, memory_mib, disk_gib,
                allocation, node_selector, price_per_hour, currency, hold_price_fraction, state, generation, created_at,
                updated_at "
                + $tail
            $(, $param)*
        )
    };
}

/// Narrows a list of specifications.
#[derive(Debug, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) name_prefix: &'a str,
    pub(crate) gpu_model: Option<&'a str>,
    pub(crate) state: Option<GpuSpecState>,
}

/// Returns specifications by name, after `after`. `~` sorts after every character of a name, so the prefix is a
/// range of the index on names.
pub(crate) async fn list(
    conn: &mut PgConnection,
    filter: &Filter<'_>,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<GpuSpec>> {
    let rows = query_specs!(
        "select",
        "from gpu_specs
         where name > $1 and name >= $2 and name < $2 || '~'
           and ($3::text is null or gpu_model = $3) and ($4::text is null or state = $4)
         order by name limit $5",
        after,
        filter.name_prefix,
        filter.gpu_model,
        filter.state as Option<GpuSpecState>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

pub(crate) async fn find(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<Option<GpuSpec>> {
    let row =
        query_specs!("select", "from gpu_specs where id = $1", id as GpuSpecId).fetch_optional(conn).await?;
    Ok(row.map(Into::into))
}

/// Finds the specification and locks it until the transaction ends.
pub(crate) async fn find_for_update(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<Option<GpuSpec>> {
    let row = query_specs!("select", "from gpu_specs where id = $1 for update", id as GpuSpecId)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(Into::into))
}

/// Returns those of the specifications that exist, in no order.
pub(crate) async fn find_many(conn: &mut PgConnection, ids: &[GpuSpecId]) -> sqlx::Result<Vec<GpuSpec>> {
    let rows = query_specs!("select", "from gpu_specs where id = any($1)", ids as &[GpuSpecId])
        .fetch_all(conn)
        .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Finds a specification by id or name.
pub(crate) async fn find_by_reference(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<GpuSpec>> {
    let row = query_specs!(
        "select",
        "from gpu_specs where ($1::uuid is null and name = $2) or id = $1",
        reference.parse().ok() as Option<GpuSpecId>,
        reference,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Finds a specification by id or name and keeps others from changing it until the transaction ends.
pub(crate) async fn find_by_reference_for_share(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<GpuSpec>> {
    let row = query_specs!(
        "select",
        "from gpu_specs where ($1::uuid is null and name = $2) or id = $1 for share",
        reference.parse().ok() as Option<GpuSpecId>,
        reference,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Inserts a specification; none if its name is taken.
pub(crate) async fn insert(conn: &mut PgConnection, new: &NewGpuSpec) -> sqlx::Result<Option<GpuSpec>> {
    let row = query_specs!(
        "insert into gpu_specs (id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis,
             memory_mib, disk_gib, allocation, node_selector, price_per_hour, currency, hold_price_fraction)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         on conflict (name) do nothing returning",
        "",
        GpuSpecId::new() as GpuSpecId,
        new.name,
        new.gpu_model,
        new.gpu_count,
        new.gpu_cores,
        new.video_memory_mib,
        new.cpu_millis,
        new.memory_mib,
        new.disk_gib,
        Json(&new.allocation) as _,
        Json(&new.node_selector) as _,
        new.price_per_hour,
        new.currency,
        new.hold_price_fraction,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Writes `to` over the generation that it was made from; none if there is a newer one.
///
/// # Errors
/// Among others, a unique violation if the name is taken.
pub(crate) async fn update(conn: &mut PgConnection, to: &GpuSpec) -> sqlx::Result<Option<GpuSpec>> {
    let row = query_specs!(
        "update gpu_specs set name = $3, gpu_model = $4, gpu_count = $5, gpu_cores = $6,
             video_memory_mib = $7, cpu_millis = $8, memory_mib = $9, disk_gib = $10, allocation = $11,
             node_selector = $12, price_per_hour = $13, currency = $14, state = $15,
             hold_price_fraction = $16, generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2 returning",
        "",
        to.id as GpuSpecId,
        to.generation,
        to.name,
        to.gpu_model,
        to.gpu_count,
        to.gpu_cores,
        to.video_memory_mib,
        to.cpu_millis,
        to.memory_mib,
        to.disk_gib,
        Json(&to.allocation) as _,
        Json(&to.node_selector) as _,
        to.price_per_hour,
        to.currency,
        to.state as GpuSpecState,
        to.hold_price_fraction,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Deletes a specification. False if it does not exist.
///
/// # Errors
/// Among others, a foreign-key violation if it has units.
pub(crate) async fn delete(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<bool> {
    let done = sqlx::query!("delete from gpu_specs where id = $1", id as GpuSpecId).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the number of units of the specification, in any state.
pub(crate) async fn count_units(conn: &mut PgConnection, id: GpuSpecId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select coalesce(sum(available + inactive + used + changing), 0)::bigint as "count!"
           from stock_counts where gpu_spec_id = $1"#,
        id as GpuSpecId,
    )
    .fetch_one(conn)
    .await
}

/// Records the current price of the specification as effective from now on.
pub(crate) async fn insert_price(conn: &mut PgConnection, spec: &GpuSpec) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into gpu_spec_prices (gpu_spec_id, effective_from, price_per_hour, currency, hold_price_fraction)
         values ($1, clock_timestamp(), $2, $3, $4)",
        spec.id as GpuSpecId,
        spec.price_per_hour,
        spec.currency,
        spec.hold_price_fraction,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the prices before `before`, newest first.
pub(crate) async fn prices(
    conn: &mut PgConnection,
    id: GpuSpecId,
    before: Option<Timestamp>,
    limit: i64,
) -> sqlx::Result<Vec<Price>> {
    let rows = sqlx::query!(
        r#"select p.price_per_hour, p.currency, p.hold_price_fraction, p.effective_from,
             (select min(n.effective_from) from gpu_spec_prices n
              where n.gpu_spec_id = p.gpu_spec_id and n.effective_from > p.effective_from) as effective_until
         from gpu_spec_prices p
         where p.gpu_spec_id = $1 and ($2::timestamptz is null or p.effective_from < $2)
         order by p.effective_from desc limit $3"#,
        id as GpuSpecId,
        before.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Price {
            price_per_hour: row.price_per_hour.normalize(),
            currency: row.currency,
            hold_price_fraction: row.hold_price_fraction.map(|fraction| fraction.normalize()),
            effective_from: row.effective_from.to_jiff(),
            effective_until: row.effective_until.map(|at| at.to_jiff()),
        })
        .collect())
}
