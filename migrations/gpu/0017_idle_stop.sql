-- Instances that stop when they are idle. Replicas of the previous release do not know the setting and leave it as it is:
-- they write neither the column nor the tables.

-- the setting with its announcement (instance/idle_stop.rs); null: the instance is not stopped when it is idle
alter table instances add column idle_stop jsonb;

-- What is known of the use of an instance with this setting, and a row queue (libs/db): due when the instance could have
-- been idle for long enough.
create table idle_watches (
    id               uuid             primary key references instances (id) on delete cascade,
    tenant_id        uuid             not null,
    -- idle time begins anew after this time: set with the setting, and when the stop is put off
    reset_at         timestamptz      not null,
    -- the last time at which a connection, terminal or SSH session was known to be open
    connected_at     timestamptz,
    -- up to when the use of CPU and GPU was read, and what was found (idle/model.rs)
    known_to         timestamptz,
    idle_since       timestamptz,
    paused_seconds   double precision not null default 0,
    cpu_peak_percent double precision,
    gpu_peak_percent double precision,
    wake_at          timestamptz,
    lease_owner      uuid,
    lease_until      timestamptz,
    failures         int              not null default 0
);
create index idle_watches_due on idle_watches (coalesce(lease_until, wake_at)) where coalesce(lease_until, wake_at) is not null;
alter table idle_watches enable row level security;
alter table idle_watches force row level security;
create policy app on idle_watches to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on idle_watches to atelier_gpu_worker using (true) with check (true);

-- Replicas of the gateway and of this service, which report the connections that they carry.
create table activity_reporters (
    id          text        primary key,
    kind        text        not null check (kind in ('gateway', 'gpu')),
    -- all that the replica carried until then is known
    reported_at timestamptz not null,
    -- whether it has shut down; nothing is known of a replica that disappears without it
    has_ended   boolean     not null
);
revoke all on activity_reporters from atelier_gpu_app;

create function wake_idle_watch() returns trigger language plpgsql set search_path from current as $$
begin
    if new.state = 'deleted' then
        delete from idle_watches where id = new.id;
        return null;
    end if;
    update idle_watches set wake_at = now() where id = new.id;
    if found then
        perform pg_notify('atelier_gpu_idle', '');
    end if;
    return null;
end $$;
create trigger instances_idle after update on instances for each row
    when (old.state is distinct from new.state and new.state in ('running', 'deleted'))
    execute function wake_idle_watch();
