-- Ways to sign in besides the password (accounts at OpenID providers, codes by time, passkeys), and the throttle of
-- failed sign-ins.

-- Failed sign-ins, counted in three ways, so that strangers cannot lock out the owner of an account:
--   account '',  network = client address (IPv4 address or IPv6 /64): all accounts together
--   account,     network = network of the client (IPv4 /24 or IPv6 /48)
--   account,     network '': all networks from which nobody has signed in to it (see `known_networks`)
-- An account is the SHA-256 of the lower-case address, whether or not it exists.
create table sign_in_throttles (
    account        bytea not null,
    network        text not null,
    failures       double precision not null, -- as of last_failed_at; decreases with time
    last_failed_at timestamptz not null,
    locked_until   timestamptz not null,
    primary key (account, network)
);
create index sign_in_throttles_last on sign_in_throttles (last_failed_at);

-- A network from which somebody has given the right password of an account.
create table known_networks (
    account           bytea not null, -- as in `sign_in_throttles`
    network           text not null, -- IPv4 /24 or IPv6 /48
    last_signed_in_at timestamptz not null,
    primary key (account, network)
);
create index known_networks_last on known_networks (last_signed_in_at);

-- An account at an OpenID provider that is linked to a user. Issuer and subject identify the person. There is no
-- row-level security, as for users: a sign-in reads the row of the account that the provider has confirmed.
create table oidc_accounts (
    issuer       text not null,
    subject      text not null,
    user_id      uuid not null references users on delete cascade,
    created_at   timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    id           uuid not null default gen_random_uuid() unique, -- by which the user removes the link
    primary key (issuer, subject)
);
create index oidc_accounts_user on oidc_accounts (user_id);
revoke update, delete on oidc_accounts from atelier_identity_app;
grant update (last_used_at) on oidc_accounts to atelier_identity_app;
grant delete on oidc_accounts to atelier_identity_app;

-- The second factor of a user who signs in with a password: codes by time (RFC 6238).
create table totp_factors (
    user_id      uuid primary key references users on delete cascade,
    wrapped_by   text not null, -- id of the configured key that encrypts the secret
    secret       bytea not null,
    confirmed_at timestamptz, -- null: no code has been entered yet, so sign-in requires none
    last_step    bigint not null default 0, -- time step of the last accepted code: no code is accepted twice
    created_at   timestamptz not null default now()
);
alter table totp_factors enable row level security;
alter table totp_factors force row level security;
create policy totp_factors_own on totp_factors to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy totp_factors_worker on totp_factors to atelier_identity_worker using (true) with check (true);

-- A code that replaces the second factor once, for a user who has lost the device.
create table recovery_codes (
    user_id uuid not null references totp_factors on delete cascade,
    hash    bytea not null, -- SHA-256 of 80 random bits; the row is deleted when the code is used
    primary key (user_id, hash)
);
alter table recovery_codes enable row level security;
alter table recovery_codes force row level security;
create policy recovery_codes_own on recovery_codes to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy recovery_codes_worker on recovery_codes to atelier_identity_worker using (true) with check (true);

-- A passkey (WebAuthn) of a user.
create table passkeys (
    id            uuid primary key,
    user_id       uuid not null references users on delete cascade,
    credential_id bytea not null unique,
    credential    jsonb not null, -- public key, signature counter and flags, as webauthn-rs serializes them
    name          text not null check (length(name) between 1 and 100),
    generation    bigint not null default 1,
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
-- only the name changes, and what its use changes
revoke update on passkeys from atelier_identity_app;
grant update (credential, name, generation, updated_at, last_used_at) on passkeys to atelier_identity_app;

-- The challenge of a registration or sign-in with a passkey that is in progress.
create table passkey_challenges (
    hash       bytea primary key, -- SHA-256 of the challenge
    -- the user who registers a passkey; null for a sign-in, which has no known user yet
    user_id    uuid references users on delete cascade,
    session_id uuid unique references sessions on delete cascade, -- a session has one registration at a time
    state      jsonb not null, -- as webauthn-rs serializes it
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
