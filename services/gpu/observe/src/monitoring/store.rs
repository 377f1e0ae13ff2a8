//! SQL of metrics: the runs of an instance, samples and their averages, and who samples.

use gpu_core::unit::PodRef;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

/// The fields of a run that metrics need.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) attempt: i64,
    pub(super) started_at: Timestamp,
    /// None while it continues.
    pub(super) ended_at: Option<Timestamp>,
    /// Name of the cluster.
    pub(super) cluster: String,
    /// None if it was first seen after its end.
    pub(super) pod: Option<PodRef>,
}

impl Run {
    /// Beginning, in seconds since 1970.
    pub(super) fn start(&self) -> f64 {
        seconds(self.started_at)
    }

    /// End, in seconds since 1970.
    pub(super) fn end(&self) -> f64 {
        self.ended_at.map_or(f64::INFINITY, seconds)
    }
}

/// Returns a time as seconds since 1970.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

struct RunRow {
    attempt: i64,
    started_at: Timestamp,
    ended_at: Option<jiff_sqlx::Timestamp>,
    cluster: String,
    pod_namespace: Option<String>,
    pod_name: Option<String>,
}

impl From<RunRow> for Run {
    fn from(row: RunRow) -> Self {
        let pod = row.pod_namespace.zip(row.pod_name);
        Self {
            attempt: row.attempt,
            started_at: row.started_at,
            ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
            cluster: row.cluster,
            pod: pod.map(|(namespace, name)| PodRef::new(&namespace, &name)),
        }
    }
}

/// Returns the runs of a tenant's instance that overlap a window, newest first.
pub(super) async fn runs(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
    from: Timestamp,
    to: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    let rows = sqlx::query_as!(
        RunRow,
        "select attempt, started_at, ended_at, cluster, pod_namespace, pod_name from runs
         where tenant_id = $1 and instance_id = $2 and kind = 'running'
           and started_at < $4 and (ended_at is null or ended_at > $3)
         order by started_at desc limit $5",
        tenant as TenantId,
        instance as InstanceId,
        from.to_sqlx() as _,
        to.to_sqlx() as _,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Run::from).collect())
}

/// The use of an instance in the `seconds` up to `at`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) instance_id: InstanceId,
    pub(super) at: Timestamp,
    pub(super) seconds: f64,
    pub(super) cpu_cores: Option<f64>,
    pub(super) memory_bytes: Option<f64>,
    pub(super) disk_bytes: Option<f64>,
    /// Bytes per second.
    pub(super) network_received: Option<f64>,
    pub(super) network_sent: Option<f64>,
}

