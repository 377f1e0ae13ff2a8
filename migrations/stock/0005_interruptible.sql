-- Interruptible claims: they get only spare units, and lose them to claims and instances in the queue that find no free
-- one.

-- A claim of a unit that is interruptible.
create table interruptible_claims (
    unit_id       uuid primary key references units on delete cascade,
    instance_id   uuid not null,
    claimed_at    timestamptz not null,
    gpu_spec_id   uuid not null,
    datacenter_id uuid not null,
    recall_rank   smallint not null -- units of lower ranks are taken first
);
create index interruptible_claims_order
    on interruptible_claims (gpu_spec_id, datacenter_id, recall_rank, claimed_at desc);
create index interruptible_claims_instance on interruptible_claims (instance_id);
-- requests count lent units, without seeing who has them
revoke all on interruptible_claims from atelier_stock_app;
grant select (gpu_spec_id, datacenter_id) on interruptible_claims to atelier_stock_app;

-- A claim that took the unit of an interruptible one.
create table recalls (
    id             bigint generated always as identity primary key,
    unit_id        uuid not null,
    instance_id    uuid not null, -- the instance that has to leave the unit
    by_instance_id uuid not null, -- the instance that has claimed it
    recalled_at    timestamptz not null, -- time of that claim
    leave_by       timestamptz not null -- until when it has to leave
);
create index recalls_claim on recalls (by_instance_id, recalled_at);
create index recalls_age on recalls (recalled_at);
revoke all on recalls from atelier_stock_app;

-- How many free units interruptible claims leave in a datacenter, where the forecast (`hold_back`) exceeds the
-- configured number.
create table hold_backs (
    gpu_spec_id   uuid not null references gpu_specs on delete cascade,
    datacenter_id uuid not null references datacenters on delete cascade,
    units         bigint not null check (units > 0),
    updated_at    timestamptz not null default now(),
    primary key (gpu_spec_id, datacenter_id)
);
revoke insert, update, delete on hold_backs from atelier_stock_app;
