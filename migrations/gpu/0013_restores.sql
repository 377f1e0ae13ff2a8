-- Restores from a backup (docs/BACKUP.md).

-- A restore of this schema. A cursor of a feed that was handed out before the newest restore counts as the beginning
-- (libs/feed).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_gpu_app, atelier_gpu_worker;

-- Returns a number that is higher than all versions of runs that were published before the newest restore.
create function lowest_version() returns int language sql stable set search_path from current as $$
    select coalesce((max(epoch) - 1735689600) / 60 * 100, 0)::int from restores
$$;

-- Prepares restored rows for clusters and readers of feeds that have moved on since the backup. A superuser calls it
-- while no service runs. Repeatable.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    -- ids of transactions of another server may lie in the future of this one: what is published counts as the past
    update events set xact = '3';
    update usage_records set xact = '3';
    update route_changes set xact = '3';
    delete from feed_cursors;
    -- readers of the events know numbers that were given after the backup
    update event_logs set last = greatest(last, after_restore.epoch * 1000);
    -- nothing tells how long a hold lasted after the backup
    update runs set ended_at = confirmed_at, hold_end = 'unseen' where kind = 'held' and ended_at is null;
    update instances set phase = phase - 'hold' where phase ? 'hold';
    update instances set restored_attempt = attempt where state in ('starting', 'running');
    -- clusters know failures and runs of later attempts
    update instances set attempt = attempt + 1000 where state = 'stopped';
    update instances set wake_at = now(), lease_owner = null, lease_until = null, failures = 0
    where state <> 'deleted';
    update budgets set wake_at = now(), lease_owner = null, lease_until = null, failures = 0;
end $$;
revoke execute on function after_restore(bigint) from public;
