-- A run is open if and only if its instance's meter has it open; a hold if and only if the instance holds its unit.
select 'run_' || replace(r.id::text, '-', ''), r.confirmed_at,
       r.kind || ' of inst_' || replace(r.instance_id::text, '-', '') || ' is open, and the instance is '
       || coalesce(i.state, 'missing') || ' without it'
from gpu.runs r left join gpu.instances i on i.id = r.instance_id
where r.ended_at is null
  and not coalesce(case r.kind
      when 'running' then (i.meter #>> '{open,attempt}')::bigint = r.attempt
                          and (i.meter #>> '{open,since}')::timestamptz = r.started_at
      else jsonb_typeof(i.phase -> 'hold') = 'object' or i.meter ? 'ended_hold' end, false)
union all
select 'inst_' || replace(i.id::text, '-', ''), i.updated_at, 'is metered since ' || (i.meter #>> '{open,since}') || ' without an open run'
from gpu.instances i
where i.meter -> 'open' is not null and jsonb_typeof(i.meter -> 'open') = 'object'
  and not exists (select from gpu.runs r where r.instance_id = i.id and r.ended_at is null and r.kind = 'running')
order by 1 limit 1000
