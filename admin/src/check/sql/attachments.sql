-- A storage is attached for an instance that mounts it.
select 'stor_' || replace(a.storage_id::text, '-', ''), a.created_at,
       'is attached for inst_' || replace(a.instance_id::text, '-', '') || ', which '
       || case when i.id is null then 'does not exist' else 'is deleted' end
from storage.attachments a left join gpu.instances i on i.id = a.instance_id
where i.id is null or i.state = 'deleted'
union all
select 'inst_' || replace(i.id::text, '-', ''), i.updated_at,
       'mounts ' || a.key || ', which is not attached for it'
from gpu.instances i
cross join lateral jsonb_each(i.attached) a
where i.state in ('starting', 'running')
  and not exists (select from storage.attachments s
                  where s.instance_id = i.id and s.storage_id = replace(a.key, 'stor_', '')::uuid)
order by 1 limit 1000
