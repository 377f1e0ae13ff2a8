//! What running costs. Pure.

use rust_decimal::{Decimal, RoundingStrategy};

/// Digits after the point of an amount. Amounts are rounded once, here; sums are sums of rounded amounts,
/// so that a bill's lines add up.
const SCALE: u32 = 6;

/// What `seconds` cost at a price per hour: seconds × price ÷ 3600, rounded half to even at the sixth digit.
#[must_use]
pub fn amount(seconds: i64, price_per_hour: Decimal) -> Decimal {
    (Decimal::from(seconds) * price_per_hour / Decimal::from(3600))
        .round_dp_with_strategy(SCALE, RoundingStrategy::MidpointNearestEven)
        .normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_exact_to_the_sixth_digit() {
        let price = |text: &str| text.parse::<Decimal>().unwrap();
        assert_eq!(amount(3600, price("0.45")), price("0.45"));
        assert_eq!(amount(1, price("0.45")), price("0.000125"));
        assert_eq!(amount(1, price("1")), price("0.000278"));
        assert_eq!(amount(0, price("9")), Decimal::ZERO);
        // ten years of the dearest machine still fit
        assert_eq!(amount(315_360_000, price("1000")), price("87600000"));
    }
}
