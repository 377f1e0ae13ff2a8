-- Instances that another service of the platform orders for a tenant, and manages. Replicas of the previous release treat them
-- as those of users; the calling service is updated after this one.
alter table instances add column managed_by text;
-- Of the order: a repetition is told from another order with the same id.
alter table instances add column request_hash bytea;
