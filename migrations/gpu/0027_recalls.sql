-- Interruptible instances: until when one leaves its unit, which another instance has claimed. Replicas of the previous release
-- order none, and claim as for any other.
alter table instances add column leave_by timestamptz;
