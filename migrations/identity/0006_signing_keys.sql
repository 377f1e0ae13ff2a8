-- The keys that sign access tokens.

-- A key signs from `active_from` until the next key becomes active. Requests read what is public, and never the private
-- key.
create table signing_keys (
    id          uuid primary key, -- `kid` in a token
    public_jwk  jsonb not null,
    wrapped_by  text not null, -- id of the configured key that encrypts the private key
    private_key bytea not null, -- AES-256-GCM: nonce, PKCS#8, tag
    active_from timestamptz not null,
    created_at  timestamptz not null default now()
);
revoke all on signing_keys from atelier_identity_app;
grant insert on signing_keys to atelier_identity_app;
grant select (id, public_jwk, active_from, created_at) on signing_keys to atelier_identity_app;
-- the worker creates keys, requests only ask for one
revoke insert on signing_keys from atelier_identity_app;

-- An administrator's request for the next signing key, which the worker creates.
create table signing_key_requests (
    key_id       uuid primary key, -- of the key to create
    requested_at timestamptz not null default now()
);
revoke all on signing_key_requests from atelier_identity_app;
grant select, insert on signing_key_requests to atelier_identity_app;
