-- Tenants, users, and the members of tenants.
--
-- Row-level security. Three roles use the schema (libs/provision): the owner migrates it; `atelier_identity_app` serves
-- requests and sees the rows that the settings of its transaction name; `atelier_identity_worker` does background work
-- and sees all rows. Both may read and write each new table, so each migration revokes what a role does not need.
-- The settings, all local to a transaction (libs/db, and `scope` of this service):
--   atelier.tenant             what belongs to one tenant: its members, invitations and API keys
--   atelier.user               what belongs to one user: memberships, sessions, API keys, factors, passkeys
--   atelier.admin              'on': an administrator reads the audit log of the platform and of all tenants
--   atelier.session            the session of the refresh token or cookie that a client presented
--   atelier.api_key            the API key that a client presented, by its SHA-256 in hex
--   atelier.passkey_challenge  the challenge that a client answered, by its SHA-256 in hex
-- Tenants and users have no row-level security: administrators manage them, and the row of a signed-in user is found by
-- the id in a verified token.

-- A tenant, which owns everything that its members order. The rows are a queue (libs/db) from which the worker has all
-- services carry out a suspension or deletion.
create table tenants (
    id                 uuid primary key,
    name               text not null check (length(name) between 1 and 100),
    state              text not null default 'active' check (state in ('active', 'suspended')),
    generation         bigint not null default 1,
    created_at         timestamptz not null default now(),
    updated_at         timestamptz not null default now(),
    -- whether the suspension also stops running instances
    stop_instances     boolean not null default false,
    -- the operation that deletes the tenant, and when its storages are deleted; null: it is not being deleted
    deletion_id        uuid,
    delete_storages_at timestamptz,
    -- the progress of each service
    steps              jsonb not null default '[]',
    wake_at            timestamptz,
    lease_owner        uuid,
    lease_until        timestamptz,
    failures           int not null default 0,
    check ((deletion_id is null) = (delete_storages_at is null)),
    check (deletion_id is null or state = 'suspended')
);
create unique index tenants_name on tenants (lower(name));
create index tenants_due on tenants (coalesce(lease_until, wake_at))
    where coalesce(lease_until, wake_at) is not null;
-- the worker deletes a tenant when no service has anything left of it
revoke delete on tenants from atelier_identity_app;

-- A person who signs in.
create table users (
    id            uuid primary key,
    email         text not null check (length(email) between 3 and 254),
    display_name  text not null check (length(display_name) between 1 and 100),
    admin         boolean not null default false, -- manages the platform
    disabled      boolean not null default false,
    password_hash text not null,
    generation    bigint not null default 1,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    -- false: created by a sign-in with an OpenID provider; the password is random and unknown to everyone
    has_password  boolean not null default true,
    -- when the user was last enabled again; null: never disabled. What the user made before that time is not valid any
    -- more (`maker`).
    enabled_since timestamptz,
    -- of the console; null: the language of the browser
    language      text check (language in ('en', 'zh-CN'))
);
create unique index users_email on users (lower(email));

-- Called when a disabled user is enabled again.
create function note_enabled_user() returns trigger language plpgsql as $$
begin
    new.enabled_since := now();
    return new;
end $$;
create trigger users_enabled before update on users for each row
    when (old.disabled and not new.disabled) execute function note_enabled_user();

-- The membership of a user in a tenant.
create table members (
    tenant_id    uuid not null references tenants,
    user_id      uuid not null references users on delete cascade,
    role         text not null check (role in ('viewer', 'member', 'owner')),
    generation   bigint not null default 1,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    -- when the role was last raised from `viewer`; null: never. What the user made for the tenant before that time is
    -- not valid any more (`maker`).
    writer_since timestamptz,
    primary key (tenant_id, user_id)
);
create index members_user on members (user_id, created_at);
alter table members enable row level security;
alter table members force row level security;
create policy members_of_tenant on members to atelier_identity_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
-- to read only: users do not make themselves members
create policy members_of_user on members for select to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy members_worker on members to atelier_identity_worker using (true) with check (true);

-- Called when a viewer gets a role that may write.
create function note_new_writer() returns trigger language plpgsql as $$
begin
    new.writer_since := now();
    return new;
end $$;
create trigger members_writer before update on members for each row
    when (old.role = 'viewer' and new.role <> 'viewer') execute function note_new_writer();

-- A user who was removed from a tenant. The rules of an OpenID provider do not add this member again; an invitation or
-- an administrator does, and the row is deleted.
create table removed_members (
    tenant_id  uuid not null references tenants on delete cascade,
    user_id    uuid not null references users on delete cascade,
    removed_at timestamptz not null default now(),
    primary key (tenant_id, user_id)
);
create index removed_members_user on removed_members (user_id);
alter table removed_members enable row level security;
alter table removed_members force row level security;
create policy removed_members_of_tenant on removed_members to atelier_identity_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy removed_members_worker on removed_members to atelier_identity_worker using (true) with check (true);
revoke update on removed_members from atelier_identity_app;

-- A long-running action (libs/operations), such as the deletion of a tenant. It outlives its target.
create table operations (
    id          uuid primary key,
    tenant_id   uuid, -- null: the operation belongs to the platform
    target      text not null, -- id of the object that it acts on
    kind        text not null,
    state       text not null,
    progress    jsonb not null default '{}',
    problem     jsonb, -- why it failed
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    finished_at timestamptz
);
create index operations_of_tenant on operations (tenant_id, id desc);
create index operations_of_target on operations (target, id desc);
create index operations_finished on operations (finished_at) where finished_at is not null;
revoke delete on operations from atelier_identity_app;
