-- Jobs of tenants.

-- A request of a tenant for work on GPUs. Its parameters are in `job_inputs`.
create table jobs (
    id                uuid primary key,
    tenant_id         uuid not null,
    pool_id           uuid not null references pools,
    application       text not null,
    method            text not null,
    kind              text not null check (kind in ('training', 'generation', 'batch')),
    level             text not null check (level in ('urgent', 'ordinary', 'background')),
    priority          smallint not null check (priority between 0 and 9),
    model             uuid, -- the model that a worker has to have loaded for it
    class             text not null, -- jobs of one class take about as long
    state             text not null check (state in ('queued', 'assigned', 'running', 'cancelling', 'succeeded',
                                                      'failed', 'cancelled', 'expired')),
    -- the number of the latest attempt, and the worker of an open one
    attempt           int not null default 0,
    worker_id         uuid,
    reason            text, -- why it is queued again
    problem           jsonb, -- why it failed
    not_before        timestamptz, -- when it may be tried again
    deadline          timestamptz, -- when it expires if it still waits
    failures          smallint not null default 0, -- attempts that count against the limit
    preemptions       smallint not null default 0,
    leave_by          timestamptz, -- until when the attempt, which is preempted, leaves its worker
    generation        bigint not null default 1,
    created_at        timestamptz not null default now(),
    queued_at         timestamptz not null default now(),
    started_at        timestamptz,
    ended_at          timestamptz,
    req_no            uuid, -- the client's number of the request
    group_name        text,
    group_mode        text check (group_mode in ('strict', 'prefer')),
    recalls           smallint not null default 0, -- how often a claim has taken the unit of its worker
    max_cost          numeric, -- it is stopped when it costs that much
    max_cost_currency text,
    -- of all ended attempts with a price in the currency of the latest one
    cost              numeric,
    cost_currency     text,
    cost_seconds      bigint not null default 0,
    gang_size         smallint not null default 1 check (gang_size between 1 and 64), -- workers at a time
    same_node         boolean not null default false, -- whether they have to be on one node
    report_progress   boolean not null default false, -- whether progress is sent by the broker and to webhooks
    may_move          boolean not null default false, -- to another pool while it waits: it was submitted without one
    hold              text, -- why it may not start (`tenant_hold`)
    -- the checkpoint (`stable-diffusion`) or base model (`dreambooth`) that a worker has to have; null: any worker
    base_model        text,
    -- for lists of ended jobs, by state and in the order of the cost. Null until the job has ended, so that changes of
    -- open jobs write no entry into these indexes. The cost is a bigint because row-level security lets an index be
    -- searched by a bigint, but not by a numeric.
    end_state         text generated always as (case when ended_at is not null then state end) stored,
    cost_key          bigint generated always as (
        case when ended_at is not null then (least(coalesce(cost, 0), 9000000000) * 1000000000)::bigint end) stored,
    check ((state in ('assigned', 'running', 'cancelling')) = (worker_id is not null)),
    check ((state in ('succeeded', 'failed', 'cancelled', 'expired')) = (ended_at is not null)),
    check ((state = 'failed') = (problem is not null)),
    constraint jobs_group check ((group_name is null) = (group_mode is null)),
    check ((max_cost is null) = (max_cost_currency is null)),
    check ((cost is null) = (cost_currency is null))
) with (fillfactor = 70);
create index jobs_of_tenant on jobs (tenant_id, id desc);
create index jobs_open on jobs (pool_id) where ended_at is null;
create index jobs_ended on jobs (ended_at) where ended_at is not null;
create index jobs_held on jobs (deadline) where hold is not null;
-- lists of ended jobs, by several states, in the order of submission, end or cost
create index jobs_ended_by_time on jobs (tenant_id, kind, end_state, id) include (level, application)
    where end_state is not null;
create index jobs_ended_by_end on jobs (tenant_id, kind, end_state, ended_at, id) include (level, application)
    where end_state is not null;
create index jobs_ended_by_cost on jobs (tenant_id, kind, end_state, cost_key, id) include (level, application)
    where end_state is not null;
-- open jobs in the order of submission, and their number
create index jobs_open_by_time on jobs (tenant_id, id) where ended_at is null;
create index jobs_of_group on jobs (tenant_id, group_name, id) where group_name is not null;
alter table jobs enable row level security;
alter table jobs force row level security;
create policy app on jobs to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on jobs to atelier_jobs_worker using (true) with check (true);
-- `open_attempts` reads with the owner's rights
create policy owner on jobs for select to atelier_jobs_owner using (true);
revoke delete on jobs from atelier_jobs_app;
create trigger wake after insert or update or delete on jobs for each statement execute function wake();

-- The parameters of a job, apart from `jobs`, whose rows change often.
create table job_inputs (
    job_id     uuid primary key references jobs on delete cascade,
    tenant_id  uuid not null,
    parameters jsonb not null
);
alter table job_inputs enable row level security;
alter table job_inputs force row level security;
create policy app on job_inputs to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on job_inputs to atelier_jobs_worker using (true) with check (true);
revoke update, delete on job_inputs from atelier_jobs_app;

-- The request number of a submission. It stands for this submission of the tenant even when the job is deleted.
create table request_numbers (
    tenant_id  uuid not null,
    req_no     uuid not null,
    job_id     uuid not null,
    content    bytea not null, -- SHA-256 of the submission
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

-- Called when a job of a strict group ends: the group has used its node.
create function group_used() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    update group_nodes g set used_at = clock_timestamp()
    where g.pool_id = new.pool_id and g.tenant_id = new.tenant_id and g.group_name = new.group_name;
    return null;
end $$;
create trigger group_used after update on jobs for each row
    when (old.ended_at is null and new.ended_at is not null and new.group_mode = 'strict')
    execute function group_used();

revoke execute on function group_used() from public;
