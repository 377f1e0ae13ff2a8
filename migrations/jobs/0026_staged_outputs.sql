-- Results lie out of the tenant's reach until their attempt completes. Replicas of the previous release stage nothing.

-- When what an attempt has staged is deleted; null when it was. The default is longer than any attempt delivers.
alter table outputs add column staged_until timestamptz;
alter table outputs alter column staged_until set default now() + interval '14 days';
create index outputs_staged on outputs (staged_until) where staged_until is not null;
