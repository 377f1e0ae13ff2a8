-- What a tenant may have at a time. A tenant without a row has the limits of the configuration; replicas of the previous
-- release know only these. The tenant reads its own; administrators write.
create table quotas (
    tenant_id  uuid        primary key,
    storages   int         check (storages >= 0), -- null: as configured
    gib        int         check (gib >= 0),      -- null: as configured
    generation bigint      not null default 1,
    updated_at timestamptz not null default now()
);
alter table quotas enable row level security;
alter table quotas force row level security;
create policy app on quotas for select to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on quotas to atelier_storage_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
revoke all on quotas from atelier_storage_worker;
