-- Groups: jobs of a tenant that belong on one node. Replicas of the previous release submit jobs without one, and schedule
-- jobs with one as if they had none.

alter table jobs
    add column group_name text,
    add column group_mode text check (group_mode in ('strict', 'prefer')),
    add constraint jobs_group check ((group_name is null) = (group_mode is null));

-- Strict groups that hold a node: one to one.
create table group_nodes (
    pool_id    uuid        not null references pools,
    tenant_id  uuid        not null,
    group_name text        not null,
    node       text        not null,
    bound_at   timestamptz not null default now(),
    primary key (pool_id, tenant_id, group_name),
    unique (pool_id, node)
);
alter table group_nodes enable row level security;
alter table group_nodes force row level security;
create policy worker on group_nodes to atelier_jobs_worker using (true) with check (true);
revoke all on group_nodes from atelier_jobs_app;
