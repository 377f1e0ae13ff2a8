-- Accounts of users at OpenID providers. A person is identified by issuer and subject. The platform's own table, as users
-- is: a sign-in reads the one row of the account that the provider has vouched for.
create table oidc_accounts (
    issuer       text        not null,
    subject      text        not null,
    user_id      uuid        not null references users on delete cascade,
    created_at   timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    primary key (issuer, subject)
);
create index oidc_accounts_user on oidc_accounts (user_id);
revoke update, delete on oidc_accounts from atelier_identity_app;
grant update (last_used_at) on oidc_accounts to atelier_identity_app;
