-- Workers whose instances run and whose processes do not register are replaced. Replicas of the previous release replace none.

alter table workers add column silent_since timestamptz; -- its instance was seen running, and no process was registered
