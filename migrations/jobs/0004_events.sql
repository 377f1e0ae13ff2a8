-- What happened to jobs. A trigger writes an event with each change of a job, whoever makes it, replicas of the previous
-- release included: `generation` counts the changes, and numbers the events.

create table job_events (
    job_id     uuid        not null references jobs on delete cascade,
    number     bigint      not null, -- generation of the job
    tenant_id  uuid        not null,
    at         timestamptz not null default clock_timestamp(),
    type       text        not null,
    state      text        not null,
    attempt    int         not null,
    level      text        not null,
    priority   smallint    not null,
    reason     text,
    problem    jsonb,
    not_before timestamptz,
    leave_by   timestamptz,
    primary key (job_id, number)
);
alter table job_events enable row level security;
alter table job_events force row level security;
create policy owner on job_events to atelier_jobs_owner using (true) with check (true);
create policy app on job_events for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
revoke all on job_events from atelier_jobs_app, atelier_jobs_worker;
grant select on job_events to atelier_jobs_app;

-- A change without the next generation is part of the change before it.
create function job_event() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into job_events (job_id, number, tenant_id, type, state, attempt, level, priority, reason, problem, not_before,
                            leave_by)
    values (new.id, new.generation, new.tenant_id,
            case
                when tg_op = 'INSERT' then 'job.submitted'
                when new.state = old.state and new.leave_by is distinct from old.leave_by then 'job.preempting'
                when new.state = old.state then 'job.changed'
                when new.state = 'queued' then 'job.requeued'
                when new.state = 'running' then 'job.started'
                else 'job.' || new.state
            end,
            new.state, new.attempt, new.level, new.priority, new.reason, new.problem, new.not_before, new.leave_by);
    return null;
end $$;
revoke execute on function job_event() from public;
create trigger job_submitted after insert on jobs for each row execute function job_event();
create trigger job_changed after update on jobs for each row
    when (new.generation > old.generation) execute function job_event();
