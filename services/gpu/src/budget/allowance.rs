//! What a tenant may start, as issued by this service's budgets or by another service. Pure.

use api::{Problem, ProblemType};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;

use crate::instance::ReasonCode;

/// The issuer of the allowances of this service's budgets.
pub(super) const ISSUER: &str = crate::NAME;

/// What a tenant may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Who issued it.
    pub(super) issuer: String,
    /// Grows with each change.
    pub(super) version: i64,
    /// ISO 4217. Instances with prices in other currencies are not limited.
    pub(super) currency: String,
    /// Highest price per hour of all instances together; none for no limit.
    pub(super) max_rate_per_hour: Option<Decimal>,
    /// The issuer renews it before; none if it does not end.
    pub(super) valid_until: Option<Timestamp>,
    /// When nothing is left at the present rate; none if not in this month.
    pub(super) runs_out_at: Option<Timestamp>,
    /// When there is more again; none if that is not known.
    pub(super) renews_at: Option<Timestamp>,
}

/// Why an allowance does not let an instance start, or keep its unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// Nothing is left.
    #[error("The tenant has spent its budget.")]
    Exhausted {
        /// When there is more again.
        renews_at: Option<Timestamp>,
    },
    /// What is left does not pay for the instance long enough.
    #[error(
        "What is left of the tenant's budget pays for instances of {most} {currency} an hour; those that run cost {used}, and this one {requested}."
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
    pub(crate) fn reason(&self) -> ReasonCode {
        match self {
            Self::Exhausted { .. } | Self::Rate { .. } => ReasonCode::BudgetExhausted,
            Self::Expired { .. } => ReasonCode::AllowanceExpired,
        }
    }

    /// Returns when there is more again; none if that is not known.
    pub(super) fn renews_at(&self) -> Option<Timestamp> {
        match self {
            Self::Exhausted { renews_at } | Self::Rate { renews_at, .. } => *renews_at,
            Self::Expired { .. } => None,
        }
    }
}

impl Allowance {
    /// Returns why it does not allow a rate, in its currency, beside the one in use. With nothing requested, whether it
    /// allows anything.
    pub(super) fn refuses(
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

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = refused.to_string();
        let exhausted =
            |renews_at| Self::new(ProblemType::BudgetExhausted, detail.clone()).with("renews_at", renews_at);
        match refused {
            Refused::Exhausted { renews_at } => exhausted(renews_at),
            Refused::Rate { most, used, requested, currency, renews_at } => exhausted(renews_at)
                .with("limit", most)
                .with("used", used)
                .with("requested", requested)
                .with("currency", currency),
            Refused::Expired { expired_at } => {
                Self::new(ProblemType::AllowanceExpired, detail).with("expired_at", expired_at)
            }
        }
    }
}
