-- What there is to order, and where: datacenters and GPU specifications.
--
-- Row-level security. Three roles use the schema (libs/provision): the owner migrates it; `atelier_stock_app` serves
-- requests and sees the rows that the settings of its transaction name; `atelier_stock_worker` does background work and
-- serves other services, and sees all rows. Both may read and write each new table, so each migration revokes what a
-- role does not need. The settings, both local to a transaction (libs/db):
--   atelier.tenant  the tenant of the request: the units that it holds or held, and its entries in the queue
--   atelier.admin   'on': an administrator reads all units, their holders, the events and the audit log
-- Tables without anything of a tenant have no row-level security, except for the events.

-- A site with one Kubernetes cluster.
create table datacenters (
    id         uuid primary key,
    name       text collate "C" not null unique,
    region     text not null,
    cluster    text not null, -- a name in `clusters` of the configuration
    labels     jsonb not null default '{}',
    state      text not null default 'active' check (state in ('active', 'draining')), -- draining: no new claims
    generation bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

-- What users order: GPUs of a model with CPU, memory and disk, at a price.
create table gpu_specs (
    id                  uuid primary key,
    name                text collate "C" not null unique,
    gpu_model           text not null,
    gpu_count           int not null check (gpu_count > 0),
    gpu_cores           int not null check (gpu_cores > 0),
    video_memory_mib    bigint not null check (video_memory_mib > 0),
    cpu_millis          bigint not null check (cpu_millis > 0),
    memory_mib          bigint not null check (memory_mib > 0),
    disk_gib            bigint not null check (disk_gib > 0),
    allocation          jsonb not null, -- how pods request the GPUs
    node_selector       jsonb not null default '{}',
    price_per_hour      numeric(18, 6) not null check (price_per_hour >= 0), -- in force now
    currency            text not null check (currency ~ '^[A-Z]{3}$'),
    state               text not null default 'active' check (state in ('active', 'retired')), -- retired: not offered
    generation          bigint not null default 1,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    -- the part of the price for which a stopped instance keeps its unit; null: it cannot keep it
    hold_price_fraction numeric(5, 4) check (hold_price_fraction between 0 and 1)
);
create index gpu_specs_model on gpu_specs (gpu_model, name);

-- A price that a specification has or had, with the time from which it is in force.
create table gpu_spec_prices (
    gpu_spec_id         uuid not null references gpu_specs on delete cascade,
    effective_from      timestamptz not null,
    price_per_hour      numeric(18, 6) not null check (price_per_hour >= 0),
    currency            text not null,
    hold_price_fraction numeric(5, 4) check (hold_price_fraction between 0 and 1),
    primary key (gpu_spec_id, effective_from)
);
