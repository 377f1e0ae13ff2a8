-- Who waits in the queue is an instance that is to start, and has no unit.
select 'inst_' || replace(q.instance_id::text, '-', ''), q.since,
       'waits for a unit, and ' || case when i.id is null then 'does not exist'
           when u.id is not null then 'has claimed unit_' || replace(u.id::text, '-', '')
           else 'is ' || i.state end
from stock.queue_entries q
left join gpu.instances i on i.id = q.instance_id
left join stock.units u on u.holder_instance = q.instance_id
where i.id is null or i.state <> 'pending' or u.id is not null
order by q.instance_id limit 1000
