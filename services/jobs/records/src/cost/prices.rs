//! Prices of the stock service, stored for the pools that have its specifications: assignments copy them, and
//! never wait for the stock service.

use std::time::Duration;

use anyhow::Context as _;
use service::{Duty, Round, Task};

use super::{Parts, store};
use crate::rest;

/// Time between two checks for prices that are missing or old.
const PERIOD: Duration = Duration::from_secs(2);
/// Prices that were read longer ago are read again.
const FRESH: Duration = Duration::from_secs(60);

/// The task that reads prices, if the configuration names the stock service.
pub(super) fn task(parts: &Parts) -> Option<Task> {
    let read = (parts.clone(), parts.stock.clone()?);
    Some(rest::task(&parts.rest, ("prices", Duty::Follow, PERIOD), &read, |(parts, stock)| async move {
        // they are read before the next assignments
        if parts.rest.is_on() { Ok(Round::Done) } else { round(&parts, &stock).await }
    }))
}

async fn round(parts: &Parts, stock: &stock_api::Client) -> anyhow::Result<Round> {
    let mut tx = parts.db.worker().await?;
    let due = store::due_prices(&mut tx, FRESH).await?;
    drop(tx);
    for name in due {
        let spec = match stock.gpu_spec(&name, None).await {
            // the specification may be added later; until then its attempts cost nothing
            Err(error) if error.is_not_found() => continue,
            read => read.with_context(|| format!("price of {name}"))?,
        };
        let mut tx = parts.db.worker().await?;
        store::put_price(&mut tx, &name, spec.price_per_hour, &spec.currency).await?;
        tx.commit().await?;
    }
    Ok(Round::Done)
}
