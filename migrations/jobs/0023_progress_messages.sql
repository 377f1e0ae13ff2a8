-- Jobs whose progress is told by messages of the broker and to webhooks. Replicas of the previous release publish none; where one of them has the
-- outbox, it publishes the event before once more instead, which receivers drop by its `message_id`.

alter table jobs add column report_progress boolean not null default false;

-- How far an attempt was; `number` is then that of the latest event.
alter table mq_outbox add column progress jsonb;
alter table mq_outbox add check (progress is null or job_id is not null);
