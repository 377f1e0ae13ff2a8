-- The events of all jobs as one feed (libs/feed): `id` orders them, `xact` tells a reader which of them it has not seen yet.
-- Replicas of the previous release write both without knowing it; the events that there are keep their order per job.

alter table job_events
    add column id   bigint generated always as identity,
    add column xact xid8   not null default pg_current_xact_id();
create unique index job_events_id on job_events (id);
create index job_events_xact on job_events (xact);
create index job_events_of_tenant on job_events (tenant_id, id);

-- Events as they are shown. What is read of the job itself never changes. The caller's rights apply to the rows.
create view job_event_feed with (security_invoker = true) as
select e.id, e.xact, e.at, e.tenant_id, e.job_id, e.number, e.type, e.state, j.kind,
       jsonb_build_object(
           'id', 'job_' || replace(e.job_id::text, '-', '') || '-' || e.number,
           'sequence', e.number,
           'time', e.at,
           'type', e.type,
           'tenant_id', 'ten_' || replace(e.tenant_id::text, '-', ''),
           'job_id', 'job_' || replace(e.job_id::text, '-', ''),
           'req_no', j.req_no,
           'kind', j.kind,
           'application', j.application,
           'method', j.method,
           'state', e.state,
           'attempts', e.attempt,
           'level', e.level,
           'priority', e.priority,
           'reason', e.reason,
           'problem', e.problem,
           'not_before', e.not_before,
           'leave_by', e.leave_by) as payload
from job_events e join jobs j on j.id = e.job_id;
revoke all on job_event_feed from atelier_jobs_app, atelier_jobs_worker;
grant select on job_event_feed to atelier_jobs_app, atelier_jobs_worker;
