-- Passkeys (WebAuthn) of users, and the challenges of registrations and sign-ins in progress. A fourth setting names the
-- challenge that a client has answered: atelier.passkey_challenge, its SHA-256 in hex.
create table passkeys (
    id            uuid        primary key,
    user_id       uuid        not null references users on delete cascade,
    credential_id bytea       not null unique,
    credential    jsonb       not null, -- public key, signature counter and flags, as webauthn-rs serializes them
    name          text        not null check (length(name) between 1 and 100),
    generation    bigint      not null default 1,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    last_used_at  timestamptz
);
create index passkeys_user on passkeys (user_id, id);
alter table passkeys enable row level security;
alter table passkeys force row level security;
create policy passkeys_own on passkeys to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy passkeys_worker on passkeys to atelier_identity_worker using (true) with check (true);
-- what a passkey is never changes: only its name, and what its use changes
revoke update on passkeys from atelier_identity_app;
grant update (credential, name, generation, updated_at, last_used_at) on passkeys to atelier_identity_app;

create table passkey_challenges (
    hash       bytea       primary key, -- SHA-256 of the challenge
    -- whose registration it is; null for a sign-in, whose user is not known yet
    user_id    uuid        references users on delete cascade,
    session_id uuid        unique references sessions on delete cascade, -- a session has one registration at a time
    state      jsonb       not null,
    expires_at timestamptz not null,
    check ((user_id is null) = (session_id is null))
);
create index passkey_challenges_user on passkey_challenges (user_id) where user_id is not null;
create index passkey_challenges_expires_at on passkey_challenges (expires_at);
alter table passkey_challenges enable row level security;
alter table passkey_challenges force row level security;
create policy passkey_challenges_own on passkey_challenges to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy passkey_challenges_answered on passkey_challenges to atelier_identity_app
    using (hash = decode(nullif(current_setting('atelier.passkey_challenge', true), ''), 'hex'));
create policy passkey_challenges_worker on passkey_challenges to atelier_identity_worker
    using (true) with check (true);
