-- Training: images that users upload, models that jobs make from them, and checkpoints. Replicas of the previous release have
-- none of these.

-- Inputs in object storage, below jobs/uploads/<upload>/. Deleted when they are due, and no open job uses them.
create table uploads (
    id           uuid        primary key,
    tenant_id    uuid        not null,
    storage_id   uuid        not null,
    name         text        not null,
    content_type text        not null,
    bytes        bigint      not null check (bytes > 0),
    sha256       bytea       check (length(sha256) = 32), -- as the client announced it
    uploaded_at  timestamptz, -- when the content was seen in the bucket
    created_at   timestamptz not null default now(),
    delete_at    timestamptz not null default now() + interval '24 hours'
);
create index uploads_due on uploads (delete_at);
alter table uploads enable row level security;
alter table uploads force row level security;
create policy app on uploads to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on uploads to atelier_jobs_worker using (true) with check (true);
revoke delete on uploads from atelier_jobs_app;

-- Which jobs use an upload.
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

-- Results of trainings. The file is one of the results of its attempt, and is kept when the job is deleted.
create table models (
    id         uuid        primary key,
    tenant_id  uuid        not null,
    name       text        not null,
    kind       text        not null check (kind in ('lora')),
    base_model text        not null,
    job_id     uuid        not null unique,
    attempt    int         not null,
    storage_id uuid        not null,
    file       text        not null, -- name of the result
    sha256     bytea       not null check (length(sha256) = 32),
    bytes      bigint      not null check (bytes >= 0),
    generation bigint      not null default 1,
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

-- With a model, the results of its training are deleted: the request of a user does both.
grant select (job_id, attempt, tenant_id), update (delete_at) on outputs to atelier_jobs_app;
create policy app on outputs to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
grant delete on artifacts to atelier_jobs_app;
create policy app_delete on artifacts for delete to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);

-- Checkpoints that attempts have announced: two of an attempt, of which one is complete. Their objects are outputs of the
-- attempt 0 of the job.
create table checkpoints (
    job_id     uuid        not null references jobs on delete cascade,
    attempt    int         not null,
    slot       smallint    not null check (slot in (0, 1)),
    tenant_id  uuid        not null,
    step       int         not null,
    sha256     bytea       not null check (length(sha256) = 32),
    bytes      bigint      not null check (bytes >= 0),
    created_at timestamptz not null default now(),
    primary key (job_id, attempt, slot)
);
alter table checkpoints enable row level security;
alter table checkpoints force row level security;
create policy worker on checkpoints to atelier_jobs_worker using (true) with check (true);
revoke all on checkpoints from atelier_jobs_app;
