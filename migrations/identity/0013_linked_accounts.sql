-- Users link accounts of OpenID providers to their own user, and remove them; members that were removed do not return by a
-- rule of a provider.
alter table oidc_accounts add column id uuid not null default gen_random_uuid() unique;
grant delete on oidc_accounts to atelier_identity_app;

-- False for users whom a provider's sign-in has created: their password is random and was not kept. A sign-in that creates a
-- user stores user and account in one transaction. Users whom a replica of the previous release creates have true.
alter table users add column has_password boolean not null default true;
update users u set has_password = false
where exists(select from oidc_accounts a where a.user_id = u.id and a.created_at = u.created_at);

-- Members that were removed and have not become members again by an invitation or an administrator.
create table removed_members (
    tenant_id  uuid        not null references tenants on delete cascade,
    user_id    uuid        not null references users on delete cascade,
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
