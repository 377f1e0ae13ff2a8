-- Events of jobs that are inserted by one statement are written by one statement, too. Replicas of the previous release write
-- jobs as before.

create function jobs_submitted() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into job_events (job_id, number, tenant_id, type, state, attempt, level, priority, reason, problem, not_before,
                            leave_by)
    select id, generation, tenant_id, 'job.submitted', state, attempt, level, priority, reason, problem, not_before, leave_by
    from added order by id;
    return null;
end $$;
revoke execute on function jobs_submitted() from public;
drop trigger job_submitted on jobs;
create trigger jobs_submitted after insert on jobs referencing new table as added
    for each statement execute function jobs_submitted();

create function mq_events() returns trigger
language plpgsql security definer set search_path = jobs, pg_temp as $$
begin
    insert into mq_outbox (tenant_id, job_id, number)
    select tenant_id, job_id, number from added
    where mq_is_published(type, reason)
      and exists (select from mq_credentials c where c.tenant_id = added.tenant_id and c.deleted_at is null)
    order by id;
    return null;
end $$;
revoke execute on function mq_events() from public;
drop trigger mq_event on job_events;
drop function mq_event();
create trigger mq_events after insert on job_events referencing new table as added
    for each statement execute function mq_events();
