//! The limits of a tenant, what it uses, and which limit an instance exceeds. Pure.

use std::collections::BTreeMap;

use problem::Checks;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Limit of entries by model or by currency.
const MAX_ENTRIES: usize = 100;
/// The longest name of a GPU model, in characters.
const MAX_MODEL: usize = 63;

/// Limits of what a tenant may use at the same time. An absent field means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Instances, stopped ones included.
    #[schema(minimum = 0)]
    pub instances: Option<u32>,
    /// GPUs of instances that are not stopped, or hold their unit.
    #[schema(minimum = 0)]
    pub gpus: Option<u32>,
    /// The same by GPU model.
    pub gpus_by_model: BTreeMap<String, u32>,
    /// Price per hour of instances that are not stopped, or hold their unit, by currency (ISO 4217).
    #[schema(value_type = BTreeMap<String, String>)]
    pub cost_per_hour: BTreeMap<String, Decimal>,
    /// Whether instances may run images of the tenant's own. A tenant without limits may not.
    pub own_images: bool,
}

impl Limits {
    pub fn check(&self, checks: &mut Checks) {
        checks.require(
            self.gpus_by_model.len() <= MAX_ENTRIES,
            "/gpus_by_model",
            format!("must be at most {MAX_ENTRIES}"),
        );
        for model in self.gpus_by_model.keys().take(MAX_ENTRIES) {
            checks.display_name(&problem::checks::pointer_to("/gpus_by_model", model), model, MAX_MODEL);
        }
        checks.require(
            self.cost_per_hour.len() <= MAX_ENTRIES,
            "/cost_per_hour",
            format!("must be at most {MAX_ENTRIES}"),
        );
        for (currency, limit) in self.cost_per_hour.iter().take(MAX_ENTRIES) {
            let pointer = problem::checks::pointer_to("/cost_per_hour", currency);
            checks.currency(&pointer, currency);
            checks.require(!limit.is_sign_negative(), pointer, "must not be negative");
        }
    }

    /// Returns the first limit that `used` and `added` exceed together. A request that adds nothing to a
    /// limit does not exceed it, even if the limit is now below the use.
    pub fn exceeded(&self, used: &Use, added: &Use) -> Option<Exceeded> {
        let number = |limit: Limit, most: Option<u32>, used: i64, requested: i64| {
            let most = i64::from(most?);
            let is_over = requested > 0 && used.saturating_add(requested) > most;
            is_over.then_some(Exceeded::Number { limit, most, used, requested })
        };
        let counts = |of: &Use, model: &String| of.gpus.get(model).copied().unwrap_or_default();
        let cost = |of: &Use, currency: &String| of.cost_per_hour.get(currency).copied().unwrap_or_default();
        number(Limit::Instances, self.instances, used.instances, added.instances)
            .or_else(|| number(Limit::Gpus, self.gpus, used.gpus.values().sum(), added.gpus.values().sum()))
            .or_else(|| {
                self.gpus_by_model.iter().find_map(|(model, most)| {
                    let limit = Limit::GpusOfModel(model.clone());
                    number(limit, Some(*most), counts(used, model), counts(added, model))
                })
            })
            .or_else(|| {
                self.cost_per_hour.iter().find_map(|(currency, most)| {
                    let (used, requested) = (cost(used, currency), cost(added, currency));
                    let is_over = requested > Decimal::ZERO && used + requested > *most;
                    let currency = currency.clone();
                    is_over.then_some(Exceeded::Cost { most: *most, used, requested, currency })
                })
            })
    }
}

/// Usage of a tenant, or what an instance adds to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Use {
    /// Instances, stopped ones included.
    pub instances: i64,
    /// GPUs of instances that are not stopped, or hold their unit, by GPU model.
    pub gpus: BTreeMap<String, i64>,
    /// Price per hour of instances that are not stopped, or hold their unit, by currency (ISO 4217).
    #[schema(value_type = BTreeMap<String, String>)]
    pub cost_per_hour: BTreeMap<String, Decimal>,
}

/// A limit of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// Instances.
    Instances,
    /// GPUs.
    Gpus,
    /// GPUs of a model.
    GpusOfModel(String),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Instances => write!(f, "instances"),
            Self::Gpus => write!(f, "gpus"),
            Self::GpusOfModel(model) => write!(f, "gpus of {model}"),
        }
    }
}

/// A limit that an instance exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// A number.
    #[error(
        "The tenant's quota of {limit} is {most}; {used} are in use, and {requested} more are requested."
    )]
    Number {
        /// The limited resource.
        limit: Limit,
        /// The quota.
        most: i64,
        /// The use.
        used: i64,
        /// The addition.
        requested: i64,
    },
    /// The price per hour.
    #[error(
        "The tenant may run instances for {most} {currency} per hour; the running ones cost {used}, and this one {requested}."
    )]
    Cost {
        /// The limit.
        most: Decimal,
        /// The cost of the running instances.
        used: Decimal,
        /// The addition.
        requested: Decimal,
        /// ISO 4217.
        currency: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(instances: i64, gpus: &[(&str, i64)], cost: &str) -> Use {
        Use {
            instances,
            gpus: gpus.iter().map(|(model, count)| ((*model).to_owned(), *count)).collect(),
            cost_per_hour: BTreeMap::from([("EUR".to_owned(), cost.parse().unwrap())]),
        }
    }

    #[test]
    fn the_first_limit_that_is_exceeded_is_named() {
        let limits: Limits = serde_json::from_value(serde_json::json!({
            "instances": 3, "gpus": 4, "gpus_by_model": { "A": 2 }, "cost_per_hour": { "EUR": "1.5" },
        }))
        .unwrap();
        let start = |count| used(0, &[("A", count)], "0.5");
        let limit = |found: Option<Exceeded>| match found {
            Some(Exceeded::Number { limit, .. }) => limit.to_string(),
            Some(Exceeded::Cost { currency, .. }) => currency,
            None => String::new(),
        };
        for (before, added, expected) in [
            (used(2, &[], "0"), Use { instances: 1, ..Use::default() }, ""),
            (used(3, &[], "0"), Use { instances: 1, ..Use::default() }, "instances"),
            // a start adds no instance, though there are more than the lowered limit allows
            (used(5, &[], "0"), start(1), ""),
            (used(2, &[("A", 1)], "0.5"), start(1), ""),
            (used(2, &[("A", 2)], "0.5"), start(1), "gpus of A"),
            (used(2, &[("B", 3)], "0.5"), start(2), "gpus"),
            (used(2, &[("B", 3)], "1"), used(0, &[("B", 1)], "0.5"), ""),
            (used(2, &[("B", 3)], "1.000001"), used(0, &[("B", 1)], "0.5"), "EUR"),
        ] {
            assert_eq!(limit(limits.exceeded(&before, &added)), expected, "{before:?} + {added:?}");
        }
        assert_eq!(Limits::default().exceeded(&used(9, &[("A", 9)], "9"), &used(1, &[("A", 9)], "9")), None);
    }
}
