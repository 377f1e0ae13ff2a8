//! Jobs of a studio: most have made a picture, some run and some wait.

use sqlx::PgConnection;

/// Inserts jobs of the tenant of the model. Among the newest 6,000 every 20th runs, which takes longer than the others; among the
/// newest 20,000 every 10th is queued, at the level background. Their workers count as alive for a day. Triggers are disabled, so there
/// are no events.
pub(super) async fn insert(conn: &mut PgConnection, model: &str, count: i64) -> anyhow::Result<()> {
    sqlx::raw_sql("set session_replication_role = replica").execute(&mut *conn).await?;
    super::insert(conn, &STATEMENTS, count, model).await?;
    sqlx::raw_sql("reset session_replication_role").execute(conn).await?;
    Ok(())
}

const STATEMENTS: [(&str, &str); 5] = [
    ("jobs.jobs", JOBS),
    ("jobs.workers", WORKERS),
    ("jobs.attempts", ATTEMPTS),
    ("jobs.job_inputs", INPUTS),
    ("jobs.job_events", EVENTS),
];

/// One every 20 seconds until now. An id begins with its time.
const JOBS: &str = r#"
    with model as (
        select tenant_id from gpu.instances where id = right($2, 32)::uuid
    ), numbers as (
        select n, now() - ($1 - n) * interval '20 seconds' as at,
            case when $1 - n < 6000 and n % 20 = 0 then 'running'
                 when $1 - n < 20000 and n % 10 = 3 then 'queued'
                 when n % 50 = 1 then 'failed'
                 when n % 100 = 2 then 'cancelled'
                 else 'succeeded' end as state
        from generate_series(1, $1) n
    )
    insert into jobs.jobs (id, tenant_id, pool_id, application, method, kind, level, priority, class, state, attempt, worker_id,
        problem, generation, created_at, queued_at, started_at, ended_at, cost, cost_currency, cost_seconds)
    select overlay(md5('job' || n) placing lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' from 1)::uuid,
        model.tenant_id, p.id, 'stable-diffusion', 'txt2img', 'generation',
        case when state = 'queued' then 'background' else 'ordinary' end, 5, 'stable-diffusion.txt2img/5', state,
        case when state = 'queued' then 0 else 1 end, case when state = 'running' then md5('worker' || n)::uuid end,
        case when state = 'failed' then jsonb_build_object('code', 'engine-failed', 'message', 'The engine ended before the picture was complete.') end,
        case when state = 'queued' then 1 else 3 end, at, at,
        case when state <> 'queued' then at + interval '1 second' end,
        case when state not in ('running', 'queued') then at + interval '8 seconds' end,
        case when state not in ('running', 'queued') then 0.0012 end,
        case when state not in ('running', 'queued') then 'USD' end,
        case when state not in ('running', 'queued') then 7 else 0 end
    from numbers, model, jobs.pools p where p.name = 'bench'"#;

const WORKERS: &str = "
    insert into jobs.workers (id, pool_id, name, gpu_spec, node, token_hash, state, session, last_seen_at, present_until, current_job,
        current_attempt)
    select worker_id, pool_id, 'worker-' || worker_id, p.gpu_specs[1], 'node-' || worker_id, sha256(uuid_send(worker_id)), 'ready', 1,
        now() + interval '1 day', now() + interval '1 day', j.id, 1
    from jobs.jobs j join jobs.pools p on p.id = j.pool_id
    where j.state = 'running' and j.tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
    order by j.id limit $1";

const ATTEMPTS: &str = "
    insert into jobs.attempts (job_id, number, tenant_id, worker_id, gpu_spec, class, state, problem, assigned_at, begun_at, ended_at,
        price_per_hour, currency, level_factor)
    select id, 1, tenant_id, coalesce(worker_id, md5('worker')::uuid), '4090-small-8-1', class,
        case when state = 'running' then 'open' else state end, problem, created_at, started_at, ended_at, 0.6, 'USD', 1
    from jobs.jobs
    where state <> 'queued' and tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
    order by id limit $1";

const INPUTS: &str = r#"
    insert into jobs.job_inputs (job_id, tenant_id, parameters)
    select id, tenant_id, '{"prompt": "a lighthouse in a storm, oil on canvas", "steps": 20, "width": 512, "height": 512}'
    from jobs.jobs where tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
    order by id limit $1"#;

/// The submission and the end of each. They count as old for who follows the feed.
const EVENTS: &str = "
    insert into jobs.job_events (job_id, number, tenant_id, at, type, state, attempt, level, priority, problem, xact)
    select id, number, tenant_id, at, 'job.' || what, case when what = 'submitted' then 'queued' else state end,
        attempt, level, priority, problem, '3'
    from jobs.jobs
    cross join lateral (values (1, 'submitted', created_at), (generation, state, ended_at)) event (number, what, at)
    where at is not null and tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
    order by at limit 2 * $1";
