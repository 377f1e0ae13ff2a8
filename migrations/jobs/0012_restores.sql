-- Restores from a backup (docs/BACKUP.md).

-- A restore of this schema. A cursor of a feed that was handed out before the newest restore counts as the beginning
-- (libs/feed).
create table restores (
    epoch bigint primary key -- time of the restore, in seconds since 1970
);
revoke insert, update, delete on restores from atelier_jobs_app, atelier_jobs_worker;

-- Prepares restored rows. A superuser calls it while no service runs. Repeatable. The sessions of workers that have
-- gone on since the backup are not known any more: the workers register again, and open attempts are lost.
create function after_restore(epoch bigint) returns void language plpgsql set search_path from current as $$
begin
    insert into restores values (after_restore.epoch) on conflict do nothing;
    update pools p set leader = null, leader_until = null, epoch = p.epoch + 1;
    delete from leases;
end $$;
revoke execute on function after_restore(bigint) from public;
