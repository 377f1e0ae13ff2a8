-- Units, their holders, and how many there are.

-- A slot of a specification in a datacenter, with the instance that has claimed it. Its object in the cluster is a
-- GpuUnit. The rows are a queue (libs/db) of units that need a change in the cluster.
create table units (
    id              uuid primary key, -- determines the name of its GpuUnit
    gpu_spec_id     uuid not null references gpu_specs,
    datacenter_id   uuid not null references datacenters,
    state           text not null, -- making, available, inactive, used, removing
    -- as the cluster reports it
    held            boolean not null default false, -- its resources are reserved there
    occupied        boolean not null default false, -- an instance occupies it
    reason          text, -- why it is not held, or not made
    message         text,
    node            text,
    gpu_uuids       text[] not null default '{}',
    object_uid      text,
    object_version  bigint not null default 0,
    -- the instance that has claimed it
    holder_instance uuid,
    holder_tenant   uuid,
    holder_since    timestamptz,
    -- a random position: a claim takes the free units that follow a random point, so that concurrent claims rarely want
    -- the same row
    claim_key       int not null default (random() * 2147483647)::int,
    wake_at         timestamptz,
    failures        int not null default 0,
    since           timestamptz not null default now(), -- in this state
    created_at      timestamptz not null default now(),
    lease_owner     uuid,
    lease_until     timestamptz,
    -- one expression for all states, as every claim pays for each constraint
    check (case state
        when 'used' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 3
        when 'available' then held and num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        when 'inactive' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        when 'making' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        when 'removing' then num_nonnulls(holder_instance, holder_tenant, holder_since) = 0
        else false end)
);
-- A claim writes an entry into each index that contains the unit afterwards, so few do: the primary key, `units_holder`
-- and `units_of_tenant`.
create index units_free on units (gpu_spec_id, datacenter_id, claim_key) where state = 'available';
create index units_free_by_node on units (gpu_spec_id, node) where state = 'available';
create unique index units_holder on units (holder_instance) where holder_instance is not null;
create index units_idle on units (gpu_spec_id, datacenter_id, id) where state in ('making', 'inactive');
create index units_queue on units (coalesce(lease_until, wake_at)) where coalesce(lease_until, wake_at) is not null;
create index units_of_tenant on units (holder_tenant, id) where holder_tenant is not null;
alter table units enable row level security;
alter table units force row level security;
-- a request sees unclaimed units, and those that its tenant holds
create policy units_app on units to atelier_stock_app
    using (holder_tenant is null or holder_tenant = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (holder_tenant is null or holder_tenant = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy units_admin on units for select to atelier_stock_app
    using (current_setting('atelier.admin', true) = 'on');
create policy units_worker on units to atelier_stock_worker using (true) with check (true);

-- A claim that has ended. The row outlives the unit.
create table unit_holders (
    id            bigint generated always as identity primary key,
    unit_id       uuid not null,
    instance_id   uuid not null,
    tenant_id     uuid not null,
    claimed_at    timestamptz not null,
    released_at   timestamptz not null default now(),
    -- of the unit; null: the claim was interruptible, and another one took the unit. Such a row counts neither as a
    -- release nor as a claim in forecasts.
    gpu_spec_id   uuid,
    datacenter_id uuid,
    interruptible boolean not null default false -- false also where gpu_spec_id is null
);
create index unit_holders_unit on unit_holders (unit_id, id desc);
create index unit_holders_released on unit_holders (gpu_spec_id, released_at) where gpu_spec_id is not null;
create index unit_holders_claimed on unit_holders (claimed_at) where gpu_spec_id is not null and not interruptible;
alter table unit_holders enable row level security;
alter table unit_holders force row level security;
create policy unit_holders_app on unit_holders to atelier_stock_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy unit_holders_admin on unit_holders for select to atelier_stock_app
    using (current_setting('atelier.admin', true) = 'on');
create policy unit_holders_worker on unit_holders to atelier_stock_worker using (true) with check (true);
-- requests only read
revoke insert, update, delete on unit_holders from atelier_stock_app;

-- A unit in the lists of its specification and of its node, which are in the order of the ids. An index of `units`
-- would cost each claim an entry; here claims write nothing.
create table unit_places (
    gpu_spec_id   uuid not null,
    unit_id       uuid not null,
    datacenter_id uuid not null,
    node          text, -- as in `units`
    primary key (gpu_spec_id, unit_id)
);
create index unit_places_node on unit_places (node, unit_id) where node is not null;

-- How many units of a specification are in each state in a datacenter: the sum over all shards. Each connection writes
-- one of 16 shards, so that two claims rarely wait for each other's commit. A count of a single shard may be negative.
create table stock_counts (
    gpu_spec_id   uuid not null references gpu_specs on delete cascade,
    datacenter_id uuid not null references datacenters on delete cascade,
    shard         int not null,
    available     bigint not null default 0,
    inactive      bigint not null default 0,
    used          bigint not null default 0,
    changing      bigint not null default 0, -- being made or removed
    primary key (gpu_spec_id, datacenter_id, shard)
) with (fillfactor = 50);

-- Called once per statement that changes units, however many: keeps `stock_counts`, and adds and deletes places.
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

-- Called when units are added or change their node: keeps the node of their places.
create function place_units() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'INSERT' then
        update unit_places p set node = a.node from after a
        where a.node is not null and p.gpu_spec_id = a.gpu_spec_id and p.unit_id = a.id;
    else
        update unit_places set node = new.node where gpu_spec_id = new.gpu_spec_id and unit_id = new.id;
    end if;
    return null;
end $$;
-- its name makes it run after `units_counted_in`, which inserts the places
create trigger units_placed_in after insert on units
    referencing new table as after for each statement execute function place_units();
create trigger units_placed_over after update of node on units
    for each row when (old.node is distinct from new.node) execute function place_units();
