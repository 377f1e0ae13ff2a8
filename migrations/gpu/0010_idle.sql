-- Instances that stop when they are idle (docs/adr/0019-idle-stop.md).

-- What is known of the use of an instance that stops when it is idle. The rows are a queue (libs/db): a watch is due
-- when the instance could have been idle for long enough.
create table idle_watches (
    id               uuid primary key references instances (id) on delete cascade, -- of the instance
    tenant_id        uuid not null,
    reset_at         timestamptz not null, -- idle time begins after it: when the setting was made, or the stop put off
    connected_at     timestamptz, -- the last time at which a connection, terminal or SSH session was open
    -- up to when the use of CPU and GPU was read, and what was found (`Progress` in the slice `idle`)
    known_to         timestamptz,
    idle_since       timestamptz,
    paused_seconds   double precision not null default 0,
    cpu_peak_percent double precision,
    gpu_peak_percent double precision,
    wake_at          timestamptz,
    lease_owner      uuid,
    lease_until      timestamptz,
    failures         int not null default 0
);
create index idle_watches_due on idle_watches (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;
alter table idle_watches enable row level security;
alter table idle_watches force row level security;
create policy app on idle_watches to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on idle_watches to atelier_gpu_worker using (true) with check (true);

-- A replica of the gateway or of this service, which reports the connections that it carries.
create table activity_reporters (
    id          text primary key,
    kind        text not null check (kind in ('gateway', 'gpu')),
    reported_at timestamptz not null, -- all that it carried until then is known
    has_ended   boolean not null -- whether it has shut down; if it disappears otherwise, connections may be unknown
);
revoke all on activity_reporters from atelier_gpu_app;

-- Called when an instance begins to run or is deleted: its watch is due, or ends.
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
