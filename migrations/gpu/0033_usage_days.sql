-- Daily sums by GPU specification too, so that every report costs as much as the days and instances in it, however many runs there
-- are. Replicas of the previous release read sums over all specifications.

-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table runs no force row level security;
alter table usage_days no force row level security;
-- no run changes until the sums are complete
lock table runs in share row exclusive mode;

-- The part of a run between two times, cut by days in UTC. Each costs the difference of what the run cost until its end and until
-- its beginning, so that all parts sum up to the amount of the run. Without an end there is none.
create function usage_parts(started_at timestamptz, from_at timestamptz, to_at timestamptz, price_per_hour numeric)
    returns table (day date, seconds bigint, amount numeric)
    language sql stable parallel safe set search_path from current as $$
    select (d at time zone 'UTC')::date, upto - before, usage_amount(upto, $4) - usage_amount(before, $4)
    from generate_series(date_trunc('day', $2, 'UTC'), $3, interval '24 hours') as d
    cross join lateral (
        select usage_seconds($1, greatest($2, d)) as before,
            usage_seconds($1, least($3, d + interval '24 hours')) as upto) as part
    where upto > before
$$;

truncate usage_days;
alter table usage_days
    add column gpu_spec text not null default '',
    drop constraint usage_days_pkey,
    add primary key (tenant_id, day, instance_id, kind, gpu_spec, currency);
insert into usage_days (tenant_id, day, instance_id, kind, gpu_spec, currency, seconds, amount)
select r.tenant_id, part.day, r.instance_id, r.kind, coalesce(r.gpu_spec, ''), r.currency, sum(part.seconds), sum(part.amount)
from runs r cross join lateral usage_parts(r.started_at, r.started_at, r.ended_at, r.price_per_hour) as part
where r.ended_at is not null
group by r.tenant_id, part.day, r.instance_id, r.kind, r.gpu_spec, r.currency;
create index usage_days_of_all on usage_days (day);
create policy app_admin on usage_days for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');

create or replace function account_run() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'UPDATE' and new.version = old.version then
        return null;
    end if;
    insert into usage_days as t (tenant_id, day, instance_id, kind, gpu_spec, currency, seconds, amount)
    select new.tenant_id, part.day, new.instance_id, new.kind, coalesce(new.gpu_spec, ''), new.currency, sum(part.seconds), sum(part.amount)
    from (select * from usage_parts(new.started_at, new.started_at, new.ended_at, new.price_per_hour)
          union all
          -- a new run has no former one
          select day, -seconds, -amount
          from usage_parts(old.started_at, old.started_at, old.ended_at, old.price_per_hour)) as part
    group by part.day having sum(part.seconds) <> 0 or sum(part.amount) <> 0
    order by part.day
    on conflict (tenant_id, day, instance_id, kind, gpu_spec, currency) do update
        set seconds = t.seconds + excluded.seconds, amount = t.amount + excluded.amount;
    update budgets set wake_at = now() where id = new.tenant_id;
    if found then
        perform pg_notify('atelier_gpu_budgets', '');
    end if;
    return null;
end $$;
drop function usage_cuts;

-- Runs that overlap a part of a day began within the 24 hours before its beginning, or are longer than that.
create index runs_begun on runs (tenant_id, started_at);
create index runs_begun_of_all on runs (started_at);
create index runs_long on runs (tenant_id, ended_at) where ended_at - started_at > interval '24 hours';
create index runs_open_of_tenant on runs (tenant_id, started_at) where ended_at is null;
alter table usage_days force row level security;
alter table runs force row level security;
