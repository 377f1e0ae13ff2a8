-- storages: the columns of the row queue (libs/db/src/queue.rs), and reason codes in snake_case. Columns are rewritten
-- by their type: row-level security is forced, and hides the rows from an update by the owner.
alter table storages alter column wake_at drop not null;
alter table storages alter column lease_owner type uuid using lease_owner::uuid;
alter table storages add column failures int not null default 0;
alter table storages alter column reason type text using
    case reason
        -- reasons of the cluster's own
        when 'Pending' then 'volume_accepted'
        when 'Failed' then 'volume_failed'
        when 'Bound' then 'volume_pending'
        when 'Deleting' then 'volume_pending'
        when 'VolumeRemoving' then 'volume_deleting'
        else lower(regexp_replace(reason, '([a-z])([A-Z])', '\1_\2', 'g'))
    end;
drop index storages_due;
create index storages_due on storages (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;

-- operations: the columns of libs/operations
alter table operations alter column storage_id type text using 'stor_' || replace(storage_id::text, '-', '');
alter table operations rename column storage_id to target;
drop index operations_of_storage;
create index operations_of_target on operations (target, id desc);
create index operations_finished on operations (finished_at) where finished_at is not null;
