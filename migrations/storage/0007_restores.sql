-- What a restore from a backup (docs/BACKUP.md) has to change. Until then nothing changes, also for replicas of the previous
-- release.

-- Restores of this schema.
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_storage_app, atelier_storage_worker;

-- Prepares restored rows for services that meet clusters which have moved on. For a superuser, while no service runs.
-- Repeatable.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    update storages set wake_at = now(), lease_owner = null, lease_until = null, failures = 0;
end $$;
revoke execute on function after_restore(bigint) from public;
