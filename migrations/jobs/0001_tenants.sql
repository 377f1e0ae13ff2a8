-- Tenants whose jobs do not start: suspended or deleted, or without budget.
--
-- Row-level security. Three roles use the schema (libs/provision): the owner migrates it; `atelier_jobs_app` serves
-- requests and sees the rows that the settings of its transaction name; `atelier_jobs_worker` does background work and
-- serves workers and other services, and sees all rows. Both may read and write each new table, so each migration
-- revokes what a role does not need. The settings, both local to a transaction (libs/db):
--   atelier.tenant  the tenant of the request: everything that belongs to it
--   atelier.admin   'on': an administrator writes shares, and reads usage and the audit log of all tenants, but no jobs
-- Pools and workers belong to the platform, and have no row-level security.

-- The state of a tenant, as identity ordered it last. A tenant without a row is active. All services have the same
-- columns (libs/tenants).
create table tenants (
    id              uuid primary key,
    generation      bigint not null, -- of the change at identity
    state           text not null check (state in ('active', 'suspended', 'deleting')),
    -- if deleting: whether the deletion is final, so that the service deletes all that it has of the tenant
    delete_storages boolean not null,
    updated_at      timestamptz not null default now(),
    stop_instances  boolean not null default false -- means nothing here
);
alter table tenants enable row level security;
alter table tenants force row level security;
create policy app on tenants for select to atelier_jobs_app
    using (id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tenants to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on tenants from atelier_jobs_app;

-- A tenant that has nothing left to spend, as the gpu service said last. Its jobs do not start.
create table budget_holds (
    tenant_id uuid primary key,
    code      text not null check (code in ('budget_exhausted', 'allowance_expired')),
    renews_at timestamptz, -- when there is more again; null: not known
    said_at   timestamptz not null default now()
);
alter table budget_holds enable row level security;
alter table budget_holds force row level security;
create policy app on budget_holds for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on budget_holds to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on budget_holds from atelier_jobs_app;

-- Returns why the jobs of a tenant do not start now; null: they do.
create function tenant_hold(tenant uuid) returns text language sql stable
    return coalesce((select 'tenant_suspended' from tenants t where t.id = tenant and t.state <> 'active'),
                    (select b.code from budget_holds b where b.tenant_id = tenant));
