-- Access to instances: tickets, share links, SSH, and the feed from which the gateway learns what has changed.

-- A one-time ticket to a URL of an instance. What it opens ends with the rights with which it was created.
create table tickets (
    hash        bytea primary key,
    tenant_id   uuid not null,
    instance_id uuid not null references instances (id) on delete cascade,
    user_id     uuid not null,
    expires_at  timestamptz not null,
    -- of the token with which it was created: its session (null: none), and its issue time
    session_id  uuid,
    rights_at   timestamptz not null,
    port        int -- the public port that it opens; null: that of the service
);
create index tickets_expires_at on tickets (expires_at);
alter table tickets enable row level security;
alter table tickets force row level security;
create policy app on tickets to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on tickets to atelier_gpu_worker using (true) with check (true);

-- A link that opens one port of an instance to everyone who has it, or to one person.
create table share_links (
    id              uuid primary key,
    tenant_id       uuid not null,
    instance_id     uuid not null references instances (id) on delete cascade,
    port            int, -- a public port; null: that of the service
    name            text not null,
    hash            bytea not null unique, -- of the secret, which is not stored
    created_by      uuid not null, -- the link ends with the rights of this user (libs/auth)
    created_at      timestamptz not null,
    expires_at      timestamptz not null,
    last_used_at    timestamptz,
    -- the person who may use it; null: everyone
    recipient_email text,
    created_by_key  uuid, -- the user's API key with which it was made; null: none
    rights_at       timestamptz not null -- issue time of the token with which it was made
);
create index share_links_of_instance on share_links (instance_id, id);
create index share_links_expired on share_links (expires_at);
create index share_links_of_maker on share_links (created_by);
create index share_links_of_key on share_links (created_by_key) where created_by_key is not null;
alter table share_links enable row level security;
alter table share_links force row level security;
create policy app on share_links to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on share_links to atelier_gpu_worker using (true) with check (true);

-- A one-time ticket to a share link for one person. The person signs in at the platform's address, and the ticket
-- proves it at the address of the instance.
create table share_link_tickets (
    hash          bytea primary key,
    share_link_id uuid not null references share_links (id) on delete cascade,
    -- the person, and the rights with which the access ends
    user_id       uuid not null,
    session_id    uuid,
    rights_at     timestamptz not null,
    expires_at    timestamptz not null
);
create index share_link_tickets_of_link on share_link_tickets (share_link_id);
create index share_link_tickets_expired on share_link_tickets (expires_at);
alter table share_link_tickets enable row level security;
alter table share_link_tickets force row level security;
create policy worker on share_link_tickets to atelier_gpu_worker using (true) with check (true);

-- The host key of the SSH endpoint: one row, shared by all replicas. Only workers read it.
create table ssh_host_key (
    only_row    boolean primary key default true check (only_row),
    private_key text not null, -- OpenSSH format
    created_at  timestamptz not null default now()
);
revoke all on ssh_host_key from atelier_gpu_app;
revoke update, delete on ssh_host_key from atelier_gpu_worker;

