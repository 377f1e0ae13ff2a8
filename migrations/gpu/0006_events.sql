-- What happened to instances: one ordered log per tenant, written in the transaction of each change, and a feed for other
-- services (libs/feed). Replicas of the previous release write no events; nothing else changes for them.

-- The end of each tenant's log. A transaction that writes events locks its tenant's row until it ends, so that events
-- commit in the order of their sequence numbers.
create table event_logs (
    tenant_id  uuid   primary key,
    -- sequence number of the newest event
    last       bigint not null,
    -- events up to this sequence number were deleted
    deleted_to bigint not null default 0
);
alter table event_logs enable row level security;
alter table event_logs force row level security;
create policy app on event_logs to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on event_logs to atelier_gpu_worker using (true) with check (true);
revoke delete on event_logs from atelier_gpu_app, atelier_gpu_worker;

create table events (
    id          bigint generated always as identity primary key,
    xact        xid8        not null default pg_current_xact_id(),
    -- read after the tenant's log was locked
    at          timestamptz not null default clock_timestamp(),
    tenant_id   uuid        not null,
    -- position in the tenant's log: 1, 2, 3 and so on, without gaps
    sequence    bigint      not null,
    instance_id uuid        not null,
    type        text        not null,
    -- the event (event/model.rs), without its time
    payload     jsonb       not null,
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
-- an event never changes, and only housekeeping deletes it
revoke update, delete on events from atelier_gpu_app;
revoke update on events from atelier_gpu_worker;
