//! Follows the events of instances: workers are compared with their instances at once.

use std::time::Duration;

use api::ErrorChain;
use ids::InstanceId;
use tokio::time::sleep;

use super::{Parts, store};

/// How long a read waits for an event: less than the time limit of a call.
const WAIT: Duration = Duration::from_secs(5);
/// Delay after a failure. Meanwhile workers are compared with their instances from time to time.
const RETRY: Duration = Duration::from_secs(1);

/// Reads events from now on; the instances contain the effects of earlier ones.
pub async fn follow(parts: Parts) -> anyhow::Result<()> {
    let Some(gpu) = &parts.gpu else { return Ok(()) };
    let mut cursor = "latest".to_owned();
    loop {
        match gpu.events(&cursor, WAIT).await {
            Ok(read) => {
                cursor = read.next_cursor;
                let changed: Vec<InstanceId> =
                    read.items.iter().filter_map(|event| event.instance_id).collect();
                if !changed.is_empty() {
                    let mut tx = parts.db.worker().await?;
                    store::check_now(&mut tx, &changed).await?;
                    tx.commit().await?;
                }
            }
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "cannot read events of instances; retrying");
                sleep(RETRY).await;
            }
        }
    }
}
