-- Pools, their workers, and what the scheduler keeps of them. At the end, how replicas that rest are woken.

-- Workers with one scheduler: the replica with the lease (`leader`). A new leader increments the epoch, and each
-- transaction of the scheduler locks the row with its epoch, so that a former leader changes nothing.
create table pools (
    id                uuid primary key,
    name              text not null unique,
    gpu_specs         text[] not null check (cardinality(gpu_specs) > 0), -- in order of preference
    leader            uuid,
    leader_until      timestamptz,
    epoch             bigint not null default 0,
    created_at        timestamptz not null default now(),
    generation        bigint not null default 1,
    owner_id          uuid, -- the tenant that has and pays for the instances of its workers
    -- the service image of workers that the platform runs. Null: it runs none; null version: the recommended one
    service           text,
    version           text,
    -- bounds of the number of firm workers
    min_workers       int not null default 0,
    max_workers       int not null default 0,
    wanted            int not null default 0, -- how many firm workers the queue asks for: the scheduler writes it
    -- workers that could not be started or have failed since one was ready; no other is ordered before `retry_at`
    failures          int not null default 0,
    retry_at          timestamptz,
    problem           text, -- why the last one failed
    lent_max          int not null default 0 check (lent_max >= 0), -- most lent workers
    lend_at           timestamptz, -- when the stock service is asked again for spare units
    -- factors of the price, by level of the job
    urgent_factor     numeric not null default 1.5 check (urgent_factor >= 0),
    ordinary_factor   numeric not null default 1 check (ordinary_factor >= 0),
    background_factor numeric not null default 0.4 check (background_factor >= 0),
    applications      text[] not null default '{stable-diffusion,dreambooth}',
    dedicated         boolean not null default false, -- runs only jobs of its owner
    check (service is null or owner_id is not null),
    check (min_workers between 0 and max_workers),
    constraint pools_dedicated check (not dedicated or owner_id is not null),
    -- programs of a tenant do not run where jobs of other tenants run
    constraint pools_programs check (dedicated or not 'command' = any (applications))
);

-- The price of a GPU specification, as last read from the stock service. It is used while that does not answer.
create table pool_prices (
    pool_id        uuid not null references pools,
    gpu_spec       text not null,
    price_per_hour numeric not null check (price_per_hour >= 0),
    currency       text not null,
    read_at        timestamptz not null default now(),
    primary key (pool_id, gpu_spec)
);
revoke insert, update, delete on pool_prices from atelier_jobs_app;

-- What a tenant is entitled to in a pool. A tenant without a row has the default share.
create table pool_shares (
    pool_id     uuid not null references pools,
    tenant_id   uuid not null,
    weight      int not null check (weight > 0), -- proportion in which tenants get workers that are not guaranteed
    guarantee   int not null check (guarantee >= 0), -- workers that it gets before others
    max_workers int check (max_workers >= guarantee), -- most workers at a time; null: no limit
    urgent      int not null check (urgent >= 0), -- most workers at a time for urgent jobs
    generation  bigint not null default 1,
    updated_at  timestamptz not null default now(),
    primary key (pool_id, tenant_id)
);
create index pool_shares_of_tenant on pool_shares (tenant_id);
alter table pool_shares enable row level security;
alter table pool_shares force row level security;
create policy app on pool_shares for select to atelier_jobs_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on pool_shares to atelier_jobs_app
    using (current_setting('atelier.admin', true) = 'on')
    with check (current_setting('atelier.admin', true) = 'on');
create policy worker on pool_shares to atelier_jobs_worker using (true);
revoke insert, update on pool_shares from atelier_jobs_worker;

-- What a tenant has used of a pool, decayed, for fair share (`account` of the scheduler).
create table pool_use (
    pool_id   uuid not null references pools,
    tenant_id uuid not null,
    use       text not null, -- an unsigned integer of 128 bits, in the scale of the epoch
    epoch     bigint not null, -- of the decay, not of the leader
    primary key (pool_id, tenant_id)
);
alter table pool_use enable row level security;
alter table pool_use force row level security;
create policy worker on pool_use to atelier_jobs_worker using (true) with check (true);
revoke all on pool_use from atelier_jobs_app;

-- A unit that runs jobs. A token authenticates it; each registration of its process begins a session. If the platform
-- runs the worker, its row is written before its instance is ordered, and deleted after the instance.
create table workers (
    id              uuid primary key,
    pool_id         uuid not null references pools,
    name            text not null,
    gpu_spec        text not null,
    node            text not null,
    token_hash      bytea not null unique,
    -- offline: never registered, or lost; ready: runs jobs
    state           text not null default 'offline' check (state in ('offline', 'ready')),
    session         bigint not null default 0, -- number of the latest session
    last_seen_at    timestamptz,
    idle_since      timestamptz not null default now(),
    -- the model that it has loaded, and until when jobs of this model go first
    model           uuid,
    quantum_end     timestamptz,
    busy_until      timestamptz, -- an estimate
    current_job     uuid,
    current_attempt int,
    created_at      timestamptz not null default now(),
    instance_id     uuid unique, -- null: the platform does not run it
    -- ordered: the gpu service has not confirmed it; draining: gets no job; leaving: its instance is being deleted
    stage           text check (stage in ('ordered', 'placed', 'draining', 'leaving')),
    -- of the order, which may be repeated
    service         text,
    version         text,
    check_at        timestamptz, -- when its instance is compared with the row
    -- firm: keeps its unit; lent: its unit goes to the first claim that finds no free one
    tenure          text not null default 'firm' check (tenure in ('firm', 'lent')),
    leave_by        timestamptz, -- until when it leaves its unit, which another instance has claimed
    -- units of lent workers with lower ranks are taken first: as the scheduler wants it, and as the gpu service knows
    recall_rank     smallint not null default 0,
    told_rank       smallint not null default 0,
    silent_since    timestamptz, -- since when its instance runs without a registration of its process
    present_until   timestamptz, -- its poll is open until then, so that it need not show that it is alive
    -- the models that it has, as its process reported; null: not known
    checkpoints     text[],
    base_models     text[],
    unique (pool_id, name),
    check ((current_job is null) = (current_attempt is null)),
    check (state = 'ready' or current_job is null),
    check ((instance_id is null) = (stage is null) and (instance_id is null) = (check_at is null))
);
create index workers_of_pool on workers (pool_id, id);
create index workers_to_check on workers (check_at) where check_at is not null;
create index workers_to_rank on workers (id) where recall_rank <> told_rank;
create index workers_current_job on workers (current_job) where current_job is not null;

