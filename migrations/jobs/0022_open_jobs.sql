-- How many open jobs a tenant has is counted before it submits more.
create index jobs_open_of_tenant on jobs (tenant_id) where ended_at is null;
