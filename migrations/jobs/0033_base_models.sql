-- Which checkpoints and base models workers have, and which jobs need. Workers of the previous release report none: it is not
-- known what they have, so they get all jobs, as before; and so do jobs of replicas of the previous release any worker.

-- as their processes have reported; null: not known
alter table workers
    add column checkpoints text[],
    add column base_models text[];

-- the checkpoint (of `stable-diffusion`) or base model (of `dreambooth`) that a worker has to have; null: any worker
alter table jobs add column base_model text;

-- What the worker of an image had that reported last: what a pool has while it has no workers.
create table pool_images (
    pool_id     uuid        not null references pools,
    service     text        not null,
    version     text        not null, -- '' if the pool names none
    checkpoints text[],
    base_models text[],
    reported_at timestamptz not null default now(),
    primary key (pool_id, service, version)
);
revoke insert, update, delete on pool_images from atelier_jobs_app;

-- The different sets of models in a pool, each with the number of ready workers that have it: of the workers that may get jobs, and
-- of the image of the next one. A null set is not known.
create function pool_models(pool uuid) returns table (checkpoints text[], base_models text[], ready bigint)
language sql stable begin atomic
    select s.checkpoints, s.base_models, sum(s.ready)::bigint
    from (
        select coalesce(w.checkpoints, i.checkpoints) as checkpoints, coalesce(w.base_models, i.base_models) as base_models,
               (w.state = 'ready')::int as ready
        from workers w
        left join pool_images i on (i.pool_id, i.service, i.version) = (w.pool_id, w.service, coalesce(w.version, ''))
        where w.pool_id = pool_models.pool and (w.stage is null or w.stage in ('ordered', 'placed'))
        union all
        select i.checkpoints, i.base_models, 0
        from pools p left join pool_images i on (i.pool_id, i.service, i.version) = (p.id, p.service, coalesce(p.version, ''))
        where p.id = pool_models.pool and p.service is not null and p.max_workers + p.lent_max > 0) s
    group by s.checkpoints, s.base_models;
end;

-- Whether workers of a pool have a model of a kind (`checkpoint`, `base_model`); null if that is not known.
create function has_model(pool uuid, kind text, name text) returns boolean
language sql stable begin atomic
    select case when bool_or(has_model.name = any (s.names)) then true
                when count(*) = 0 or bool_or(s.names is null) then null
                else false end
    from (select case has_model.kind when 'checkpoint' then m.checkpoints else m.base_models end as names
          from pool_models(has_model.pool) m) s;
end;
