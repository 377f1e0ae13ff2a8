-- What jobs cost. An attempt keeps the price of its GPU specification and the factor of its level from its assignment on; its end
-- decides in the same transaction what is charged. Replicas of the previous release neither store prices nor charge: attempts that
-- they assign or end cost nothing, and jobs that they run are not stopped at `max_cost`.

alter table pools
    -- by which the price is multiplied
    add column urgent_factor     numeric not null default 1.5 check (urgent_factor >= 0),
    add column ordinary_factor   numeric not null default 1 check (ordinary_factor >= 0),
    add column background_factor numeric not null default 0.4 check (background_factor >= 0);

-- Prices of the stock service, as read last. Kept while that does not answer.
create table pool_prices (
    pool_id        uuid        not null references pools,
    gpu_spec       text        not null,
    price_per_hour numeric     not null check (price_per_hour >= 0),
    currency       text        not null,
    read_at        timestamptz not null default now(),
    primary key (pool_id, gpu_spec)
);
revoke insert, update, delete on pool_prices from atelier_jobs_app;

alter table attempts
    -- of the assignment; null if there was no price
    add column price_per_hour    numeric,
    add column currency          text,
    add column level_factor      numeric,
    -- the first report of work after loading
    add column working_at        timestamptz,
    -- when the cost reaches `max_cost` of the job
    add column stop_at           timestamptz,
    -- set at the end
    add column charged_seconds   bigint,
    add column uncharged_seconds bigint,
    add column uncharged_reason  text,
    add column cost              numeric,
    -- grows with each change of the cost
    add column usage_version     int not null default 0;
create index attempts_to_stop on attempts (stop_at) where state = 'open' and stop_at is not null;

alter table jobs
    add column max_cost          numeric,
    add column max_cost_currency text,
    -- of all attempts that have ended; one that has changed its currency, of those since
    add column cost              numeric,
    add column cost_currency     text,
    add column cost_seconds      bigint not null default 0,
    add check ((max_cost is null) = (max_cost_currency is null)),
    add check ((cost is null) = (cost_currency is null));

-- One record for each version of what an attempt costs, followed by other services (libs/feed). Kept when the job is deleted.
create table usage_records (
    id        bigint      generated always as identity primary key,
    xact      xid8        not null default pg_current_xact_id(),
    at        timestamptz not null default clock_timestamp(),
    tenant_id uuid        not null,
    run_id    uuid        not null,
    version   int         not null,
    payload   jsonb       not null,
    unique (run_id, version)
);
create index usage_records_xact on usage_records (xact);
alter table usage_records enable row level security;
alter table usage_records force row level security;
create policy worker on usage_records to atelier_jobs_worker using (true) with check (true);
revoke all on usage_records from atelier_jobs_app;
revoke update, delete on usage_records from atelier_jobs_worker;
