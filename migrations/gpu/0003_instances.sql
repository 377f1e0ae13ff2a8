-- Instances, with their operations, secrets and registry credentials.

-- A machine of a tenant. The rows are a queue (libs/db) of instances that need a reconcile.
create table instances (
    id               uuid primary key,
    tenant_id        uuid not null,
    name             text not null,
    -- the order; it changes only while the instance is stopped
    spec             jsonb not null,
    -- the state with its data (`State` in the slice `instance`); `state` is its tag
    phase            jsonb not null,
    state            text not null generated always as (phase ->> 'state') stored,
    desired          text not null generated always as (
        case when phase ->> 'state' in ('pending', 'starting', 'running') then 'running'
             when phase ->> 'state' in ('stopping', 'stopped') then 'stopped'
             else 'deleted' end) stored,
    attempt          bigint not null, -- number of the start
    restart          bigint not null, -- number of requested restarts
    -- the open run, and the last closed one (`Meter`)
    meter            jsonb not null,
    last_place       jsonb, -- the current or last location
    -- the latest operation
    operation_id     uuid not null,
    operation_kind   text not null,
    generation       bigint not null default 1,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    wake_at          timestamptz,
    lease_owner      uuid,
    lease_until      timestamptz,
    failures         int not null default 0,
    -- the lane in the queue: the cluster of the claimed unit
    cluster          text not null generated always as (coalesce(phase #>> '{claim,cluster}', '')) stored,
    -- the storages that the current start has attached, by id
    attached         jsonb not null default '{}',
    -- storages that were removed from the order and may still be attached
    detaching        uuid[] not null default '{}',
    -- Secrets that may exist in clusters (`TrackedSecret`)
    secret_objects   jsonb not null default '[]',
    -- the setting with its announcement (`IdleStop`); null: the instance is not stopped when it is idle
    idle_stop        jsonb,
    public_ports     jsonb not null default '[]', -- ports with host names of their own
    -- the attempt in which the instance started or ran when the database was restored. It continues if the cluster has
    -- it in its unit; otherwise it is stopped, as its user or the platform may have stopped it since the backup.
    restored_attempt bigint,
    managed_by       text, -- the service that ordered and manages it; null: its users do
    -- of the order of a managed instance: distinguishes a repetition from another order with the same id
    request_hash     bytea,
    -- until when an interruptible instance has to leave its unit, which another one has claimed
    leave_by         timestamptz,
    -- the name in lower case, by which lists are searched and ordered (by code points). A column, because row-level
    -- security lets an index be searched by a column, but not by lower().
    name_key         text collate "C" not null generated always as (lower(name collate "und-x-icu")) stored,
    check (phase ->> 'state' in ('pending', 'starting', 'running', 'stopping', 'stopped', 'deleting', 'deleted'))
);
create index instances_of_tenant on instances (tenant_id, id desc) where state <> 'deleted';
create index instances_due on instances (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;
-- stopped or stopping instances that hold their unit, or are to hold it
create index instances_held on instances (tenant_id) where phase ? 'hold';
create index instances_of_registry on instances (tenant_id, (spec #>> '{pull,registry}')) where spec ? 'pull';
-- lists by several states, in the order of time or name, are read from these indexes alone
create index instances_by_time on instances (tenant_id, state, id) include (name_key) where state <> 'deleted';
create index instances_by_name on instances (tenant_id, state, name_key, id) where state <> 'deleted';
-- the same for administrators, who list the instances of all tenants
create index instances_of_all_by_time on instances (state, id) include (tenant_id, name_key) where state <> 'deleted';
create index instances_of_all_by_name on instances (state, name_key, id) include (tenant_id) where state <> 'deleted';
alter table instances enable row level security;
alter table instances force row level security;
-- subqueries, so that a query reads the settings once, and not for each row
create policy app on instances to atelier_gpu_app
    using (tenant_id = (select nullif(current_setting('atelier.tenant', true), '')::uuid))
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on instances for select to atelier_gpu_app
    using ((select current_setting('atelier.admin', true) = 'on'));
create policy worker on instances to atelier_gpu_worker using (true) with check (true);
revoke delete on instances from atelier_gpu_app;

-- A secret of an instance: an environment variable with a value that only the pod sees. Requests write the value, and
-- only workers read it.
create table instance_secrets (
    instance_id uuid not null references instances (id) on delete cascade,
    name        text not null, -- of the environment variable
    tenant_id   uuid not null,
    key_id      text not null, -- id of the configured key that encrypts the value (libs/encryption)
    ciphertext  bytea not null, -- nonce, ciphertext, tag
    updated_at  timestamptz not null default now(),
    primary key (instance_id, name)
);
alter table instance_secrets enable row level security;
alter table instance_secrets force row level security;
create policy app on instance_secrets to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on instance_secrets for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on instance_secrets to atelier_gpu_worker using (true) with check (true);
revoke select, update on instance_secrets from atelier_gpu_app;
grant select (instance_id, name, tenant_id, updated_at) on instance_secrets to atelier_gpu_app;
revoke insert, update on instance_secrets from atelier_gpu_worker;

-- Called when the deletion of an instance begins: its secrets are not needed any more.
create function delete_secrets() returns trigger language plpgsql set search_path from current as $$
begin
    delete from instance_secrets where instance_id = new.id;
    return null;
end $$;
create trigger instances_secrets_deleted after update of phase on instances for each row
    when (new.desired = 'deleted' and old.desired <> 'deleted') execute function delete_secrets();

-- A tenant's user name and password for a private registry of images. Requests write the password, and only workers
-- read it.
create table registry_credentials (
    id             uuid primary key,
    tenant_id      uuid not null,
    name           text not null,
    -- host with port, in lower case; `docker.io` for Docker Hub
    registry       text not null,
    username       text not null,
    key_id         text not null, -- id of the configured key that encrypts the password (libs/encryption)
    ciphertext     bytea not null, -- nonce, ciphertext, tag
    -- the maker, with which it ends (libs/auth): the user, and the user's API key if it was made with one
    created_by     uuid not null,
    created_by_key uuid,
    rights_at      timestamptz not null, -- issue time of the token with which it was made
    created_at     timestamptz not null default now(),
    unique (tenant_id, name)
);
create index registry_credentials_of_registry on registry_credentials (tenant_id, registry, id);
create index registry_credentials_of_maker on registry_credentials (created_by);
create index registry_credentials_of_key on registry_credentials (created_by_key) where created_by_key is not null;
alter table registry_credentials enable row level security;
alter table registry_credentials force row level security;
create policy app on registry_credentials to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on registry_credentials for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on registry_credentials to atelier_gpu_worker using (true) with check (true);
revoke select, update on registry_credentials from atelier_gpu_app;
grant select (id, tenant_id, name, registry, username, created_by, created_by_key, rights_at, created_at)
    on registry_credentials to atelier_gpu_app;
revoke insert, update on registry_credentials from atelier_gpu_worker;

-- A long-running action on an instance (libs/operations). It outlives the instance.
create table operations (
    id          uuid primary key,
    tenant_id   uuid not null,
    kind        text not null,
    state       text not null,
    progress    jsonb not null default '{}',
    problem     jsonb, -- why it failed
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz,
    target      text not null, -- id of the instance
    -- the trace of the request (W3C traceparent), which the reconciler continues; null: not traced
    traceparent text
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_target on operations (target, id desc);
create index operations_finished on operations (finished_at) where finished_at is not null;
alter table operations enable row level security;
alter table operations force row level security;
create policy app on operations to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on operations to atelier_gpu_worker using (true) with check (true);
revoke delete on operations from atelier_gpu_app;
