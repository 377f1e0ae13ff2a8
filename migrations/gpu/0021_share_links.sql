-- Links that open one port of an instance to everyone who has them. Replicas of the previous release know none, and answer
-- the gateway without them: what was opened with one then ends.
create table share_links (
    id           uuid        primary key,
    tenant_id    uuid        not null,
    instance_id  uuid        not null references instances (id) on delete cascade,
    -- null: the port of the service
    port         int,
    name         text        not null,
    -- of the secret, which is not stored
    hash         bytea       not null unique,
    -- the link ends with the rights of this user
    created_by   uuid        not null,
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    last_used_at timestamptz
);
create index share_links_of_instance on share_links (instance_id, id);
create index share_links_expired on share_links (expires_at);
alter table share_links enable row level security;
alter table share_links force row level security;
create policy app on share_links to atelier_gpu_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on share_links to atelier_gpu_worker using (true) with check (true);

create function announce_routes_of_share_link() returns trigger language plpgsql set search_path from current as $$
begin
    insert into route_changes (payload)
    values (jsonb_build_object('instance_id', 'inst_' || replace(coalesce(new.instance_id, old.instance_id)::text, '-', '')));
    perform pg_notify('atelier_gpu_routes', '');
    return null;
end $$;
create trigger share_links_routed after insert or delete on share_links for each row
    execute function announce_routes_of_share_link();
