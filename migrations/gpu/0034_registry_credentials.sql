-- Credentials of tenants for private registries of images. Replicas of the previous release ignore them: until all replicas are
-- updated, a start that one of them carries out pulls without one.

-- The password, encrypted (libs/encryption). Requests write it, and only workers read it.
create table registry_credentials (
    id             uuid        primary key,
    tenant_id      uuid        not null,
    name           text        not null,
    -- host with port, in lower case; `docker.io` for Docker Hub
    registry       text        not null,
    username       text        not null,
    key_id         text        not null,
    -- nonce, ciphertext, tag
    ciphertext     bytea       not null,
    created_by     uuid        not null,
    created_by_key uuid,
    rights_at      timestamptz not null,
    created_at     timestamptz not null default now(),
    unique (tenant_id, name)
);
create index registry_credentials_of_registry on registry_credentials (tenant_id, registry, id);
create index registry_credentials_of_maker on registry_credentials (created_by);
create index registry_credentials_of_key on registry_credentials (created_by_key) where created_by_key is not null;
alter table registry_credentials enable row level security;
alter table registry_credentials force row level security;
create policy app on registry_credentials to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy app_admin on registry_credentials for select to atelier_gpu_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on registry_credentials to atelier_gpu_worker using (true) with check (true);
revoke select, update on registry_credentials from atelier_gpu_app;
grant select (id, tenant_id, name, registry, username, created_by, created_by_key, rights_at, created_at)
    on registry_credentials to atelier_gpu_app;
revoke insert, update on registry_credentials from atelier_gpu_worker;

-- The registries of images of tenants' own, which orders name from now on (instance/own_image.rs).
-- the owner has no policy: rows are visible to it only while row-level security is not forced
alter table instances no force row level security;
update instances
set spec = jsonb_set(spec, '{pull}', jsonb_build_object('registry',
    case when image.host in ('index.docker.io', 'registry-1.docker.io') then 'docker.io' else image.host end))
from (select id, case when spec #>> '{template,image}' ~ '^(localhost|[^/]*[.:][^/]*)/'
                      then lower(split_part(spec #>> '{template,image}', '/', 1)) else 'docker.io' end as host
      from instances) as image
where image.id = instances.id and spec ->> 'service' = 'own image' and not spec ? 'pull';
alter table instances force row level security;
create index instances_of_registry on instances (tenant_id, (spec #>> '{pull,registry}')) where spec ? 'pull';
