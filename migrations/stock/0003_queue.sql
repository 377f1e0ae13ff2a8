-- The queue of instances that wait for a unit. Replicas of the previous release do not read it; `claim_waits`, which
-- they write, is removed with the next release.

create table queue_entries (
    instance_id   uuid        primary key,
    tenant_id     uuid        not null,
    gpu_spec_id   uuid        not null references gpu_specs on delete cascade,
    datacenter_id uuid        references datacenters on delete cascade,  -- null: any
    priority      int         not null,
    -- The round in which it is served: the tenant's next entry is served in the next round, so tenants take turns.
    turn          bigint      not null,
    seq           bigint      generated always as identity,  -- order of arrival
    attempt       bigint      not null,                      -- number of the instance's start
    since         timestamptz not null default now()
);
-- The order: priority, round, arrival. Per datacenter, so that the next entry for a unit is found without passing those
-- that wait for other datacenters. The planner does not read an index in order after `is null`: one more for those.
create index queue_entries_there on queue_entries (gpu_spec_id, datacenter_id, priority desc, turn, seq)
    where datacenter_id is not null;
create index queue_entries_anywhere on queue_entries (gpu_spec_id, priority desc, turn, seq)
    where datacenter_id is null;
create index queue_entries_tenant on queue_entries (gpu_spec_id, tenant_id, priority, turn);
alter table queue_entries enable row level security;
alter table queue_entries force row level security;
create policy queue_entries_app on queue_entries to atelier_stock_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy queue_entries_worker on queue_entries to atelier_stock_worker using (true) with check (true);

-- The last round that was served: new entries are served in a later one, however few their tenant has.
create table queue_rounds (
    gpu_spec_id uuid   not null references gpu_specs on delete cascade,
    priority    int    not null,
    round       bigint not null,
    primary key (gpu_spec_id, priority)
);

-- Units given from the queue, followed by the gpu service (libs/feed).
create table queue_grants (
    id      bigint      generated always as identity primary key,
    xact    xid8        not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    payload jsonb       not null
);
create index queue_grants_xact on queue_grants (xact);

-- How often a unit of a specification is released. Null in rows of earlier releases.
alter table unit_holders add column gpu_spec_id uuid, add column datacenter_id uuid;
create index unit_holders_released on unit_holders (gpu_spec_id, released_at) where gpu_spec_id is not null;

-- Requests never write these.
revoke insert, update, delete on queue_entries, queue_rounds, queue_grants from atelier_stock_app;
revoke select on queue_grants from atelier_stock_app;
