-- Events of jobs, which triggers write with each change, and views of their feed for readers that need less than all.

-- An event of a job: its state after a change. In the feed of all events (libs/feed).
create table job_events (
    job_id     uuid not null references jobs on delete cascade,
    number     bigint not null, -- `generation` of the job
    tenant_id  uuid not null,
    at         timestamptz not null default clock_timestamp(),
    type       text not null,
    state      text not null,
    attempt    int not null,
    level      text not null,
    priority   smallint not null,
    reason     text,
    problem    jsonb,
    not_before timestamptz,
    leave_by   timestamptz,
    id         bigint generated always as identity,
    xact       xid8 not null default pg_current_xact_id(),
    hold       text,
    primary key (job_id, number)
);
create unique index job_events_id on job_events (id);
create index job_events_xact on job_events (xact);
create index job_events_of_tenant on job_events (tenant_id, id);
alter table job_events enable row level security;
alter table job_events force row level security;
create policy app on job_events for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on job_events for select to atelier_jobs_worker using (true);
-- the functions below write with the owner's rights
create policy owner on job_events to atelier_jobs_owner using (true) with check (true);
revoke all on job_events from atelier_jobs_app, atelier_jobs_worker;
grant select on job_events to atelier_jobs_app;
grant select on job_events to atelier_jobs_worker;

-- Called when a job has changed. A change that does not increment the generation belongs to the change before it, and
-- has no event.
create function job_event() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into job_events (job_id, number, tenant_id, type, state, attempt, level, priority, reason, problem, not_before,
                            leave_by, hold)
    values (new.id, new.generation, new.tenant_id,
            case
                when new.state = old.state and new.leave_by is distinct from old.leave_by then 'job.preempting'
                when new.state = old.state then 'job.changed'
                when new.state = 'queued' then 'job.requeued'
                when new.state = 'running' then 'job.started'
                else 'job.' || new.state
            end,
            new.state, new.attempt, new.level, new.priority, new.reason, new.problem, new.not_before, new.leave_by, new.hold);
    return null;
end $$;
revoke execute on function job_event() from public;
create trigger job_changed after update on jobs for each row
    when (new.generation > old.generation) execute function job_event();

-- Called once per statement that inserts jobs: writes the events of all of them.
create function jobs_submitted() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into job_events (job_id, number, tenant_id, type, state, attempt, level, priority, reason, problem, not_before,
                            leave_by)
    select id, generation, tenant_id, 'job.submitted', state, attempt, level, priority, reason, problem, not_before, leave_by
    from added order by id;
    return null;
end $$;
revoke execute on function jobs_submitted() from public;
create trigger jobs_submitted after insert on jobs referencing new table as added
    for each statement execute function jobs_submitted();

-- The feed of events as they are shown. What it reads of `jobs` never changes. It has the rights of the caller.
create view job_event_feed with (security_invoker = true) as
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
revoke all on job_event_feed from atelier_jobs_app, atelier_jobs_worker;
grant select on job_event_feed to atelier_jobs_app, atelier_jobs_worker;

-- The feed of tenants with new events, for the replicas that stream them.
create view job_event_tenants with (security_invoker = true) as
select id, xact, at, jsonb_build_object('tenant_id', 'ten_' || replace(tenant_id::text, '-', '')) as payload
from job_events;
revoke all on job_event_tenants from atelier_jobs_app, atelier_jobs_worker;
grant select on job_event_tenants to atelier_jobs_worker;
