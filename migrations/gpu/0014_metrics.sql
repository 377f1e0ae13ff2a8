-- Metrics of instances: the pod of each run, by which an external Prometheus is asked, and samples of what the clusters
-- report of themselves. Replicas of the previous release write neither; nothing else changes for them.

-- Namespace and name of the pod; null in runs of earlier releases, and in runs that were first seen when they had ended.
alter table runs
    add column pod_namespace text,
    add column pod_name      text;

-- What an instance used in the `seconds` up to `at`. Kept for about an hour.
create table instance_samples (
    instance_id      uuid             not null references instances (id) on delete cascade,
    at               timestamptz      not null,
    tenant_id        uuid             not null,
    seconds          double precision not null check (seconds > 0),
    cpu_cores        double precision,
    memory_bytes     double precision,
    disk_bytes       double precision,
    -- bytes per second
    network_received double precision,
    network_sent     double precision,
    primary key (instance_id, at)
);
create index instance_samples_at on instance_samples (at);
alter table instance_samples enable row level security;
alter table instance_samples force row level security;
create policy app on instance_samples for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instance_samples to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on instance_samples from atelier_gpu_app;

-- Their averages over five minutes. Kept for some days.
create table instance_sample_averages (like instance_samples including constraints);
alter table instance_sample_averages
    add primary key (instance_id, at),
    add foreign key (instance_id) references instances (id) on delete cascade;
create index instance_sample_averages_at on instance_sample_averages (at);
alter table instance_sample_averages enable row level security;
alter table instance_sample_averages force row level security;
create policy app on instance_sample_averages for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instance_sample_averages to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on instance_sample_averages from atelier_gpu_app;

-- Up to when samples have been averaged: one row.
create table sample_progress (
    is_only_row bool        primary key default true check (is_only_row),
    averaged_to timestamptz not null
);
insert into sample_progress (averaged_to) values (date_bin('5 minutes', now(), 'epoch'));
revoke insert, update, delete on sample_progress from atelier_gpu_app;

-- The replica that samples a cluster.
create table samplers (
    cluster     text        primary key,
    lease_owner text        not null,
    lease_until timestamptz not null
);
revoke all on samplers from atelier_gpu_app;
