-- The counts of a specification in a datacenter are those of its units.
with counted as (
    select gpu_spec_id, datacenter_id, sum(available) as available, sum(inactive) as inactive, sum(used) as used,
           sum(changing) as changing
    from stock.stock_counts group by 1, 2),
units as (
    select gpu_spec_id, datacenter_id, count(*) filter (where state = 'available') as available,
           count(*) filter (where state = 'inactive') as inactive, count(*) filter (where state = 'used') as used,
           count(*) filter (where state in ('making', 'removing')) as changing
    from stock.units group by 1, 2)
select 'spec_' || replace(gpu_spec_id::text, '-', '') || ' in dc_' || replace(datacenter_id::text, '-', ''),
       null::timestamptz,
       format('counts are %s available, %s inactive, %s used, %s changing; units are %s, %s, %s, %s',
              coalesce(c.available, 0), coalesce(c.inactive, 0), coalesce(c.used, 0), coalesce(c.changing, 0),
              coalesce(u.available, 0), coalesce(u.inactive, 0), coalesce(u.used, 0), coalesce(u.changing, 0))
from counted c full join units u using (gpu_spec_id, datacenter_id)
where (coalesce(c.available, 0), coalesce(c.inactive, 0), coalesce(c.used, 0), coalesce(c.changing, 0))
   is distinct from
      (coalesce(u.available, 0), coalesce(u.inactive, 0), coalesce(u.used, 0), coalesce(u.changing, 0))
order by 1 limit 1000
