//! What jobs cost: prices of pools, what is charged for attempts, and the feed of it for other services.

mod amount;
mod feed;
mod model;
mod prices;
mod store;

pub(crate) use amount::{Amount, Money};
pub(crate) use feed::{OUTBOX, Of, UsageRecord, routes};
pub(crate) use model::{Charge, Outcome, Rate, Uncharged, Work, charge, may_be_dearer};
pub(crate) use prices::start;
pub(crate) use store::{check_limit, publish, rates};
