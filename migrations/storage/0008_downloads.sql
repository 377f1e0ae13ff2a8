-- Files that are downloaded from buckets of tenants onto their volumes. Replicas of the previous release have none; if one of
-- them writes a volume meanwhile, the next reconcile of this release writes the volume's downloads again.

create table downloads (
    id          uuid        primary key, -- chosen by the service that asks
    storage_id  uuid        not null references storages on delete cascade,
    tenant_id   uuid        not null,
    bucket_id   uuid        not null,
    object      text        not null,
    path        text        not null, -- below the root of the volume
    bytes       bigint      not null check (bytes >= 0),
    sha256      bytea       not null check (length(sha256) = 32),
    -- removing: the row goes when the cluster has nothing of it any more
    state       text        not null check (state in ('pending', 'done', 'failed', 'removing')),
    reason      text,
    message     text,
    attempt     int         not null default 1,
    attempt_at  timestamptz not null default now(), -- when the attempt may begin
    signed_at   timestamptz, -- when the address of the attempt was written last
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
-- a row goes when nothing of it is left in the cluster, and only the reconcilers know that
revoke delete on downloads from atelier_storage_app;
revoke insert on downloads from atelier_storage_worker;
