-- The publisher reads the first messages of each tenant. Replicas of the previous release read the first of all.
create index mq_outbox_of_tenant on mq_outbox (tenant_id, id);
