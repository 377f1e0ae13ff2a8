-- Files on their way between buckets and volumes, or into buckets.

-- A file that another service wants to be downloaded from a bucket to a volume of the same tenant. The reconcile of the
-- volume carries it out.
create table downloads (
    id          uuid primary key, -- chosen by the service that asks
    storage_id  uuid not null references storages on delete cascade, -- the volume
    tenant_id   uuid not null,
    bucket_id   uuid not null,
    object      text not null, -- name in the bucket
    path        text not null, -- below the root of the volume
    bytes       bigint not null check (bytes >= 0),
    sha256      bytea not null check (length(sha256) = 32),
    -- removing: the row is deleted when the cluster has nothing of it any more
    state       text not null check (state in ('pending', 'done', 'failed', 'removing')),
    reason      text, -- why it is pending or failed
    message     text,
    attempt     int not null default 1,
    attempt_at  timestamptz not null default now(), -- when the attempt may begin
    signed_at   timestamptz, -- when the signed URL of the attempt was last written; null: not yet
    created_at  timestamptz not null default now(),
    finished_at timestamptz,
    check ((state in ('done', 'failed')) <= (finished_at is not null))
);
create index downloads_open on downloads (storage_id) where state in ('pending', 'removing');
create index downloads_of_storage on downloads (storage_id);
alter table downloads enable row level security;
alter table downloads force row level security;
create policy app on downloads to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on downloads to atelier_storage_worker using (true) with check (true);
-- the reconciler deletes the row when nothing of it is left in the cluster
revoke delete on downloads from atelier_storage_app;
revoke insert on downloads from atelier_storage_worker;

-- The platform's bucket in the object store, in which the results of jobs lie until they are delivered to the bucket of
-- their tenant. One row, written with the first use.
create table staging (
    only_row boolean primary key default true check (only_row),
    -- of the user and of the bucket. Names of buckets are global, and tenants can create buckets: a random name cannot
    -- be taken in advance.
    name     text not null default 'atelier-staging-' || replace(gen_random_uuid()::text, '-', '')
);
revoke all on staging from atelier_storage_app;
revoke update, delete on staging from atelier_storage_worker;
