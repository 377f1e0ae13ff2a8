-- Capacity over time: what was counted, added up by hour and by day (UTC). Rows outlive specifications and datacenters. Replicas of
-- the previous release do not count.

-- How often was counted.
create table capacity_rounds (
    step      text        not null check (step in ('hour', 'day')),
    begins_at timestamptz not null,
    rounds    bigint      not null,
    primary key (step, begins_at)
);

-- Sums over the rounds of the step; a specification without units in a datacenter has no row.
create table capacity (
    gpu_spec_id     uuid        not null,
    datacenter_id   uuid        not null,
    step            text        not null check (step in ('hour', 'day')),
    begins_at       timestamptz not null,
    available       bigint      not null,
    inactive        bigint      not null,
    used            bigint      not null,
    least_available bigint      not null,  -- the fewest of one round
    primary key (gpu_spec_id, datacenter_id, step, begins_at)
) with (fillfactor = 80);
create index capacity_begins on capacity (step, begins_at);

-- Requests never write these.
revoke insert, update, delete on capacity_rounds, capacity from atelier_stock_app;
