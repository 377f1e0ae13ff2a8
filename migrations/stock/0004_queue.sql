-- The queue of instances that wait for a unit, and the grants of units to them (`queue` of the service explains the
-- order and the locks).

-- An instance that waits for a unit of a specification.
create table queue_entries (
    instance_id   uuid primary key,
    tenant_id     uuid not null,
    gpu_spec_id   uuid not null references gpu_specs on delete cascade,
    datacenter_id uuid references datacenters on delete cascade, -- null: any
    priority      int not null,
    -- the round in which it is served: each entry of a tenant is in a later one than the last, so tenants take turns
    turn          bigint not null,
    seq           bigint generated always as identity, -- order of arrival
    attempt       bigint not null, -- number of the instance's start
    since         timestamptz not null default now()
);
-- The order is priority, round, arrival. It is indexed by datacenter, so that the next entry for a unit is found
-- without reading those that wait for other datacenters. Entries for any datacenter have an index of their own, as the
-- planner does not read an index in order after `is null`.
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
-- requests only read
revoke insert, update, delete on queue_entries from atelier_stock_app;

-- The last round that was served. New entries are served in a later one, however few their tenant has.
create table queue_rounds (
    gpu_spec_id uuid not null references gpu_specs on delete cascade,
    priority    int not null,
    round       bigint not null,
    primary key (gpu_spec_id, priority)
);
revoke insert, update, delete on queue_rounds from atelier_stock_app;

-- A unit that was given to an instance in the queue. The gpu service follows this feed (libs/feed).
create table queue_grants (
    id      bigint generated always as identity primary key,
    xact    xid8 not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    payload jsonb not null
);
create index queue_grants_xact on queue_grants (xact);
revoke insert, update, delete on queue_grants from atelier_stock_app;
revoke select on queue_grants from atelier_stock_app;
