//! SQL of units in their clusters: reconciles and observations. Each statement is guarded, so two replicas that record
//! the same change write it once.

use ids::UnitId;
use sqlx::PgConnection;
use stock_api::GpuSpec;

use super::{model::UnitState, object::Observation, store::QUEUE};
use crate::{
    gpu_spec,
    operation::{self, store::UnitReport},
    queue,
    reason::UnitReason,
};

/// The parts that the reconcile of a unit needs.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) state: UnitState,
    pub(crate) spec: GpuSpec,
    pub(crate) datacenter: String,
    pub(crate) cluster: String,
}

/// Reads a unit for its reconcile.
pub(crate) async fn find_work(conn: &mut PgConnection, unit: UnitId) -> sqlx::Result<Option<Work>> {
    let row = sqlx::query!(
        "select u.state, u.gpu_spec_id, d.name as datacenter, d.cluster
         from units u join datacenters d on d.id = u.datacenter_id where u.id = $1",
        unit as UnitId,
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let spec: Option<GpuSpec> = gpu_spec::store::find(conn, row.gpu_spec_id).await?;
    Ok(spec.map(|spec| Work { state: row.state, spec, datacenter: row.datacenter, cluster: row.cluster }))
}

/// Records that the objects of these units exist.
pub(crate) async fn record_made(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update units set reason = null, message = null
         where id = any($1) and state = 'making' and reason is not null",
        units as &[UnitId],
    )
    .execute(&mut *conn)
    .await?;
    operation::store::record_made(conn, units).await
}

/// Why the reconcile of a unit failed.
#[derive(Debug, Clone)]
pub(crate) struct Delay {
    pub(crate) unit: UnitId,
    pub(crate) reason: UnitReason,
    pub(crate) message: String,
}

/// Records why a unit is delayed, where users see it.
pub(crate) async fn record_delay(conn: &mut PgConnection, delay: &Delay) -> sqlx::Result<()> {
    sqlx::query!(
        "update units set reason = $2, message = $3
         where id = $1 and state in ('making', 'removing') and (reason, message) is distinct from ($2, $3)",
        delay.unit as UnitId,
        delay.reason as UnitReason,
        delay.message,
    )
    .execute(&mut *conn)
    .await?;
    operation::store::record_delay(conn, &[delay.unit], delay.reason, &delay.message).await
}

