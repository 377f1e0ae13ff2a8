-- Limits: what a tenant may use at a time, what it may spend in a month, and what follows for starts.

-- What a tenant may use at a time. A tenant without a row has no limits.
create table quotas (
    tenant_id  uuid primary key,
    limits     jsonb not null,
    generation bigint not null default 1,
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
create policy worker_deletes on quotas for delete to atelier_gpu_worker using (true);
revoke insert, update, delete on quotas from atelier_gpu_worker;
-- the worker deletes what is left of a deleted tenant
grant delete on quotas to atelier_gpu_worker;

-- What a tenant may spend in a calendar month (UTC). A tenant without a row has no budget. The rows are a queue
-- (libs/db): a budget is due when the next step is reached at the present rate.
create table budgets (
    id            uuid primary key, -- the tenant
    amount        numeric not null check (amount >= 0),
    currency      text not null,
    warn_percents int[] not null, -- its steps
    at_limit      text not null check (at_limit in ('stop', 'notify')), -- what happens when all is spent
    generation    bigint not null default 1,
    updated_at    timestamptz not null default now(),
    progress      jsonb not null, -- what was reached in the month (`Progress` in the slice `budget`)
    wake_at       timestamptz,
    lease_owner   uuid,
    lease_until   timestamptz,
    failures      int not null default 0
);
create index budgets_due on budgets (coalesce(lease_until, wake_at)) where coalesce(lease_until, wake_at) is not null;
alter table budgets enable row level security;
alter table budgets force row level security;
create policy app on budgets for select to atelier_gpu_app
    using (id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on budgets to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on budgets to atelier_gpu_worker using (true) with check (true);
revoke insert, delete on budgets from atelier_gpu_worker;
-- the worker deletes what is left of a deleted tenant
grant delete on budgets to atelier_gpu_worker;

-- What a tenant may start, as issued by its budget or by another service. All allowances of the tenant have to allow a
-- start.
create table allowances (
    tenant_id         uuid not null,
    issuer            text not null, -- a service
    version           bigint not null, -- grows with each change
    currency          text not null, -- instances with prices in other currencies are not limited
    max_rate_per_hour numeric, -- of all instances together; null: no limit
    valid_until       timestamptz, -- the issuer renews it before; null: it does not end
    runs_out_at       timestamptz, -- when nothing is left at the present rate; null: not in this month
    renews_at         timestamptz, -- when there is more again; null: not known
    primary key (tenant_id, issuer)
);
-- the jobs service asks every two seconds which allowances have ended
create index allowances_end on allowances (least(runs_out_at, valid_until));
alter table allowances enable row level security;
alter table allowances force row level security;
create policy app on allowances for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on allowances to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on allowances to atelier_gpu_worker using (true) with check (true);
