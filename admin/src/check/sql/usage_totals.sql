-- The totals of an instance are the sum of its closed runs. Instances that ran in the last 35 days.
with recent as (
    select distinct instance_id from gpu.runs where ended_at > now() - interval '35 days'),
summed as (
    select r.instance_id, r.kind, r.currency, sum(gpu.usage_seconds(r.started_at, r.ended_at)) as seconds,
           sum(gpu.usage_amount(gpu.usage_seconds(r.started_at, r.ended_at), r.price_per_hour)) as amount
    from gpu.runs r join recent using (instance_id) where r.ended_at is not null group by 1, 2, 3),
totals as (
    select t.instance_id, t.kind, t.currency, t.seconds, t.amount
    from gpu.usage_totals t join recent using (instance_id))
select 'inst_' || replace(instance_id::text, '-', ''), null::timestamptz,
       format('%s: the total is %s seconds and %s %s; its runs are %s seconds and %s',
              kind, coalesce(t.seconds, 0), coalesce(t.amount, 0), currency, coalesce(s.seconds, 0), coalesce(s.amount, 0))
from summed s full join totals t using (instance_id, kind, currency)
where (coalesce(s.seconds, 0), coalesce(s.amount, 0)) is distinct from (coalesce(t.seconds, 0), coalesce(t.amount, 0))
order by 1 limit 1000