/// Deletes those of the units that were being removed, since their objects are gone from the cluster.
pub(crate) async fn record_removed(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<()> {
    let removed = sqlx::query_scalar!(
        "delete from units where id = any($1) and state = 'removing' returning id",
        units as &[UnitId],
    )
    .fetch_all(&mut *conn)
    .await?;
    if removed.is_empty() { Ok(()) } else { operation::store::record_removed(conn, &removed).await }
}

/// Records observations that are newer than the recorded ones and differ from them. Returns the units that changed.
///
/// The state follows [`UnitState::observed`]. Rows are locked in the order in which claims lock them. Units that become
/// available are given to instances that wait.
pub(crate) async fn record_observations(
    conn: &mut PgConnection,
    observations: &[Observation],
) -> sqlx::Result<Vec<UnitId>> {
    if observations.is_empty() {
        return Ok(Vec::new());
    }
    let held: Vec<UnitId> =
        observations.iter().filter(|o| o.status.held && !o.status.occupied).map(|o| o.unit).collect();
    queue::store::lock_for_units(&mut *conn, &held).await?;
    let reports = sqlx::query_as!(
        UnitReport,
        r#"with s as (
             select id, uid, version, held, occupied, undecided, reason, message, node,
                    string_to_array(gpus, ',') as gpu_uuids
             from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bool[], $5::bool[], $6::bool[],
                         $7::text[], $8::text[], $9::text[], $10::text[])
                 as s(id, uid, version, held, occupied, undecided, reason, message, node, gpus)),
         n as (
             select s.*,
                 case when u.state in ('used', 'removing') then u.state
                      when u.state = 'making' and not s.held and s.undecided then 'making'
                      when s.held and not s.occupied then 'available'
                      else 'inactive' end as state,
                 s.held and s.occupied and u.state not in ('used', 'removing') as unclaimed
             from s join units u on u.id = s.id
             where (u.object_uid is distinct from s.uid or u.object_version <= s.version)
               and (u.object_uid is distinct from s.uid
                    or (u.held, u.occupied, u.node, u.gpu_uuids) is distinct from (s.held, s.occupied, s.node, s.gpu_uuids)
                    or (not s.held and (u.reason, u.message) is distinct from (s.reason, s.message))
                    or (u.state = 'making' and not s.undecided)
                    or (u.state = 'available') is distinct from (s.held and not s.occupied and u.state not in ('used', 'removing')))
             order by u.claim_key for update of u)
         update units u set held = n.held, occupied = n.occupied, node = n.node, gpu_uuids = n.gpu_uuids,
             object_uid = n.uid, object_version = n.version, state = n.state,
             reason = case when n.unclaimed then 'occupied' else n.reason end,
             message = case when n.unclaimed then 'An instance occupies this unit without a claim.'
                            else n.message end,
             since = case when u.state = n.state then u.since else now() end
         from n where u.id = n.id
         returning u.id as unit, u.held, u.reason, u.message"#,
        observations.iter().map(|o| o.unit).collect::<Vec<_>>() as Vec<UnitId>,
        &observations.iter().map(|o| o.uid.clone()).collect::<Vec<_>>(),
        &observations.iter().map(|o| o.version).collect::<Vec<_>>(),
        &observations.iter().map(|o| o.status.held).collect::<Vec<_>>(),
        &observations.iter().map(|o| o.status.occupied).collect::<Vec<_>>(),
        &observations.iter().map(|o| o.status.undecided).collect::<Vec<_>>(),
        observations.iter().map(|o| o.reason).collect::<Vec<_>>() as Vec<Option<UnitReason>>,
        observations.iter().map(|o| o.message.clone()).collect::<Vec<_>>() as Vec<Option<String>>,
        observations.iter().map(|o| o.node.clone()).collect::<Vec<_>>() as Vec<Option<String>>,
        &observations.iter().map(|o| o.gpu_uuids.join(",")).collect::<Vec<_>>(),
    )
    .fetch_all(&mut *conn)
    .await?;
    if !reports.is_empty() {
        operation::store::record_reports(&mut *conn, &reports).await?;
    }
    let changed: Vec<UnitId> = reports.into_iter().map(|report| report.unit).collect();
    queue::store::serve(conn, &changed).await?;
    Ok(changed)
}

/// An object that is gone from the cluster though its unit is not being removed.
#[derive(Debug)]
pub(crate) struct MissingObject {
    pub(crate) unit: UnitId,
    pub(crate) uid: Option<String>,
}

/// Records that these objects are gone, and enqueues their units so that they are created again. Returns the units
/// concerned: not those that are being reconciled.
pub(crate) async fn record_missing(
    conn: &mut PgConnection,
    missing: &[MissingObject],
) -> sqlx::Result<Vec<UnitId>> {
    let message = "The object was deleted in the cluster and is being created again.";
    let units = sqlx::query_scalar!(
        r#"update units u set held = false, occupied = false, object_uid = null, object_version = 0,
             reason = 'object_missing', message = $3, wake_at = now(), failures = 0,
             since = case when u.state = 'available' then now() else u.since end,
             state = case when u.state = 'available' then 'inactive' else u.state end
         from unnest($1::uuid[], $2::text[]) as g(id, uid)
         where u.id = g.id and u.object_uid is not distinct from g.uid
           and u.state <> 'removing' and coalesce(u.lease_until, u.wake_at) is null
         returning u.id"#,
        missing.iter().map(|object| object.unit).collect::<Vec<_>>() as Vec<UnitId>,
        missing.iter().map(|object| object.uid.clone()).collect::<Vec<_>>() as Vec<Option<String>>,
        message,
    )
    .fetch_all(&mut *conn)
    .await?;
    if !units.is_empty() {
        operation::store::record_delay(&mut *conn, &units, UnitReason::ObjectMissing, message).await?;
        QUEUE.notify(conn).await?;
    }
    Ok(units)
}

/// Enqueues these units so that their objects are applied again. Returns those that were idle.
pub(crate) async fn apply_again(conn: &mut PgConnection, units: &[UnitId]) -> sqlx::Result<Vec<UnitId>> {
    let units = sqlx::query_scalar!(
        "update units set wake_at = now(), failures = 0
         where id = any($1) and coalesce(lease_until, wake_at) is null and state <> 'removing' returning id",
        units as &[UnitId],
    )
    .fetch_all(&mut *conn)
    .await?;
    if !units.is_empty() {
        QUEUE.notify(conn).await?;
    }
    Ok(units)
}
