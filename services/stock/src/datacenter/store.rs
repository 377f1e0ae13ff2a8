//! SQL of datacenters.

use std::collections::BTreeMap;

use ids::DatacenterId;
use sqlx::{PgConnection, types::Json};

use super::model::{Datacenter, DatacenterState, NewDatacenter};

#[derive(sqlx::FromRow)]
struct Row {
    id: DatacenterId,
    name: String,
    region: String,
    cluster: String,
    labels: Json<BTreeMap<String, String>>,
    state: DatacenterState,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for Datacenter {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            region: row.region,
            cluster: row.cluster,
            labels: row.labels.0,
            state: row.state,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

/// In the order of their names, after `after`.
pub(crate) async fn list(conn: &mut PgConnection, after: &str, limit: i64) -> sqlx::Result<Vec<Datacenter>> {
    let rows: Vec<Row> = sqlx::query_as("select * from datacenters where name > $1 order by name limit $2")
        .bind(after)
        .bind(limit)
        .fetch_all(conn)
        .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

pub(crate) async fn find(conn: &mut PgConnection, id: DatacenterId) -> sqlx::Result<Option<Datacenter>> {
    let row: Option<Row> =
        sqlx::query_as("select * from datacenters where id = $1").bind(id).fetch_optional(conn).await?;
    Ok(row.map(Into::into))
}

/// The same, kept as it is until the transaction ends.
pub(crate) async fn find_for_update(
    conn: &mut PgConnection,
    id: DatacenterId,
) -> sqlx::Result<Option<Datacenter>> {
    let row: Option<Row> = sqlx::query_as("select * from datacenters where id = $1 for update")
        .bind(id)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(Into::into))
}

/// By id or name.
pub(crate) async fn find_by_reference(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<Datacenter>> {
    let row: Option<Row> =
        sqlx::query_as("select * from datacenters where ($1::uuid is null and name = $2) or id = $1")
            .bind(reference.parse::<DatacenterId>().ok())
            .bind(reference)
            .fetch_optional(conn)
            .await?;
    Ok(row.map(Into::into))
}

/// The same, kept as it is until the transaction ends.
pub(crate) async fn keep_by_reference(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<Datacenter>> {
    let row: Option<Row> = sqlx::query_as(
        "select * from datacenters where ($1::uuid is null and name = $2) or id = $1 for share",
    )
    .bind(reference.parse::<DatacenterId>().ok())
    .bind(reference)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// None when the name is taken.
pub(crate) async fn insert(conn: &mut PgConnection, new: &NewDatacenter) -> sqlx::Result<Option<Datacenter>> {
    let row: Option<Row> = sqlx::query_as(
        "insert into datacenters (id, name, region, cluster, labels) values ($1, $2, $3, $4, $5)
         on conflict (name) do nothing returning *",
    )
    .bind(DatacenterId::new())
    .bind(&new.name)
    .bind(&new.region)
    .bind(&new.cluster)
    .bind(Json(&new.labels))
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Writes `to` over the version it was made from. None when that is not the newest.
///
/// # Errors
/// The unique violation of `datacenters_name_key` among others.
pub(crate) async fn update(conn: &mut PgConnection, to: &Datacenter) -> sqlx::Result<Option<Datacenter>> {
    let row: Option<Row> = sqlx::query_as(
        "update datacenters set name = $3, region = $4, cluster = $5, labels = $6, state = $7,
             generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2 returning *",
    )
    .bind(to.id)
    .bind(to.generation)
    .bind(&to.name)
    .bind(&to.region)
    .bind(&to.cluster)
    .bind(Json(&to.labels))
    .bind(to.state)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Whether there was one.
///
/// # Errors
/// The foreign-key violation of its units among others.
pub(crate) async fn delete(conn: &mut PgConnection, id: DatacenterId) -> sqlx::Result<bool> {
    let done = sqlx::query("delete from datacenters where id = $1").bind(id).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Units there, in whatever state.
pub(crate) async fn count_units(conn: &mut PgConnection, id: DatacenterId) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select coalesce(sum(available + inactive + used + changing), 0)::bigint
         from stock_counts where datacenter_id = $1",
    )
    .bind(id)
    .fetch_one(conn)
    .await
}
