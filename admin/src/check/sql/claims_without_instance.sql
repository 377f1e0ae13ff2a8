-- A unit is claimed by an instance that has this claim, or does not know its claim yet.
select 'unit_' || replace(u.id::text, '-', ''), u.holder_since,
       'held by inst_' || replace(u.holder_instance::text, '-', '') || ', which '
       || case when i.id is null then 'does not exist'
               when i.tenant_id <> u.holder_tenant then 'is of another tenant'
               else 'is ' || i.state || ' and does not have this claim' end
from stock.units u left join gpu.instances i on i.id = u.holder_instance
where u.holder_instance is not null
  and (i.id is null or i.tenant_id <> u.holder_tenant
       or 'unit_' || replace(u.id::text, '-', '') is distinct from coalesce(
              i.phase #>> '{claim,unit_id}', i.phase #>> '{held,unit_id}',
              case when jsonb_typeof(i.phase -> 'hold') = 'object' then i.phase #>> '{hold,claim,unit_id}' end)
          and not (i.state = 'pending' or i.phase #>> '{claim,status}' = 'unknown'))
order by u.id limit 1000