-- A public key of a user. It opens the instances that the user may open.
create table ssh_keys (
    id             uuid primary key,
    user_id        uuid not null,
    name           text not null,
    public_key     text not null,
    fingerprint    text not null,
    created_at     timestamptz not null default now(),
    last_used_at   timestamptz,
    -- the API key that added it, and with which it ends (libs/auth); null: the user did, and it belongs to the user
    created_by_key uuid,
    rights_at      timestamptz not null, -- issue time of the token with which it was added
    -- it opens instances of this tenant, the one for which the API key acts; null: of all tenants of the user
    opens_tenant   uuid,
    unique (user_id, fingerprint)
);
create index ssh_keys_of_user on ssh_keys (user_id, id desc);
create index ssh_keys_by_fingerprint on ssh_keys (fingerprint);
create index ssh_keys_of_key on ssh_keys (created_by_key) where created_by_key is not null;
alter table ssh_keys enable row level security;
alter table ssh_keys force row level security;
create policy app on ssh_keys to atelier_gpu_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid)
    with check (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy worker on ssh_keys to atelier_gpu_worker using (true) with check (true);
revoke update on ssh_keys from atelier_gpu_app;
revoke insert, delete on ssh_keys from atelier_gpu_worker;
-- the worker deletes the keys of makers who have lost their rights
grant delete on ssh_keys to atelier_gpu_worker;

-- A public key that opens one instance, while the user who added it may open the instance.
create table instance_ssh_keys (
    id             uuid primary key,
    tenant_id      uuid not null,
    instance_id    uuid not null references instances (id) on delete cascade,
    added_by       uuid not null,
    name           text not null,
    public_key     text not null,
    fingerprint    text not null,
    created_at     timestamptz not null default now(),
    last_used_at   timestamptz,
    created_by_key uuid, -- the user's API key with which it was added; null: none
    rights_at      timestamptz not null, -- issue time of the token with which it was added
    unique (instance_id, fingerprint)
);
create index instance_ssh_keys_of_instance on instance_ssh_keys (instance_id, id desc);
create index instance_ssh_keys_by_fingerprint on instance_ssh_keys (fingerprint);
create index instance_ssh_keys_of_maker on instance_ssh_keys (added_by);
create index instance_ssh_keys_of_key on instance_ssh_keys (created_by_key) where created_by_key is not null;
alter table instance_ssh_keys enable row level security;
alter table instance_ssh_keys force row level security;
create policy app on instance_ssh_keys to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on instance_ssh_keys to atelier_gpu_worker using (true) with check (true);
revoke update on instance_ssh_keys from atelier_gpu_app;
revoke insert, delete on instance_ssh_keys from atelier_gpu_worker;
-- the worker deletes the keys of makers who have lost their rights, and of deleted tenants
grant delete on instance_ssh_keys to atelier_gpu_worker;

-- An SSH connection to an instance. Only workers write it.
create table ssh_sessions (
    id             uuid primary key,
    tenant_id      uuid not null,
    instance_id    uuid not null,
    user_id        uuid not null, -- the user with the rights to open it
    key_id         uuid not null, -- of `ssh_keys` or `instance_ssh_keys`
    key_owner      text not null check (key_owner in ('user', 'instance')),
    fingerprint    text not null,
    client_address text not null,
    started_at     timestamptz not null default now(),
    confirmed_at   timestamptz not null default now(), -- the last time at which it was seen open
    ended_at       timestamptz,
    end_reason     text,
    -- how many channels of each kind were opened
    shells         int not null default 0,
    commands       int not null default 0,
    sftp           int not null default 0,
    forwards       int not null default 0
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

-- A route that the gateway has to read again. The gateways follow this feed (libs/feed), which triggers write.
create table route_changes (
    id      bigint generated always as identity primary key,
    xact    xid8 not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    payload jsonb not null -- instance_id, or tenant_id for the routes of all its instances
);
create index route_changes_xact on route_changes (xact);
revoke all on route_changes from atelier_gpu_app;
grant insert (payload) on route_changes to atelier_gpu_app;

-- Called when an instance changes what the gateway knows of it: where it runs, or its public ports.
create function announce_routes_of_instance() returns trigger language plpgsql set search_path from current as $$
begin
    insert into route_changes (payload)
    values (jsonb_build_object('instance_id', 'inst_' || replace(new.id::text, '-', '')));
    perform pg_notify('atelier_gpu_routes', '');
    return null;
end $$;
create trigger instances_routed after update on instances for each row
    when (old.state is distinct from new.state
          or old.phase -> 'pod' is distinct from new.phase -> 'pod'
          or old.public_ports is distinct from new.public_ports)
    execute function announce_routes_of_instance();

-- Called when a tenant is suspended, deleted, or active again.
create function announce_routes_of_tenant() returns trigger language plpgsql set search_path from current as $$
begin
    insert into route_changes (payload)
    values (jsonb_build_object('tenant_id', 'ten_' || replace(new.id::text, '-', '')));
    perform pg_notify('atelier_gpu_routes', '');
    return null;
end $$;
create trigger tenants_recorded after insert on tenants for each row
    when (new.state <> 'active') execute function announce_routes_of_tenant();
create trigger tenants_routed after update on tenants for each row
    when (old.state is distinct from new.state) execute function announce_routes_of_tenant();

-- Called when a share link is created or deleted.
create function announce_routes_of_share_link() returns trigger language plpgsql set search_path from current as $$
begin
    insert into route_changes (payload)
    values (jsonb_build_object('instance_id', 'inst_' || replace(coalesce(new.instance_id, old.instance_id)::text, '-', '')));
    perform pg_notify('atelier_gpu_routes', '');
    return null;
end $$;
create trigger share_links_routed after insert or delete on share_links for each row
    execute function announce_routes_of_share_link();
