-- Jobs that name no pool may be moved to another one while they wait. Those of replicas of the previous release stay.

alter table jobs add column may_move boolean not null default false;
