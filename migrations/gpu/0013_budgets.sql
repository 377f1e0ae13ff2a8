-- Budgets, the allowances that starts are checked against, and daily sums of closed runs. Replicas of the previous release
-- check no allowance; triggers sum up their runs and wake the budgets.

-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table runs no force row level security;
-- no run changes until the sums are complete
lock table runs in share row exclusive mode;

-- The closed runs of an instance, cut by days in UTC and summed up.
create table usage_days (
    tenant_id   uuid    not null,
    day         date    not null,
    instance_id uuid    not null references instances (id),
    kind        text    not null,
    currency    text    not null,
    seconds     bigint  not null,
    amount      numeric not null,
    primary key (tenant_id, day, instance_id, kind, currency)
);

-- The days of an interval. Each costs the difference of what the run cost until its end and until its beginning, so that
-- all days sum up to the amount of the run. An open interval has none.
create function usage_cuts(started_at timestamptz, ended_at timestamptz, price_per_hour numeric)
    returns table (day date, seconds bigint, amount numeric)
    language sql stable parallel safe set search_path from current as $$
    select (cut.a at time zone 'UTC')::date,
        usage_seconds($1, cut.b) - usage_seconds($1, cut.a),
        usage_amount(usage_seconds($1, cut.b), $3) - usage_amount(usage_seconds($1, cut.a), $3)
    from generate_series(date_trunc('day', $1, 'UTC'), $2, interval '24 hours') as d
    cross join lateral (select greatest($1, d) as a, least($2, d + interval '24 hours') as b) as cut
    where cut.a < cut.b
$$;

insert into usage_days (tenant_id, day, instance_id, kind, currency, seconds, amount)
select r.tenant_id, cut.day, r.instance_id, r.kind, r.currency, sum(cut.seconds), sum(cut.amount)
from runs r cross join lateral usage_cuts(r.started_at, r.ended_at, r.price_per_hour) as cut
where r.ended_at is not null
group by r.tenant_id, cut.day, r.instance_id, r.kind, r.currency;

alter table usage_days enable row level security;
alter table usage_days force row level security;
create policy app on usage_days for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on usage_days to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on usage_days from atelier_gpu_app;
revoke delete on usage_days from atelier_gpu_worker;

-- What a tenant may spend in a calendar month, and a row queue (libs/db): due when the next step is reached at the present
-- rate. A tenant without a row has no budget. Administrators write, the tenant reads its own.
create table budgets (
    id            uuid        primary key, -- the tenant
    amount        numeric     not null check (amount >= 0),
    currency      text        not null,
    warn_percents int[]       not null,
    at_limit      text        not null check (at_limit in ('stop', 'notify')),
    generation    bigint      not null default 1,
    updated_at    timestamptz not null default now(),
    -- what was reached in the month (budget/model.rs)
    progress      jsonb       not null,
    wake_at       timestamptz,
    lease_owner   uuid,
    lease_until   timestamptz,
    failures      int         not null default 0
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

-- What a tenant may start, as issued by the budget of this service or by another service. All of them have to allow it.
create table allowances (
    tenant_id         uuid        not null,
    issuer            text        not null,
    version           bigint      not null,
    currency          text        not null,
    -- of all instances together; null: no limit
    max_rate_per_hour numeric,
    -- the issuer renews it before; null: it does not end
    valid_until       timestamptz,
    -- when nothing is left at the present rate; null: not in this month
    runs_out_at       timestamptz,
    -- when there is more again; null: not known
    renews_at         timestamptz,
    primary key (tenant_id, issuer)
);
alter table allowances enable row level security;
alter table allowances force row level security;
create policy app on allowances for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on allowances to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on allowances to atelier_gpu_worker using (true) with check (true);

-- Each version of a run changes the sums of its days, and what its tenant spends.
create function account_run() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'UPDATE' then
        if new.version = old.version then
            return null;
        end if;
        insert into usage_days as t (tenant_id, day, instance_id, kind, currency, seconds, amount)
        select new.tenant_id, cut.day, new.instance_id, new.kind, new.currency, sum(cut.seconds), sum(cut.amount)
        from (select * from usage_cuts(new.started_at, new.ended_at, new.price_per_hour)
              union all
              select day, -seconds, -amount
              from usage_cuts(old.started_at, old.ended_at, old.price_per_hour)) as cut
        group by cut.day having sum(cut.seconds) <> 0 or sum(cut.amount) <> 0
        order by cut.day
        on conflict (tenant_id, day, instance_id, kind, currency) do update
            set seconds = t.seconds + excluded.seconds, amount = t.amount + excluded.amount;
    else
        insert into usage_days as t (tenant_id, day, instance_id, kind, currency, seconds, amount)
        select new.tenant_id, cut.day, new.instance_id, new.kind, new.currency, cut.seconds, cut.amount
        from usage_cuts(new.started_at, new.ended_at, new.price_per_hour) as cut
        order by cut.day
        on conflict (tenant_id, day, instance_id, kind, currency) do update
            set seconds = t.seconds + excluded.seconds, amount = t.amount + excluded.amount;
    end if;
    update budgets set wake_at = now() where id = new.tenant_id;
    if found then
        perform pg_notify('atelier_gpu_budgets', '');
    end if;
    return null;
end $$;
create trigger runs_accounted after insert or update on runs for each row execute function account_run();
alter table runs force row level security;
