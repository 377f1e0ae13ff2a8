-- Models that users lay onto volumes. The storage service downloads them; the worker `jobs.deployments` asks it until each is
-- there. Replicas of the previous release have none; a model that one of them deletes leaves its deployments behind, which end
-- as failed, for the file is gone.

create table deployments (
    id          uuid        primary key,
    tenant_id   uuid        not null,
    model_id    uuid        not null,
    storage_id  uuid        not null,
    path        text        not null, -- below the root of the volume
    -- deleting: the row goes when the storage service has forgotten it
    state       text        not null check (state in ('pending', 'deployed', 'failed', 'deleting')),
    reason      text,
    message     text,
    check_at    timestamptz not null default now(), -- when the storage service is asked next
    created_at  timestamptz not null default now(),
    finished_at timestamptz,
    check ((state in ('deployed', 'failed')) <= (finished_at is not null))
);
-- one file at a path at a time: the order of two would be an accident
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
