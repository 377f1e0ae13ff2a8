-- Routes that the gateway must read again: a feed (libs/feed). The triggers announce what replicas of the previous release
-- change, too.
create table route_changes (
    id      bigint generated always as identity primary key,
    xact    xid8 not null default pg_current_xact_id(),
    at      timestamptz not null default clock_timestamp(),
    -- instance_id, or tenant_id: the routes of all its instances
    payload jsonb not null
);
create index route_changes_xact on route_changes (xact);
revoke all on route_changes from atelier_gpu_app;
grant insert (payload) on route_changes to atelier_gpu_app;

create function announce_routes_of_instance() returns trigger language plpgsql set search_path from current as $$
begin
    insert into route_changes (payload)
    values (jsonb_build_object('instance_id', 'inst_' || replace(new.id::text, '-', '')));
    perform pg_notify('atelier_gpu_routes', '');
    return null;
end $$;
-- what the gateway is told of an instance: where it runs, and its public ports
create trigger instances_routed after update on instances for each row
    when (old.state is distinct from new.state
          or old.phase -> 'pod' is distinct from new.phase -> 'pod'
          or old.public_ports is distinct from new.public_ports)
    execute function announce_routes_of_instance();

create function announce_routes_of_tenant() returns trigger language plpgsql set search_path from current as $$
begin
    insert into route_changes (payload)
    values (jsonb_build_object('tenant_id', 'ten_' || replace(new.id::text, '-', '')));
    perform pg_notify('atelier_gpu_routes', '');
    return null;
end $$;
create trigger tenants_recorded after insert on tenants for each row
    when (new.state <> 'active') execute function announce_routes_of_tenant();
create trigger tenants_routed after update on tenants for each row
    when (old.state is distinct from new.state) execute function announce_routes_of_tenant();
