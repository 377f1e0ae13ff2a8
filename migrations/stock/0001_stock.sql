-- The stock service's schema: what can be had, where, how much of it there is, and who has it.
--
-- Platform tables (no tenant's data): datacenters, gpu_specs, gpu_spec_prices, unit_places, stock_counts,
-- operations, operation_units, comparisons, repairs, idempotency_keys.
-- Tables that name tenants have row-level security: units (its holder), unit_holders, claim_waits.

create table datacenters (
    id          uuid        primary key,
    name        text        collate "C" not null unique,
    region      text        not null,
    cluster     text        not null,  -- a name in the configuration's `clusters`
    labels      jsonb       not null default '{}',
    state       text        not null default 'active' check (state in ('active', 'draining')),
    generation  bigint      not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now()
);

create table gpu_specs (
    id                uuid        primary key,
    name              text        collate "C" not null unique,
    gpu_model         text        not null,
    gpu_count         int         not null check (gpu_count > 0),
    gpu_cores         int         not null check (gpu_cores > 0),
    video_memory_mib  bigint      not null check (video_memory_mib > 0),
    cpu_millis        bigint      not null check (cpu_millis > 0),
    memory_mib        bigint      not null check (memory_mib > 0),
    disk_gib          bigint      not null check (disk_gib > 0),
    allocation        jsonb       not null,
    node_selector     jsonb       not null default '{}',
    price_per_hour    numeric(18, 6) not null check (price_per_hour >= 0),  -- the one in force now
    currency          text        not null check (currency ~ '^[A-Z]{3}$'),
    state             text        not null default 'active' check (state in ('active', 'retired')),
    generation        bigint      not null default 1,
    created_at        timestamptz not null default now(),
    updated_at        timestamptz not null default now()
);
create index gpu_specs_model on gpu_specs (gpu_model, name);

-- Each price a specification ever had, with the time from which it was in force.
create table gpu_spec_prices (
    gpu_spec_id     uuid           not null references gpu_specs on delete cascade,
    effective_from  timestamptz    not null,
    price_per_hour  numeric(18, 6) not null check (price_per_hour >= 0),
    currency        text           not null,
    primary key (gpu_spec_id, effective_from)
);

create table operations (
    id             uuid        primary key,
    kind           text        not null check (kind in ('add_stock', 'remove_stock')),
    gpu_spec_id    uuid        not null,  -- no reference: the record outlives the specification
    gpu_spec_name  text        not null,
    datacenter_id  uuid        not null,
    datacenter_name text       not null,
    count          int         not null check (count > 0),
    state          text        not null check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
    problem        jsonb,
    progress       jsonb,                 -- as it was at the end; until then it follows from operation_units
    judge_after    timestamptz not null,  -- from then on, what is not held counts as failed
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    finished_at    timestamptz,
    check ((finished_at is null) = (state in ('pending', 'running')))
);
create index operations_open on operations (id) where finished_at is null;

create table units (
    id              uuid        primary key,  -- its GpuUnit's name follows from it
    gpu_spec_id     uuid        not null references gpu_specs,
    datacenter_id   uuid        not null references datacenters,
    state           text        not null,  -- making, available, inactive, used, removing
    -- what the cluster says
    held            boolean     not null default false,  -- its resources are reserved there
    occupied        boolean     not null default false,  -- an instance stands in its object
    reason          text,                                -- why it is not held, or not made
    message         text,
    node            text,
    gpu_uuids       text[]      not null default '{}',
    object_uid      text,
    object_version  bigint      not null default 0,
    -- who has it
    holder_instance uuid,
    holder_tenant   uuid,
    holder_since    timestamptz,
    -- a claim of any unit starts at a random one: no two claims want the same row
    claim_key       int         not null default (random() * 2147483647)::int,
    -- what is to be done in the cluster, and when (null: nothing)
    work_at         timestamptz,
    work_tries      int         not null default 0,
    since           timestamptz not null default now(),  -- in this state
    created_at      timestamptz not null default now(),
    -- in one expression, since each costs every claim
    check (case state
        when 'used' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 3
        when 'available' then held and num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        when 'inactive' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        when 'making' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        when 'removing' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        else false end)
);
-- A claim writes an entry into each index that the unit is in afterwards, so there are few of those: the
-- primary key and the holder's. The first two are the ways to claim, and cover free units only.
create index units_free on units (gpu_spec_id, datacenter_id, claim_key) where state = 'available';
create index units_free_by_node on units (gpu_spec_id, node) where state = 'available';
create unique index units_holder on units (holder_instance) where holder_instance is not null;
create index units_idle on units (gpu_spec_id, datacenter_id, id) where state in ('making', 'inactive');
create index units_work on units (work_at) where work_at is not null;

alter table units enable row level security;
alter table units force row level security;
-- The request path sees units that nobody holds, and those that its tenant holds.
create policy units_app on units to atelier_stock_app
    using (holder_tenant is null or holder_tenant = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (holder_tenant is null or holder_tenant = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy units_worker on units to atelier_stock_worker using (true) with check (true);

-- Who used a unit before. Rows outlive the unit.
create table unit_holders (
    id           bigint      generated always as identity primary key,
    unit_id      uuid        not null,
    instance_id  uuid        not null,
    tenant_id    uuid        not null,
    claimed_at   timestamptz not null,
    released_at  timestamptz not null default now()
);
create index unit_holders_unit on unit_holders (unit_id, id desc);
alter table unit_holders enable row level security;
alter table unit_holders force row level security;
create policy unit_holders_app on unit_holders to atelier_stock_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy unit_holders_worker on unit_holders to atelier_stock_worker using (true) with check (true);

-- Instances that asked for a unit when none was free, and have not got one since.
create table claim_waits (
    instance_id   uuid        primary key,
    tenant_id     uuid        not null,
    gpu_spec_id   uuid        not null references gpu_specs on delete cascade,
    datacenter_id uuid,
    since         timestamptz not null default now(),
    asked_at      timestamptz not null default now()
);
create index claim_waits_spec on claim_waits (gpu_spec_id, asked_at);
alter table claim_waits enable row level security;
alter table claim_waits force row level security;
create policy claim_waits_app on claim_waits to atelier_stock_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy claim_waits_worker on claim_waits to atelier_stock_worker using (true) with check (true);

-- The units of each specification, in the order they were added: written when a unit comes and goes, and
-- by no claim.
create table unit_places (
    gpu_spec_id   uuid not null,
    unit_id       uuid not null,
    datacenter_id uuid not null,
    primary key (gpu_spec_id, unit_id)
);

-- How many units of a specification are in which state in a datacenter: the sum over the shards. Each
-- connection writes a shard of its own (but for a few that share), so that two claims of a specification
-- need not wait for each other's commit. A single shard may well be below zero.
create table stock_counts (
    gpu_spec_id   uuid   not null references gpu_specs on delete cascade,
    datacenter_id uuid   not null references datacenters on delete cascade,
    shard         int    not null,
    available     bigint not null default 0,
    inactive      bigint not null default 0,
    used          bigint not null default 0,
    changing      bigint not null default 0,  -- being made or removed
    primary key (gpu_spec_id, datacenter_id, shard)
) with (fillfactor = 50);

-- Keeps the counts and the places: once per statement, whatever the number of units it changes.
create function count_units() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'INSERT' then
        insert into unit_places (gpu_spec_id, unit_id, datacenter_id)
        select gpu_spec_id, id, datacenter_id from after;
        insert into stock_counts as c (gpu_spec_id, datacenter_id, shard, available, inactive, used, changing)
        select gpu_spec_id, datacenter_id, pg_backend_pid() % 16,
               count(*) filter (where state = 'available'), count(*) filter (where state = 'inactive'),
               count(*) filter (where state = 'used'), count(*) filter (where state in ('making', 'removing'))
        from after group by 1, 2 order by 1, 2
        on conflict (gpu_spec_id, datacenter_id, shard) do update set
            available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
            used = c.used + excluded.used, changing = c.changing + excluded.changing;
    elsif tg_op = 'DELETE' then
        delete from unit_places p using before b where p.gpu_spec_id = b.gpu_spec_id and p.unit_id = b.id;
        insert into stock_counts as c (gpu_spec_id, datacenter_id, shard, available, inactive, used, changing)
        select gpu_spec_id, datacenter_id, pg_backend_pid() % 16,
               -count(*) filter (where state = 'available'), -count(*) filter (where state = 'inactive'),
               -count(*) filter (where state = 'used'), -count(*) filter (where state in ('making', 'removing'))
        from before group by 1, 2 order by 1, 2
        on conflict (gpu_spec_id, datacenter_id, shard) do update set
            available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
            used = c.used + excluded.used, changing = c.changing + excluded.changing;
    else
        insert into stock_counts as c (gpu_spec_id, datacenter_id, shard, available, inactive, used, changing)
        select * from (
            select gpu_spec_id, datacenter_id, pg_backend_pid() % 16,
                   coalesce(sum(n) filter (where state = 'available'), 0) as available,
                   coalesce(sum(n) filter (where state = 'inactive'), 0) as inactive,
                   coalesce(sum(n) filter (where state = 'used'), 0) as used,
                   coalesce(sum(n) filter (where state in ('making', 'removing')), 0) as changing
            from (select gpu_spec_id, datacenter_id, state, 1 as n from after
                  union all select gpu_spec_id, datacenter_id, state, -1 from before) moved
            group by 1, 2) delta
        where available <> 0 or inactive <> 0 or used <> 0 or changing <> 0
        order by 1, 2
        on conflict (gpu_spec_id, datacenter_id, shard) do update set
            available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
            used = c.used + excluded.used, changing = c.changing + excluded.changing;
    end if;
    return null;
end $$;
create trigger units_counted_in after insert on units
    referencing new table as after for each statement execute function count_units();
create trigger units_counted_out after delete on units
    referencing old table as before for each statement execute function count_units();
create trigger units_counted_over after update on units
    referencing old table as before new table as after for each statement execute function count_units();

-- What has become of each unit that an operation under way is about.
create table operation_units (
    operation_id uuid not null references operations on delete cascade,
    unit_id      uuid not null,
    step         text not null check (step in ('asked', 'made', 'held', 'removed', 'failed')),
    reason       text,
    message      text,
    primary key (operation_id, unit_id)
);
create index operation_units_open on operation_units (unit_id) where step in ('asked', 'made');

-- When each cluster was last compared, object by object, with the units here.
create table comparisons (
    cluster     text        primary key,
    started_at  timestamptz not null,
    finished_at timestamptz
);

-- What a comparison found and put right.
create table repairs (
    id       bigint      generated always as identity primary key,
    at       timestamptz not null default now(),
    cluster  text,
    kind     text        not null,
    unit_id  uuid,
    detail   text        not null
);

create table idempotency_keys (
    scope        text        not null,
    key          text        not null,
    request_hash bytea       not null,
    status       int         not null,
    headers      jsonb       not null,
    body         jsonb,
    created_at   timestamptz not null default now(),
    primary key (scope, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Requests never write these.
revoke insert, update, delete on unit_holders, claim_waits, comparisons, repairs from atelier_stock_app;
