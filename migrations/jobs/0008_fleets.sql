-- Workers that the platform runs itself, as instances of the tenant that pays for the pool. Replicas of the previous release
-- order and delete none; to the workers that there are they give jobs as to others.

alter table pools
    add column generation  bigint not null default 1,
    add column owner_id    uuid, -- whose instances the workers are
    add column service     text, -- of the catalogue; null: the platform runs no workers
    add column version     text,
    add column min_workers int    not null default 0,
    add column max_workers int    not null default 0,
    -- how many the queue asks for, written by the scheduler
    add column wanted      int    not null default 0,
    -- workers that could not be started, or have failed, since one was ready; no other is ordered before `retry_at`
    add column failures    int    not null default 0,
    add column retry_at    timestamptz,
    add column problem     text,
    add check (service is null or owner_id is not null),
    add check (min_workers between 0 and max_workers);

-- A row is written before its instance is ordered, and outlives it.
alter table workers
    add column instance_id uuid unique, -- null: its process is started by others
    -- ordered: the gpu service has not confirmed it; draining: gets no job; leaving: its instance is deleted
    add column stage       text check (stage in ('ordered', 'placed', 'draining', 'leaving')),
    -- of the order, which is repeated as it was
    add column service     text,
    add column version     text,
    -- when the instance is compared with the row
    add column check_at    timestamptz,
    add check ((instance_id is null) = (stage is null) and (instance_id is null) = (check_at is null));
create index workers_to_check on workers (check_at) where check_at is not null;
