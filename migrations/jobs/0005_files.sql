-- Files of jobs in buckets of their tenants: results, inputs, models and checkpoints. And deployments of models.

-- An attempt that may have objects in a bucket, below jobs/<job>/<attempt>/. The row is written before the first
-- object, and outlives the job until the objects are deleted.
create table outputs (
    job_id       uuid not null,
    attempt      int not null,
    tenant_id    uuid not null,
    storage_id   uuid not null,
    created_at   timestamptz not null default now(),
    delete_at    timestamptz, -- null: the objects count, or may count
    -- when what it has staged is deleted; null: it was. The default is longer than a delivery can take.
    staged_until timestamptz default now() + interval '14 days',
    primary key (job_id, attempt)
);
create index outputs_due on outputs (delete_at) where delete_at is not null;
create index outputs_staged on outputs (staged_until) where staged_until is not null;
alter table outputs enable row level security;
alter table outputs force row level security;
create policy app on outputs to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on outputs to atelier_jobs_worker using (true) with check (true);
revoke all on outputs from atelier_jobs_app;
-- a request that deletes a model has the results of its training deleted, too
grant select (job_id, attempt, tenant_id), update (delete_at) on outputs to atelier_jobs_app;
create trigger wake after insert or update of delete_at on outputs for each row execute function wake();

-- A result of a job: one file.
create table artifacts (
    id           uuid primary key,
    job_id       uuid not null references jobs on delete cascade,
    attempt      int not null,
    tenant_id    uuid not null,
    name         text not null,
    content_type text not null,
    sha256       bytea not null check (length(sha256) = 32),
    bytes        bigint not null check (bytes >= 0),
    created_at   timestamptz not null default now(),
    storage_id   uuid, -- the bucket; null: the attempt has stored nothing, so that the result has no content
    unique (job_id, name)
);
alter table artifacts enable row level security;
alter table artifacts force row level security;
create policy app on artifacts for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_delete on artifacts for delete to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on artifacts to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on artifacts from atelier_jobs_app;
grant delete on artifacts to atelier_jobs_app;

-- An input that a user uploads to a bucket, below jobs/uploads/<upload>/. It is deleted when it is due, unless an open
-- job uses it.
create table uploads (
    id           uuid primary key,
    tenant_id    uuid not null,
    storage_id   uuid not null,
    name         text not null,
    content_type text not null,
    bytes        bigint not null check (bytes > 0),
    sha256       bytea check (length(sha256) = 32), -- as the client announced it
    uploaded_at  timestamptz, -- when the content was seen in the bucket
    created_at   timestamptz not null default now(),
    delete_at    timestamptz not null default now() + interval '24 hours',
    etag         text -- of the content that was seen, so that another content is noticed; null: none seen
);
create index uploads_due on uploads (delete_at);
alter table uploads enable row level security;
alter table uploads force row level security;
create policy app on uploads to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on uploads to atelier_jobs_worker using (true) with check (true);
revoke delete on uploads from atelier_jobs_app;
create trigger wake after insert or update of delete_at on uploads for each row execute function wake();

-- The use of an upload by a job.
create table job_uploads (
    job_id    uuid not null references jobs on delete cascade,
    upload_id uuid not null,
    tenant_id uuid not null,
    primary key (job_id, upload_id)
);
create index job_uploads_of_upload on job_uploads (upload_id);
alter table job_uploads enable row level security;
alter table job_uploads force row level security;
create policy app on job_uploads to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on job_uploads to atelier_jobs_worker using (true) with check (true);
revoke update, delete on job_uploads from atelier_jobs_app;

-- A model: the result of a training. Its file is a result of the attempt, and is kept when the job is deleted.
create table models (
    id         uuid primary key,
    tenant_id  uuid not null,
    name       text not null,
    kind       text not null check (kind in ('lora')),
    base_model text not null,
    job_id     uuid not null unique,
    attempt    int not null,
    storage_id uuid not null,
    file       text not null, -- name of the result
    sha256     bytea not null check (length(sha256) = 32),
    bytes      bigint not null check (bytes >= 0),
    generation bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create index models_of_tenant on models (tenant_id, id desc);
alter table models enable row level security;
alter table models force row level security;
create policy app on models to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on models to atelier_jobs_worker using (true) with check (true);
revoke insert on models from atelier_jobs_app;

-- A checkpoint that an attempt has announced. An attempt has two, so that one is complete while the other is written.
-- The objects belong to the attempt 0 of the job.
create table checkpoints (
    job_id     uuid not null references jobs on delete cascade,
    attempt    int not null,
    slot       smallint not null check (slot in (0, 1)),
    tenant_id  uuid not null,
    step       int not null,
    sha256     bytea not null check (length(sha256) = 32),
    bytes      bigint not null check (bytes >= 0),
    created_at timestamptz not null default now(),
    stored_at  timestamptz, -- when its content was seen in the bucket
    -- identifies the object that was in the slot at the announcement: another one is the announced content. Null: there
    -- was none.
    found      text,
    primary key (job_id, attempt, slot)
);
alter table checkpoints enable row level security;
alter table checkpoints force row level security;
create policy worker on checkpoints to atelier_jobs_worker using (true) with check (true);
revoke all on checkpoints from atelier_jobs_app;

-- A model that a user deploys to a volume. The storage service downloads it.
create table deployments (
    id          uuid primary key,
    tenant_id   uuid not null,
    model_id    uuid not null,
    storage_id  uuid not null,
    path        text not null, -- below the root of the volume
    -- deleting: the row is deleted when the storage service has forgotten the download
    state       text not null check (state in ('pending', 'deployed', 'failed', 'deleting')),
    reason      text, -- why it is pending or failed
    message     text,
    check_at    timestamptz not null default now(), -- when the storage service is asked next
    created_at  timestamptz not null default now(),
    finished_at timestamptz,
    check ((state in ('deployed', 'failed')) <= (finished_at is not null))
);
-- one at a time for a path, as the order of two would be random
create unique index deployments_path on deployments (storage_id, path) where state = 'pending';
create index deployments_of_model on deployments (model_id, id desc);
create index deployments_due on deployments (check_at) where state in ('pending', 'deleting');
alter table deployments enable row level security;
alter table deployments force row level security;
create policy app on deployments to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on deployments to atelier_jobs_worker using (true) with check (true);
revoke delete on deployments from atelier_jobs_app;
revoke insert on deployments from atelier_jobs_worker;
create trigger wake after insert or update on deployments for each row execute function wake();
