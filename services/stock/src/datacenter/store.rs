//! SQL of datacenters.

use std::collections::BTreeMap;

use ids::DatacenterId;
use sqlx::{PgConnection, types::Json};

use super::model::NewDatacenter;
use stock_api::{Datacenter, DatacenterState};

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

/// Returns datacenters by name, after `after`.
pub(crate) async fn list(conn: &mut PgConnection, after: &str, limit: i64) -> sqlx::Result<Vec<Datacenter>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, region, cluster, labels, state, generation, created_at, updated_at from datacenters
         where name > $1 order by name limit $2",
        after,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Finds the datacenter and locks it until the transaction ends.
pub(crate) async fn find_for_update(
    conn: &mut PgConnection,
    id: DatacenterId,
) -> sqlx::Result<Option<Datacenter>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, region, cluster, labels, state, generation, created_at, updated_at from datacenters
         where id = $1 for update",
        id as DatacenterId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Finds a datacenter by id or name.
pub(crate) async fn find_by_reference(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<Datacenter>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, region, cluster, labels, state, generation, created_at, updated_at from datacenters
         where ($1::uuid is null and name = $2) or id = $1",
        reference.parse().ok() as Option<DatacenterId>,
        reference,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Finds a datacenter by id or name and keeps others from changing it until the transaction ends.
pub(crate) async fn find_by_reference_for_share(
    conn: &mut PgConnection,
    reference: &str,
) -> sqlx::Result<Option<Datacenter>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, region, cluster, labels, state, generation, created_at, updated_at from datacenters
         where ($1::uuid is null and name = $2) or id = $1 for share",
        reference.parse().ok() as Option<DatacenterId>,
        reference,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Inserts a datacenter; none if its name is taken.
pub(crate) async fn insert(conn: &mut PgConnection, new: &NewDatacenter) -> sqlx::Result<Option<Datacenter>> {
    let row = sqlx::query_as!(
        Row,
        "insert into datacenters (id, name, region, cluster, labels) values ($1, $2, $3, $4, $5)
         on conflict (name) do nothing
         returning id, name, region, cluster, labels, state, generation, created_at, updated_at",
        DatacenterId::new() as DatacenterId,
        new.name,
        new.region,
        new.cluster,
        Json(&new.labels) as _,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Writes `to` over the generation that it was made from; none if there is a newer one.
///
/// # Errors
/// Among others, a unique violation if the name is taken.
pub(crate) async fn update(conn: &mut PgConnection, to: &Datacenter) -> sqlx::Result<Option<Datacenter>> {
    let row = sqlx::query_as!(
        Row,
        "update datacenters set name = $3, region = $4, cluster = $5, labels = $6, state = $7,
             generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2
         returning id, name, region, cluster, labels, state, generation, created_at, updated_at",
        to.id as DatacenterId,
        to.generation,
        to.name,
        to.region,
        to.cluster,
        Json(&to.labels) as _,
        to.state as DatacenterState,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Deletes a datacenter. False if it does not exist.
///
/// # Errors
/// Among others, a foreign-key violation if it has units.
pub(crate) async fn delete(conn: &mut PgConnection, id: DatacenterId) -> sqlx::Result<bool> {
    let done =
        sqlx::query!("delete from datacenters where id = $1", id as DatacenterId).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the number of units in the datacenter, in any state.
pub(crate) async fn count_units(conn: &mut PgConnection, id: DatacenterId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select coalesce(sum(available + inactive + used + changing), 0)::bigint as "count!"
           from stock_counts where datacenter_id = $1"#,
        id as DatacenterId,
    )
    .fetch_one(conn)
    .await
}
