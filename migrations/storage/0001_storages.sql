-- The storage service: specifications, tenants' volumes and buckets, who is attached, keys to buckets.

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
create policy app on idempotency_keys to atelier_storage_app
    using (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''))
    with check (scope not like 'ten\_%'
           or scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', ''));
create policy worker on idempotency_keys to atelier_storage_worker using (true) with check (true);

-- What users pick from. The platform's, not any tenant's.
create table storage_specs (
    id                  uuid        primary key,
    name                text        not null check (length(name) between 1 and 63),
    kind                text        not null check (kind in ('volume', 'bucket')),
    min_size_gib        bigint      not null check (min_size_gib >= 1),
    max_size_gib        bigint      not null check (max_size_gib between min_size_gib and 1048576),
    price_per_gib_month numeric     not null check (price_per_gib_month >= 0),
    currency            text        not null check (currency ~ '^[A-Z]{3}$'),
    storage_class       text,
    access_mode         text        not null,
    state               text        not null default 'active' check (state in ('active', 'retired')),
    generation          bigint      not null default 1,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now()
);
create unique index storage_specs_name on storage_specs (name);
revoke insert, update, delete on storage_specs from atelier_storage_worker;

create table storages (
    id                  uuid        primary key,
    tenant_id           uuid        not null,
    name                text        not null,
    spec_id             uuid        not null references storage_specs,
    -- what was ordered: does not change, but for the size, which grows
    kind                text        not null,
    size_gib            bigint      not null,
    cluster             text,
    datacenter          text,
    storage_class       text,
    access_mode         text        not null,
    price_per_gib_month numeric     not null,
    currency            text        not null,
    -- where it stands, and why it is not where it should be
    state               text        not null check (state in ('pending', 'available', 'resizing', 'failed', 'deleting')),
    reason              text,
    message             text,
    capacity_gib        bigint,
    operation_id        uuid        not null,
    generation          bigint      not null default 1,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    -- the reconcilers': when it is to be looked at, and by whom it is being looked at
    wake_at             timestamptz not null default now(),
    lease_owner         text,
    lease_until         timestamptz,
    check ((kind = 'volume') = (cluster is not null))
);
create unique index storages_name on storages (tenant_id, lower(name)) where state <> 'deleting';
create index storages_of_tenant on storages (tenant_id, id desc);
create index storages_of_spec on storages (spec_id);
create index storages_due on storages (wake_at);
alter table storages enable row level security;
alter table storages force row level security;
create policy app on storages to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on storages to atelier_storage_worker using (true) with check (true);
-- a row goes when what it stands for is gone, and only the reconcilers know that
revoke delete on storages from atelier_storage_app;
revoke insert on storages from atelier_storage_worker;

-- Outlives what it is about.
create table operations (
    id          uuid        primary key,
    tenant_id   uuid        not null,
    storage_id  uuid        not null,
    kind        text        not null,
    state       text        not null,
    progress    jsonb       not null default '{}',
    problem     jsonb,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_storage on operations (storage_id) where finished_at is null;
alter table operations enable row level security;
alter table operations force row level security;
create policy app on operations to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on operations to atelier_storage_worker using (true) with check (true);
revoke delete on operations from atelier_storage_app;

-- Instances for which a storage is kept.
create table attachments (
    storage_id  uuid        not null references storages,
    instance_id uuid        not null,
    tenant_id   uuid        not null,
    mode        text        not null check (mode in ('read_write', 'read_only')),
    created_at  timestamptz not null default now(),
    primary key (storage_id, instance_id)
);
alter table attachments enable row level security;
alter table attachments force row level security;
create policy app on attachments to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on attachments to atelier_storage_worker using (true) with check (true);

-- Keys to buckets. The secret half is in the object store only.
create table credentials (
    access_key_id text        primary key,
    storage_id    uuid        not null references storages on delete cascade,
    tenant_id     uuid        not null,
    -- making: perhaps in the object store; active: there; removing: perhaps still there
    state         text        not null check (state in ('making', 'active', 'removing')),
    created_at    timestamptz not null default now()
);
create index credentials_of_storage on credentials (storage_id);
alter table credentials enable row level security;
alter table credentials force row level security;
create policy app on credentials to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on credentials to atelier_storage_worker using (true) with check (true);
