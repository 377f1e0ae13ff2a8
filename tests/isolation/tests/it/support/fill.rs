//! Rows that only workers write.

use sqlx::{AssertSqlSafe, Connection};
use testkit::TestDb;
use uuid::Uuid;

use super::Tenant;

/// With `{tenant}`, `{job}` and `{bucket}` of the tenant.
const STATEMENTS: &[&str] = &[
    "insert into gpu.allowances (tenant_id, issuer, version, currency) values ({tenant}, 'isolation', 1, 'EUR')",
    "insert into gpu.idle_watches (id, tenant_id, reset_at)
     select id, {tenant}, now() from gpu.instances where tenant_id = {tenant} on conflict do nothing",
    "insert into gpu.instance_logs (instance_id, attempt, tenant_id, pod, floor_time, floor_sequence, last_time, last_sequence,
         next_chunk)
     select id, 1, {tenant}, 'x', 0, 0, 0, 0, 2 from gpu.instances where tenant_id = {tenant} on conflict do nothing",
    "insert into gpu.log_chunks (instance_id, attempt, number, tenant_id, first_time, first_sequence, last_time, last_sequence,
         lines, text_bytes, bytes, object_key, after_gap)
     select instance_id, 1, 900, {tenant}, 0, 0, 0, 0, 1, 1, 1, 'x', false from gpu.instance_logs
     where tenant_id = {tenant}",
    "insert into gpu.instance_samples (instance_id, at, tenant_id, seconds)
     select id, now(), {tenant}, 1 from gpu.instances where tenant_id = {tenant}",
    "insert into gpu.instance_sample_averages (instance_id, at, tenant_id, seconds)
     select id, now(), {tenant}, 1 from gpu.instances where tenant_id = {tenant}",
    "insert into gpu.usage_days (tenant_id, day, instance_id, kind, currency, seconds, amount)
     select {tenant}, '2026-01-01', id, 'running', 'EUR', 1, 1 from gpu.instances where tenant_id = {tenant}",
    "insert into jobs.attempts (job_id, number, tenant_id, worker_id, gpu_spec, class, state, ended_at)
     values ({job}, 9, {tenant}, gen_random_uuid(), 'small', '', 'failed', now())",
    "insert into jobs.attempt_members (job_id, attempt, rank, worker_id, tenant_id)
     values ({job}, 9, 0, gen_random_uuid(), {tenant})",
    "insert into jobs.budget_holds (tenant_id, code) values ({tenant}, 'budget_exhausted')",
    "insert into jobs.charges (job_id, attempt, tenant_id, pool_id, kind, application, gpu_spec, currency, price_per_hour,
         assigned_at, uncharged_seconds)
     select {job}, 9, {tenant}, id, 'batch', 'x', 'small', 'EUR', 1, now(), 1 from jobs.pools limit 1",
    "insert into jobs.checkpoints (job_id, attempt, slot, tenant_id, step, sha256, bytes)
     values ({job}, 9, 0, {tenant}, 1, sha256('x'), 1)",
    "insert into jobs.group_nodes (pool_id, tenant_id, group_name, node)
     select id, {tenant}, 'x', 'x' from jobs.pools limit 1",
    "insert into jobs.job_logs (job_id, attempt, tenant_id, until, text) values ({job}, 9, {tenant}, 1, 'x')",
    "insert into jobs.job_uploads (job_id, upload_id, tenant_id)
     select {job}, id, {tenant} from jobs.uploads where tenant_id = {tenant} on conflict do nothing",
    "insert into jobs.mq_outbox (tenant_id, job_id, number) values ({tenant}, {job}, 1)",
    "insert into jobs.outputs (job_id, attempt, tenant_id, storage_id) values ({job}, 9, {tenant}, {bucket})",
    "insert into jobs.pool_use (pool_id, tenant_id, use, epoch)
     select id, {tenant}, '1', 1 from jobs.pools limit 1 on conflict do nothing",
    "insert into jobs.progress (job_id, tenant_id, attempt, phase, step, steps) values ({job}, {tenant}, 9, 'working', 1, 2)",
    "insert into jobs.request_numbers (tenant_id, req_no, job_id, content)
     values ({tenant}, gen_random_uuid(), {job}, '')",
    "insert into jobs.usage_changes (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, seconds, amount,
         attempts)
     select {tenant}, '2026-01-01', id, 'batch', 'x', 'small', 'charged', 'EUR', 1, 1, 1 from jobs.pools limit 1",
    "insert into jobs.usage_days (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, seconds, amount, attempts)
     select {tenant}, '2026-01-02', id, 'batch', 'x', 'small', 'charged', 'EUR', 1, 1, 1 from jobs.pools limit 1",
    "insert into jobs.webhook_deliveries (id, webhook_id, tenant_id, message_id, type, body, wake_at)
     select gen_random_uuid(), id, {tenant}, 'x', 'job.submitted', '{}', null from jobs.webhooks where tenant_id = {tenant}",
    "insert into stock.unit_holders (unit_id, instance_id, tenant_id, claimed_at)
     select id, gen_random_uuid(), {tenant}, now() from stock.units limit 1",
    "insert into storage.downloads (id, storage_id, tenant_id, bucket_id, object, path, bytes, sha256, state, finished_at)
     values (gen_random_uuid(), {bucket}, {tenant}, {bucket}, 'x', 'x', 1, sha256('x'), 'done', now())",
];

/// Gives the tenant rows in tables in which it has none otherwise.
pub(crate) async fn fill(db: &TestDb, tenant: &Tenant) {
    let uuid = |id: &str| id.split_once('_').unwrap().1.parse::<Uuid>().unwrap();
    let [job, bucket] = ["job", "stor"].map(|kind| format!("'{}'::uuid", uuid(&tenant.values(kind)[0])));
    let tenant = format!("'{}'::uuid", uuid(&tenant.id));
    let mut conn = db.admin().await;
    for statement in STATEMENTS {
        let sql = statement.replace("{tenant}", &tenant).replace("{job}", &job).replace("{bucket}", &bucket);
        let filled = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await;
        filled.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    conn.close().await.unwrap();
}
