-- Jobs and events by the message broker: credentials, refused messages, and what is to be published.

-- A credential with which a tenant signs in at the broker. Its id is the name of the user there, which the broker
-- confirms with each message.
create table mq_credentials (
    id                    uuid primary key,
    tenant_id             uuid not null,
    name                  text not null,
    secret_hash           bytea not null,
    created_at            timestamptz not null default now(),
    deleted_at            timestamptz, -- a deleted one stays: messages that were sent with it are refused to its tenant
    -- the maker, with which it ends (libs/auth): the user, and the user's API key if it was made with one. Null: it
    -- belongs to the tenant, and ends with nobody.
    created_by            uuid,
    created_by_key        uuid,
    rights_at             timestamptz, -- issue time of the token with which it was made or taken over
    connections_closed_at timestamptz, -- when its connections to the broker were last closed
    check ((created_by is null) = (rights_at is null)),
    check (created_by_key is null or created_by is not null)
);
create index mq_credentials_of_tenant on mq_credentials (tenant_id, id);
create index mq_credentials_of_maker on mq_credentials (created_by) where created_by is not null and deleted_at is null;
create index mq_credentials_of_key on mq_credentials (created_by_key)
    where created_by_key is not null and deleted_at is null;
alter table mq_credentials enable row level security;
alter table mq_credentials force row level security;
create policy app on mq_credentials to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on mq_credentials to atelier_jobs_worker using (true) with check (true);
-- `mq_events` reads with the owner's rights
create policy owner on mq_credentials to atelier_jobs_owner using (true) with check (true);
revoke delete on mq_credentials from atelier_jobs_app;
create trigger wake after insert or update or delete on mq_credentials for each row execute function wake();

-- A message that was refused, for people to look at.
create table mq_dead (
    id            uuid primary key,
    tenant_id     uuid, -- null: not known from the message
    credential_id uuid,
    code          text not null,
    detail        text not null,
    req_no        uuid,
    properties    jsonb not null,
    body          bytea not null, -- its beginning
    bytes         bigint not null, -- size of the whole body
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

-- A message that is to be published: an event of a job, its progress, or a refusal. The row is deleted when the broker
-- has confirmed the message. Changes of a job lock its row, so that its events are numbered in order here.
create table mq_outbox (
    id        bigint generated always as identity primary key,
    tenant_id uuid not null,
    job_id    uuid,
    number    bigint, -- of the event; with progress, of the latest event
    again     boolean not null default false, -- whether the event was published before
    refusal   jsonb,
    at        timestamptz not null default clock_timestamp(),
    progress  jsonb,
    check ((job_id is null) = (number is null) and (job_id is null) <> (refusal is null)),
    check (progress is null or job_id is not null)
);
-- the publisher reads the first messages of each tenant
create index mq_outbox_of_tenant on mq_outbox (tenant_id, id);
alter table mq_outbox enable row level security;
alter table mq_outbox force row level security;
create policy app on mq_outbox for insert to atelier_jobs_app
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on mq_outbox to atelier_jobs_worker using (true) with check (true);
-- `mq_events` writes with the owner's rights
create policy owner on mq_outbox to atelier_jobs_owner using (true) with check (true);
revoke select, update, delete on mq_outbox from atelier_jobs_app;
create trigger wake after insert on mq_outbox for each statement execute function wake();

-- Leases of work that one replica does at a time (libs/db): publishing.
create table leases (
    name  text primary key,
    owner uuid not null,
    until timestamptz not null
);
revoke all on leases from atelier_jobs_app;

-- Returns whether events of a type are published.
create function mq_is_published(type text, reason text) returns boolean language sql immutable as $$
    select type in ('job.submitted', 'job.started', 'job.succeeded', 'job.failed', 'job.cancelled', 'job.expired')
        or type = 'job.requeued' and reason in ('preempted', 'recalled')
$$;

-- Called when events of jobs are written: has them published, if their tenant has a credential.
create function mq_events() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into mq_outbox (tenant_id, job_id, number)
    select tenant_id, job_id, number from added
    where mq_is_published(type, reason)
      and exists (select from mq_credentials c where c.tenant_id = added.tenant_id and c.deleted_at is null)
    order by id;
    return null;
end $$;
revoke execute on function mq_events() from public;
create trigger mq_events after insert on job_events referencing new table as added
    for each statement execute function mq_events();
