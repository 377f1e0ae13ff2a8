-- Events of storages and of the operations on them. Triggers write an event with each change.

-- An event in the feed of all tenants' events (libs/events). The payload is the event as it is shown.
create table storage_events (
    id        bigint generated always as identity primary key,
    xact      xid8 not null default pg_current_xact_id(),
    at        timestamptz not null default clock_timestamp(),
    tenant_id uuid not null,
    payload   jsonb not null
);
create index storage_events_xact on storage_events (xact);
create index storage_events_of_tenant on storage_events (tenant_id, id);
alter table storage_events enable row level security;
alter table storage_events force row level security;
create policy app on storage_events for select to atelier_storage_app
    using (tenant_id = nullif(current_setting('atelier.tenant', true), '')::uuid);
create policy worker on storage_events to atelier_storage_worker using (true);
-- the functions below write with the owner's rights
create policy owner on storage_events to atelier_storage_owner using (true) with check (true);
revoke all on storage_events from atelier_storage_app, atelier_storage_worker;
grant select on storage_events to atelier_storage_app;
grant select, delete on storage_events to atelier_storage_worker;

-- Writes an event with its type, time and tenant.
create function storage_event(type text, tenant_id uuid, payload jsonb) returns void
language sql set search_path = storage, pg_temp as $$
    insert into storage_events (tenant_id, payload)
    values (storage_event.tenant_id, storage_event.payload || jsonb_build_object(
        'type', storage_event.type, 'time', clock_timestamp(),
        'tenant_id', 'ten_' || replace(storage_event.tenant_id::text, '-', '')));
$$;

-- Called when a storage is created, deleted, or changed. A change that does not increment the generation belongs to the
-- change before it, and has no event.
create function storage_changed() returns trigger
language plpgsql security definer set search_path = storage, pg_temp as $$
declare
    storage storages;
begin
    if tg_op = 'DELETE' then storage := old; else storage := new; end if;
    perform storage_event(
        case tg_op when 'INSERT' then 'storage.created' when 'DELETE' then 'storage.deleted' else 'storage.changed' end,
        storage.tenant_id, jsonb_build_object(
            'storage_id', 'stor_' || replace(storage.id::text, '-', ''), 'name', storage.name, 'kind', storage.kind,
            'state', storage.state, 'reason', storage.reason, 'message', storage.message,
            'size_gib', storage.size_gib, 'capacity_gib', storage.capacity_gib,
            'operation_id', 'op_' || replace(storage.operation_id::text, '-', '')));
    return null;
end $$;
create trigger storage_created after insert on storages for each row execute function storage_changed();
create trigger storage_deleted after delete on storages for each row execute function storage_changed();
create trigger storage_changed after update on storages for each row
    when (new.generation > old.generation) execute function storage_changed();

-- Called when an instance begins or ends the use of a storage.
create function storage_attached() returns trigger
language plpgsql security definer set search_path = storage, pg_temp as $$
declare
    attachment attachments;
begin
    if tg_op = 'DELETE' then attachment := old; else attachment := new; end if;
    perform storage_event(
        case tg_op when 'DELETE' then 'storage.detached' else 'storage.attached' end,
        attachment.tenant_id, jsonb_build_object(
            'storage_id', 'stor_' || replace(attachment.storage_id::text, '-', ''),
            'instance_id', 'inst_' || replace(attachment.instance_id::text, '-', ''), 'mode', attachment.mode));
    return null;
end $$;
create trigger storage_attached after insert or delete on attachments
    for each row execute function storage_attached();

-- Called when an operation begins and when it changes.
create function operation_changed() returns trigger
language plpgsql security definer set search_path = storage, pg_temp as $$
begin
    perform storage_event('operation.changed', new.tenant_id, jsonb_build_object('operation', jsonb_build_object(
        'id', 'op_' || replace(new.id::text, '-', ''), 'kind', new.kind, 'target', new.target, 'state', new.state,
        'progress', new.progress, 'problem', new.problem, 'created_at', new.created_at,
        'updated_at', new.updated_at, 'finished_at', new.finished_at)));
    return null;
end $$;
create trigger operation_begun after insert on operations for each row execute function operation_changed();
create trigger operation_changed after update on operations for each row
    when ((new.state, new.progress, new.problem) is distinct from (old.state, old.progress, old.problem))
    execute function operation_changed();

revoke execute on function storage_event(text, uuid, jsonb), storage_changed(), storage_attached(), operation_changed()
    from public;
