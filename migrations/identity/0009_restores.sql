-- Restores from a backup (docs/BACKUP.md).

-- A restore of this schema. A cursor of a feed that was handed out before the newest restore counts as the beginning
-- (libs/feed).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_identity_app, atelier_identity_worker;

-- Prepares restored rows for services and tokens that have moved on since the backup. A superuser calls it while no
-- service runs. Repeatable.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    -- ids of transactions of another server may lie in the future of this one: what is published counts as the past
    update revocations set xact = '3';
    -- a deletion may have been taken back since the backup: administrators have a day to do so again
    update tenants set delete_storages_at = greatest(delete_storages_at, now() + interval '1 day')
    where deletion_id is not null;
    update tenants set wake_at = now(), lease_owner = null, lease_until = null, failures = 0
    where coalesce(lease_until, wake_at) is not null;
end $$;
revoke execute on function after_restore(bigint) from public;
