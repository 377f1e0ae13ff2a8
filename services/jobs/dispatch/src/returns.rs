//! Asks the stock which lent units it wants back. Busy workers are not interrupted: the pool returns the
//! first idle ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use api::ErrorChain;
use ids::{InstanceId, PoolId};
use schedule::WantedBack;
use stock_api::Client;
use tokio::{sync::watch, time::sleep};
use views::rows::worker_key;

use super::{
    Parts,
    worker_store::{self, LentRow},
};

/// How often the stock is asked while the pool has lent workers.
const PERIOD: Duration = Duration::from_secs(5);

/// Reports what the stock wants back to the pool, until a read of the database fails.
pub(super) async fn follow(
    parts: &Parts,
    pool: PoolId,
    tell: &watch::Sender<Vec<WantedBack>>,
) -> sqlx::Result<()> {
    let Some(stock) = &parts.stock else { return std::future::pending().await };
    loop {
        sleep(PERIOD).await;
        let specs: BTreeSet<String> = lent(parts, pool).await?.into_iter().map(|row| row.gpu_spec).collect();
        let wanted = ask(stock, pool, &specs).await;
        // read after the answer, so that units returned since no longer count as missing
        let rows = if wanted.is_empty() { Vec::new() } else { lent(parts, pool).await? };
        tell.send_replace(of_pool(wanted, &rows));
    }
}

async fn lent(parts: &Parts, pool: PoolId) -> sqlx::Result<Vec<LentRow>> {
    let mut tx = parts.db.worker().await?;
    worker_store::lent_workers(&mut tx, pool).await
}

/// Returns what the stock wants back of these specifications: the number of units, and the instances that may
/// return theirs.
async fn ask(stock: &Client, pool: PoolId, specs: &BTreeSet<String>) -> Vec<(u32, Vec<InstanceId>)> {
    let mut wanted = Vec::new();
    for gpu_spec in specs {
        match stock.spare_units(gpu_spec).await {
            Ok(found) => {
                let units = |units: i64| u32::try_from(units).unwrap_or_default();
                wanted.extend(found.wanted_back.into_iter().map(|one| (units(one.units), one.instances)));
            }
            Err(error) => {
                let cause = ErrorChain(&error);
                tracing::warn!(pool.id = %pool, gpu_spec, %cause, "cannot ask which units are wanted back");
            }
        }
    }
    wanted
}

/// Returns the units that the pool's workers have to return: a part of the missing units in proportion to the
/// pool's part of the instances that may return one, rounded up. The stock counts a unit as missing until its
/// worker has left it.
fn of_pool(wanted: Vec<(u32, Vec<InstanceId>)>, rows: &[LentRow]) -> Vec<WantedBack> {
    let by_instance: BTreeMap<InstanceId, &LentRow> = rows.iter().map(|row| (row.instance, row)).collect();
    let count = |rows: usize| u32::try_from(rows).unwrap_or(u32::MAX);
    let of_pool = |(units, instances): (u32, Vec<InstanceId>)| {
        let rows: Vec<&LentRow> =
            instances.iter().filter_map(|instance| by_instance.get(instance).copied()).collect();
        let part = units.saturating_mul(count(rows.len())).div_ceil(count(instances.len()).max(1));
        let (leaving, staying): (Vec<&LentRow>, Vec<&LentRow>) = rows.into_iter().partition(|row| row.leaves);
        WantedBack {
            units: part.saturating_sub(count(leaving.len())),
            workers: staying.into_iter().map(|row| worker_key(row.id)).collect(),
        }
    };
    wanted.into_iter().map(of_pool).filter(|one| one.units > 0 && !one.workers.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use ids::WorkerId;

    use super::*;

    #[test]
    fn workers_of_the_pool_return_their_part_of_the_units_and_those_that_leave_count() {
        let row = |leaves| LentRow {
            id: WorkerId::new(),
            instance: InstanceId::new(),
            gpu_spec: "small".to_owned(),
            leaves,
        };
        let (staying, leaving, elsewhere) = (row(false), row(true), row(false));
        let own = [staying.instance, leaving.instance];
        let workers = BTreeSet::from([worker_key(staying.id)]);
        let rows = [staying, leaving, elsewhere];
        // as many are in other pools
        let all = [own[0], InstanceId::new(), own[1], InstanceId::new()];
        let found = |units, instances: &[InstanceId]| of_pool(vec![(units, instances.to_vec())], &rows);
        let back = |units| vec![WantedBack { units, workers: workers.clone() }];
        assert_eq!(found(3, &own), back(2));
        assert_eq!(found(1, &own), []);
        assert_eq!(found(2, &all), []);
        assert_eq!(found(3, &all), back(1));
        assert_eq!(found(4, &all), back(1));
        assert_eq!(of_pool(vec![(1, vec![InstanceId::new()])], &rows), []);
    }
}
