-- The second factor of users who sign in with a password: codes by time (RFC 6238), and codes for when the device is lost.
create table totp_factors (
    user_id      uuid        primary key references users on delete cascade,
    wrapped_by   text        not null, -- id of the configured key that encrypts the next column
    secret       bytea       not null,
    confirmed_at timestamptz,          -- null: no code has been entered yet, none is required
    last_step    bigint      not null default 0, -- time step of the last accepted code: none is accepted twice
    created_at   timestamptz not null default now()
);
create table recovery_codes (
    user_id uuid  not null references totp_factors on delete cascade,
    hash    bytea not null, -- SHA-256 of 80 random bits; the row is deleted with the use
    primary key (user_id, hash)
);
alter table totp_factors enable row level security;
alter table totp_factors force row level security;
alter table recovery_codes enable row level security;
alter table recovery_codes force row level security;
create policy totp_factors_own on totp_factors to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy totp_factors_worker on totp_factors to atelier_identity_worker using (true) with check (true);
create policy recovery_codes_own on recovery_codes to atelier_identity_app
    using (user_id = nullif(current_setting('atelier.user', true), '')::uuid);
create policy recovery_codes_worker on recovery_codes to atelier_identity_worker using (true) with check (true);
