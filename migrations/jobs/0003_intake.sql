-- Request numbers of clients. Replicas of the previous release submit jobs without one.

alter table jobs add column req_no uuid;

-- A number stands for one submission of the tenant for ever: also when its job was deleted.
create table request_numbers (
    tenant_id  uuid        not null,
    req_no     uuid        not null,
    job_id     uuid        not null,
    content    bytea       not null, -- SHA-256 of the submission
    created_at timestamptz not null default now(),
    primary key (tenant_id, req_no)
);
alter table request_numbers enable row level security;
alter table request_numbers force row level security;
create policy app on request_numbers to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on request_numbers to atelier_jobs_worker using (true) with check (true);
revoke update, delete on request_numbers from atelier_jobs_app;
