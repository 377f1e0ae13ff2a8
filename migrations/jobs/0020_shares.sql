-- What tenants are entitled to in pools. A tenant without a row has the defaults. Replicas of the previous release give all
-- tenants the defaults.

create table pool_shares (
    pool_id     uuid        not null references pools,
    tenant_id   uuid        not null,
    weight      int         not null check (weight > 0),
    guarantee   int         not null check (guarantee >= 0),
    max_workers int         check (max_workers >= guarantee), -- null: no limit
    urgent      int         not null check (urgent >= 0),
    generation  bigint      not null default 1,
    updated_at  timestamptz not null default now(),
    primary key (pool_id, tenant_id)
);
create index pool_shares_of_tenant on pool_shares (tenant_id);
alter table pool_shares enable row level security;
alter table pool_shares force row level security;
create policy app on pool_shares for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on pool_shares to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on pool_shares to atelier_jobs_worker using (true);
revoke insert, update on pool_shares from atelier_jobs_worker;
