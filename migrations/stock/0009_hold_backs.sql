-- How many free units interruptible claims leave, where the claims of the past ask for more than the configured number. Replicas
-- of the previous release do not look here, and record interruptible claims as others: then a little more is held back.

alter table unit_holders add column interruptible boolean not null default false;
create index unit_holders_claimed on unit_holders (claimed_at) where gpu_spec_id is not null and not interruptible;

create table hold_backs (
    gpu_spec_id   uuid        not null references gpu_specs on delete cascade,
    datacenter_id uuid        not null references datacenters on delete cascade,
    units         bigint      not null check (units > 0),
    updated_at    timestamptz not null default now(),
    primary key (gpu_spec_id, datacenter_id)
);
revoke insert, update, delete on hold_backs from atelier_stock_app;
