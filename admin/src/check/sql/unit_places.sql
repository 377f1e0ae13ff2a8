-- Each unit is listed once, with its specification, datacenter and node.
select 'unit_' || replace(coalesce(u.id, p.unit_id)::text, '-', ''), u.created_at,
       case when u.id is null then 'is listed and does not exist' else 'is not listed' end
from stock.units u full join stock.unit_places p
  on p.unit_id = u.id and p.gpu_spec_id = u.gpu_spec_id and p.datacenter_id = u.datacenter_id
 and p.node is not distinct from u.node
where u.id is null or p.unit_id is null
order by 1 limit 1000
