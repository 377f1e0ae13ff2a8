-- Units become a queue of libs/db, operations become the table of libs/operations, reason codes are snake_case, and
-- administrators read units under a policy of their own.

-- A unit's reconcile. The index covers rows with work only: a claim writes no entry into it.
drop index units_work;
alter table units rename column work_at to wake_at;
alter table units rename column work_tries to failures;
alter table units add column lease_owner uuid, add column lease_until timestamptz;
create index units_queue on units (coalesce(lease_until, wake_at)) where coalesce(lease_until, wake_at) is not null;

-- Reason codes: 'NodeLost' becomes 'node_lost'. The owner sees no rows while row-level security is forced.
alter table units no force row level security;
update units set reason = lower(regexp_replace(reason, '([a-z])([A-Z])', '\1_\2', 'g')) where reason is not null;
alter table units force row level security;
update operation_units set reason = lower(regexp_replace(reason, '([a-z])([A-Z])', '\1_\2', 'g'))
where reason is not null;

-- What only additions and removals of stock record. `deadline`: from then on, a unit that is not held counts as
-- failed; null: none.
create table stock_changes (
    operation_id uuid        primary key references operations on delete cascade,
    deadline     timestamptz
);
insert into stock_changes (operation_id, deadline) select id, nullif(judge_after, 'infinity') from operations;

alter table operations add column tenant_id uuid, add column target text;
update operations o set
    target = 'spec_' || replace(gpu_spec_id::text, '-', ''),
    progress = jsonb_build_object(
            'phase', null, 'percent', null, 'reason', null, 'message', null,
            'requested', count, 'made', 0, 'held', 0, 'removed', 0, 'failed_count', 0)
        || coalesce(progress, '{}')
        || jsonb_build_object(
            'failed', coalesce((
                select jsonb_agg(f || jsonb_build_object('reason',
                    lower(regexp_replace(f ->> 'reason', '([a-z])([A-Z])', '\1_\2', 'g'))))
                from jsonb_array_elements(o.progress -> 'failed') f), '[]'),
            'gpu_spec', jsonb_build_object(
                'id', 'spec_' || replace(gpu_spec_id::text, '-', ''), 'name', gpu_spec_name),
            'datacenter', jsonb_build_object(
                'id', 'dc_' || replace(datacenter_id::text, '-', ''), 'name', datacenter_name));
drop index operations_open;
alter table operations
    alter column target set not null,
    alter column progress set default '{}',
    alter column progress set not null,
    drop column gpu_spec_id,
    drop column gpu_spec_name,
    drop column datacenter_id,
    drop column datacenter_name,
    drop column count,
    drop column judge_after;
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_target on operations (target, id desc);
create index operations_open on operations (id) where finished_at is null;
create index operations_finished on operations (finished_at) where finished_at is not null;
create index operation_units_waiting on operation_units (operation_id) where step in ('asked', 'made');

-- Administrators read all units and their holders.
create policy units_admin on units for select to atelier_stock_app
    using (current_setting('atelier.admin', true) = 'on');
create policy unit_holders_admin on unit_holders for select to atelier_stock_app
    using (current_setting('atelier.admin', true) = 'on');
