//! SQL of the comparison with the clusters' histories.

use gpu_core::{
    compare::{Recorded, Reported},
    meter::{Correction, RunKey},
};
use ids::{InstanceId, RunId, UnitId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

/// A run in a unit, as recorded.
#[derive(Debug)]
pub(super) struct UnitRun {
    pub(super) unit_id: UnitId,
    pub(super) id: RunId,
    pub(super) version: i32,
    pub(super) instance_id: InstanceId,
    pub(super) attempt: i64,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Option<jiff_sqlx::Timestamp>,
}

impl UnitRun {
    pub(super) fn key(&self) -> RunKey {
        RunKey { attempt: self.attempt, since: self.started_at }
    }

    /// Returns the run if it is closed.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        Some(Recorded {
            id: self.id,
            version: self.version,
            instance: self.instance_id,
            key: self.key(),
            ended_at: self.ended_at?.to_jiff(),
        })
    }
}

/// Returns the runs in each unit that began at its time or later.
pub(super) async fn runs_of_units(
    conn: &mut PgConnection,
    units: &[UnitId],
    since: &[Timestamp],
) -> sqlx::Result<Vec<UnitRun>> {
    let since: Vec<jiff_sqlx::Timestamp> = since.iter().map(|since| since.to_sqlx()).collect();
    sqlx::query_as!(
        UnitRun,
        r#"select r.unit_id, r.id, r.version, r.instance_id, r.attempt, r.started_at, r.ended_at
           from unnest($1::uuid[], $2::timestamptz[]) as u(id, since)
           join runs r on r.unit_id = u.id and r.started_at >= u.since and r.kind = 'running'"#,
        units as &[UnitId],
        &since as &[jiff_sqlx::Timestamp],
    )
    .fetch_all(conn)
    .await
}

/// Corrects the end of a closed run. Returns false, and changes nothing, if it is not the version that was read.
pub(super) async fn correct(
    conn: &mut PgConnection,
    run: &Recorded,
    ended_at: Timestamp,
    correction: Correction,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update runs set ended_at = $3, confirmed_at = least(confirmed_at, $3), correction = $4
         where id = $1 and version = $2 and ended_at <> $3",
        run.id as RunId,
        run.version,
        ended_at.to_sqlx() as _,
        correction.as_str(),
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Adds a run that the meter has missed, at the price of the nearest start of the instance in this unit, or else of the
/// nearest start of another. Returns false if there is none, or the run is known.
pub(super) async fn add_missed(
    conn: &mut PgConnection,
    unit: UnitId,
    missed: &Reported,
) -> sqlx::Result<bool> {
    let run = &missed.run;
    sqlx::query!(
        "insert into runs (id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
             confirmed_at, ended_at, end_reason, cluster, datacenter, correction)
         select $1, i.tenant_id, i.id, $4, r.unit_id, r.price_per_hour, r.currency, $5, $6, $6, $7, r.cluster, r.datacenter, $8
         from instances i cross join lateral (
             select * from runs where unit_id = $3 and kind = 'running'
             order by instance_id = i.id desc, case when instance_id = i.id then abs(attempt - $4) end,
                 abs(extract(epoch from started_at - $5)), id limit 1) r
         where i.id = $2
         on conflict (instance_id, attempt, started_at) do nothing",
        run.key.id(missed.instance) as RunId,
        missed.instance as InstanceId,
        unit as UnitId,
        run.key.attempt,
        run.key.since.to_sqlx() as _,
        // without evidence of the end, no second is billed
        (if run.unseen { run.key.since } else { run.ended_at }).to_sqlx() as _,
        run.reason.as_str(),
        Correction::MissedRun.as_str(),
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}
