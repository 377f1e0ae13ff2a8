-- Lists by several states and in the order of the end or the cost: a page of 1,000,000 jobs of a tenant is read from an index. The
-- columns are null until a job has ended: changes of an open one touch no index. Row-level security lets an index be searched by
-- a bigint, but not by a numeric.
alter table jobs
    add column end_state text   generated always as (case when ended_at is not null then state end) stored,
    add column cost_key  bigint generated always as (
        case when ended_at is not null then (least(coalesce(cost, 0), 9000000000) * 1000000000)::bigint end) stored;
create index jobs_ended_by_time on jobs (tenant_id, kind, end_state, id) include (level, application)
    where end_state is not null;
create index jobs_ended_by_end on jobs (tenant_id, kind, end_state, ended_at, id) include (level, application)
    where end_state is not null;
create index jobs_ended_by_cost on jobs (tenant_id, kind, end_state, cost_key, id) include (level, application)
    where end_state is not null;
-- in the order of time, and to count them as before
create index jobs_open_by_time on jobs (tenant_id, id) where ended_at is null;
drop index jobs_open_of_tenant;
create index jobs_of_group on jobs (tenant_id, group_name, id) where group_name is not null;
