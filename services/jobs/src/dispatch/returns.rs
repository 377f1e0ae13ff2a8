//! Asks the stock which lent units it wants back. Busy workers are not interrupted: the pool returns the first that have no job.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use api::ErrorChain;
use clients::stock::Client;
use ids::{InstanceId, PoolId};
use tokio::{sync::watch, time::sleep};

use super::{
    rows::worker_key,
    store::{self, LentRow},
};
use crate::{schedule::WantedBack, state::AppState};

/// How often the stock is asked while the pool has lent workers.
const PERIOD: Duration = Duration::from_secs(5);

/// Tells what the stock wants back, until a read of the database fails.
pub(super) async fn follow(
    state: &AppState,
    pool: PoolId,
    tell: &watch::Sender<Vec<WantedBack>>,
) -> sqlx::Result<()> {
    let Some(stock) = &state.stock else { return std::future::pending().await };
    loop {
        sleep(PERIOD).await;
        let specs: BTreeSet<String> = lent(state, pool).await?.into_iter().map(|row| row.gpu_spec).collect();
        let wanted = ask(stock, pool, &specs).await;
        // after the answer: those that have been returned since are no longer missing
        let rows = if wanted.is_empty() { Vec::new() } else { lent(state, pool).await? };
        tell.send_replace(of_pool(wanted, &rows));
    }
}

async fn lent(state: &AppState, pool: PoolId) -> sqlx::Result<Vec<LentRow>> {
    let mut tx = state.db.worker().await?;
    store::lent_workers(&mut tx, pool).await
}

/// Returns what the stock wants back of these specifications: a number of units, and the instances that may return theirs.
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

/// What the workers of a pool are to return. The stock counts a unit as missing until its worker has left it.
fn of_pool(wanted: Vec<(u32, Vec<InstanceId>)>, rows: &[LentRow]) -> Vec<WantedBack> {
    let by_instance: BTreeMap<InstanceId, &LentRow> = rows.iter().map(|row| (row.instance, row)).collect();
    let of_pool = |(units, instances): (u32, Vec<InstanceId>)| {
        let rows = instances.iter().filter_map(|instance| by_instance.get(instance));
        let (leaving, staying): (Vec<&LentRow>, Vec<&LentRow>) = rows.partition(|row| row.leaves);
        WantedBack {
            units: units.saturating_sub(u32::try_from(leaving.len()).unwrap_or(u32::MAX)),
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
    fn only_workers_of_the_pool_return_units_and_those_that_leave_count() {
        let row = |leaves| LentRow {
            id: WorkerId::new(),
            instance: InstanceId::new(),
            gpu_spec: "small".to_owned(),
            leaves,
        };
        let (staying, leaving, elsewhere) = (row(false), row(true), row(false));
        let instances = vec![staying.instance, leaving.instance, InstanceId::new()];
        let keys = BTreeSet::from([worker_key(staying.id)]);
        let rows = [staying, leaving, elsewhere];
        let found = |units| of_pool(vec![(units, instances.clone())], &rows);
        assert_eq!(found(3), [WantedBack { units: 2, workers: keys }]);
        assert_eq!(found(1), []);
        assert_eq!(of_pool(vec![(1, vec![InstanceId::new()])], &rows), []);
    }
}
