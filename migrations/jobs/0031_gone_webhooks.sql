-- When the endpoint of a webhook answered that it is gone. Replicas of the previous release see the problem 'failing'; one that
-- enables the webhook leaves this time, which means nothing without a problem.
alter table webhooks add column gone_at timestamptz;
