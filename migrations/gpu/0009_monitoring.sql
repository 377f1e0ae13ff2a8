-- Metrics of instances: samples of what the nodes of their clusters report.

-- What an instance used in the `seconds` up to `at`. Kept for about an hour.
create table instance_samples (
    instance_id      uuid not null references instances (id) on delete cascade,
    at               timestamptz not null,
    tenant_id        uuid not null,
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

-- The average of the samples of an instance over five minutes. Kept for some days.
create table instance_sample_averages (
    like instance_samples including constraints,
    primary key (instance_id, at),
    foreign key (instance_id) references instances (id) on delete cascade
);
create index instance_sample_averages_at on instance_sample_averages (at);
alter table instance_sample_averages enable row level security;
alter table instance_sample_averages force row level security;
create policy app on instance_sample_averages for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instance_sample_averages to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on instance_sample_averages from atelier_gpu_app;

-- Up to when samples are averaged: one row.
create table sample_progress (
    is_only_row bool primary key default true check (is_only_row),
    averaged_to timestamptz not null
);
revoke insert, update, delete on sample_progress from atelier_gpu_app;
insert into sample_progress (averaged_to) values (date_bin('5 minutes', now(), 'epoch'));
