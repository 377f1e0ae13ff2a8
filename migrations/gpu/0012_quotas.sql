-- What a tenant may use at a time. A tenant without a row has no limits. The tenant reads its own; administrators write.
create table quotas (
    tenant_id  uuid        primary key,
    limits     jsonb       not null,
    generation bigint      not null default 1,
    updated_at timestamptz not null default now()
);
alter table quotas enable row level security;
alter table quotas force row level security;
create policy app on quotas for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on quotas to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on quotas for select to atelier_gpu_worker using (true);
revoke insert, update, delete on quotas from atelier_gpu_worker;
