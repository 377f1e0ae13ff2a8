-- Results of jobs lie in a bucket of the platform's own until they are delivered. Replicas of the previous release write into
-- the buckets of tenants.

-- The name of the user and of the bucket in the object store, chosen once. Names of buckets are global there, and tenants can
-- create buckets: nobody takes a name that nobody knows.
create table staging (
    only_row boolean primary key default true check (only_row),
    name     text    not null default 'atelier-staging-' || replace(gen_random_uuid()::text, '-', '')
);
revoke all on staging from atelier_storage_app;
revoke update, delete on staging from atelier_storage_worker;
