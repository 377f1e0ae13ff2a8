-- What identity says of tenants that are not simply active. A tenant without a row is active.
create table tenants (
    id             uuid        primary key,
    generation     bigint      not null, -- of the change at identity
    state          text        not null check (state in ('active', 'suspended', 'deleting')),
    stop_instances boolean     not null,
    updated_at     timestamptz not null default now()
);
alter table tenants enable row level security;
alter table tenants force row level security;
create policy app on tenants for select to atelier_gpu_app
    using (id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tenants to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on tenants from atelier_gpu_app;

-- Administrators read the instances of all tenants. They write as the tenant.
create policy app_admin on instances for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');

-- What administrators did to what belongs to tenants (libs/audit).
create table admin_actions (
    id        bigint generated always as identity primary key,
    tenant_id uuid        not null,
    target    text        not null,
    action    text        not null,
    reason    text        not null,
    user_id   uuid        not null,
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
