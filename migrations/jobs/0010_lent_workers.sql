-- Workers on units that nobody else uses: the claim of any other instance takes them. Replicas of the previous release order
-- none, as no pool has any while they run; they give jobs to those that there are as to others.

alter table pools
    add column lent_max int not null default 0 check (lent_max >= 0),
    -- when the stock is asked again for spare units
    add column lend_at  timestamptz;

alter table workers
    add column tenure      text     not null default 'firm' check (tenure in ('firm', 'lent')),
    -- set once another instance has claimed its unit: until when it leaves
    add column leave_by    timestamptz,
    -- of the lent workers, those with lower ranks are taken first: what the scheduler wants, and what the gpu service was told
    add column recall_rank smallint not null default 0,
    add column told_rank   smallint not null default 0;
create index workers_to_rank on workers (id) where recall_rank <> told_rank;

-- how often a claim has taken the unit of its worker
alter table jobs add column recalls smallint not null default 0;

create or replace function mq_is_published(type text, reason text) returns boolean language sql immutable as $$
    select type in ('job.submitted', 'job.started', 'job.succeeded', 'job.failed', 'job.cancelled', 'job.expired')
        or type = 'job.requeued' and reason in ('preempted', 'recalled')
$$;
