-- The suspension and deletion of a tenant are carried out by all services: a row queue (libs/db) and operations
-- (libs/operations).
alter table tenants
    add column stop_instances     boolean     not null default false, -- with the suspension
    add column deletion_id        uuid,                               -- the operation that deletes it
    add column delete_storages_at timestamptz,
    add column steps              jsonb       not null default '[]',  -- how far each service is
    add column wake_at            timestamptz,
    add column lease_owner        uuid,
    add column lease_until        timestamptz,
    add column failures           int         not null default 0,
    add check ((deletion_id is null) = (delete_storages_at is null)),
    add check (deletion_id is null or state = 'suspended');
create index tenants_due on tenants (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;
-- what was suspended before is carried out now
update tenants set wake_at = now() where state = 'suspended';

-- A row goes when nothing is left of the tenant, and only the worker knows that.
revoke delete on tenants from atelier_identity_app;

create table operations (
    id          uuid        primary key,
    tenant_id   uuid, -- null: operations are the platform's
    target      text        not null,
    kind        text        not null,
    state       text        not null,
    progress    jsonb       not null default '{}',
    problem     jsonb,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_target on operations (target, id desc);
create index operations_finished on operations (finished_at) where finished_at is not null;
revoke delete on operations from atelier_identity_app;
