-- The meter: what instances have used, and what it costs. The reconcilers write runs. Triggers give each change of a
-- run a version, publish it as a record, and keep the sums, so that no report reads all runs.

-- A run: an interval in which an instance was confirmed to be running, or held its unit. Never deleted.
create table runs (
    id             uuid primary key,
    tenant_id      uuid not null,
    instance_id    uuid not null references instances (id),
    attempt        bigint not null,
    unit_id        uuid not null,
    price_per_hour numeric not null check (price_per_hour >= 0),
    currency       text not null,
    -- as the cluster reports it, in whole seconds
    started_at     timestamptz not null,
    -- the last time at which an open run was seen to go on
    confirmed_at   timestamptz not null,
    ended_at       timestamptz,
    end_reason     text,
    -- running: the instance ran; held: a stopped instance kept its unit
    kind           text not null default 'running' check (kind in ('running', 'held')),
    version        int not null default 1, -- grows with each change of the interval
    -- of the unit
    cluster        text not null,
    datacenter     text not null,
    hold_end       text, -- why a held run ended
    correction     text, -- why the interval of a closed run was changed, or the run was added late; null: neither
    -- of the pod; null: the instance did not run, or the run was first seen when it had ended
    pod_namespace  text,
    pod_name       text,
    -- name of the specification with which the unit was claimed: the instance may get another one later
    gpu_spec       text,
    unique (instance_id, attempt, started_at),
    check (ended_at is null or ended_at >= started_at),
    check (hold_end is null or kind = 'held')
);
create index runs_of_instance on runs (instance_id, id desc);
-- open runs, which are confirmed
create index runs_open on runs (instance_id) where ended_at is null;
create index runs_of_tenant on runs (tenant_id, ended_at, started_at);
create index runs_of_unit on runs (unit_id, started_at);
create index runs_ended on runs (ended_at, tenant_id);
create index runs_held on runs (instance_id) where kind = 'held' and ended_at is null;
-- a run that overlaps a part of a day began less than 24 hours before it, or is longer than 24 hours
create index runs_begun on runs (tenant_id, started_at);
create index runs_begun_of_all on runs (started_at);
create index runs_long on runs (tenant_id, ended_at) where ended_at - started_at > interval '24 hours';
create index runs_open_of_tenant on runs (tenant_id, started_at) where ended_at is null;
alter table runs enable row level security;
alter table runs force row level security;
create policy app on runs to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on runs for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on runs to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on runs from atelier_gpu_app;
revoke delete on runs from atelier_gpu_worker;

-- A version of a run. Other services follow this feed (libs/feed). Never changed.
create table usage_records (
    id          bigint generated always as identity primary key,
    xact        xid8 not null default pg_current_xact_id(),
    at          timestamptz not null default clock_timestamp(),
    tenant_id   uuid not null,
    instance_id uuid not null,
    run_id      uuid not null references runs (id),
    version     int not null,
    payload     jsonb not null,
    unique (run_id, version)
);
create index usage_records_xact on usage_records (xact);
alter table usage_records enable row level security;
alter table usage_records force row level security;
create policy app on usage_records for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on usage_records to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on usage_records from atelier_gpu_app;
revoke update, delete on usage_records from atelier_gpu_worker;

-- The sum of all closed runs of an instance.
create table usage_totals (
    instance_id uuid not null references instances (id),
    kind        text not null,
    currency    text not null,
    tenant_id   uuid not null,
    seconds     bigint not null,
    amount      numeric not null,
    primary key (instance_id, kind, currency)
);
alter table usage_totals enable row level security;
alter table usage_totals force row level security;
create policy app on usage_totals to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on usage_totals to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on usage_totals from atelier_gpu_app;
revoke delete on usage_totals from atelier_gpu_worker;

-- The sum of the closed runs of an instance on a day (UTC).
create table usage_days (
    tenant_id   uuid not null,
    day         date not null,
    instance_id uuid not null references instances (id),
    kind        text not null,
    currency    text not null,
    seconds     bigint not null,
    amount      numeric not null,
    gpu_spec    text not null default '', -- empty: not known
    primary key (tenant_id, day, instance_id, kind, gpu_spec, currency)
);
create index usage_days_of_all on usage_days (day);
alter table usage_days enable row level security;
alter table usage_days force row level security;
create policy app on usage_days for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on usage_days for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on usage_days to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on usage_days from atelier_gpu_app;
revoke delete on usage_days from atelier_gpu_worker;

-- The watermark of a cluster: how far its runs are confirmed.
create table usage_watermarks (
    cluster           text primary key,
    confirmed_through timestamptz not null -- all open runs in the cluster are confirmed up to then
);
revoke all on usage_watermarks from atelier_gpu_app;

