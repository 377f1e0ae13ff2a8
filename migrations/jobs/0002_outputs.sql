-- Outputs in object storage: where they are, and what is to be deleted there. Replicas of the previous release have no
-- outputs.

-- The bucket; null for results of the previous release, which have no content.
alter table artifacts add column storage_id uuid;

-- Attempts that may have objects in a bucket, below jobs/<job>/<attempt>/. A row is written before the first object, and
-- outlives its job until they are deleted.
create table outputs (
    job_id     uuid        not null,
    attempt    int         not null,
    tenant_id  uuid        not null,
    storage_id uuid        not null,
    created_at timestamptz not null default now(),
    delete_at  timestamptz, -- null while they count, or may count
    primary key (job_id, attempt)
);
create index outputs_due on outputs (delete_at) where delete_at is not null;
alter table outputs enable row level security;
alter table outputs force row level security;
create policy worker on outputs to atelier_jobs_worker using (true) with check (true);
revoke all on outputs from atelier_jobs_app;
