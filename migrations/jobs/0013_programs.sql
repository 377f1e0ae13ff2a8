-- Programs of tenants: pools say which applications they run and for whom, and jobs may need several workers. Replicas of the
-- previous release submit to the oldest pool, and assign jobs of one worker only.

alter table pools
    add column applications text[] not null default '{stable-diffusion,dreambooth}',
    add column dedicated    boolean not null default false, -- runs jobs of its owner only
    add constraint pools_dedicated check (not dedicated or owner_id is not null),
    -- a program of a tenant does not run where another tenant's job runs
    add constraint pools_programs check (dedicated or not 'command' = any (applications));

alter table jobs
    add column gang_size smallint not null default 1 check (gang_size between 1 and 64),
    add column same_node boolean  not null default false;

-- The workers of an attempt that has several. Rank 0 is the attempt's worker; its price is that of all of them.
create table attempt_members (
    job_id    uuid     not null,
    attempt   int      not null,
    rank      smallint not null,
    worker_id uuid     not null,
    tenant_id uuid     not null,
    address   text,        -- where the others reach it, once it has its inputs
    done_at   timestamptz, -- its program has ended, or left
    primary key (job_id, attempt, rank),
    unique (job_id, attempt, worker_id),
    foreign key (job_id, attempt) references attempts on delete cascade
);
alter table attempt_members enable row level security;
alter table attempt_members force row level security;
create policy app on attempt_members for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on attempt_members to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on attempt_members from atelier_jobs_app;

alter table attempts add column workers smallint not null default 1;

-- the workers of a gang have the same job
alter table workers drop constraint workers_current_job_key;
create index workers_current_job on workers (current_job) where current_job is not null;

-- The end of what programs wrote.
create table job_logs (
    job_id     uuid        not null references jobs on delete cascade,
    attempt    int         not null,
    tenant_id  uuid        not null,
    until      bigint      not null, -- bytes that were written until now
    text       text        not null,
    updated_at timestamptz not null default now(),
    primary key (job_id, attempt)
);
alter table job_logs enable row level security;
alter table job_logs force row level security;
create policy app on job_logs for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on job_logs to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on job_logs from atelier_jobs_app;
