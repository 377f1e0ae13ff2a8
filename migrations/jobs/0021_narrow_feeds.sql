-- Views of the feed of events for readers that need less than all of it: reading costs what is needed. Replicas of the previous
-- release read the whole feed.

-- Whose events there are.
create view job_event_tenants with (security_invoker = true) as
select id, xact, at, jsonb_build_object('tenant_id', 'ten_' || replace(tenant_id::text, '-', '')) as payload
from job_events;
revoke all on job_event_tenants from atelier_jobs_app, atelier_jobs_worker;
grant select on job_event_tenants to atelier_jobs_worker;

-- Events of tenants that have webhooks. `offset 0` keeps the look at webhooks a condition, so that the events are read in order.
create view webhook_event_feed with (security_invoker = true) as
select * from job_event_feed f
where exists (select from webhooks w where w.tenant_id = f.tenant_id and w.enabled offset 0);
revoke all on webhook_event_feed from atelier_jobs_app, atelier_jobs_worker;
grant select on webhook_event_feed to atelier_jobs_worker;
