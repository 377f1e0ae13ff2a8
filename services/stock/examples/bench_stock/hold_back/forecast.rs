//! The real forecast at simulated times: the service's own statement on a real Postgres, which gets `now()`
//! from a schema before `pg_catalog` in the search path. It counts no claims after that time, so the history
//! may contain later ones.

use atelier_stock::hold_back;
use sqlx::{PgConnection, postgres::PgConnectOptions};

use super::demand::Start;
use crate::setup;

const DATABASE: &str = "bench_hold_back";
/// Monday, 00:00, at which the simulation begins.
const BEGIN: &str = "2026-01-05T00:00:00Z";

/// The service's schema with one specification in one datacenter, and a clock.
pub(crate) async fn prepare(admin: &PgConnectOptions) -> PgConnection {
    let auth = serde_json::from_str(r#"{"issuer":"http://bench"}"#).unwrap();
    let (mut conn, _) = setup::fresh(admin, DATABASE, auth).await;
    sqlx::raw_sql(
        "insert into stock.datacenters (id, name, region, cluster) values (gen_random_uuid(), 'uk-1', 'uk', 'main');
         insert into stock.gpu_specs (id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis,
             memory_mib, disk_gib, allocation, price_per_hour, currency)
         values (gen_random_uuid(), 'a', 'x', 1, 1, 1, 1, 1, 1, '{\"kind\":\"device\",\"resource\":\"nvidia.com/gpu\"}',
             0.2, 'USD');
         create schema clock;
         create table clock.moment (at timestamptz not null);
         insert into clock.moment values ('-infinity');
         create function clock.now() returns timestamptz stable language sql as 'select at from clock.moment';
         set search_path = clock, pg_catalog, stock",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    conn
}

/// Inserts these starts as claims of the past.
pub(crate) async fn record(conn: &mut PgConnection, starts: &[Start]) {
    let (at, run): (Vec<f64>, Vec<f64>) = starts.iter().map(|start| (start.at, start.run)).unzip();
    sqlx::raw_sql("truncate unit_holders, hold_backs").execute(&mut *conn).await.unwrap();
    sqlx::query(
        "insert into unit_holders (unit_id, instance_id, tenant_id, claimed_at, released_at, gpu_spec_id, datacenter_id)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), $1::timestamptz + make_interval(secs => x.at),
             $1::timestamptz + make_interval(secs => x.at + x.run), s.id, d.id
         from unnest($2::float8[], $3::float8[]) as x(at, run), gpu_specs s, datacenters d",
    )
    .bind(BEGIN.parse::<jiff::Timestamp>().map(jiff_sqlx::Timestamp::from).unwrap())
    .bind(at)
    .bind(run)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::raw_sql("analyze unit_holders").execute(conn).await.unwrap();
}

/// Returns the forecast units between two times (seconds since the begin), round by round of the task.
pub(crate) async fn forecasts(
    conn: &mut PgConnection,
    (from, until): (f64, f64),
    recall_seconds: u32,
) -> Vec<u64> {
    let mut forecasts = Vec::new();
    let mut at = from;
    while at < until {
        sqlx::query("update clock.moment set at = $1::timestamptz + make_interval(secs => $2)")
            .bind(BEGIN.parse::<jiff::Timestamp>().map(jiff_sqlx::Timestamp::from).unwrap())
            .bind(at)
            .execute(&mut *conn)
            .await
            .unwrap();
        hold_back::forecast(&mut *conn, recall_seconds).await.unwrap();
        let units: Option<i64> =
            sqlx::query_scalar("select units from hold_backs").fetch_optional(&mut *conn).await.unwrap();
        forecasts.push(units.map_or(0, |units| units.try_into().unwrap()));
        at += hold_back::PERIOD.as_secs_f64();
    }
    forecasts
}
