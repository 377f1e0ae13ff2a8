-- The message queue door. Replicas of the previous release neither read nor write these tables; what their changes of jobs
-- mean for events is up to the trigger.

-- With which tenants sign in at the broker: the id is the name, and the broker proves it with each message.
create table mq_credentials (
    id          uuid        primary key,
    tenant_id   uuid        not null,
    name        text        not null,
    secret_hash bytea       not null,
    created_at  timestamptz not null default now(),
    deleted_at  timestamptz -- what was published before has a tenant, to be told that it is refused
);
create index mq_credentials_of_tenant on mq_credentials (tenant_id, id);
alter table mq_credentials enable row level security;
alter table mq_credentials force row level security;
create policy owner on mq_credentials to atelier_jobs_owner using (true) with check (true);
create policy app on mq_credentials to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on mq_credentials to atelier_jobs_worker using (true) with check (true);
revoke delete on mq_credentials from atelier_jobs_app;

-- Messages that were refused, for people. The body is cut.
create table mq_dead (
    id            uuid        primary key,
    tenant_id     uuid, -- null if the message does not prove one
    credential_id uuid,
    code          text        not null,
    detail        text        not null,
    req_no        uuid,
    properties    jsonb       not null,
    body          bytea       not null,
    bytes         bigint      not null, -- size of the whole body
    created_at    timestamptz not null default now(),
    replayed_at   timestamptz
);
create index mq_dead_of_tenant on mq_dead (tenant_id, id desc);
create index mq_dead_created_at on mq_dead (created_at);
alter table mq_dead enable row level security;
alter table mq_dead force row level security;
create policy app on mq_dead to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on mq_dead to atelier_jobs_worker using (true) with check (true);
revoke delete on mq_dead from atelier_jobs_app;

-- What is to be published: events of jobs, or refusals. A row is deleted when the broker has confirmed its message. Changes
-- of a job lock its row, so that its events are numbered in order here.
create table mq_outbox (
    id        bigint generated always as identity primary key,
    tenant_id uuid        not null,
    job_id    uuid,
    number    bigint,
    again     boolean     not null default false, -- an event that was published before
    refusal   jsonb,
    at        timestamptz not null default clock_timestamp(),
    check ((job_id is null) = (number is null) and (job_id is null) <> (refusal is null))
);
alter table mq_outbox enable row level security;
alter table mq_outbox force row level security;
create policy owner on mq_outbox to atelier_jobs_owner using (true) with check (true);
create policy app on mq_outbox for insert to atelier_jobs_app
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on mq_outbox to atelier_jobs_worker using (true) with check (true);
revoke select, update, delete on mq_outbox from atelier_jobs_app;

-- One replica at a time publishes.
create table mq_publisher (
    single      boolean     primary key default true check (single),
    lease_owner uuid        not null,
    lease_until timestamptz not null
);
insert into mq_publisher values (true, '00000000-0000-0000-0000-000000000000', '-infinity');
revoke all on mq_publisher from atelier_jobs_app;

create policy worker on job_events for select to atelier_jobs_worker using (true);
grant select on job_events to atelier_jobs_worker;

-- Which events of jobs are published.
create function mq_is_published(type text, reason text) returns boolean language sql immutable as $$
    select type in ('job.submitted', 'job.started', 'job.succeeded', 'job.failed', 'job.cancelled', 'job.expired')
        or type = 'job.requeued' and reason is not distinct from 'preempted'
$$;

create function mq_event() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    if exists (select from mq_credentials c where c.tenant_id = new.tenant_id and c.deleted_at is null) then
        insert into mq_outbox (tenant_id, job_id, number) values (new.tenant_id, new.job_id, new.number);
    end if;
    return null;
end $$;
revoke execute on function mq_event() from public;
create trigger mq_event after insert on job_events for each row
    when (mq_is_published(new.type, new.reason)) execute function mq_event();
