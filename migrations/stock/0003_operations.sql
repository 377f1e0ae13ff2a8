-- Additions and removals of stock, as operations.

-- A long-running action of an administrator (libs/operations). It outlives the units that it changes.
create table operations (
    id          uuid primary key,
    kind        text not null check (kind in ('add_stock', 'remove_stock')),
    state       text not null check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
    problem     jsonb,
    progress    jsonb default '{}' not null, -- at the end; until then it follows from operation_units
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz,
    tenant_id   uuid, -- null: the operation belongs to the platform
    target      text not null, -- id of the object that it acts on
    -- the trace of the request (W3C traceparent), which the reconciler continues; null: not traced
    traceparent text,
    check ((finished_at is null) = (state in ('pending', 'running')))
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_target on operations (target, id desc);
create index operations_open on operations (id) where finished_at is null;
create index operations_finished on operations (finished_at) where finished_at is not null;

-- What an operation records besides the columns that operations of all services have.
create table stock_changes (
    operation_id uuid primary key references operations on delete cascade,
    deadline     timestamptz -- after which a unit that is not held counts as failed; null: none
);

-- A unit that an unfinished operation adds or removes.
create table operation_units (
    operation_id uuid not null references operations on delete cascade,
    unit_id      uuid not null,
    step         text not null check (step in ('asked', 'made', 'held', 'removed', 'failed')),
    reason       text, -- why it failed
    message      text,
    primary key (operation_id, unit_id)
);
create index operation_units_open on operation_units (unit_id) where step in ('asked', 'made');
create index operation_units_waiting on operation_units (operation_id) where step in ('asked', 'made');
