//! What a job is expected to cost.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    cost::{Amount, Rate},
    schedule::Estimate,
};

/// What a job would cost on one GPU specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct CostRange {
    /// Name of the GPU specification.
    #[schema(example = "3080-small-4-1")]
    gpu_spec: String,
    /// Currency (ISO 4217).
    #[schema(example = "USD")]
    currency: String,
    /// What half of such jobs cost at most.
    #[schema(value_type = String, example = "0.000834")]
    p50: Amount,
    /// What nine of ten such jobs cost at most.
    #[schema(value_type = String, example = "0.0025")]
    p90: Amount,
}

impl CostRange {
    /// Of a job that runs for so long.
    pub(super) fn new(gpu_spec: String, rate: Rate, run: Estimate) -> Self {
        let (p50, p90) = (price(&rate, run.p50), price(&rate, run.p90));
        Self { gpu_spec, currency: rate.currency, p50, p90 }
    }
}

/// What half of the jobs that run for so long cost at most on the cheapest specification, with its currency. None without prices.
pub(super) fn least(rates: &[(String, Rate)], run: Estimate) -> Option<(Amount, &str)> {
    rates.iter().map(|(_, rate)| (price(rate, run.p50), &*rate.currency)).min()
}

/// The price of a duration in milliseconds, rounded up to whole seconds.
fn price(rate: &Rate, millis: u64) -> Amount {
    Amount(rate.amount(i64::try_from(millis.div_ceil(1_000)).unwrap_or(i64::MAX)))
}
