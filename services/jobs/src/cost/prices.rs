//! Prices of the stock service, stored for the pools that have its specifications: assignments copy them, and never wait for it.

use std::time::Duration;

use anyhow::Context as _;
use clients::stock;
use service::{Round, Workers};

use super::store;
use crate::{rest, state::AppState};

/// How often prices are looked for that are missing or old.
const PERIOD: Duration = Duration::from_secs(2);
/// Prices that were read longer ago are read again.
const FRESH: Duration = Duration::from_secs(60);

/// Starts the worker `jobs.prices`, if the configuration names the stock service.
pub(super) fn start(state: &AppState, workers: &Workers) {
    if state.stock.is_none() {
        return;
    }
    rest::spawn_periodic(state, workers, "jobs.prices", PERIOD, |state| async move {
        match &state.stock {
            // they are read before the next assignments
            _ if state.rest.is_on() => Ok(Round::Done),
            Some(stock) => round(&state, stock).await,
            None => Ok(Round::Done),
        }
    });
}

async fn round(state: &AppState, stock: &stock::Client) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    let due = store::due_prices(&mut tx, FRESH).await?;
    drop(tx);
    for name in due {
        let spec = match stock.gpu_spec(&name, None).await {
            // it may be added later; until then its attempts cost nothing
            Err(error) if error.is_not_found() => continue,
            read => read.with_context(|| format!("price of {name}"))?,
        };
        let mut tx = state.db.worker().await?;
        store::put_price(&mut tx, &name, spec.price_per_hour, &spec.currency).await?;
        tx.commit().await?;
    }
    Ok(Round::Done)
}
