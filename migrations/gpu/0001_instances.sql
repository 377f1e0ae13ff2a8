-- The gpu service: the catalogue, tenants' instances, their operations, metered runs and tickets.

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
-- stored answers show a tenant's resources: only that tenant's requests see them; other scopes
-- ('admin', 'service:…') hold nothing of a tenant's
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy app on idempotency_keys to atelier_gpu_app
    using (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''))
    with check (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''));
create policy worker on idempotency_keys to atelier_gpu_worker using (true) with check (true);

-- What users pick from: a version of a service. The platform's, not any tenant's.
create table service_images (
    id          uuid        primary key,
    service     text        not null,
    version     text        not null,
    description text        not null,
    template    jsonb       not null,
    enabled     boolean     not null,
    generation  bigint      not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    unique (service, version)
);
revoke insert, update, delete on service_images from atelier_gpu_worker;

create table instances (
    id          uuid        primary key,
    tenant_id   uuid        not null,
    name        text        not null,
    -- what was ordered; does not change
    spec        jsonb       not null,
    -- the state with its data (instance/model.rs); `state` is its tag
    phase       jsonb       not null,
    state       text        not null generated always as (phase ->> 'state') stored,
    desired     text        not null generated always as (
        case when phase ->> 'state' in ('pending', 'starting', 'running') then 'running'
             when phase ->> 'state' in ('stopping', 'stopped') then 'stopped'
             else 'deleted' end) stored,
    attempt     bigint      not null,
    restart     bigint      not null,
    storage     jsonb,
    meter       jsonb       not null,
    last_place  jsonb,
    operation_id   uuid     not null,
    operation_kind text     not null,
    generation  bigint      not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    -- the reconcilers': when it is to be looked at without any event, and by whom it is being looked at
    wake_at     timestamptz,
    lease_owner uuid,
    lease_until timestamptz,
    check (phase ->> 'state' in ('pending', 'starting', 'running', 'stopping', 'stopped', 'deleting', 'deleted'))
);
create index instances_of_tenant on instances (tenant_id, id desc) where state <> 'deleted';
create index instances_due on instances (wake_at) where wake_at is not null;
alter table instances enable row level security;
alter table instances force row level security;
create policy app on instances to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instances to atelier_gpu_worker using (true) with check (true);
revoke delete on instances from atelier_gpu_app;

create table operations (
    id          uuid        primary key,
    tenant_id   uuid        not null,
    instance_id uuid        not null references instances (id) on delete cascade,
    kind        text        not null,
    state       text        not null,
    progress    jsonb       not null default '{}',
    problem     jsonb,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_instance on operations (instance_id, id desc);
alter table operations enable row level security;
alter table operations force row level security;
create policy app on operations to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on operations to atelier_gpu_worker using (true) with check (true);
revoke delete on operations from atelier_gpu_app;

-- The meter: intervals of confirmed running. Written by the reconcilers only, never deleted.
create table runs (
    id             uuid        primary key,
    tenant_id      uuid        not null,
    instance_id    uuid        not null references instances (id),
    attempt        bigint      not null,
    unit_id        uuid        not null,
    price_per_hour numeric     not null check (price_per_hour >= 0),
    currency       text        not null,
    -- the cluster's evidence, in whole seconds
    started_at     timestamptz not null,
    -- the last time at which an open run was seen to be going on
    confirmed_at   timestamptz not null,
    ended_at       timestamptz,
    end_reason     text,
    unique (instance_id, attempt, started_at),
    check (ended_at is null or ended_at >= started_at)
);
create index runs_of_instance on runs (instance_id, id desc);
alter table runs enable row level security;
alter table runs force row level security;
create policy app on runs to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on runs to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on runs from atelier_gpu_app;
revoke delete on runs from atelier_gpu_worker;

-- One-time tickets to an instance's URL; only the hash is kept.
create table tickets (
    hash        bytea       primary key,
    tenant_id   uuid        not null,
    instance_id uuid        not null references instances (id) on delete cascade,
    user_id     uuid        not null,
    expires_at  timestamptz not null
);
create index tickets_expires_at on tickets (expires_at);
alter table tickets enable row level security;
alter table tickets force row level security;
create policy app on tickets to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tickets to atelier_gpu_worker using (true) with check (true);
