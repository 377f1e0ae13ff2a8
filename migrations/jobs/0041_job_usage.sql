-- What ended attempts cost by day, so that a report costs as much as the days in it, however many jobs there are. Triggers write
-- it: attempts that replicas of the previous release end are in it, too.

-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table jobs no force row level security;
alter table attempts no force row level security;
alter table usage_records no force row level security;
-- no attempt ends until the sums are complete
lock table attempts in share row exclusive mode;

-- An ended attempt: what is charged and what is not. Kept when the job is deleted.
create table charges (
    job_id            uuid        not null,
    attempt           int         not null,
    tenant_id         uuid        not null,
    pool_id           uuid        not null,
    kind              text        not null,
    application       text        not null, -- empty if the job was deleted before this migration
    gpu_spec          text        not null,
    currency          text        not null, -- empty without a price
    price_per_hour    numeric     not null, -- with the factor of the level
    assigned_at       timestamptz not null, -- in whole seconds, as all times here
    -- of what is charged; null if nothing is
    started_at        timestamptz,
    ended_at          timestamptz,
    uncharged_seconds bigint      not null,
    uncharged_reason  text, -- null if all is charged
    counts_as         text        not null generated always as (
        case when started_at is null then coalesce(uncharged_reason, 'charged') else 'charged' end) stored,
    primary key (job_id, attempt),
    check ((started_at is null) = (ended_at is null)),
    check (started_at >= assigned_at)
);
-- The same by day in UTC. `charge` is `charged` or why it is not; what is not charged counts on the day of the assignment, and so
-- does the attempt, once: as `charged` if a part of it is.
create table usage_days (
    tenant_id   uuid    not null,
    day         date    not null,
    pool_id     uuid    not null,
    kind        text    not null,
    application text    not null,
    gpu_spec    text    not null,
    charge      text    not null,
    currency    text    not null,
    seconds     bigint  not null,
    amount      numeric not null,
    attempts    bigint  not null,
    primary key (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency)
);
create index usage_days_of_all on usage_days (day);

-- What is to be added to these sums. If attempts added to them themselves, those of a tenant would wait for each other.
create table usage_changes (
    id          bigint  generated always as identity primary key,
    like usage_days
);

-- As of runs of instances (migrations/gpu): rounded half to even at the sixth digit. Its plans are kept, which those of functions in
-- SQL are not.
create function usage_amount(seconds bigint, price_per_hour numeric) returns numeric
    language plpgsql immutable parallel safe as $$
declare
    exact numeric = seconds * price_per_hour * 1000000;
    whole numeric = div(exact, 3600);
    rest  numeric = exact - 3600 * whole;
begin
    return 0.000001 * (whole + case when rest > 1800 or (rest = 1800 and mod(whole, 2) = 1) then 1 else 0 end);
end $$;
create function usage_seconds(started_at timestamptz, ended_at timestamptz) returns bigint
    language sql immutable parallel safe as $$
    select coalesce(greatest(0, floor(extract(epoch from ended_at - started_at)))::bigint, 0)
$$;

-- A charge is cut by days in UTC. Each part costs the difference of what the charge amounts to until its end and until its beginning,
-- so that all parts sum up to the amount of the charge.
create function account_attempt() returns trigger language plpgsql set search_path from current as $$
declare
    former charges;
    latter charges;
    is_charged boolean = new.charged_seconds > 0;