-- A strict group that holds a node, which no other group can use.
create table group_nodes (
    pool_id    uuid not null references pools,
    tenant_id  uuid not null,
    group_name text not null,
    node       text not null,
    bound_at   timestamptz not null default now(),
    used_at    timestamptz not null default now(), -- when a job of the group last ended
    primary key (pool_id, tenant_id, group_name),
    unique (pool_id, node)
);
alter table group_nodes enable row level security;
alter table group_nodes force row level security;
create policy worker on group_nodes to atelier_jobs_worker using (true) with check (true);
-- `group_used` writes with the owner's rights
create policy owner on group_nodes to atelier_jobs_owner using (true) with check (true);
revoke all on group_nodes from atelier_jobs_app;

-- The models that the last worker of an image reported: what the pool has while it has no workers.
create table pool_images (
    pool_id     uuid not null references pools,
    service     text not null,
    version     text not null, -- empty: the recommended one
    -- null: not known
    checkpoints text[],
    base_models text[],
    reported_at timestamptz not null default now(),
    primary key (pool_id, service, version)
);
revoke insert, update, delete on pool_images from atelier_jobs_app;

-- Returns the different sets of models in a pool: those of workers that may get jobs, and that of the image of the next
-- worker, each with the number of ready workers. A null set is not known.
create function pool_models(pool uuid) returns table (checkpoints text[], base_models text[], ready bigint)
language sql stable begin atomic
    select s.checkpoints, s.base_models, sum(s.ready)::bigint
    from (
        select coalesce(w.checkpoints, i.checkpoints) as checkpoints,
               coalesce(w.base_models, i.base_models) as base_models, (w.state = 'ready')::int as ready
        from workers w
        left join pool_images i on (i.pool_id, i.service, i.version) = (w.pool_id, w.service, coalesce(w.version, ''))
        where w.pool_id = pool_models.pool and (w.stage is null or w.stage in ('ordered', 'placed'))
        union all
        select i.checkpoints, i.base_models, 0
        from pools p
        left join pool_images i on (i.pool_id, i.service, i.version) = (p.id, p.service, coalesce(p.version, ''))
        where p.id = pool_models.pool and p.service is not null and p.max_workers + p.lent_max > 0) s
    group by s.checkpoints, s.base_models;
end;

-- Returns whether workers of a pool have a model of a kind (`checkpoint`, `base_model`); null if that is not known.
create function has_model(pool uuid, kind text, name text) returns boolean
language sql stable begin atomic
    select case when bool_or(has_model.name = any (s.names)) then true
                when count(*) = 0 or bool_or(s.names is null) then null
                else false end
    from (select case has_model.kind when 'checkpoint' then m.checkpoints else m.base_models end as names
          from pool_models(has_model.pool) m) s;
end;

-- A change of a job, worker or pool. The schedulers follow this feed (libs/feed).
create table pool_changes (
    id      bigint generated always as identity primary key,
    xact    xid8 not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    payload jsonb not null
);
create index pool_changes_xact on pool_changes (xact);
revoke select, update, delete on pool_changes from atelier_jobs_app;

-- A replica that rests (`rest`): nothing is in progress, so it looks for changes only now and then, and the first one
-- wakes it.
create table resting (
    replica uuid primary key,
    until   timestamptz not null -- the replica extends it; one that has ended is not woken any more
);
revoke all on resting from atelier_jobs_app;

-- Called by a statement that changes what replicas look for: notifies those that rest. While none does, nobody
-- notifies, as commits that notify wait for each other. Its snapshot is newer than the id of the transaction: a replica
-- that announces its rest either sees that the transaction runs, or is seen here. A table in which workers look for
-- something to update has a trigger for each row, as a statement that finds nothing should wake nobody.
create function wake() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    if exists (select from resting where until > clock_timestamp()) then
        perform pg_notify('atelier_jobs_rest', '');
    end if;
    return null;
end $$;
revoke execute on function wake() from public;
create trigger wake after insert on pool_changes for each statement execute function wake();
-- not with each lease of the leader
create trigger wake after insert or delete or
    update of gpu_specs, owner_id, service, version, min_workers, max_workers, lent_max, wanted, retry_at, dedicated
    on pools for each row execute function wake();
-- not with each sign of life
create trigger wake after insert or delete or
    update of state, session, stage, tenure, current_job, leave_by, recall_rank, node, silent_since
    on workers for each row execute function wake();
