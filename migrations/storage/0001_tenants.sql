-- Tenants, their quotas, and what administrators do to what belongs to them.
--
-- Row-level security. Three roles use the schema (libs/provision): the owner migrates it; `atelier_storage_app` serves
-- requests and sees the rows that the settings of its transaction name; `atelier_storage_worker` does background work
-- and serves other services, and sees all rows. Both may read and write each new table, so each migration revokes what
-- a role does not need. The settings, both local to a transaction (libs/db):
--   atelier.tenant  the tenant of the request: everything that belongs to it
--   atelier.admin   'on': an administrator reads storages and attachments of all tenants, and writes quotas and
--                   administrators' actions. What an administrator changes of a tenant's is written as that tenant.

-- The state of a tenant, as identity ordered it last. A tenant without a row is active. All services have the same
-- columns (libs/tenants).
create table tenants (
    id              uuid primary key,
    generation      bigint not null, -- of the change at identity
    state           text not null check (state in ('active', 'suspended', 'deleting')),
    delete_storages boolean not null, -- if deleting: whether its storages are deleted now
    updated_at      timestamptz not null default now(),
    stop_instances  boolean not null default false -- means nothing here
);
alter table tenants enable row level security;
alter table tenants force row level security;
create policy app on tenants for select to atelier_storage_app
    using (id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tenants to atelier_storage_worker using (true) with check (true);
revoke insert, update, delete on tenants from atelier_storage_app;

-- What an administrator did to something that belongs to a tenant (libs/audit).
create table admin_actions (
    id        bigint generated always as identity primary key,
    tenant_id uuid not null,
    target    text not null, -- id of the object
    action    text not null,
    reason    text not null, -- as the administrator stated it
    user_id   uuid not null, -- the administrator
    at        timestamptz not null default now()
);
create index admin_actions_of_target on admin_actions (target, id desc);
alter table admin_actions enable row level security;
alter table admin_actions force row level security;
create policy app_admin on admin_actions to atelier_storage_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
revoke update, delete on admin_actions from atelier_storage_app;
revoke all on admin_actions from atelier_storage_worker;

-- What a tenant may have at a time. A tenant without a row has the limits of the configuration.
create table quotas (
    tenant_id  uuid primary key,
    storages   int check (storages >= 0), -- null: as configured
    gib        int check (gib >= 0), -- null: as configured
    generation bigint not null default 1,
    updated_at timestamptz not null default now()
);
alter table quotas enable row level security;
alter table quotas force row level security;
create policy app on quotas for select to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on quotas to atelier_storage_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on quotas to atelier_storage_worker using (true) with check (true);
revoke all on quotas from atelier_storage_worker;
-- the worker deletes what is left of a deleted tenant
grant select, delete on quotas to atelier_storage_worker;
