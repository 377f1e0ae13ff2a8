//! What a tenant may start, as issued by this service's budgets or by another service. Pure.

use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;

use crate::reason::ReasonCode;

/// The issuer of the allowances of this service's budgets.
pub const ISSUER: &str = "gpu";

/// What a tenant may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// Who issued it.
    pub issuer: String,
    /// Grows with each change.
    pub version: i64,
    /// ISO 4217. Instances with prices in other currencies are not limited.
    pub currency: String,
    /// Highest price per hour of all instances together; none for no limit.
    pub max_rate_per_hour: Option<Decimal>,
    /// The issuer renews it before; none if it does not end.
    pub valid_until: Option<Timestamp>,
    /// When nothing is left at the present rate; none if not in this month.
    pub runs_out_at: Option<Timestamp>,
    /// When more becomes available; none if that is not known.
    pub renews_at: Option<Timestamp>,
}

/// Reasons why an allowance does not allow an instance to start, or to keep its unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing is left.
    #[error("The tenant has spent its budget.")]
    Exhausted {
        /// When there is more again.
        renews_at: Option<Timestamp>,
    },
    /// What is left does not pay for the instance long enough.
    #[error(
        "The rest of the tenant's budget allows instances for {most} {currency} per hour; the running ones cost {used}, and this one {requested}."
    )]
    Rate {
        /// Highest price per hour of all instances.
        most: Decimal,
        /// Price of those that run.
        used: Decimal,
        /// Price of this one.
        requested: Decimal,
        /// ISO 4217.
        currency: String,
        /// When there is more again.
        renews_at: Option<Timestamp>,
    },
    /// The issuer has not renewed it.
    #[error("The service that accounts for the tenant's spending has not answered since {expired_at}.")]
    Expired {
        /// Until when it was valid.
        expired_at: Timestamp,
    },
}

impl Refused {
    /// Returns the reason of an instance that may not start.
    pub fn reason(&self) -> ReasonCode {
        match self {
            Self::Exhausted { .. } | Self::Rate { .. } => ReasonCode::BudgetExhausted,
            Self::Expired { .. } => ReasonCode::AllowanceExpired,
        }
    }

    /// Returns when there is more again; none if that is not known.
    pub fn renews_at(&self) -> Option<Timestamp> {
        match self {
            Self::Exhausted { renews_at } | Self::Rate { renews_at, .. } => *renews_at,
            Self::Expired { .. } => None,
        }
    }
}

impl Allowance {
    /// Returns why the allowance does not permit this rate, in its currency, in addition to the rate in use.
    /// With nothing requested, returns whether it permits anything.
    pub fn refuses(
        &self,
        (used, requested): (Decimal, Decimal),
        now: Timestamp,
        grace: SignedDuration,
    ) -> Option<Refused> {
        let renews_at = self.renews_at;
        if let Some(expired_at) = self.valid_until.filter(|end| now.duration_since(*end) >= grace) {
            return Some(Refused::Expired { expired_at });
        }
        if self.runs_out_at.is_some_and(|end| end <= now) {
            return Some(Refused::Exhausted { renews_at });
        }
        let most =
            self.max_rate_per_hour.filter(|most| requested > Decimal::ZERO && used + requested > *most)?;
        Some(Refused::Rate { most, used, requested, currency: self.currency.clone(), renews_at })
    }
}
