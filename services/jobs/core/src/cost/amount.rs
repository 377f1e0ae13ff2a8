//! Amounts of money on the wire: decimal numbers in strings, exact to the last digit. JSON numbers are refused.

use std::borrow::Cow;

use problem::Checks;
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use utoipa::ToSchema;

/// Digits after the decimal point of an amount.
pub(super) const SCALE: u32 = 6;

/// A decimal number. Fields of this type have the schema of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub Decimal);

impl Amount {
    /// Whether it is 0 to `most`, with at most `scale` digits after the point.
    pub fn is_within(self, most: i64, scale: u32) -> bool {
        self.0 >= Decimal::ZERO && self.0 <= Decimal::from(most) && self.0.normalize().scale() <= scale
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.normalize())
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        parse(&text)
            .map(Self)
            .ok_or_else(|| D::Error::custom("must be a decimal number in a string, like \"0.2\""))
    }
}

fn parse(text: &str) -> Option<Decimal> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !digits.starts_with('.');
    if !plain || digits.ends_with('.') || text.len() > 32 {
        return None;
    }
    Decimal::from_str_exact(text).ok()
}

/// An amount in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// A decimal number with at most six decimal places.
    #[schema(value_type = String, example = "0.5")]
    pub amount: Amount,
    /// Currency (ISO 4217).
    #[schema(example = "USD")]
    pub currency: String,
}

impl Money {
    /// Checks a limit below `pointer`.
    pub fn check(&self, pointer: &str, checks: &mut Checks) {
        let is_limit = self.amount.is_within(1_000_000_000_000, SCALE) && !self.amount.0.is_zero();
        let detail = "must be above 0 and at most 10^12, with at most six decimal places";
        checks.require(is_limit, format!("{pointer}/amount"), detail);
        checks.currency(&format!("{pointer}/currency"), &self.currency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_plain_decimal_number_in_a_string() {
        let read = |json: &str| serde_json::from_str::<Amount>(json).ok().map(|amount| amount.0.to_string());
        assert_eq!(read("\"0.20\""), Some("0.20".to_owned()));
        assert_eq!(read("\"-3\""), Some("-3".to_owned()));
        for wrong in
            ["0.2", "1", "\"\"", "\".5\"", "\"5.\"", "\"1e3\"", "\"+1\"", "\" 1\"", "\"1_0\"", "null"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let written = serde_json::to_string(&Amount("1.500".parse().unwrap())).unwrap();
        assert_eq!(written, "\"1.5\"");
    }

    #[test]
    fn a_limit_is_above_zero_and_exact_to_the_sixth_digit() {
        let errors = |amount: &str, currency: &str| {
            let money = Money { amount: Amount(amount.parse().unwrap()), currency: currency.to_owned() };
            let mut checks = Checks::default();
            money.check("/max_cost", &mut checks);
            checks.into_errors().len()
        };
        assert_eq!(errors("0.000001", "USD"), 0);
        assert_eq!(errors("1000000000000", "USD"), 0);
        for (amount, currency) in
            [("0", "USD"), ("-1", "USD"), ("0.0000001", "USD"), ("1000000000001", "USD"), ("1", "usd")]
        {
            assert_eq!(errors(amount, currency), 1, "{amount} {currency}");
        }
    }
}
