-- The index of the logs that are kept in the object store, and who collects them.

-- The log of one attempt (start) of an instance. Written with its chunks.
create table instance_logs (
    instance_id    uuid not null references instances (id) on delete cascade,
    attempt        bigint not null,
    tenant_id      uuid not null,
    pod            text not null, -- from which it was collected last
    -- the end of what earlier pods wrote: nanoseconds since 1970, and the number of the line at that time
    floor_time     bigint not null,
    floor_sequence int not null,
    -- the last line that is stored
    last_time      bigint not null,
    last_sequence  int not null,
    next_chunk     bigint not null, -- number of the next chunk
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    primary key (instance_id, attempt)
);
alter table instance_logs enable row level security;
alter table instance_logs force row level security;
create policy app on instance_logs for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instance_logs to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on instance_logs from atelier_gpu_app;

-- Consecutive lines of a log: one object in the object store.
create table log_chunks (
    instance_id    uuid not null,
    attempt        bigint not null,
    number         bigint not null,
    tenant_id      uuid not null,
    -- positions of the first and the last line
    first_time     bigint not null,
    first_sequence int not null,
    last_time      bigint not null,
    last_sequence  int not null,
    lines          int not null,
    text_bytes     int not null,
    bytes          int not null, -- size of the object
    object_key     text not null,
    -- whether lines before it may be missing, as the cluster deleted them before they were read
    after_gap      boolean not null,
    created_at     timestamptz not null default now(),
    primary key (instance_id, attempt, number),
    foreign key (instance_id, attempt) references instance_logs (instance_id, attempt) on delete cascade
);
create index log_chunks_created_at on log_chunks (created_at);
alter table log_chunks enable row level security;
alter table log_chunks force row level security;
create policy app on log_chunks for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on log_chunks to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on log_chunks from atelier_gpu_app;