/// Stores samples. Samples of deleted instances, and samples that are already stored, are left out. Returns
/// how many are new.
pub(super) async fn insert(conn: &mut PgConnection, samples: &[Sample]) -> sqlx::Result<u64> {
    let instances: Vec<InstanceId> = samples.iter().map(|sample| sample.instance_id).collect();
    let times: Vec<jiff_sqlx::Timestamp> = samples.iter().map(|sample| sample.at.to_sqlx()).collect();
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let column = |value: fn(&Sample) -> Option<f64>| samples.iter().map(value).collect::<Vec<_>>();
    sqlx::query!(
        "insert into instance_samples (instance_id, at, tenant_id, seconds, cpu_cores, memory_bytes, disk_bytes,
             network_received, network_sent)
         select s.instance_id, s.at, i.tenant_id, s.seconds, s.cpu_cores, s.memory_bytes, s.disk_bytes,
             s.network_received, s.network_sent
         from unnest($1::uuid[], $2::timestamptz[], $3::float8[], $4::float8[], $5::float8[], $6::float8[],
                  $7::float8[], $8::float8[])
              as s (instance_id, at, seconds, cpu_cores, memory_bytes, disk_bytes, network_received, network_sent)
         join instances i on i.id = s.instance_id and i.state <> 'deleted'
         on conflict (instance_id, at) do nothing",
        &instances as &[InstanceId],
        &times as _,
        &seconds,
        &column(|sample| sample.cpu_cores) as &[Option<f64>],
        &column(|sample| sample.memory_bytes) as &[Option<f64>],
        &column(|sample| sample.disk_bytes) as &[Option<f64>],
        &column(|sample| sample.network_received) as &[Option<f64>],
        &column(|sample| sample.network_sent) as &[Option<f64>],
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// Returns the samples of a tenant's instance in a window, in order: averages where the samples are old enough to be
/// averaged, which are kept longer.
pub(super) async fn samples(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<Sample>> {
    sqlx::query_as!(
        Sample,
        r#"with cutoff as (
               select least(averaged_to, date_bin('5 minutes', now() - interval '50 minutes', 'epoch')) as at
               from sample_progress)
           select instance_id as "instance_id!: InstanceId", at as "at!", seconds as "seconds!", cpu_cores,
               memory_bytes, disk_bytes, network_received, network_sent
           from (
               select instance_id, at, seconds, cpu_cores, memory_bytes, disk_bytes, network_received, network_sent
               from instance_sample_averages
               where tenant_id = $1 and instance_id = $2 and at > $3 and at <= $4::timestamptz + interval '5 minutes'
                 and at <= (select at from cutoff)
               union all
               select instance_id, at, seconds, cpu_cores, memory_bytes, disk_bytes, network_received, network_sent
               from instance_samples
               where tenant_id = $1 and instance_id = $2 and at > $3 and at <= $4::timestamptz + interval '1 minute'
                 and at > (select at from cutoff)) as parts
           order by at"#,
        tenant as TenantId,
        instance as InstanceId,
        from.to_sqlx() as _,
        to.to_sqlx() as _,
    )
    .fetch_all(conn)
    .await
}

/// Averages the samples of the oldest five minutes that are over and not averaged. Returns false if there are none.
pub(super) async fn average(conn: &mut PgConnection) -> sqlx::Result<bool> {
    // locks the row: only one replica averages at a time
    let begin = sqlx::query_scalar!(
        // nothing older is kept
        r#"select greatest(averaged_to, date_bin('5 minutes', now() - interval '70 minutes', 'epoch')) as "begin!: jiff_sqlx::Timestamp"
           from sample_progress where averaged_to < now() - interval '6 minutes' for update"#
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(begin) = begin else { return Ok(false) };
    sqlx::query!(
        "insert into instance_sample_averages (instance_id, at, tenant_id, seconds, cpu_cores, memory_bytes, disk_bytes,
             network_received, network_sent)
         select instance_id, $1::timestamptz + interval '5 minutes', tenant_id, 300, avg(cpu_cores), avg(memory_bytes),
             avg(disk_bytes), avg(network_received), avg(network_sent)
         from instance_samples where at > $1 and at <= $1 + interval '5 minutes'
         group by instance_id, tenant_id
         on conflict (instance_id, at) do nothing",
        begin as _,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update sample_progress set averaged_to = $1::timestamptz + interval '5 minutes'",
        begin as _
    )
    .execute(conn)
    .await?;
    Ok(true)
}

/// Deletes samples that are averaged and older than an hour, and averages that are older than `days`: at most `limit` of
/// each. Returns the larger number.
pub(super) async fn delete_old(conn: &mut PgConnection, days: i32, limit: i64) -> sqlx::Result<u64> {
    let samples = sqlx::query!(
        "delete from instance_samples where (instance_id, at) in (
             select instance_id, at from instance_samples
             where at < now() - interval '1 hour' and at <= (select averaged_to from sample_progress)
             order by at limit $1)",
        limit,
    )
    .execute(&mut *conn)
    .await?;
    let averages = sqlx::query!(
        "delete from instance_sample_averages where (instance_id, at) in (
             select instance_id, at from instance_sample_averages where at < now() - make_interval(days => $1)
             order by at limit $2)",
        days,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(samples.rows_affected().max(averages.rows_affected()))
}