begin
    select * into former from charges c where c.job_id = new.job_id and c.attempt = new.number;
    insert into charges as c (job_id, attempt, tenant_id, pool_id, kind, application, gpu_spec, currency, price_per_hour, assigned_at,
        started_at, ended_at, uncharged_seconds, uncharged_reason)
    select new.job_id, new.number, new.tenant_id, j.pool_id, j.kind, j.application, new.gpu_spec, coalesce(new.currency, ''),
        coalesce(new.price_per_hour * new.level_factor, 0), date_trunc('second', least(new.assigned_at, new.working_at)),
        case when is_charged then date_trunc('second', new.working_at) end,
        case when is_charged then date_trunc('second', new.working_at) + make_interval(secs => new.charged_seconds) end,
        new.uncharged_seconds, new.uncharged_reason
    from jobs j where j.id = new.job_id
    on conflict (job_id, attempt) do update set started_at = excluded.started_at, ended_at = excluded.ended_at,
        uncharged_seconds = excluded.uncharged_seconds, uncharged_reason = excluded.uncharged_reason
    returning c.* into latter;
    insert into usage_changes (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, seconds, amount, attempts)
    select latter.tenant_id, part.day, latter.pool_id, latter.kind, latter.application, latter.gpu_spec, part.charge, latter.currency,
        sum(sign * seconds), sum(sign * amount), sum(sign * attempts)
    from (values
        (1, latter.assigned_at, latter.started_at, latter.ended_at, latter.uncharged_seconds, latter.uncharged_reason,
         latter.counts_as),
        (-1, former.assigned_at, former.started_at, former.ended_at, former.uncharged_seconds, former.uncharged_reason,
         former.counts_as)) as c (sign, assigned_at, started_at, ended_at, uncharged_seconds, uncharged_reason, counts_as)
    cross join lateral (
        select (d at time zone 'UTC')::date as day, 'charged' as charge, upto - before as seconds,
            usage_amount(upto, latter.price_per_hour) - usage_amount(before, latter.price_per_hour) as amount, 0 as attempts
        from generate_series(date_trunc('day', c.started_at, 'UTC'), c.ended_at, interval '24 hours') as d
        cross join lateral (
            select usage_seconds(c.started_at, greatest(c.started_at, d)) as before,
                usage_seconds(c.started_at, least(c.ended_at, d + interval '24 hours')) as upto) as cut
        where upto > before
        union all
        select (c.assigned_at at time zone 'UTC')::date, c.uncharged_reason, c.uncharged_seconds, 0, 0 where c.uncharged_seconds > 0
        union all
        select (c.assigned_at at time zone 'UTC')::date, c.counts_as, 0, 0, 1) as part
    where c.assigned_at is not null
    group by part.day, part.charge
    having sum(sign * seconds) <> 0 or sum(sign * amount) <> 0 or sum(sign * attempts) <> 0;
    return null;
end $$;
create trigger accounted after update on attempts for each row
    when (new.charged_seconds is not null
          and (new.charged_seconds, new.uncharged_seconds, new.uncharged_reason)
              is distinct from (old.charged_seconds, old.uncharged_seconds, old.uncharged_reason))
    execute function account_attempt();

insert into charges (job_id, attempt, tenant_id, pool_id, kind, application, gpu_spec, currency, price_per_hour, assigned_at, started_at, ended_at,
    uncharged_seconds, uncharged_reason)
select a.job_id, a.number, a.tenant_id, j.pool_id, j.kind, j.application, a.gpu_spec, coalesce(a.currency, ''),
    coalesce(a.price_per_hour * a.level_factor, 0), date_trunc('second', least(a.assigned_at, a.working_at)),
    case when a.charged_seconds > 0 then date_trunc('second', a.working_at) end,
    case when a.charged_seconds > 0 then date_trunc('second', a.working_at) + make_interval(secs => a.charged_seconds) end,
    a.uncharged_seconds, a.uncharged_reason
from attempts a join jobs j on j.id = a.job_id where a.charged_seconds is not null;
-- of jobs that were deleted
insert into charges (job_id, attempt, tenant_id, pool_id, kind, application, gpu_spec, currency, price_per_hour, assigned_at, started_at, ended_at,
    uncharged_seconds, uncharged_reason)
select r.job_id, r.attempt, r.tenant_id, r.pool_id, r.kind, '', r.gpu_spec, r.currency, r.price_per_hour, r.started_at,
    r.started_at, r.ended_at, 0, null
