-- The days of an instance sum up to its totals. Instances that ran in the last 35 days.
with recent as (
    select distinct instance_id from gpu.runs where ended_at > now() - interval '35 days'),
summed as (
    select d.instance_id, d.kind, d.currency, sum(d.seconds) as seconds, sum(d.amount) as amount
    from gpu.usage_days d join recent using (instance_id) group by 1, 2, 3),
totals as (
    select t.instance_id, t.kind, t.currency, t.seconds, t.amount
    from gpu.usage_totals t join recent using (instance_id))
select 'inst_' || replace(instance_id::text, '-', ''), null::timestamptz,
       format('%s: the total is %s seconds and %s %s; its days are %s seconds and %s',
              kind, coalesce(t.seconds, 0), coalesce(t.amount, 0), currency, coalesce(s.seconds, 0), coalesce(s.amount, 0))
from summed s full join totals t using (instance_id, kind, currency)
where (coalesce(s.seconds, 0), coalesce(s.amount, 0)) is distinct from (coalesce(t.seconds, 0), coalesce(t.amount, 0))
order by 1 limit 1000
