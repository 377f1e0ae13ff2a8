-- No row of a queue stays due, or leased by a replica that does not renew its lease. A delivery of a webhook may stay due, as its
-- endpoint decides how fast it is sent to.
with rows as (
    select 'gpu' as service, 'inst_' as prefix, id, wake_at, lease_until, failures from gpu.instances
    union all select 'gpu', 'budget of ten_', id, wake_at, lease_until, failures from gpu.budgets
    union all select 'gpu', 'use of inst_', id, wake_at, lease_until, failures from gpu.idle_watches
    union all select 'identity', 'ten_', id, wake_at, lease_until, failures from identity.tenants
    union all select 'jobs', 'dlv_', id, wake_at, lease_until, failures from jobs.webhook_deliveries
        where lease_until is not null
    union all select 'stock', 'unit_', id, wake_at, lease_until, failures from stock.units
    union all select 'storage', 'stor_', id, wake_at, lease_until, failures from storage.storages)
select prefix || replace(id::text, '-', ''), coalesce(lease_until, wake_at),
       case when lease_until is null then 'is due' else 'has an expired lease' end
       || ' in the queue of ' || service || format(', after %s failures', failures)
from rows where coalesce(lease_until, wake_at) < now() - make_interval(secs => $1)
order by coalesce(lease_until, wake_at) limit 1000
