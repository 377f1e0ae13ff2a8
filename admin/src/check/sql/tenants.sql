-- What a tenant owns belongs to a tenant that exists.
with owners as (
    select tenant_id, 'inst_' || replace(id::text, '-', '') as subject, created_at from gpu.instances where state <> 'deleted'
    union all select tenant_id, 'stor_' || replace(id::text, '-', ''), created_at from storage.storages)
select subject, created_at, 'belongs to ten_' || replace(tenant_id::text, '-', '') || ', which does not exist'
from owners o where not exists (select from identity.tenants t where t.id = o.tenant_id)
order by 1 limit 1000
