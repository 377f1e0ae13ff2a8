-- Secrets of instances: environment variables whose values only the pod sees. Replicas of the previous release ignore them:
-- until all replicas are updated, a start that one of them carries out runs without the secrets.

-- The values, encrypted (libs/encryption). Requests write them, and only workers read them.
create table instance_secrets (
    instance_id uuid        not null references instances (id) on delete cascade,
    name        text        not null,
    tenant_id   uuid        not null,
    key_id      text        not null,
    -- nonce, ciphertext, tag
    ciphertext  bytea       not null,
    updated_at  timestamptz not null default now(),
    primary key (instance_id, name)
);
alter table instance_secrets enable row level security;
alter table instance_secrets force row level security;
create policy app on instance_secrets to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on instance_secrets for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on instance_secrets to atelier_gpu_worker using (true) with check (true);
revoke select, update on instance_secrets from atelier_gpu_app;
grant select (instance_id, name, tenant_id, updated_at) on instance_secrets to atelier_gpu_app;
revoke insert, update on instance_secrets from atelier_gpu_worker;

-- Secrets in clusters that may exist (instance/secret/object.rs).
alter table instances add column secret_objects jsonb not null default '[]';

-- The values end with the deletion of the instance, also if a replica of the previous release carries it out.
create function delete_secrets() returns trigger language plpgsql set search_path from current as $$
begin
    delete from instance_secrets where instance_id = new.id;
    return null;
end $$;
create trigger instances_secrets_deleted after update of phase on instances for each row
    when (new.desired = 'deleted' and old.desired <> 'deleted') execute function delete_secrets();
