-- Budgets, and limits of costs.

-- Tenants of which no job starts, as nothing is left of their budget: what the gpu service said last. Replicas of the previous
-- release do not ask it, and start their jobs.

create table budget_holds (
    tenant_id uuid        primary key,
    code      text        not null check (code in ('budget_exhausted', 'allowance_expired')),
    renews_at timestamptz, -- when there is more again; null: not known
    said_at   timestamptz not null default now()
);
alter table budget_holds enable row level security;
alter table budget_holds force row level security;
create policy app on budget_holds for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on budget_holds to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on budget_holds from atelier_jobs_app;

create or replace function tenant_hold(tenant uuid) returns text language sql stable
    return coalesce((select 'tenant_suspended' from tenants t where t.id = tenant and t.state <> 'active'),
                    (select b.code from budget_holds b where b.tenant_id = tenant));

-- How long the latest successful attempts of a class took, of all tenants, oldest first. Quotes are made for a tenant, which sees
-- its own attempts only.
create policy owner on attempts for select to atelier_jobs_owner using (true);
create function class_durations(class text, most bigint) returns table (seconds float8)
language sql stable security definer set search_path = jobs, pg_temp as $$
    select latest.seconds from (
        select extract(epoch from a.ended_at - coalesce(a.begun_at, a.assigned_at))::float8 as seconds, a.ended_at
        from attempts a where a.state = 'succeeded' and a.class = class_durations.class order by a.ended_at desc limit most) latest
    order by latest.ended_at
$$;
revoke execute on function class_durations(text, bigint) from public;
grant execute on function class_durations(text, bigint) to atelier_jobs_app, atelier_jobs_worker;
