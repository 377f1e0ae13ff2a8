-- Sessions, and the feed that tells all services which access tokens are no longer valid.

-- One sign-in, with everything that is refreshed or exchanged from it.
create table sessions (
    id           uuid primary key,
    user_id      uuid not null references users on delete cascade,
    tenant_id    uuid references tenants on delete cascade, -- for which it acts; null: none
    created_at   timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    expires_at   timestamptz not null,
    ended_at     timestamptz,
    end_reason   text,
    -- SHA-256 of the secret in the cookie of a browser; null: the session has refresh tokens
    cookie_hash  bytea unique,
    -- of the client: the user agent at sign-in, the address of its last use
    user_agent   text,
    address      text,
    check ((ended_at is null) = (end_reason is null)),
    constraint sessions_end_reason_check check (end_reason in
        ('signed_out', 'token_reused', 'password_changed', 'user_disabled', 'membership_ended', 'displaced')) not valid
);
create index sessions_user on sessions (user_id);
create index sessions_expires_at on sessions (expires_at);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy sessions_own on sessions to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid
        or id = nullif(current_setting('atelier.session', true), '')::uuid);
create policy sessions_worker on sessions to atelier_identity_worker using (true) with check (true);

-- A refresh token, by its hash. Replaced tokens stay as long as the session, so that one that is used again is noticed.
create table refresh_tokens (
    hash        bytea primary key,
    session_id  uuid not null references sessions on delete cascade,
    issued_at   timestamptz not null default now(),
    replaced_at timestamptz -- null: not used yet
);
create index refresh_tokens_session on refresh_tokens (session_id);
alter table refresh_tokens enable row level security;
alter table refresh_tokens force row level security;
create policy refresh_tokens_own on refresh_tokens to atelier_identity_app
    using (session_id = nullif(current_setting('atelier.session', true), '')::uuid);
create policy refresh_tokens_worker on refresh_tokens to atelier_identity_worker using (true) with check (true);

-- Rights that ended before the access tokens that grant them expire. All services follow this feed (libs/feed).
create table revocations (
    id      bigint generated always as identity primary key,
    xact    xid8 not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    -- user_id, tenant_id, session_id: a token is revoked if it carries all of those that are not null
    payload jsonb not null
);
create index revocations_xact on revocations (xact);
revoke all on revocations from atelier_identity_app;
grant insert (payload) on revocations to atelier_identity_app;
