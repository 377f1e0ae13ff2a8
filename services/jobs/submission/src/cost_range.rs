//! The expected cost of a job.

use jobs_core::cost::{Amount, Rate};
use schedule::Estimate;
use serde::Serialize;
use utoipa::ToSchema;

/// What a job would cost on one GPU specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct CostRange {
    /// Name of the GPU specification.
    #[schema(example = "3080-small-4-1")]
    gpu_spec: String,
    /// Currency (ISO 4217).
    #[schema(example = "USD")]
    currency: String,
    /// Half of such jobs cost at most this.
    #[schema(value_type = String, example = "0.000834")]
    p50: Amount,
    /// Nine of ten such jobs cost at most this.
    #[schema(value_type = String, example = "0.0025")]
    p90: Amount,
}

impl CostRange {
    /// Cost of a job that runs for this long.
    pub(super) fn new(gpu_spec: String, rate: Rate, run: Estimate) -> Self {
        let (p50, p90) = (price(&rate, run.p50), price(&rate, run.p90));
        Self { gpu_spec, currency: rate.currency, p50, p90 }
    }
}

/// Cost that half of the jobs with this duration do not exceed on the cheapest specification, with its currency. None
/// without prices.
pub(super) fn least(rates: &[(String, Rate)], run: Estimate) -> Option<(Amount, &str)> {
    rates.iter().map(|(_, rate)| (price(rate, run.p50), &*rate.currency)).min()
}

/// The price of a duration in milliseconds, rounded up to whole seconds.
fn price(rate: &Rate, millis: u64) -> Amount {
    Amount(rate.amount(i64::try_from(millis.div_ceil(1_000)).unwrap_or(i64::MAX)))
}
