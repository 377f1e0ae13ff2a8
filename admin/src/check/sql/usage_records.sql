-- The newest version of each run was published. Runs of the last 35 days: older ones never change.
select 'run_' || replace(r.id::text, '-', ''), r.confirmed_at, format('version %s was not published', r.version)
from gpu.runs r
where (r.ended_at is null or r.ended_at > now() - interval '35 days')
  and exists (select from gpu.usage_records u where u.instance_id = r.instance_id)
  and not exists (select from gpu.usage_records u where u.run_id = r.id and u.version = r.version)
order by r.id limit 1000
