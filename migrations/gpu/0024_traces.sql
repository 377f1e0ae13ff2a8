-- The position of the request that asked for an operation in its trace (W3C traceparent), if that is recorded: the
-- reconciler continues it. Replicas of the previous release leave it null.
alter table operations add column traceparent text;
