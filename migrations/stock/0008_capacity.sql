-- Capacity over time: how many units there were and for how long, added up by hour and by day (UTC). The rows outlive
-- specifications and datacenters. While the stock does not change, only one record an hour is written.

-- An hour or day in which capacity was measured.
create table capacity_steps (
    step      text not null check (step in ('hour', 'day')),
    begins_at timestamptz not null,
    seconds   bigint not null, -- how long was measured
    primary key (step, begins_at)
);
-- requests only read
revoke insert, update, delete on capacity_steps from atelier_stock_app;

-- Units times seconds in an hour or day. A specification without units in a datacenter has no row.
create table capacity (
    gpu_spec_id     uuid not null,
    datacenter_id   uuid not null,
    step            text not null check (step in ('hour', 'day')),
    begins_at       timestamptz not null,
    available       bigint not null,
    inactive        bigint not null,
    used            bigint not null,
    least_available bigint not null, -- the fewest units at once
    primary key (gpu_spec_id, datacenter_id, step, begins_at)
);
create index capacity_begins on capacity (step, begins_at);
revoke insert, update, delete on capacity from atelier_stock_app;

-- The number of units since the time in `capacity_since`, which is not added up yet.
create table capacity_now (
    gpu_spec_id   uuid not null,
    datacenter_id uuid not null,
    available     bigint not null,
    inactive      bigint not null,
    used          bigint not null,
    primary key (gpu_spec_id, datacenter_id)
);
revoke insert, update, delete on capacity_now from atelier_stock_app;

-- The time up to which capacity is added up: one row, and none before the first measurement.
create table capacity_since (
    at timestamptz not null
);
revoke insert, update, delete on capacity_since from atelier_stock_app;

-- The present numbers of units, as the list of stock counts them: a unit with an interruptible claim is available.
create view capacity_of_stock with (security_invoker = true) as
    select c.gpu_spec_id, c.datacenter_id, (sum(c.available) + coalesce(l.units, 0))::bigint as available,
        sum(c.inactive)::bigint as inactive, (sum(c.used) - coalesce(l.units, 0))::bigint as used
    from stock_counts c
    left join (select gpu_spec_id, datacenter_id, count(*) as units from interruptible_claims group by 1, 2) l
        on l.gpu_spec_id = c.gpu_spec_id and l.datacenter_id = c.datacenter_id
    group by c.gpu_spec_id, c.datacenter_id, l.units
    having sum(c.available + c.inactive + c.used) > 0;

-- Returns the hours or days that a time overlaps, with the seconds of it in each.
create function capacity_parts(step text, since timestamptz, until timestamptz)
returns table (begins_at timestamptz, seconds bigint)
language sql stable as $$
    select b at time zone 'UTC', round(extract(epoch from
        least(b + ('1 ' || step)::interval, until at time zone 'UTC') - greatest(b, since at time zone 'UTC')))::bigint
    from generate_series(date_trunc(step, since at time zone 'UTC'), until at time zone 'UTC', ('1 ' || step)::interval) b
$$;