-- Returns seconds × price ÷ 3600, rounded half to even at the sixth digit, as the slice `meter` does. It calculates in
-- whole numbers, as a quotient of numerics has too few digits for large amounts.
create function usage_amount(seconds bigint, price_per_hour numeric) returns numeric
    language sql immutable parallel safe as $$
    select trim_scale(0.000001 * (q + case when r > 1800 or (r = 1800 and mod(q, 2) = 1) then 1 else 0 end))
    from (select div(n, 3600) as q, n - 3600 * div(n, 3600) as r
          from (select seconds * price_per_hour * 1000000 as n) as exact) as parts
$$;

-- Returns the whole seconds of an interval; 0 if it is open.
create function usage_seconds(started_at timestamptz, ended_at timestamptz) returns bigint
    language sql immutable parallel safe as $$
    select coalesce(greatest(0, floor(extract(epoch from ended_at - started_at)))::bigint, 0)
$$;

-- Returns the part of a run between two times, cut by days (UTC); nothing if the second time is null. A piece costs
-- what the run costs until the end of the piece, less what it costs until its beginning, so that all pieces sum up to
-- the amount of the run.
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

-- Called before a run is inserted: takes the name of the specification from the instance.
create function name_spec_of_run() returns trigger language plpgsql set search_path from current as $$
begin
    if new.gpu_spec is null then
        select i.spec ->> 'gpu_spec_name' into new.gpu_spec from instances i where i.id = new.instance_id;
    end if;
    return new;
end $$;
create trigger runs_spec_named before insert on runs for each row execute function name_spec_of_run();

-- Called before a run is written. A new run and each change of an interval get a version above `lowest_version`
-- (0013_restores.sql); a change of a closed run is a correction.
create function version_run() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'INSERT' then
        new.version := greatest(new.version, lowest_version() + 1);
    elsif (new.started_at, new.ended_at) is distinct from (old.started_at, old.ended_at) then
        new.version := greatest(old.version, lowest_version()) + 1;
        if old.ended_at is not null then
            new.correction := coalesce(new.correction, 'late_evidence');
        end if;
    end if;
    return new;
end $$;
create trigger runs_versioned before update on runs for each row execute function version_run();
create trigger runs_numbered before insert on runs for each row execute function version_run();

-- Called after a run was written. Each version of a run changes the total of its instance and is published as a record.
create function record_run() returns trigger language plpgsql set search_path from current as $$
declare
    seconds bigint  := usage_seconds(new.started_at, new.ended_at);
    amount  numeric := usage_amount(seconds, new.price_per_hour);
begin
    if tg_op = 'UPDATE' then
        if new.version = old.version then
            return null;
        end if;
        seconds := seconds - usage_seconds(old.started_at, old.ended_at);
        amount := amount - usage_amount(usage_seconds(old.started_at, old.ended_at), old.price_per_hour);
    end if;
    if new.ended_at is not null then
        insert into usage_totals as t (instance_id, kind, currency, tenant_id, seconds, amount)
        values (new.instance_id, new.kind, new.currency, new.tenant_id, seconds, amount)
        on conflict (instance_id, kind, currency) do update
            set seconds = t.seconds + excluded.seconds, amount = t.amount + excluded.amount;
    end if;
    insert into usage_records (tenant_id, instance_id, run_id, version, payload)
    select new.tenant_id, new.instance_id, new.id, new.version, jsonb_build_object(
        'run_id', 'run_' || replace(new.id::text, '-', ''), 'version', new.version, 'kind', new.kind,
        'tenant_id', 'ten_' || replace(new.tenant_id::text, '-', ''),
        'instance_id', 'inst_' || replace(new.instance_id::text, '-', ''),
        'unit_id', 'unit_' || replace(new.unit_id::text, '-', ''),
        'gpu_spec', new.gpu_spec, 'cluster', new.cluster, 'datacenter', new.datacenter,
        'from', to_char(new.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'to', to_char(new.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'price_per_hour', new.price_per_hour::text, 'currency', new.currency,
        'end_reason', coalesce(new.hold_end, new.end_reason), 'correction', new.correction)
    from instances i where i.id = new.instance_id;
    perform pg_notify('atelier_gpu_usage', '');
    return null;
end $$;
create trigger runs_recorded after insert or update on runs for each row execute function record_run();

-- Called after a run was written. Each version of a run changes the sums of its days, and wakes its tenant's budget.
create function account_run() returns trigger language plpgsql set search_path from current as $$
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
create trigger runs_accounted after insert or update on runs for each row execute function account_run();
