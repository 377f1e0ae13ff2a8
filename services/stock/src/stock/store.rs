//! SQL of the counts of stock.

use std::collections::HashMap;

use ids::{DatacenterId, GpuSpecId};
use sqlx::PgConnection;
use stock_api::{DatacenterRef, DatacenterState, GpuSpec};

use super::model::{CountCorrection, StockRow};
use crate::gpu_spec;

/// Position in the list of stock.
#[derive(Debug)]
pub(crate) struct After<'a> {
    pub(crate) gpu_spec: &'a str,
    pub(crate) datacenter: &'a str,
}

/// Returns the stock by names of specification and datacenter, after `after`. The numbers are kept, not counted: a row
/// costs the same with ten units and with a hundred thousand. Specifications are read in the order of their names until
/// there are `limit` rows. Interruptible claims leave `hold_back` units at least.
pub(crate) async fn list(
    conn: &mut PgConnection,
    name_prefix: &str,
    datacenter: Option<&str>,
    after: &After<'_>,
    hold_back: i64,
    limit: i64,
) -> sqlx::Result<Vec<StockRow>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select s.id as gpu_spec_id, c.datacenter_id, c.name as datacenter_name, c.state as datacenter_state,
             c.available as "available!", c.inactive as "inactive!", c.used as "used!",
             (select count(*) from interruptible_claims i
              where i.gpu_spec_id = s.id and i.datacenter_id = c.datacenter_id) as "interruptible!",
             greatest((select h.units from hold_backs h
                       where h.gpu_spec_id = s.id and h.datacenter_id = c.datacenter_id), $7) as "hold_back!"
         from gpu_specs s
         cross join lateral (
             select d.id as datacenter_id, d.name, d.state, n.available, n.inactive, n.used
             from datacenters d
             cross join lateral (
                 select sum(available)::bigint as available, sum(inactive)::bigint as inactive, sum(used)::bigint as used
                 from stock_counts where gpu_spec_id = s.id and datacenter_id = d.id) n
             where (s.name, d.name) > ($2, $3) and ($4::text is null or d.name = $4 or d.id = $5)
               and n.available + n.inactive + n.used > 0
             order by d.name limit $6) c
         where s.name >= $1 and s.name < $1 || '~' and s.name >= $2
         order by s.name, c.name limit $6"#,
        name_prefix,
        after.gpu_spec,
        after.datacenter,
        datacenter,
        datacenter.and_then(|text| text.parse().ok()) as Option<DatacenterId>,
        limit,
        hold_back,
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut ids: Vec<GpuSpecId> = rows.iter().map(|row| row.gpu_spec_id).collect();
    ids.dedup();
    let specs = gpu_spec::store::find_many(conn, &ids).await?;
    let specs: HashMap<GpuSpecId, GpuSpec> = specs.into_iter().map(|spec| (spec.id, spec)).collect();
    let row = |row: Row| {
        let gpu_spec = specs.get(&row.gpu_spec_id)?.clone();
        Some(StockRow {
            datacenter: DatacenterRef { id: row.datacenter_id, name: row.datacenter_name },
            datacenter_state: row.datacenter_state,
            available: row.available + row.interruptible,
            interruptible: row.interruptible,
            hold_back: row.hold_back,
            inactive: row.inactive,
            used: row.used - row.interruptible,
            total: row.available + row.inactive + row.used,
            price_per_hour: gpu_spec.price_per_hour,
            currency: gpu_spec.currency.clone(),
            gpu_spec,
        })
    };
    Ok(rows.into_iter().filter_map(row).collect())
}

struct Row {
    gpu_spec_id: GpuSpecId,
    datacenter_id: DatacenterId,
    datacenter_name: String,
    datacenter_state: DatacenterState,
    available: i64,
    inactive: i64,
    used: i64,
    interruptible: i64,
    hold_back: i64,
}

/// Compares the kept counts with the units, in one snapshot, and adds the differences. Returns them. Changes that
/// commit meanwhile change both alike, so the differences stay right. Not for two transactions at once: both would add
/// the differences.
pub(crate) async fn correct_counts(conn: &mut PgConnection) -> sqlx::Result<Vec<CountCorrection>> {
    sqlx::query_as!(
        CountCorrection,
        r#"with d as (
             select gpu_spec_id, datacenter_id, sum(available)::bigint as available,
                    sum(inactive)::bigint as inactive, sum(used)::bigint as used, sum(changing)::bigint as changing
             from (select gpu_spec_id, datacenter_id, (state = 'available')::int as available,
                          (state = 'inactive')::int as inactive, (state = 'used')::int as used,
                          (state in ('making', 'removing'))::int as changing
                   from units
                   union all
                   select gpu_spec_id, datacenter_id, -available, -inactive, -used, -changing from stock_counts) x
             group by 1, 2
             having sum(available) <> 0 or sum(inactive) <> 0 or sum(used) <> 0 or sum(changing) <> 0),
         r as (
             insert into stock_counts as c (gpu_spec_id, datacenter_id, shard, available, inactive, used, changing)
             select gpu_spec_id, datacenter_id, 0, available, inactive, used, changing from d
             on conflict (gpu_spec_id, datacenter_id, shard) do update set
                 available = c.available + excluded.available, inactive = c.inactive + excluded.inactive,
                 used = c.used + excluded.used, changing = c.changing + excluded.changing)
         select s.name as gpu_spec, dc.name as datacenter, d.available as "available!", d.inactive as "inactive!",
             d.used as "used!", d.changing as "changing!"
         from d join gpu_specs s on s.id = d.gpu_spec_id join datacenters dc on dc.id = d.datacenter_id"#,
    )
    .fetch_all(conn)
    .await
}
