-- Storages (volumes and buckets), the instances that use them, the access keys of buckets, and operations.

-- A kind of storage that users order. It belongs to the platform.
create table storage_specs (
    id                  uuid primary key,
    name                text not null check (length(name) between 1 and 63),
    kind                text not null check (kind in ('volume', 'bucket')),
    min_size_gib        bigint not null check (min_size_gib >= 1),
    max_size_gib        bigint not null check (max_size_gib between min_size_gib and 1048576),
    price_per_gib_month numeric not null check (price_per_gib_month >= 0),
    currency            text not null check (currency ~ '^[A-Z]{3}$'),
    storage_class       text, -- null: the default of the cluster, or a bucket
    access_mode         text not null,
    state               text not null default 'active' check (state in ('active', 'retired')), -- retired: not offered
    generation          bigint not null default 1,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now()
);
create unique index storage_specs_name on storage_specs (name);
revoke insert, update, delete on storage_specs from atelier_storage_worker;

-- A volume or bucket of a tenant. The rows are a queue (libs/db) of storages that need a reconcile.
create table storages (
    id                  uuid primary key,
    tenant_id           uuid not null,
    name                text not null,
    spec_id             uuid not null references storage_specs,
    -- the order: only the size changes, and only grows
    kind                text not null,
    size_gib            bigint not null,
    cluster             text, -- null: a bucket
    datacenter          text, -- null: a bucket
    storage_class       text,
    access_mode         text not null,
    price_per_gib_month numeric not null,
    currency            text not null,
    -- the actual state, and why it is not the desired one
    state               text not null check (state in ('pending', 'available', 'resizing', 'failed', 'deleting')),
    reason              text,
    message             text,
    capacity_gib        bigint, -- actual size; null: not known yet
    operation_id        uuid not null, -- the latest operation
    generation          bigint not null default 1,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    wake_at             timestamptz default now(),
    lease_owner         uuid,
    lease_until         timestamptz,
    failures            int not null default 0,
    -- the name in lower case, by which lists are searched and ordered (by code points). A column, because row-level
    -- security lets an index be searched by a column, but not by lower().
    name_key            text collate "C" not null generated always as (lower(name collate "und-x-icu")) stored,
    check ((kind = 'volume') = (cluster is not null))
);
create unique index storages_name on storages (tenant_id, lower(name)) where state <> 'deleting';
create index storages_of_spec on storages (spec_id);
create index storages_due on storages (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;
-- lists by several states, in the order of time, name or size, are read from these indexes alone
create index storages_by_time on storages (tenant_id, id) include (state, kind, name_key);
create index storages_by_name on storages (tenant_id, name_key, id) include (state, kind);
create index storages_by_size on storages (tenant_id, size_gib, id) include (state, kind, name_key);
-- the same for administrators, who list the storages of all tenants
create index storages_of_all_by_time on storages (id) include (tenant_id, state, kind, name_key);
create index storages_of_all_by_name on storages (name_key, id) include (tenant_id, state, kind);
create index storages_of_all_by_size on storages (size_gib, id) include (tenant_id, state, kind, name_key);
alter table storages enable row level security;
alter table storages force row level security;
create policy app on storages to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on storages for select to atelier_storage_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on storages to atelier_storage_worker using (true) with check (true);
-- the reconciler deletes the row when the volume or bucket is gone
revoke delete on storages from atelier_storage_app;
revoke insert on storages from atelier_storage_worker;

-- The use of a storage by an instance. A storage with attachments cannot be deleted.
create table attachments (
    storage_id  uuid not null references storages,
    instance_id uuid not null,
    tenant_id   uuid not null,
    mode        text not null check (mode in ('read_write', 'read_only')),
    created_at  timestamptz not null default now(),
    primary key (storage_id, instance_id)
);
alter table attachments enable row level security;
alter table attachments force row level security;
create policy app on attachments to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on attachments for select to atelier_storage_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on attachments to atelier_storage_worker using (true) with check (true);

-- An access key, which opens all buckets of its tenant. Only the object store has the secret key.
create table credentials (
    access_key_id  text primary key,
    storage_id     uuid not null references storages on delete cascade, -- the bucket for which it was created
    tenant_id      uuid not null,
    -- making: perhaps in the object store; active: there; removing: perhaps still there
    state          text not null check (state in ('making', 'active', 'removing')),
    created_at     timestamptz not null default now(),
    -- the maker, with which it ends (libs/auth): the user, and the user's API key if it was made with one. Null: it
    -- belongs to the tenant, and ends with nobody.
    created_by     uuid,
    created_by_key uuid,
    -- issue time of the token with which it was made or taken over
    rights_at      timestamptz,
    check ((created_by is null) = (rights_at is null)),
    check (created_by_key is null or created_by is not null)
);
create index credentials_of_storage on credentials (storage_id);
create index credentials_of_maker on credentials (created_by) where created_by is not null and state <> 'removing';
create index credentials_of_key on credentials (created_by_key)
    where created_by_key is not null and state <> 'removing';
alter table credentials enable row level security;
alter table credentials force row level security;
create policy app on credentials to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on credentials to atelier_storage_worker using (true) with check (true);

-- A long-running action on a storage (libs/operations). It outlives the storage.
create table operations (
    id          uuid primary key,
    tenant_id   uuid not null,
    target      text not null, -- id of the storage
    kind        text not null,
    state       text not null,
    progress    jsonb not null default '{}',
    problem     jsonb, -- why it failed
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz,
    -- the trace of the request (W3C traceparent), which the reconciler continues; null: not traced
    traceparent text
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_target on operations (target, id desc);
create index operations_finished on operations (finished_at) where finished_at is not null;
alter table operations enable row level security;
alter table operations force row level security;
create policy app on operations to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on operations to atelier_storage_worker using (true) with check (true);
revoke delete on operations from atelier_storage_app;