from (
    select distinct on (u.run_id) u.tenant_id, uuid(split_part(u.payload ->> 'job_id', '_', 2)) as job_id,
        (u.payload ->> 'attempt')::int as attempt, uuid(split_part(u.payload ->> 'pool_id', '_', 2)) as pool_id,
        u.payload ->> 'kind' as kind, u.payload ->> 'gpu_spec' as gpu_spec, u.payload ->> 'currency' as currency,
        (u.payload ->> 'price_per_hour')::numeric * (u.payload ->> 'level_factor')::numeric as price_per_hour,
        (u.payload ->> 'from')::timestamptz as started_at, (u.payload ->> 'to')::timestamptz as ended_at,
        (u.payload ->> 'seconds')::bigint as seconds
    from usage_records u order by u.run_id, u.version desc) r
where r.seconds > 0
on conflict (job_id, attempt) do nothing;
-- What overlaps a part of a day was assigned in the hour before its beginning, or is longer than that.
create index charges_of_tenant on charges (tenant_id, assigned_at);
create index charges_of_all on charges (assigned_at);
create index charges_long on charges (tenant_id, ended_at) where ended_at - assigned_at > interval '1 hour';
create index charges_long_of_all on charges (ended_at) where ended_at - assigned_at > interval '1 hour';

-- as the trigger does
insert into usage_days
select tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency, sum(seconds), sum(amount), sum(attempts)
from (
    select c.*, (d at time zone 'UTC')::date as day, 'charged' as charge, upto - before as seconds,
        usage_amount(upto, price_per_hour) - usage_amount(before, price_per_hour) as amount, 0 as attempts
    from charges c
    cross join lateral generate_series(date_trunc('day', started_at, 'UTC'), ended_at, interval '24 hours') as d
    cross join lateral (
        select usage_seconds(started_at, greatest(started_at, d)) as before,
            usage_seconds(started_at, least(ended_at, d + interval '24 hours')) as upto) as cut
    where upto > before
    union all
    select c.*, (assigned_at at time zone 'UTC')::date, uncharged_reason, uncharged_seconds, 0, 0
    from charges c where uncharged_seconds > 0
    union all
    select c.*, (assigned_at at time zone 'UTC')::date, counts_as, 0, 0, 1 from charges c) as part
group by tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency;

-- Attempts that have not ended: those of the tenant, or of all tenants to administrators, who see no jobs.
create policy owner on jobs for select to atelier_jobs_owner using (true);
create function open_attempts(tenant uuid) returns table (
    tenant_id uuid, pool_id uuid, kind text, application text, gpu_spec text, currency text, assigned_at timestamptz)
language sql stable security definer set search_path = jobs, pg_temp as $$
    select a.tenant_id, j.pool_id, j.kind, j.application, a.gpu_spec, coalesce(a.currency, ''), date_trunc('second', a.assigned_at)
    from attempts a join jobs j on j.id = a.job_id
    where a.ended_at is null and (open_attempts.tenant is null or a.tenant_id = open_attempts.tenant)
      and (a.tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid
           or current_setting('atelier.admin', true) = 'on')
$$;
revoke execute on function open_attempts(uuid) from public;
grant execute on function open_attempts(uuid) to atelier_jobs_app;

alter table jobs force row level security;
alter table attempts force row level security;
alter table usage_records force row level security;
alter table charges enable row level security;
alter table charges force row level security;
create policy app on charges for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on charges for select to atelier_jobs_app using (current_setting('atelier.admin', true) = 'on');
create policy worker on charges to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on charges from atelier_jobs_app;
alter table usage_days enable row level security;
alter table usage_days force row level security;
create policy app on usage_days for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on usage_days for select to atelier_jobs_app using (current_setting('atelier.admin', true) = 'on');
create policy worker on usage_days to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on usage_days from atelier_jobs_app;
alter table usage_changes enable row level security;
alter table usage_changes force row level security;
create policy app on usage_changes for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on usage_changes for select to atelier_jobs_app using (current_setting('atelier.admin', true) = 'on');
create policy worker on usage_changes to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on usage_changes from atelier_jobs_app;
