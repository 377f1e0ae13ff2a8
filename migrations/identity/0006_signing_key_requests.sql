-- An administrator's request for the next signing key. The worker creates the key: the request path adds none.
--
-- A replica of the previous release answers 500 to a request for rotation from here on. Its worker is not concerned.
create table signing_key_requests (
    key_id       uuid        primary key, -- of the key to create
    requested_at timestamptz not null default now()
);
revoke all on signing_key_requests from atelier_identity_app;
grant select, insert on signing_key_requests to atelier_identity_app;
revoke insert on signing_keys from atelier_identity_app;
