-- An instance with a unit has claimed this unit. An interruptible one that another claim has displaced has some time to leave.
with claimed as (
    select i.id, i.state, i.updated_at, coalesce(
               i.phase #>> '{claim,unit_id}', i.phase #>> '{held,unit_id}',
               case when jsonb_typeof(i.phase -> 'hold') = 'object' then i.phase #>> '{hold,claim,unit_id}' end) as unit
    from gpu.instances i
    where i.state not in ('deleted') and not coalesce(i.leave_by > now() - interval '2 minutes', false))
select 'inst_' || replace(c.id::text, '-', ''), c.updated_at,
       'is ' || c.state || ' in ' || c.unit || ', which '
       || case when u.id is null then 'does not exist'
               when u.holder_instance is null then 'is not claimed'
               else 'is claimed by inst_' || replace(u.holder_instance::text, '-', '') end
from claimed c left join stock.units u on u.id = replace(c.unit, 'unit_', '')::uuid
where c.unit is not null and u.holder_instance is distinct from c.id
order by c.id limit 1000
