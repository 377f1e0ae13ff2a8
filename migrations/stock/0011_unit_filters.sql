-- Units by node, and by the tenant that holds them. Replicas of the previous release keep both without knowing.

-- The node of a unit changes far less often than its claims: it is kept beside the places, so that a claim writes no
-- entry for it.
alter table unit_places add column node text;
-- The owner sees no rows while row-level security is forced.
alter table units no force row level security;
update unit_places p set node = u.node from units u
where u.node is not null and p.gpu_spec_id = u.gpu_spec_id and p.unit_id = u.id;
alter table units force row level security;
create index unit_places_node on unit_places (node, unit_id) where node is not null;

create function place_units() returns trigger language plpgsql set search_path from current as $$
begin
    if tg_op = 'INSERT' then
        update unit_places p set node = a.node from after a
        where a.node is not null and p.gpu_spec_id = a.gpu_spec_id and p.unit_id = a.id;
    else
        update unit_places set node = new.node where gpu_spec_id = new.gpu_spec_id and unit_id = new.id;
    end if;
    return null;
end $$;
-- after `units_counted_in`, by its name: that inserts the places
create trigger units_placed_in after insert on units
    referencing new table as after for each statement execute function place_units();
create trigger units_placed_over after update of node on units
    for each row when (old.node is distinct from new.node) execute function place_units();

-- The second entry that a claim writes.
create index units_of_tenant on units (holder_tenant, id) where holder_tenant is not null;
