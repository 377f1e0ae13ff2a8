-- Interruptible claims: a claim that finds no free unit takes theirs. Replicas of the previous release make none and take none,
-- and leave the row of one that they release: a row counts while its instance holds the unit since that time.

create table interruptible_claims (
    unit_id       uuid        primary key references units on delete cascade,
    instance_id   uuid        not null,
    claimed_at    timestamptz not null,
    gpu_spec_id   uuid        not null,
    datacenter_id uuid        not null,
    recall_rank   smallint    not null  -- lower is taken first
);
create index interruptible_claims_order
    on interruptible_claims (gpu_spec_id, datacenter_id, recall_rank, claimed_at desc);
create index interruptible_claims_instance on interruptible_claims (instance_id);

-- Claims that took the unit of an interruptible one.
create table recalls (
    id             bigint      generated always as identity primary key,
    unit_id        uuid        not null,
    instance_id    uuid        not null,  -- has to leave the unit
    by_instance_id uuid        not null,  -- holds it
    recalled_at    timestamptz not null,  -- time of its claim
    leave_by       timestamptz not null
);
create index recalls_claim on recalls (by_instance_id, recalled_at);
create index recalls_age on recalls (recalled_at);

-- Requests count the first, and see nothing of tenants.
revoke all on interruptible_claims, recalls from atelier_stock_app;
grant select (gpu_spec_id, datacenter_id) on interruptible_claims to atelier_stock_app;
