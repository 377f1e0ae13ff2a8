-- The jobs service: jobs of tenants, the pools that run them, workers and attempts.

create table idempotency_keys (
    scope        text        not null,
    key          text        not null,
    request_hash bytea       not null,
    status       int         not null,
    headers      jsonb       not null,
    body         jsonb,
    created_at   timestamptz not null default now(),
    primary key (scope, key)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);
-- stored answers show a tenant's resources: only that tenant's requests see them; other scopes hold
-- nothing of a tenant's
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy app on idempotency_keys to atelier_jobs_app
    using (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''))
    with check (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''));
create policy worker on idempotency_keys to atelier_jobs_worker using (true) with check (true);

-- What identity says of tenants that are not simply active. A tenant without a row is active.
create table tenants (
    id              uuid        primary key,
    generation      bigint      not null, -- of the change at identity
    state           text        not null check (state in ('active', 'suspended', 'deleting')),
    delete_storages boolean     not null,
    updated_at      timestamptz not null default now()
);
alter table tenants enable row level security;
alter table tenants force row level security;
create policy app on tenants for select to atelier_jobs_app
    using (id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tenants to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on tenants from atelier_jobs_app;

-- Pools are the platform's, not any tenant's. One replica at a time schedules a pool: the leader, until its lease ends.
-- Each change of the leader increments the epoch; whoever schedules locks the row with its epoch.
create table pools (
    id           uuid        primary key,
    name         text        not null unique,
    gpu_specs    text[]      not null check (cardinality(gpu_specs) > 0), -- in order of preference
    leader       uuid,
    leader_until timestamptz,
    epoch        bigint      not null default 0,
    created_at   timestamptz not null default now()
);

-- Units that run jobs. A worker proves itself by its token; each registration of its process is a new session.
create table workers (
    id              uuid        primary key,
    pool_id         uuid        not null references pools,
    name            text        not null,
    gpu_spec        text        not null,
    node            text        not null,
    token_hash      bytea       not null unique,
    -- offline: never registered, or lost; ready: runs jobs
    state           text        not null default 'offline' check (state in ('offline', 'ready')),
    session         bigint      not null default 0,
    last_seen_at    timestamptz,
    idle_since      timestamptz not null default now(),
    -- what it has loaded, and until when jobs of this model go first
    model           uuid,
    quantum_end     timestamptz,
    busy_until      timestamptz,
    current_job     uuid        unique,
    current_attempt int,
    created_at      timestamptz not null default now(),
    unique (pool_id, name),
    check ((current_job is null) = (current_attempt is null)),
    check (state = 'ready' or current_job is null)
);
create index workers_of_pool on workers (pool_id, id);

create table jobs (
    id          uuid        primary key,
    tenant_id   uuid        not null,
    pool_id     uuid        not null references pools,
    application text        not null,
    method      text        not null,
    kind        text        not null check (kind in ('training', 'generation', 'batch')),
    level       text        not null check (level in ('urgent', 'ordinary', 'background')),
    priority    smallint    not null check (priority between 0 and 9),
    -- what it has to have loaded, and a class of similar durations
    model       uuid,
    class       text        not null,
    state       text        not null check (state in ('queued', 'assigned', 'running', 'cancelling', 'succeeded',
                                                      'failed', 'cancelled', 'expired')),
    -- number of the latest attempt, and its worker while it is open
    attempt     int         not null default 0,
    worker_id   uuid,
    reason      text, -- why it is queued again
    problem     jsonb,
    not_before  timestamptz,
    deadline    timestamptz,
    failures    smallint    not null default 0, -- attempts that count against the limit
    preemptions smallint    not null default 0,
    leave_by    timestamptz, -- the attempt was told to leave
    generation  bigint      not null default 1,
    created_at  timestamptz not null default now(),
    queued_at   timestamptz not null default now(),
    started_at  timestamptz,
    ended_at    timestamptz,
    check ((state in ('assigned', 'running', 'cancelling')) = (worker_id is not null)),
    check ((state in ('succeeded', 'failed', 'cancelled', 'expired')) = (ended_at is not null)),
    check ((state = 'failed') = (problem is not null))
) with (fillfactor = 70);
create index jobs_of_tenant on jobs (tenant_id, id desc);
create index jobs_open on jobs (pool_id) where ended_at is null;
create index jobs_ended on jobs (ended_at) where ended_at is not null;
alter table jobs enable row level security;
alter table jobs force row level security;
create policy app on jobs to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on jobs to atelier_jobs_worker using (true) with check (true);
revoke delete on jobs from atelier_jobs_app;

-- Apart from the jobs, whose rows change often.
create table job_inputs (
    job_id     uuid  primary key references jobs on delete cascade,
    tenant_id  uuid  not null,
    parameters jsonb not null
);
alter table job_inputs enable row level security;
alter table job_inputs force row level security;
create policy app on job_inputs to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on job_inputs to atelier_jobs_worker using (true) with check (true);
revoke update, delete on job_inputs from atelier_jobs_app;

-- Tries of jobs. The number is the fence: results count for the latest attempt only.
create table attempts (
    job_id      uuid        not null references jobs on delete cascade,
    number      int         not null,
    tenant_id   uuid        not null,
    worker_id   uuid        not null,
    gpu_spec    text        not null,
    class       text        not null,
    state       text        not null check (state in ('open', 'succeeded', 'failed', 'lost', 'preempted', 'cancelled')),
    problem     jsonb,
    assigned_at timestamptz not null default now(),
    begun_at    timestamptz, -- the worker has it
    ended_at    timestamptz,
    -- the part that was charged last, see schedule/share.rs
    slice_from  timestamptz,
    slice_until timestamptz,
    slice_charge text,
    primary key (job_id, number),
    check ((state = 'open') = (ended_at is null))
);
create unique index attempts_open on attempts (job_id) where ended_at is null;
create unique index attempts_counted on attempts (job_id) where state = 'succeeded';
create index attempts_of_class on attempts (class, ended_at desc) where state = 'succeeded';
alter table attempts enable row level security;
alter table attempts force row level security;
create policy app on attempts for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on attempts to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on attempts from atelier_jobs_app;

-- Lost in a crash of Postgres, and reported again within seconds.
create unlogged table progress (
    job_id     uuid        primary key,
    tenant_id  uuid        not null,
    attempt    int         not null,
    phase      text        not null check (phase in ('loading', 'working', 'uploading')),
    step       int         not null,
    steps      int         not null,
    updated_at timestamptz not null default now()
);
alter table progress enable row level security;
alter table progress force row level security;
create policy app on progress for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on progress to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on progress from atelier_jobs_app;

create table artifacts (
    id           uuid        primary key,
    job_id       uuid        not null references jobs on delete cascade,
    attempt      int         not null,
    tenant_id    uuid        not null,
    name         text        not null,
    content_type text        not null,
    sha256       bytea       not null check (length(sha256) = 32),
    bytes        bigint      not null check (bytes >= 0),
    created_at   timestamptz not null default now(),
    unique (job_id, name)
);
alter table artifacts enable row level security;
alter table artifacts force row level security;
create policy app on artifacts for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on artifacts to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on artifacts from atelier_jobs_app;

-- Use of tenants in a pool, see schedule/share.rs: decayed, in the scale of the epoch of charges.
create table pool_use (
    pool_id   uuid   not null references pools,
    tenant_id uuid   not null,
    use       text   not null, -- an unsigned integer of 128 bits
    epoch     bigint not null,
    primary key (pool_id, tenant_id)
);
alter table pool_use enable row level security;
alter table pool_use force row level security;
create policy worker on pool_use to atelier_jobs_worker using (true) with check (true);
revoke all on pool_use from atelier_jobs_app;

-- What the scheduler of a pool follows: jobs and workers that have changed (libs/feed reads it).
create table pool_changes (
    id      bigint generated always as identity primary key,
    xact    xid8        not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    payload jsonb       not null
);
create index pool_changes_xact on pool_changes (xact);
revoke select, update, delete on pool_changes from atelier_jobs_app;

-- Who did what, with which result: one chain of entries per tenant, and one for the platform (the zero id). The function
-- `audit_append` writes them, in the transaction of the effect; no role of the service can change or delete an entry.
-- Replicas of the previous release write no entries; nothing else changes for them.

create table audit_chains (
    tenant_id    uuid   primary key,
    -- number and hash of the newest entry
    last         bigint not null default 0,
    hash         bytea  not null default '\x',
    -- entries up to this number were deleted with age; the hash of the last of them
    deleted_to   bigint not null default 0,
    deleted_hash bytea  not null default '\x'
);
create table audit_entries (
    tenant_id uuid        not null,
    -- position in the chain: 1, 2, 3 and so on, without gaps
    number    bigint      not null,
    at        timestamptz not null,
    -- the exact text that is hashed, JSON
    entry     text        not null,
    -- sha256 of the hash of the entry before, followed by the entry
    hash      bytea       not null,
    primary key (tenant_id, number)
);
create index audit_entries_by_age on audit_entries (at);
-- The client's address and user agent. The entry has their hash with the salt, so that they can be erased.
create table audit_origins (
    tenant_id uuid   not null,
    number    bigint not null,
    salt      bytea  not null,
    origin    jsonb  not null,
    primary key (tenant_id, number)
);

alter table audit_chains enable row level security;
alter table audit_chains force row level security;
create policy owner on audit_chains to atelier_jobs_owner using (true) with check (true);
create policy app_admin on audit_chains for select to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on');
alter table audit_entries enable row level security;
alter table audit_entries force row level security;
create policy owner on audit_entries to atelier_jobs_owner using (true) with check (true);
create policy app on audit_entries for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on audit_entries for select to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on');
alter table audit_origins enable row level security;
alter table audit_origins force row level security;
create policy owner on audit_origins to atelier_jobs_owner using (true) with check (true);
create policy app on audit_origins for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on audit_origins for select to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on');
revoke all on audit_chains, audit_entries, audit_origins from atelier_jobs_app, atelier_jobs_worker;
grant select on audit_chains, audit_entries, audit_origins to atelier_jobs_app;

-- Appends an entry to the chain of the transaction's tenant, or of the platform. It locks the chain until the
-- transaction ends, so entries commit in the order of their numbers. Call it last.
create function audit_append(what jsonb, origin jsonb) returns bigint
language plpgsql security definer set search_path = jobs, pg_temp as $$
declare
    chain    audit_chains;
    salt     bytea := uuid_send(gen_random_uuid());
    appended text;
begin
    chain.tenant_id := coalesce(nullif(current_setting('atelier.tenant', true), ''),
                                '00000000-0000-0000-0000-000000000000')::uuid;
    insert into audit_chains (tenant_id) values (chain.tenant_id) on conflict do nothing;
    select * into strict chain from audit_chains c where c.tenant_id = chain.tenant_id for update;
    appended := (what || jsonb_build_object(
        'number', chain.last + 1, 'at', clock_timestamp(),
        'origin', encode(sha256(salt || convert_to(origin::text, 'UTF8')), 'hex')))::text;
    chain.hash := sha256(chain.hash || convert_to(appended, 'UTF8'));
    chain.last := chain.last + 1;
    insert into audit_entries (tenant_id, number, at, entry, hash)
    values (chain.tenant_id, chain.last, (appended::jsonb ->> 'at')::timestamptz, appended, chain.hash);
    insert into audit_origins (tenant_id, number, salt, origin) values (chain.tenant_id, chain.last, salt, origin);
    update audit_chains c set last = chain.last, hash = chain.hash where c.tenant_id = chain.tenant_id;
    return chain.last;
end $$;

-- Deletes up to `most` entries that are older than `before`, from the beginning of their chains. The chains keep the hash
-- before the first entry that is left. Returns how many were deleted.
create function audit_delete(before timestamptz, most int) returns bigint
language plpgsql security definer set search_path = jobs, pg_temp as $$
declare
    old     record;
    deleted bigint := 0;
begin
    perform set_config('atelier.audit_deletes', 'on', true);
    for old in
        select e.tenant_id, max(e.number) as number
        from (select tenant_id, number from audit_entries where at < before order by at, number limit most) e
        group by e.tenant_id order by e.tenant_id
    loop
        perform from audit_chains c where c.tenant_id = old.tenant_id for update;
        update audit_chains c set deleted_to = e.number, deleted_hash = e.hash from audit_entries e
        where c.tenant_id = old.tenant_id and e.tenant_id = old.tenant_id and e.number = old.number;
        delete from audit_origins o where o.tenant_id = old.tenant_id and o.number <= old.number;
        with gone as (
            delete from audit_entries e where e.tenant_id = old.tenant_id and e.number <= old.number returning 1)
        select deleted + count(*) into deleted from gone;
    end loop;
    perform set_config('atelier.audit_deletes', '', true);
    return deleted;
end $$;
revoke execute on function audit_append(jsonb, jsonb), audit_delete(timestamptz, int) from public;
grant execute on function audit_append(jsonb, jsonb) to atelier_jobs_app, atelier_jobs_worker;
grant execute on function audit_delete(timestamptz, int) to atelier_jobs_worker;

-- not even the owner changes an entry by mistake
create function audit_refuse() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_setting('atelier.audit_deletes', true) = 'on' then
        return null;
    end if;
    raise exception 'entries of the audit log never change';
end $$;
create trigger audit_entries_never_change before update or delete or truncate on audit_entries
    for each statement execute function audit_refuse();

-- Restores of this schema (docs/BACKUP.md).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_jobs_app, atelier_jobs_worker;

-- Prepares restored rows. For a superuser, while no service runs. Repeatable. Workers that have gone on since the backup
-- belong to other sessions then: they register again, and open attempts are lost.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    update pools p set leader = null, leader_until = null, epoch = p.epoch + 1;
end $$;
revoke execute on function after_restore(bigint) from public;
