-- Tenants, and what administrators do to what belongs to them.
--
-- Row-level security. Three roles use the schema (libs/provision): the owner migrates it; `atelier_gpu_app` serves
-- requests and sees the rows that the settings of its transaction name; `atelier_gpu_worker` does background work and
-- serves other services, and sees all rows. Both may read and write each new table, so each migration revokes what a
-- role does not need. The settings, all local to a transaction (libs/db):
--   atelier.tenant  the tenant of the request: everything that belongs to it
--   atelier.user    the user of the request: the user's own SSH keys
--   atelier.admin   'on': an administrator reads instances, usage and SSH sessions of all tenants, and writes limits
--                   and administrators' actions. What an administrator changes of a tenant's is written as that tenant.

-- The state of a tenant, as identity ordered it last. A tenant without a row is active. All services have the same
-- columns (libs/tenants).
create table tenants (
    id              uuid primary key,
    generation      bigint not null, -- of the change at identity
    state           text not null check (state in ('active', 'suspended', 'deleting')),
    stop_instances  boolean not null, -- if suspended: whether running instances are stopped
    updated_at      timestamptz not null default now(),
    -- if deleting: whether the deletion is final, so that the service deletes all that it has of the tenant
    delete_storages boolean not null default false
);
alter table tenants enable row level security;
alter table tenants force row level security;
create policy app on tenants for select to atelier_gpu_app
    using (id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tenants to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on tenants from atelier_gpu_app;

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
create policy app_admin on admin_actions to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
revoke update, delete on admin_actions from atelier_gpu_app;
revoke all on admin_actions from atelier_gpu_worker;
