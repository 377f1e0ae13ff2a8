-- Attempts of jobs: on which workers they run, how far they are, and what they cost.

-- One try of a job. Its number fences it: only results of the latest attempt count.
create table attempts (
    job_id             uuid not null references jobs on delete cascade,
    number             int not null,
    tenant_id          uuid not null,
    worker_id          uuid not null,
    gpu_spec           text not null,
    class              text not null,
    state              text not null check (state in ('open', 'succeeded', 'failed', 'lost', 'preempted', 'cancelled')),
    problem            jsonb,
    assigned_at        timestamptz not null default now(),
    begun_at           timestamptz, -- the worker has it
    ended_at           timestamptz,
    -- the time that was last charged to the tenant's use of the pool, and the amount (`share` of the scheduler)
    slice_from         timestamptz,
    slice_until        timestamptz,
    slice_charge       text,
    -- at the assignment; null: there was no price
    price_per_hour     numeric,
    currency           text,
    level_factor       numeric,
    working_at         timestamptz, -- the first report of work after loading
    stop_at            timestamptz, -- when the cost reaches `max_cost` of the job
    -- set at the end
    charged_seconds    bigint,
    uncharged_seconds  bigint,
    uncharged_reason   text, -- null: all is charged
    cost               numeric,
    usage_version      int not null default 0, -- grows with each change of the cost
    workers            smallint not null default 1, -- number of workers
    -- the node of the worker that was lost with the attempt, unless the worker had said that it ends
    lost_node          text,
    -- when the delivery of the results began, and the session of the worker that has them on disk
    delivering_at      timestamptz,
    delivering_session bigint,
    primary key (job_id, number),
    check ((state = 'open') = (ended_at is null))
);
create unique index attempts_open on attempts (job_id) where ended_at is null;
create unique index attempts_counted on attempts (job_id) where state = 'succeeded';
create index attempts_of_class on attempts (class, ended_at desc) where state = 'succeeded';
create index attempts_to_stop on attempts (stop_at) where state = 'open' and stop_at is not null;
create index attempts_lost on attempts (ended_at) where lost_node is not null;
create index attempts_delivering on attempts (worker_id) where state = 'open' and delivering_at is not null;
alter table attempts enable row level security;
alter table attempts force row level security;
create policy app on attempts for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on attempts to atelier_jobs_worker using (true) with check (true);
-- `class_durations` and `open_attempts` read with the owner's rights
create policy owner on attempts for select to atelier_jobs_owner using (true);
revoke insert, update, delete on attempts from atelier_jobs_app;

-- A worker of an attempt that has several. Rank 0 is the worker in `attempts`; its price is that of all of them.
create table attempt_members (
    job_id    uuid not null,
    attempt   int not null,
    rank      smallint not null,
    worker_id uuid not null,
    tenant_id uuid not null,
    address   text, -- where the others reach it; null: it does not have its inputs yet
    done_at   timestamptz, -- when its program ended or left
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

-- The progress of a job. Unlogged: after a crash of Postgres the rows are lost, and reported again within seconds.
create unlogged table progress (
    job_id     uuid primary key,
    tenant_id  uuid not null,
    attempt    int not null,
    phase      text not null check (phase in ('loading', 'working', 'uploading')),
    step       int not null,
    steps      int not null,
    updated_at timestamptz not null default now()
);
alter table progress enable row level security;
alter table progress force row level security;
create policy app on progress for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on progress to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on progress from atelier_jobs_app;

-- The end of the output of an attempt's program.
create table job_logs (
    job_id     uuid not null references jobs on delete cascade,
    attempt    int not null,
    tenant_id  uuid not null,
    until      bigint not null, -- number of bytes that the program has written
    text       text not null,
    updated_at timestamptz not null default now(),
    primary key (job_id, attempt)
);
alter table job_logs enable row level security;
alter table job_logs force row level security;
create policy app on job_logs for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on job_logs to atelier_jobs_worker using (true) with check (true);
revoke insert, update, delete on job_logs from atelier_jobs_app;

-- Returns how many seconds the latest successful attempts of a class took, of all tenants, oldest first. Quotes need
-- it: a tenant sees only its own attempts.
create function class_durations(class text, most bigint) returns table (seconds float8)
language sql stable security definer set search_path = jobs, pg_temp as $$
    select latest.seconds from (
        select extract(epoch from a.ended_at - coalesce(a.begun_at, a.assigned_at))::float8 as seconds, a.ended_at
        from attempts a where a.state = 'succeeded' and a.class = class_durations.class order by a.ended_at desc limit most) latest
    order by latest.ended_at
$$;
revoke execute on function class_durations(text, bigint) from public;
grant execute on function class_durations(text, bigint) to atelier_jobs_app, atelier_jobs_worker;
