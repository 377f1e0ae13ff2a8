-- SSH: the host key, public keys of users and of instances, and the record of connections.

-- The key that proves the endpoint's identity to clients: one row, shared by all replicas. Only workers read it.
create table ssh_host_key (
    only_row    boolean     primary key default true check (only_row),
    private_key text        not null, -- OpenSSH format
    created_at  timestamptz not null default now()
);
revoke all on ssh_host_key from atelier_gpu_app;
revoke update, delete on ssh_host_key from atelier_gpu_worker;

-- A user's keys. They open what the user may open, in whatever tenant.
create table ssh_keys (
    id           uuid        primary key,
    user_id      uuid        not null,
    name         text        not null,
    public_key   text        not null,
    fingerprint  text        not null,
    created_at   timestamptz not null default now(),
    last_used_at timestamptz,
    unique (user_id, fingerprint)
);
create index ssh_keys_of_user on ssh_keys (user_id, id desc);
create index ssh_keys_by_fingerprint on ssh_keys (fingerprint);
alter table ssh_keys enable row level security;
alter table ssh_keys force row level security;
create policy app on ssh_keys to atelier_gpu_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid)
    with check (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy worker on ssh_keys to atelier_gpu_worker using (true) with check (true);
revoke update on ssh_keys from atelier_gpu_app;
revoke insert, delete on ssh_keys from atelier_gpu_worker;

-- Keys that open one instance, as long as the user who added them may open it.
create table instance_ssh_keys (
    id           uuid        primary key,
    tenant_id    uuid        not null,
    instance_id  uuid        not null references instances (id) on delete cascade,
    added_by     uuid        not null,
    name         text        not null,
    public_key   text        not null,
    fingerprint  text        not null,
    created_at   timestamptz not null default now(),
    last_used_at timestamptz,
    unique (instance_id, fingerprint)
);
create index instance_ssh_keys_of_instance on instance_ssh_keys (instance_id, id desc);
create index instance_ssh_keys_by_fingerprint on instance_ssh_keys (fingerprint);
alter table instance_ssh_keys enable row level security;
alter table instance_ssh_keys force row level security;
create policy app on instance_ssh_keys to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instance_ssh_keys to atelier_gpu_worker using (true) with check (true);
revoke update on instance_ssh_keys from atelier_gpu_app;
revoke insert, delete on instance_ssh_keys from atelier_gpu_worker;

-- Who was connected, with which key, from where, for how long and for what. Written by workers only.
create table ssh_sessions (
    id             uuid        primary key,
    tenant_id      uuid        not null,
    instance_id    uuid        not null,
    user_id        uuid        not null, -- the user with whose rights it was opened
    key_id         uuid        not null,
    key_owner      text        not null check (key_owner in ('user', 'instance')),
    fingerprint    text        not null,
    client_address text        not null,
    started_at     timestamptz not null default now(),
    -- the last time at which an open connection was seen
    confirmed_at   timestamptz not null default now(),
    ended_at       timestamptz,
    end_reason     text,
    -- how many of each kind were opened
    shells         int         not null default 0,
    commands       int         not null default 0,
    sftp           int         not null default 0,
    forwards       int         not null default 0
);
create index ssh_sessions_of_tenant on ssh_sessions (tenant_id, id desc);
create index ssh_sessions_of_instance on ssh_sessions (instance_id, id desc);
create index ssh_sessions_open on ssh_sessions (confirmed_at) where ended_at is null;
create index ssh_sessions_ended on ssh_sessions (ended_at) where ended_at is not null;
alter table ssh_sessions enable row level security;
alter table ssh_sessions force row level security;
create policy app on ssh_sessions for select to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on ssh_sessions for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on ssh_sessions to atelier_gpu_worker using (true) with check (true);
revoke insert, update, delete on ssh_sessions from atelier_gpu_app;

-- the answers to a user's own writes: only that user's requests see them
drop policy app on idempotency_keys;
create policy app on idempotency_keys to atelier_gpu_app
    using (case when scope like 'ten\_%'
                then scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', '')
                when scope like 'own\_usr\_%'
                then scope = 'own_usr_' || replace(nullif(current_setting('atelier.user', true), ''), '-', '')
                else true end)
    with check (case when scope like 'ten\_%'
                then scope = 'ten_' || replace(nullif(current_setting('atelier.tenant', true), ''), '-', '')
                when scope like 'own\_usr\_%'
                then scope = 'own_usr_' || replace(nullif(current_setting('atelier.user', true), ''), '-', '')
                else true end);
