//! Reports to the gpu service the order in which lent workers are recalled.

use gpu_api::ManagedChange;

use super::{Parts, store};

/// Maximum number of ranks reported in a round.
const BATCH: i64 = 50;

/// Reports the ranks that have changed.
pub(super) async fn tell(parts: &Parts) -> anyhow::Result<()> {
    let Some(gpu) = &parts.gpu else { return Ok(()) };
    let mut tx = parts.db.worker().await?;
    let untold = store::untold(&mut tx, BATCH).await?;
    drop(tx);
    for worker in untold {
        let change = ManagedChange { recall_rank: worker.rank };
        match gpu.update_instance(worker.instance, &change).await {
            Ok(()) => {
                let mut tx = parts.db.worker().await?;
                store::set_told(&mut tx, worker.id, worker.rank).await?;
                tx.commit().await?;
            }
            // it has no unit any more
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
