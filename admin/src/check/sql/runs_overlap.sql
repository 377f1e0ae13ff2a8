-- Neither an instance nor a unit is used twice at a time. Runs of the last 35 days: older ones never change.
with recent as (
    select id, instance_id, unit_id, started_at, coalesce(ended_at, 'infinity') as ended_at
    from gpu.runs
    where ended_at is null or ended_at > now() - interval '35 days'),
of_instances as (
    select id, instance_id, unit_id, started_at,
           max(ended_at) over (partition by instance_id order by started_at, id rows between unbounded preceding and 1 preceding) as before
    from recent where ended_at > started_at),
of_units as (
    select id, instance_id, unit_id, started_at,
           max(ended_at) over (partition by unit_id order by started_at, id rows between unbounded preceding and 1 preceding) as before
    from recent where ended_at > started_at)
select 'run_' || replace(id::text, '-', ''), started_at,
       'of inst_' || replace(instance_id::text, '-', '') || ' in unit_' || replace(unit_id::text, '-', '')
       || ' begins before an earlier run of the ' || what || ' ends'
from (select *, 'instance' as what from of_instances union all select *, 'unit' from of_units) found
where before > started_at
order by id limit 1000
