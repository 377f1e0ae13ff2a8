//! SQL of comparisons.

use ids::UnitId;
use sqlx::PgConnection;

use super::model::KnownUnit;

/// Returns all units of the cluster.
pub(super) async fn known_units(conn: &mut PgConnection, cluster: &str) -> sqlx::Result<Vec<KnownUnit>> {
    sqlx::query_as!(
        KnownUnit,
        r#"select u.id, u.state, u.gpu_spec_id, d.name as datacenter, u.object_uid,
             coalesce(u.lease_until, u.wake_at) is null as "idle!"
         from units u join datacenters d on d.id = u.datacenter_id where d.cluster = $1"#,
        cluster,
    )
    .fetch_all(conn)
    .await
}

/// Returns those of `units` that exist.
pub(super) async fn existing(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<Vec<UnitId>> {
    sqlx::query_scalar!("select id from units where id = any($1)", units as &[UnitId]).fetch_all(conn).await
}

/// Records a unit for an object that has none. False if its specification or datacenter is not known.
pub(super) async fn adopt(
    conn: &mut PgConnection,
    unit: UnitId,
    gpu_spec: &str,
    datacenter: &str,
    cluster: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into units (id, gpu_spec_id, datacenter_id, state, reason, message)
         select $1, s.id, d.id, 'inactive', 'adopted', 'The object was found in the cluster.'
         from gpu_specs s, datacenters d where s.name = $2 and d.name = $3 and d.cluster = $4
         on conflict (id) do nothing",
        unit as UnitId,
        gpu_spec,
        datacenter,
        cluster,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
