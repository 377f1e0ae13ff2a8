-- Invitations to become a member of a tenant.

-- An open invitation. The address may belong to no user yet. The row is deleted when the invitation is accepted,
-- declined or withdrawn.
create table invitations (
    id             uuid primary key,
    tenant_id      uuid not null references tenants on delete cascade,
    email          text not null check (length(email) between 3 and 254),
    role           text not null check (role in ('viewer', 'member', 'owner')),
    invited_by     uuid not null references users on delete cascade,
    created_at     timestamptz not null default now(),
    expires_at     timestamptz not null,
    -- the API key that created it, and with which it is deleted; null: a person created it
    created_by_key uuid references api_keys on delete cascade
);
create unique index invitations_tenant_email on invitations (tenant_id, lower(email));
create index invitations_email on invitations (lower(email));
create index invitations_invited_by on invitations (invited_by);
create index invitations_expires_at on invitations (expires_at);
create index invitations_created_by_key on invitations (created_by_key) where created_by_key is not null;
alter table invitations enable row level security;
alter table invitations force row level security;
create policy invitations_of_tenant on invitations to atelier_identity_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
-- to read and to decline only: users do not invite themselves
create policy invitations_to_user on invitations for select to atelier_identity_app
    using (lower(email) = (select lower(u.email) from users u
                           where u.id = nullif(current_setting('atelier.user', true), '')::uuid));
create policy invitations_declined_by_user on invitations for delete to atelier_identity_app
    using (lower(email) = (select lower(u.email) from users u
                           where u.id = nullif(current_setting('atelier.user', true), '')::uuid));
create policy invitations_worker on invitations to atelier_identity_worker using (true) with check (true);
