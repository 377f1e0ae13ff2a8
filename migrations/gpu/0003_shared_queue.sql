-- The row queue of libs/db and the operations of libs/operations; the words of docs/GLOSSARY.md in stored states.

-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table instances no force row level security;
alter table operations no force row level security;

update instances set phase = (phase - 'why') || jsonb_build_object('reason', phase -> 'why')
where phase ? 'why';
update instances set phase = (phase - 'holds') || jsonb_build_object('claim',
    case phase #>> '{holds,holds}'
        when 'unit' then jsonb_build_object('status', 'held') || (phase #> '{holds,claim}')
        when 'unknown' then jsonb_build_object('status', 'unknown')
        else jsonb_build_object('status', 'none') end)
where phase ? 'holds';

-- leases are not carried over: what was leased is due
update instances set lease_owner = null, lease_until = null, wake_at = now() where lease_owner is not null;
alter table instances add column failures int not null default 0;
-- the lane in the queue: the cluster of the claimed unit
alter table instances add column cluster text not null
    generated always as (coalesce(phase #>> '{claim,cluster}', '')) stored;
drop index instances_due;
create index instances_due on instances (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;

alter table operations add column target text;
update operations set target = 'inst_' || replace(instance_id::text, '-', '');
alter table operations alter column target set not null;
alter table operations drop column instance_id;
create index operations_of_target on operations (target, id desc);
create index operations_finished on operations (finished_at) where finished_at is not null;

alter table instances force row level security;
alter table operations force row level security;
