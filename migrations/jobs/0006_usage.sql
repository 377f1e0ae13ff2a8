-- What jobs cost: a feed of records, what was charged for each attempt, and sums by day, so that a report costs as much
-- as the days in it. All of it is kept when jobs are deleted.

-- A version of what an attempt costs. Other services follow this feed (libs/feed). Never changed.
create table usage_records (
    id        bigint generated always as identity primary key,
    xact      xid8 not null default pg_current_xact_id(),
    at        timestamptz not null default clock_timestamp(),
    tenant_id uuid not null,
    run_id    uuid not null, -- of the attempt
    version   int not null, -- `usage_version` of the attempt
    payload   jsonb not null,
    unique (run_id, version)
);
create index usage_records_xact on usage_records (xact);
alter table usage_records enable row level security;
alter table usage_records force row level security;
create policy worker on usage_records to atelier_jobs_worker using (true) with check (true);
revoke all on usage_records from atelier_jobs_app;
revoke update, delete on usage_records from atelier_jobs_worker;

-- What is charged for an ended attempt, and what is not.
create table charges (
    job_id            uuid not null,
    attempt           int not null,
    tenant_id         uuid not null,
    pool_id           uuid not null,
    kind              text not null,
    application       text not null,
    gpu_spec          text not null,
    currency          text not null, -- empty without a price
    price_per_hour    numeric not null, -- with the factor of the level
    assigned_at       timestamptz not null, -- in whole seconds, as all times here
    -- the time that is charged; null: none is
    started_at        timestamptz,
    ended_at          timestamptz,
    uncharged_seconds bigint not null,
    uncharged_reason  text, -- null: all is charged
    counts_as         text not null generated always as (
        case when started_at is null then coalesce(uncharged_reason, 'charged') else 'charged' end) stored,
    primary key (job_id, attempt),
    check ((started_at is null) = (ended_at is null)),
    check (started_at >= assigned_at)
);
-- a charge that overlaps a part of a day was assigned less than an hour before it, or is longer than an hour
create index charges_of_tenant on charges (tenant_id, assigned_at);
create index charges_of_all on charges (assigned_at);
create index charges_long on charges (tenant_id, ended_at) where ended_at - assigned_at > interval '1 hour';
create index charges_long_of_all on charges (ended_at) where ended_at - assigned_at > interval '1 hour';
alter table charges enable row level security;
alter table charges force row level security;
create policy app on charges for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on charges for select to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on charges to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on charges from atelier_jobs_app;

-- The sum of charges on a day (UTC). What is not charged, and the number of attempts, count on the day of the
-- assignment.
create table usage_days (
    tenant_id   uuid not null,
    day         date not null,
    pool_id     uuid not null,
    kind        text not null,
    application text not null,
    gpu_spec    text not null,
    charge      text not null, -- `charged`, or why it is not; an attempt is `charged` if a part of it is
    currency    text not null, -- empty without a price
    seconds     bigint not null,
    amount      numeric not null,
    attempts    bigint not null,
    primary key (tenant_id, day, pool_id, kind, application, gpu_spec, charge, currency)
);
create index usage_days_of_all on usage_days (day);
alter table usage_days enable row level security;
alter table usage_days force row level security;
create policy app on usage_days for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on usage_days for select to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on usage_days to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on usage_days from atelier_jobs_app;

-- What is still to be added to `usage_days`, which the worker `jobs.usage.reconcile` does. If the end of an attempt wrote the
-- sums itself, attempts of one tenant would wait for each other.
create table usage_changes (
    id   bigint generated always as identity primary key,
    like usage_days
);
alter table usage_changes enable row level security;
alter table usage_changes force row level security;
create policy app on usage_changes for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on usage_changes for select to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on usage_changes to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on usage_changes from atelier_jobs_app;

-- Returns seconds × price ÷ 3600, rounded half to even at the sixth digit, as for runs of instances (migrations/gpu).
-- It is in PL/pgSQL because that keeps the plans of its expressions.
create function usage_amount(seconds bigint, price_per_hour numeric) returns numeric
    language plpgsql immutable parallel safe as $$
declare
    exact numeric = seconds * price_per_hour * 1000000;
    whole numeric = div(exact, 3600);
    rest  numeric = exact - 3600 * whole;
begin
    return 0.000001 * (whole + case when rest > 1800 or (rest = 1800 and mod(whole, 2) = 1) then 1 else 0 end);
end $$;

-- Returns the whole seconds of an interval; 0 if it is open.
create function usage_seconds(started_at timestamptz, ended_at timestamptz) returns bigint
    language sql immutable parallel safe as $$
    select coalesce(greatest(0, floor(extract(epoch from ended_at - started_at)))::bigint, 0)
$$;

-- Called when what is charged for an attempt is decided or changed: writes the charge, and its difference from the
-- former one as changes of the sums. A charge is cut by days (UTC). A piece costs what the charge costs until the end
-- of the piece, less what it costs until its beginning, so that all pieces sum up to the charge.
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

-- Returns the attempts that have not ended, for reports: those of one tenant or of all. A request gets those of its own
-- tenant; an administrator, who sees no jobs, gets all.
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
