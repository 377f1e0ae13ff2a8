//! The contents of the database. One instance is ordered over HTTP; the others are copies of its row.

use auth::Role;
use ids::{InstanceId, TenantId};
use sqlx::{AssertSqlSafe, PgConnection};
use testkit::{Client, Issuer};

use crate::stock::SPEC;

/// Instances of each tenant.
const PER_TENANT: i64 = 100;
/// Tenants that the clients act for.
const OWNERS: i64 = 500;

/// A tenant that clients act for: an access token, and one of its instances.
pub(crate) struct Owner {
    pub(crate) token: String,
    pub(crate) instance: InstanceId,
}

/// Orders an instance. Returns its id.
pub(crate) async fn order(base: &str, issuer: &Issuer, conn: &mut PgConnection) -> InstanceId {
    let service = serde_json::json!({
        "service": "shell", "version": "1", "description": "a shell", "template": {
            "image": "shell:1",
            "ports": [{ "port": 7860, "is_public": true, "is_probe": true, "base_url": "/" }],
        },
    });
    let _ = Client::new(base).token(&issuer.admin()).post("/v1/services", service).await.expect(201);
    let member = Client::new(base).token(&issuer.user(TenantId::new(), Role::Member));
    let id = member.post("/v1/instances", new_instance()).await.expect(202).str("id").parse().unwrap();
    sqlx::raw_sql("set max_parallel_workers_per_gather = 0").execute(conn).await.unwrap();
    id
}

/// The body of an order. It waits for a unit, as no unit is free.
pub(crate) fn new_instance() -> serde_json::Value {
    serde_json::json!({ "gpu_spec": SPEC, "service": "shell", "version": "1", "wait": true })
}

/// Copies the order as stopped instances of many tenants, with their operations. Returns some of the tenants.
pub(crate) async fn instances(conn: &mut PgConnection, order: InstanceId, count: i64) -> Vec<TenantId> {
    sqlx::query(
        "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id,
             operation_kind, created_at, updated_at)
         select overlay(md5('i' || n) placing '01900000' from 1)::uuid, md5('t' || n / $2)::uuid, 'i' || n, spec,
             '{\"state\": \"stopped\", \"failure\": null}', 1, 0, meter, md5('o' || n)::uuid, operation_kind,
             created_at, updated_at
         from gpu.instances, generate_series(0, $3 - 1) n where id = $1",
    )
    .bind(order)
    .bind(PER_TENANT)
    .bind(count)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into gpu.operations (id, tenant_id, target, kind, state, finished_at)
         select i.operation_id, i.tenant_id, 'inst_' || replace(i.id::text, '-', ''), o.kind, 'succeeded', now()
         from gpu.instances i, (select kind from gpu.operations limit 1) o where i.name like 'i%'",
    )
    .execute(&mut *conn)
    .await
    .unwrap();
    settle(conn).await;
    let tenants = count / PER_TENANT;
    sqlx::query_scalar("select md5('t' || n * $1 / $2)::uuid from generate_series(0, $2 - 1) n")
        .bind(tenants)
        .bind(OWNERS.min(tenants))
        .fetch_all(conn)
        .await
        .unwrap()
}

/// Returns a token and an instance of each of the tenants.
pub(crate) async fn owners(conn: &mut PgConnection, issuer: &Issuer, tenants: &[TenantId]) -> Vec<Owner> {
    let all: Vec<(TenantId, InstanceId)> = sqlx::query_as(
        "select distinct on (tenant_id) tenant_id, id from gpu.instances where tenant_id = any($1)
         order by tenant_id, md5(id::text)",
    )
    .bind(tenants)
    .fetch_all(conn)
    .await
    .unwrap();
    let owner = |(tenant, instance)| Owner { token: issuer.user(tenant, Role::Member), instance };
    all.into_iter().map(owner).collect()
}

/// Gives each of these owners as many runs, spread over the last 30 days.
pub(crate) async fn runs(conn: &mut PgConnection, owners: &[Owner], count: i64) {
    let instances: Vec<InstanceId> = owners.iter().map(|owner| owner.instance).collect();
    sqlx::query(
        "insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
             confirmed_at, ended_at, end_reason)
         select 'uk-1', 'uk-1', gen_random_uuid(), tenant_id, id, n, md5('u' || n)::uuid, 0.45, 'EUR', begun, begun,
             begun + interval '30 s', 'stopped'
         from gpu.instances, generate_series(1, $2) n,
             lateral (select now() - interval '30 days' * (n::float8 / $2) as begun) at
         where id = any($1)",
    )
    .bind(instances)
    .bind(count)
    .execute(&mut *conn)
    .await
    .unwrap();
    settle(conn).await;
}

/// Copies the order as instances that wait in the queue, which are reconciled at their times within the next minute.
pub(crate) async fn queue(conn: &mut PgConnection, order: InstanceId, count: i64) {
    sqlx::query(
        "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id,
             operation_kind, wake_at)
         select overlay(md5('q' || n) placing '01900000' from 1)::uuid, md5('t' || n / 10)::uuid, 'q' || n, spec, phase,
             1, 0, meter, md5('w' || n)::uuid, operation_kind, now() + random() * interval '60 s'
         from gpu.instances, generate_series(0, $2 - 1) n where id = $1",
    )
    .bind(order)
    .bind(count)
    .execute(&mut *conn)
    .await
    .unwrap();
    settle(conn).await;
}

/// Runs the maintenance that would disturb the measurement.
async fn settle(conn: &mut PgConnection) {
    for table in ["instances", "operations", "runs", "usage_days"] {
        sqlx::raw_sql(AssertSqlSafe(format!("vacuum (analyze) gpu.{table}")))
            .execute(&mut *conn)
            .await
            .unwrap();
    }
    sqlx::raw_sql("checkpoint").execute(conn).await.unwrap();
}
