-- The meter: kinds of usage, a version and a record for each change of a run, totals that cost the same however many runs
-- there are, and how far each cluster's runs are confirmed. Triggers write records and totals, so that those of replicas
-- of the previous release, which write runs only, are complete too.

-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table runs no force row level security;

alter table runs
    -- what was used: the instance ran, or a stopped one kept its unit
    add column kind       text not null default 'running' check (kind in ('running', 'held')),
    -- grows with each change of the interval
    add column version    int  not null default 1,
    -- where the unit is; null in rows of earlier releases
    add column cluster    text,
    add column datacenter text,
    -- why a held run ended
    add column hold_end   text,
    -- why the interval of a closed run was changed; null if it was not
    add column correction text,
    add check (hold_end is null or kind = 'held');
create index runs_of_tenant on runs (tenant_id, ended_at, started_at);
create index runs_of_unit on runs (unit_id, started_at);
create index runs_ended on runs (ended_at, tenant_id);
create index runs_held on runs (instance_id) where kind = 'held' and ended_at is null;
-- Administrators read the usage of all tenants.
create policy app_admin on runs for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');

-- seconds × price ÷ 3600, rounded half to even at the sixth digit, as in usage/model.rs. In whole numbers: a quotient of
-- numeric has too few digits for large amounts.
create function usage_amount(seconds bigint, price_per_hour numeric) returns numeric
    language sql immutable parallel safe as $$
    select trim_scale(0.000001 * (q + case when r > 1800 or (r = 1800 and mod(q, 2) = 1) then 1 else 0 end))
    from (select div(n, 3600) as q, n - 3600 * div(n, 3600) as r
          from (select seconds * price_per_hour * 1000000 as n) as exact) as parts
$$;

-- Whole seconds of an interval; an open one has none.
create function usage_seconds(started_at timestamptz, ended_at timestamptz) returns bigint
    language sql immutable parallel safe as $$
    select coalesce(greatest(0, floor(extract(epoch from ended_at - started_at)))::bigint, 0)
$$;

-- The closed runs of an instance, summed up.
create table usage_totals (
    instance_id uuid    not null references instances (id),
    kind        text    not null,
    currency    text    not null,
    tenant_id   uuid    not null,
    seconds     bigint  not null,
    amount      numeric not null,
    primary key (instance_id, kind, currency)
);
-- what was recorded before
insert into usage_totals (instance_id, kind, currency, tenant_id, seconds, amount)
select instance_id, kind, currency, tenant_id, sum(usage_seconds(started_at, ended_at)),
    sum(usage_amount(usage_seconds(started_at, ended_at), price_per_hour))
from runs where ended_at is not null group by instance_id, kind, currency, tenant_id;
alter table usage_totals enable row level security;
alter table usage_totals force row level security;
create policy app on usage_totals to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on usage_totals to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on usage_totals from atelier_gpu_app;
revoke delete on usage_totals from atelier_gpu_worker;

-- One record for each version of each run, followed by other services (libs/feed). Never changed.
create table usage_records (
    id          bigint      generated always as identity primary key,
    xact        xid8        not null default pg_current_xact_id(),
    at          timestamptz not null default clock_timestamp(),
    tenant_id   uuid        not null,
    instance_id uuid        not null,
    run_id      uuid        not null references runs (id),
    version     int         not null,
    payload     jsonb       not null,
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

-- Up to when all open runs in a cluster are confirmed.
create table usage_watermarks (
    cluster           text        primary key,
    confirmed_through timestamptz not null
);
revoke all on usage_watermarks from atelier_gpu_app;

create function version_run() returns trigger language plpgsql set search_path from current as $$
begin
    if (new.started_at, new.ended_at) is distinct from (old.started_at, old.ended_at) then
        new.version := old.version + 1;
        if old.ended_at is not null then
            new.correction := coalesce(new.correction, 'late_evidence');
        end if;
    end if;
    return new;
end $$;
create trigger runs_versioned before update on runs for each row execute function version_run();

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
        'gpu_spec', i.spec ->> 'gpu_spec_name', 'cluster', new.cluster, 'datacenter', new.datacenter,
        'from', to_char(new.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'to', to_char(new.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'price_per_hour', new.price_per_hour::text, 'currency', new.currency,
        'end_reason', coalesce(new.hold_end, new.end_reason), 'correction', new.correction)
    from instances i where i.id = new.instance_id;
    perform pg_notify('atelier_gpu_usage', '');
    return null;
end $$;

create trigger runs_recorded after insert or update on runs for each row execute function record_run();
alter table runs force row level security;

-- Which stopped or stopping instances have or want a hold.
create index instances_held on instances (tenant_id) where phase ? 'hold';
