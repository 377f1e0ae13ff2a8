-- Replicas that rest while nothing is in progress: they look for changes seldom. Whoever changes something wakes them; while none
-- rests, nobody notifies, as commits that notify wait for each other. Replicas of the previous release look all the time.

create table resting (
    replica uuid        primary key,
    until   timestamptz not null -- a replica that has ended is not woken after that
);
revoke all on resting from atelier_jobs_app;

-- Its snapshot is taken after the transaction has got its id: a replica that has announced its rest either sees that this
-- transaction runs, or is seen here.
create function wake() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    if exists (select from resting where until > clock_timestamp()) then
        perform pg_notify('atelier_jobs_rest', '');
    end if;
    return null;
end $$;
revoke execute on function wake() from public;

-- Of tables in which workers look for something to update, by row: a statement that finds nothing wakes nobody.
create trigger wake after insert or update or delete on jobs for each statement execute function wake();
create trigger wake after insert on pool_changes for each statement execute function wake();
create trigger wake after insert on mq_outbox for each statement execute function wake();
create trigger wake after insert or update or delete on mq_credentials for each row execute function wake();
create trigger wake after insert or update on deployments for each row execute function wake();
create trigger wake after insert or update of delete_at on outputs for each row execute function wake();
create trigger wake after insert or update of delete_at on uploads for each row execute function wake();
-- not the lease of the scheduler
create trigger wake after insert or delete or
    update of gpu_specs, owner_id, service, version, min_workers, max_workers, lent_max, wanted, retry_at, dedicated
    on pools for each row execute function wake();
-- not the signs of life
create trigger wake after insert or delete or
    update of state, session, stage, tenure, current_job, leave_by, recall_rank, node, silent_since
    on workers for each row execute function wake();

-- Until then the service vouches for a worker whose poll is open: it need not show that it is alive.
alter table workers add column present_until timestamptz;
