-- Restores from a backup (docs/BACKUP.md).

-- A restore of this schema. A cursor of a feed that was handed out before the newest restore counts as the beginning
-- (libs/feed).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_storage_app, atelier_storage_worker;

-- Prepares restored rows for clusters that have moved on since the backup. A superuser calls it while no service runs.
-- Repeatable.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    -- ids of transactions of another server may lie in the future of this one: what is published counts as the past
    update storage_events set xact = '3';
    update storages set wake_at = now(), lease_owner = null, lease_until = null, failures = 0;
end $$;
revoke execute on function after_restore(bigint) from public;
