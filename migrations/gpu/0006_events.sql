-- Events of instances and budgets (docs/EVENTS.md): one ordered log per tenant, and a feed of all events for other
-- services (libs/feed); and the feeds that this service follows.

-- The end of a tenant's log. A transaction that writes events locks the row until it ends, so that events commit in the
-- order of their sequence numbers.
create table event_logs (
    tenant_id  uuid primary key,
    last       bigint not null, -- sequence number of the newest event
    deleted_to bigint not null default 0 -- events up to this sequence number were deleted
);
alter table event_logs enable row level security;
alter table event_logs force row level security;
create policy app on event_logs to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on event_logs to atelier_gpu_worker using (true) with check (true);
revoke delete on event_logs from atelier_gpu_app, atelier_gpu_worker;
-- the worker deletes what is left of a deleted tenant
grant delete on event_logs to atelier_gpu_worker;

-- An event. It never changes.
create table events (
    id          bigint generated always as identity primary key,
    xact        xid8 not null default pg_current_xact_id(),
    -- read when the tenant's log is locked already, so that times are in the order of the sequence numbers
    at          timestamptz not null default clock_timestamp(),
    tenant_id   uuid not null,
    -- position in the tenant's log: 1, 2, 3 and so on, without gaps
    sequence    bigint not null,
    instance_id uuid not null, -- the zero id: an event of the tenant's budget
    type        text not null,
    payload     jsonb not null, -- the event as it is shown, without its time
    unique (tenant_id, sequence)
);
create index events_xact on events (xact);
create index events_of_instance on events (instance_id, sequence);
create index events_of_type on events (tenant_id, type, sequence);
alter table events enable row level security;
alter table events force row level security;
create policy app on events to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on events to atelier_gpu_worker using (true) with check (true);
-- only housekeeping deletes events
revoke update, delete on events from atelier_gpu_app;
revoke update on events from atelier_gpu_worker;

-- How far this service has followed a feed of another service. The cursor is stored in the transaction of its effect.
create table feed_cursors (
    feed       text primary key,
    cursor     text not null,
    updated_at timestamptz not null default now()
);
revoke all on feed_cursors from atelier_gpu_app;
