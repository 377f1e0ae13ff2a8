-- What a restore from a backup (docs/BACKUP.md) has to change: others have seen more than the restored database knows.
-- Until then nothing changes, also for replicas of the previous release.

-- Restores of this schema. Cursors of feeds that were handed out before the newest count as the beginning (libs/feed).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_gpu_app, atelier_gpu_worker;

-- The attempt in which the instance ran or started by the restored records: it continues if the cluster has it in its unit,
-- and is stopped otherwise, as its user or the platform may have stopped it since the backup.
alter table instances add column restored_attempt bigint;

-- Versions of runs are higher than all that were published before the newest restore.
create function lowest_version() returns int language sql stable set search_path from current as $$
    select coalesce((max(epoch) - 1735689600) / 60 * 100, 0)::int from restores
$$;
create or replace function version_run() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'INSERT' then
        new.version := greatest(new.version, lowest_version() + 1);
    elsif (new.started_at, new.ended_at) is distinct from (old.started_at, old.ended_at) then
        new.version := greatest(old.version, lowest_version()) + 1;
        if old.ended_at is not null then
            new.correction := coalesce(new.correction, 'late_evidence');
        end if;
    end if;
    return new;
end $$;
create trigger runs_numbered before insert on runs for each row execute function version_run();

-- Prepares restored rows for services that meet clusters and consumers which have moved on. For a superuser, while no
-- service runs. Repeatable.
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
    delete from log_collectors;
    delete from samplers;
end $$;
revoke execute on function after_restore(bigint) from public;
