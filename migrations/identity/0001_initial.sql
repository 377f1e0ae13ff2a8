-- Who may sign in, to which tenant, with which role; and the keys that sign what says so.
--
-- Row-level security. Two settings of a transaction name whose rows the request path may see:
--   atelier.tenant   the members of one tenant (set by managing members)
--   atelier.user     the memberships and sessions of one user (set by signing in, and by "me")
-- and a third the one session whose refresh token was shown:
--   atelier.session
-- Users and tenants are the platform's own tables: administrators manage them, and a user's own row is
-- reached by the id in a verified token.

create table idempotency_keys (
    scope        text        not null,
    key          text        not null,
    request_hash bytea       not null,
    status       int         not null,
    headers      jsonb       not null,
    body         jsonb,
    created_at   timestamptz not null default now(),
    primary key (scope, key)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);

create table tenants (
    id         uuid        primary key,
    name       text        not null check (length(name) between 1 and 100),
    state      text        not null default 'active' check (state in ('active', 'suspended')),
    generation bigint      not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create unique index tenants_name on tenants (lower(name));

create table users (
    id            uuid        primary key,
    email         text        not null check (length(email) between 3 and 254),
    display_name  text        not null check (length(display_name) between 1 and 100),
    admin         boolean     not null default false,
    disabled      boolean     not null default false,
    password_hash text        not null,
    generation    bigint      not null default 1,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now()
);
create unique index users_email on users (lower(email));

create table members (
    tenant_id  uuid        not null references tenants,
    user_id    uuid        not null references users on delete cascade,
    role       text        not null check (role in ('viewer', 'member', 'owner')),
    generation bigint      not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (tenant_id, user_id)
);
create index members_user on members (user_id, created_at);
alter table members enable row level security;
alter table members force row level security;
create policy members_of_tenant on members to atelier_identity_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
-- to read only: a user does not make oneself a member
create policy members_of_user on members for select to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy members_worker on members to atelier_identity_worker using (true) with check (true);

-- One sign-in and everything refreshed from it.
create table sessions (
    id           uuid        primary key,
    user_id      uuid        not null references users on delete cascade,
    tenant_id    uuid        references tenants on delete cascade,
    created_at   timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    expires_at   timestamptz not null,
    ended_at     timestamptz,
    end_reason   text check (end_reason in
        ('signed_out', 'token_reused', 'password_changed', 'user_disabled', 'membership_ended')),
    check ((ended_at is null) = (end_reason is null))
);
create index sessions_user on sessions (user_id);
create index sessions_expires_at on sessions (expires_at);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy sessions_own on sessions to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid
        or id = nullif(current_setting('atelier.session', true), '')::uuid);
create policy sessions_worker on sessions to atelier_identity_worker using (true) with check (true);

-- Every refresh token a session ever had, so that one that comes back is known. Only hashes.
create table refresh_tokens (
    hash        bytea       primary key,
    session_id  uuid        not null references sessions on delete cascade,
    issued_at   timestamptz not null default now(),
    replaced_at timestamptz
);
create index refresh_tokens_session on refresh_tokens (session_id);
alter table refresh_tokens enable row level security;
alter table refresh_tokens force row level security;
create policy refresh_tokens_own on refresh_tokens to atelier_identity_app
    using (session_id = nullif(current_setting('atelier.session', true), '')::uuid);
create policy refresh_tokens_worker on refresh_tokens to atelier_identity_worker using (true) with check (true);

-- Failed sign-ins by account name, whether or not there is such an account.
create table sign_in_failures (
    account        bytea       primary key, -- SHA-256 of the lower-case address
    failures       int         not null,
    last_failed_at timestamptz not null,
    blocked_until  timestamptz not null
);
create index sign_in_failures_last on sign_in_failures (last_failed_at);

-- What signs access tokens. A key signs from `active_from` until the next one's; the request path can
-- add one and read what is public, and never the private half.
create table signing_keys (
    id          uuid        primary key, -- `kid` on the wire
    public_jwk  jsonb       not null,
    wrapped_by  text        not null, -- id of the configured key that encrypts the next column
    private_key bytea       not null, -- AES-256-GCM: nonce, PKCS#8, tag
    active_from timestamptz not null,
    created_at  timestamptz not null default now()
);
revoke all on signing_keys from atelier_identity_app;
grant insert on signing_keys to atelier_identity_app;
grant select (id, public_jwk, active_from, created_at) on signing_keys to atelier_identity_app;
