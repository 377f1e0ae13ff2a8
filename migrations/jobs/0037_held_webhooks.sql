-- Until when the endpoint of a webhook is to get nothing, as it has asked. Replicas of the previous release send all the same.
alter table webhooks add column held_until timestamptz;
-- A tenant that names another endpoint, or enables the webhook again, has what waits sent at once.
grant update (wake_at) on webhook_deliveries to atelier_jobs_app;
