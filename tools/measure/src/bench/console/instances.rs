//! Instances of a studio: copies of one that has run on the development cluster.

use demo::instance::{expect_running, follow, request};
use machine::client::{Api, text};
use serde_json::json;
use sqlx::PgConnection;

use super::insert;

pub(super) const GPU_SPEC: &str = "4090-small-8-1";

/// Starts an instance, stops it and starts it again, so that its log has all that is copied. Returns its id.
pub(super) async fn run_one(designer: &Api) -> anyhow::Result<String> {
    let body = json!({
        "name": "first", "gpu_spec": GPU_SPEC, "service": "stable-diffusion-webui", "version": "1.10",
    });
    let instance = designer.post("/v1/instances", body, 202).await?;
    let id = text(&instance, "id")?.to_owned();
    expect_running(designer, &id, &instance["operation_id"]).await?;
    let stop = request(designer, &id, "stop").await?;
    follow(designer, &stop).await?;
    let start = request(designer, &id, "start").await?;
    expect_running(designer, &id, &start).await?;
    Ok(id)
}

/// Copies the running instance. The newest are in all states: every 250th of the first 100,000 runs, every 40th has failed.
pub(super) async fn copy(conn: &mut PgConnection, model: &str, count: i64) -> anyhow::Result<()> {
    insert(conn, &STATEMENTS, count, model).await
}

const STATEMENTS: [(&str, &str); 6] = [
    ("gpu.instances", INSTANCES),
    ("gpu.operations", OPERATIONS),
    ("gpu.runs", RUNS),
    ("gpu.runs", OPEN_RUNS),
    ("gpu.events", EVENTS),
    ("gpu.event_logs", LOG),
];

/// One every 5 minutes until now. An id begins with its time. Units and pods are those of the model with other ids: the cluster knows
/// nothing of them, and no event of it ever wakes these instances.
const INSTANCES: &str = r#"
    with model as (
        select *, right(phase #>> '{claim,unit_id}', 32) as unit
        from gpu.instances where id = right($2, 32)::uuid
    ), numbers as (
        select n, now() - ($1 - n) * interval '5 minutes' as at,
            case when n % 250 = 0 then 'running' when n % 40 = 1 then 'failed' else 'stopped' end as state
        from generate_series(1, $1) n
    ), copies as (
        select n, at, state,
            overlay(md5('instance' || n) placing lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' from 1)::uuid as id,
            (array['portrait', 'cover', 'storyboard', 'character', 'texture', 'poster', 'backdrop', 'sprite'])[1 + n % 8] || to_char(n, '-FM000000') as name
        from numbers
    )
    insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, last_place, operation_id,
        operation_kind, created_at, updated_at)
    select copies.id, model.tenant_id, copies.name, model.spec,
        case copies.state
            when 'running' then jsonb_set(replace(model.phase::text, model.unit, md5('unit' || n))::jsonb, '{pod,since}',
                to_jsonb(date_trunc('second', at)))
            when 'failed' then '{"state": "stopped", "failure": {"reason": "node_lost", "message": "The node does not answer."}}'
            else '{"state": "stopped", "failure": null}'
        end,
        1, 0, '{"open": null, "closed": null}', model.last_place, md5('operation' || n)::uuid, model.operation_kind, at, at
    from copies, model"#;

const OPERATIONS: &str = "
    insert into gpu.operations (id, tenant_id, target, kind, state, created_at, updated_at, finished_at)
    select i.operation_id, i.tenant_id, 'inst_' || replace(i.id::text, '-', ''), i.operation_kind, 'succeeded',
        i.created_at, i.created_at, i.created_at
    from gpu.instances i, gpu.instances model where model.id = right($2, 32)::uuid and i.tenant_id = model.tenant_id and i.id <> model.id
    order by i.id limit $1";

/// Each has run once, for up to 4 minutes.
const RUNS: &str = "
    insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at,
        ended_at, end_reason)
    select 'uk-1', 'uk-1', gen_random_uuid(), i.tenant_id, i.id, 1, gen_random_uuid(), 0.6, 'USD', at, at + took, at + took, 'stopped'
    from gpu.instances i
    cross join lateral (select date_trunc('second', i.created_at) as at,
        (30 + abs(hashtext(i.name)) % 210) * interval '1 second' as took) run
    where i.state = 'stopped' and i.tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
    order by i.id limit $1";

const OPEN_RUNS: &str = "
    insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at)
    select 'uk-1', 'uk-1', gen_random_uuid(), i.tenant_id, i.id, 1, gen_random_uuid(), 0.6, 'USD', at, at
    from gpu.instances i cross join lateral (select (i.phase #>> '{pod,since}')::timestamptz as at) run
    where i.state = 'running' and i.id <> right($2, 32)::uuid
      and i.tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
    order by i.id limit $1";

/// The events of each run, copied from the model's, in the order of time behind those of the model. They count as old for who follows
/// the log.
const EVENTS: &str = r#"
    with model as (
        select distinct on (type) type, payload, sequence from gpu.events
        where instance_id = right($2, 32)::uuid
          and type in ('instance.created', 'instance.started', 'instance.run_ended', 'instance.stopped')
        order by type, sequence
    ), copies as (
        select r.tenant_id, r.instance_id, r.started_at, r.ended_at, model.type, model.payload,
            case when model.type in ('instance.created', 'instance.started') then r.started_at else r.ended_at end as at,
            row_number() over (order by r.started_at, model.sequence) as n
        from gpu.runs r, model
        where r.ended_at is not null and r.instance_id <> right($2, 32)::uuid
          and r.tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid)
        limit 4 * $1
    )
    insert into gpu.events (xact, at, tenant_id, sequence, instance_id, type, payload)
    select '3', at, tenant_id, n + (select last from gpu.event_logs l where l.tenant_id = copies.tenant_id), instance_id, type,
        replace(payload::text, right($2, 32), replace(instance_id::text, '-', ''))::jsonb
            || jsonb_build_object('id', 'evt_' || md5(instance_id::text || type))
            || case when type = 'instance.run_ended' then jsonb_build_object('data', (payload -> 'data')
                    || jsonb_build_object('started_at', started_at, 'ended_at', ended_at)) else '{}' end
    from copies"#;

const LOG: &str = "
    update gpu.event_logs l set last = (select max(sequence) from gpu.events e where e.tenant_id = l.tenant_id)
    where l.tenant_id = (select tenant_id from gpu.instances where id = right($2, 32)::uuid) and $1 > 0";
