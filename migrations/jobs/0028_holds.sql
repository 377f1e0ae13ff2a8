-- Jobs that wait and may not start, as their tenant is suspended or being deleted: `hold` says so. Replicas of the previous release
-- know no holds: while one of them leads a pool, it starts such jobs, as before.

alter table jobs add column hold text;
create index jobs_held on jobs (deadline) where hold is not null;
alter table job_events add column hold text;

-- Why jobs of a tenant do not start now; null: they do.
create function tenant_hold(tenant uuid) returns text language sql stable
    return (select 'tenant_suspended' from tenants t where t.id = tenant and t.state <> 'active');

create or replace function job_event() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into job_events (job_id, number, tenant_id, type, state, attempt, level, priority, reason, problem, not_before,
                            leave_by, hold)
    values (new.id, new.generation, new.tenant_id,
            case
                when tg_op = 'INSERT' then 'job.submitted'
                when new.state = old.state and new.leave_by is distinct from old.leave_by then 'job.preempting'
                when new.state = old.state then 'job.changed'
                when new.state = 'queued' then 'job.requeued'
                when new.state = 'running' then 'job.started'
                else 'job.' || new.state
            end,
            new.state, new.attempt, new.level, new.priority, new.reason, new.problem, new.not_before, new.leave_by, new.hold);
    return null;
end $$;

create or replace view job_event_feed with (security_invoker = true) as
select e.id, e.xact, e.at, e.tenant_id, e.job_id, e.number, e.type, e.state, j.kind,
       jsonb_build_object(
           'id', 'job_' || replace(e.job_id::text, '-', '') || '-' || e.number,
           'sequence', e.number,
           'time', e.at,
           'type', e.type,
           'tenant_id', 'ten_' || replace(e.tenant_id::text, '-', ''),
           'job_id', 'job_' || replace(e.job_id::text, '-', ''),
           'req_no', j.req_no,
           'kind', j.kind,
           'application', j.application,
           'method', j.method,
           'state', e.state,
           'attempts', e.attempt,
           'level', e.level,
           'priority', e.priority,
           'reason', coalesce(e.hold, e.reason),
           'problem', e.problem,
           'not_before', e.not_before,
           'leave_by', e.leave_by) as payload
from job_events e join jobs j on j.id = e.job_id;

-- When the last job of a strict group ended: how long it has not used its node. Written whichever replica ends the job.
alter table group_nodes add column used_at timestamptz not null default now();
create policy owner on group_nodes to atelier_jobs_owner using (true) with check (true);

create function group_used() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    update group_nodes g set used_at = clock_timestamp()
    where g.pool_id = new.pool_id and g.tenant_id = new.tenant_id and g.group_name = new.group_name;
    return null;
end $$;
revoke execute on function group_used() from public;
create trigger group_used after update on jobs for each row
    when (old.ended_at is null and new.ended_at is not null and new.group_mode = 'strict') execute function group_used();
