-- API keys: long-lived credentials of scripts.

-- A key acts for its user in one tenant, with the role that the user has there at that time. It is deleted with the
-- membership.
create table api_keys (
    id                  uuid primary key,
    tenant_id           uuid references tenants on delete cascade, -- null: an administrator's, for no tenant
    user_id             uuid not null references users on delete cascade,
    name                text not null check (length(name) between 1 and 100),
    secret_hash         bytea not null unique, -- SHA-256; the key itself is not stored
    hint                text not null, -- its first characters
    scopes              text[] not null check (cardinality(scopes) > 0),
    requests_per_second int check (requests_per_second > 0), -- null: no limit of its own
    created_at          timestamptz not null default now(),
    expires_at          timestamptz, -- null: does not expire
    expiry_published    boolean not null default false, -- whether the revocation at `expires_at` was published
    last_used_at        timestamptz, -- to the minute
    last_used_from      text, -- address of the client
    -- the API key that created this one, and with which it is deleted; null: a person created it
    created_by_key      uuid references api_keys on delete cascade,
    foreign key (tenant_id, user_id) references members on delete cascade
);
create index api_keys_user on api_keys (user_id, tenant_id, id);
create index api_keys_tenant on api_keys (tenant_id, user_id, id);
create index api_keys_expires_at on api_keys (expires_at) where expires_at is not null;
create index api_keys_created_by_key on api_keys (created_by_key) where created_by_key is not null;
alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy api_keys_of_user on api_keys to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
-- owners see and delete the keys of their tenant; they create none for others
create policy api_keys_of_tenant on api_keys for select to atelier_identity_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy api_keys_deleted_by_owner on api_keys for delete to atelier_identity_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
-- a client that presents a key is not known before the key is found
create policy api_keys_presented on api_keys for select to atelier_identity_app
    using (secret_hash = decode(nullif(current_setting('atelier.api_key', true), ''), 'hex'));
create policy api_keys_used on api_keys for update to atelier_identity_app
    using (secret_hash = decode(nullif(current_setting('atelier.api_key', true), ''), 'hex'));
create policy api_keys_worker on api_keys to atelier_identity_worker using (true) with check (true);
revoke update on api_keys from atelier_identity_app;
grant update (last_used_at, last_used_from) on api_keys to atelier_identity_app;
