-- Restores from a backup (docs/BACKUP.md).

-- A restore of this schema. A cursor of a feed that was handed out before the newest restore counts as the beginning
-- (libs/feed).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_stock_app, atelier_stock_worker;

-- Prepares restored rows for clusters that have moved on since the backup. A superuser calls it while no service runs.
-- Repeatable.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    -- ids of transactions of another server may lie in the future of this one: what is published counts as the past
    update queue_grants set xact = '3';
    update stock_events set xact = '3';
    -- a unit may be occupied by now: none is claimed before its cluster has reported it again
    update units set state = 'inactive', since = now() where state = 'available';
    update units set held = false, object_version = 0;
    update units set wake_at = now(), lease_owner = null, lease_until = null, failures = 0
    where coalesce(lease_until, wake_at) is not null;
    delete from leases;
end $$;
revoke execute on function after_restore(bigint) from public;
