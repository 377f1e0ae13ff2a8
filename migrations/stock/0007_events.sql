-- Events of units and operations, which triggers write with each change. They contain nothing of tenants. Views build
-- what is shown when it is read, so that a claim writes little.

-- An event of a unit or an operation, in the feed of all events (libs/events).
create table stock_events (
    id            bigint generated always as identity primary key,
    xact          xid8 not null default pg_current_xact_id(),
    at            timestamptz not null default clock_timestamp(),
    -- the event as it is shown, if it is an operation's
    payload       jsonb not null default '{}',
    -- the unit as it was then, if it is a unit's; a removed unit has no state
    unit_id       uuid,
    gpu_spec_id   uuid,
    datacenter_id uuid,
    state         text,
    reason        text
);
create index stock_events_xact on stock_events (xact);
alter table stock_events enable row level security;
alter table stock_events force row level security;
create policy app_admin on stock_events for select to atelier_stock_app
    using (current_setting('atelier.admin', true) = 'on');
create policy worker on stock_events to atelier_stock_worker using (true);
-- of the functions below, and of `stock_change_feed`, which reads with the owner's rights
create policy owner on stock_events to atelier_stock_owner using (true) with check (true);
revoke all on stock_events from atelier_stock_app, atelier_stock_worker;
grant select on stock_events to atelier_stock_app;
grant select, delete on stock_events to atelier_stock_worker;

-- Called once per statement that changes units: writes an event for each unit that has visibly changed.
create function unit_event() returns trigger
language plpgsql security definer set search_path = stock, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        insert into stock_events (unit_id, gpu_spec_id, datacenter_id, state, reason)
        select id, gpu_spec_id, datacenter_id, state, reason from after;
    elsif tg_op = 'DELETE' then
        insert into stock_events (unit_id, gpu_spec_id, datacenter_id) select id, gpu_spec_id, datacenter_id from before;
    else
        insert into stock_events (unit_id, gpu_spec_id, datacenter_id, state, reason)
        select a.id, a.gpu_spec_id, a.datacenter_id, a.state, a.reason
        from after a join before b on b.id = a.id
        where (a.state, a.reason, a.node, a.holder_instance)
              is distinct from (b.state, b.reason, b.node, b.holder_instance);
    end if;
    return null;
end $$;
create trigger units_told_in after insert on units
    referencing new table as after for each statement execute function unit_event();
create trigger units_told_out after delete on units
    referencing old table as before for each statement execute function unit_event();
create trigger units_told_over after update on units
    referencing old table as before new table as after for each statement execute function unit_event();

-- Called when an operation begins and when it changes.
create function operation_event() returns trigger
language plpgsql security definer set search_path = stock, pg_temp as $$
begin
    insert into stock_events (payload) values (jsonb_build_object(
        'type', 'operation.changed', 'time', clock_timestamp(), 'operation', jsonb_build_object(
            'id', 'op_' || replace(new.id::text, '-', ''), 'kind', new.kind, 'target', new.target, 'state', new.state,
            'progress', new.progress, 'problem', new.problem, 'created_at', new.created_at,
            'updated_at', new.updated_at, 'finished_at', new.finished_at)));
    return null;
end $$;
create trigger operation_begun after insert on operations for each row execute function operation_event();
create trigger operation_changed after update on operations for each row
    when ((new.state, new.progress, new.problem) is distinct from (old.state, old.progress, old.problem))
    execute function operation_event();

revoke execute on function unit_event(), operation_event() from public;

-- All events, as administrators see them.
create view stock_event_feed with (security_invoker = true) as
select e.id, e.xact, e.at,
       case when e.unit_id is null then e.payload else jsonb_build_object(
           'type', case when e.state is null then 'unit.removed' else 'unit.changed' end, 'time', e.at,
           'unit_id', 'unit_' || replace(e.unit_id::text, '-', ''),
           'gpu_spec', jsonb_build_object('id', 'spec_' || replace(s.id::text, '-', ''), 'name', s.name),
           'datacenter', jsonb_build_object('id', 'dc_' || replace(d.id::text, '-', ''), 'name', d.name),
           'state', e.state, 'reason', e.reason) end as payload
from stock_events e
left join gpu_specs s on s.id = e.gpu_spec_id left join datacenters d on d.id = e.datacenter_id
where e.unit_id is null or (s.id is not null and d.id is not null);
revoke all on stock_event_feed from atelier_stock_app, atelier_stock_worker;
grant select on stock_event_feed to atelier_stock_app;

-- Events of units as all users see them: only that the stock of a specification has changed in a datacenter.
create view stock_change_feed as
select e.id, e.xact, e.at, jsonb_build_object(
           'type', 'stock.changed',
           'gpu_spec', jsonb_build_object('id', 'spec_' || replace(s.id::text, '-', ''), 'name', s.name),
           'datacenter', jsonb_build_object('id', 'dc_' || replace(d.id::text, '-', ''), 'name', d.name)) as payload
from stock_events e join gpu_specs s on s.id = e.gpu_spec_id join datacenters d on d.id = e.datacenter_id;
revoke all on stock_change_feed from atelier_stock_app, atelier_stock_worker;
grant select on stock_change_feed to atelier_stock_app;
