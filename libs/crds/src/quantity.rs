//! Kubernetes quantities (`500m`, `16Gi`, `1e3`).

use std::{fmt, str::FromStr};

/// A quantity, exact to a thousandth of its unit; smaller parts are rounded up, as Kubernetes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quantity(i128);

/// The text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a Kubernetes quantity")]
pub struct InvalidQuantity;

/// Longest quantity in a custom resource.
const TEXT_MAX: usize = 32;

impl Quantity {
    /// Returns the quantity with this number of thousandths.
    #[must_use]
    pub const fn from_milli(milli: i128) -> Self {
        Self(milli)
    }

    /// Returns the quantity in thousandths.
    #[must_use]
    pub const fn milli(self) -> i128 {
        self.0
    }

    /// Returns the text of a quantity in the form that the custom resources accept: unchanged, or in decimal
    /// form if it has an exponent or an unknown suffix. `None` if Kubernetes does not accept the quantity.
    #[must_use]
    pub fn canonical(text: &str) -> Option<String> {
        let quantity: Self = text.parse().ok()?;
        if quantity.0.unsigned_abs() > u128::from(i64::MAX.unsigned_abs()) * 1000 {
            return None;
        }
        let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let is_plain = number.split('.').count() <= 2
            && number
                .split('.')
                .all(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
        let is_known = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&&text[number.len()..]);
        let fits = is_plain && is_known && text.len() <= TEXT_MAX;
        Some(if fits { text.to_owned() } else { quantity.to_string() })
    }

    /// Returns whole units, rounded up: the bytes of a memory quantity. 0 if the quantity is negative.
    #[must_use]
    pub fn ceil(self) -> u64 {
        u64::try_from((self.0.max(0) + 999) / 1000).unwrap_or(u64::MAX)
    }
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, InvalidQuantity> {
        parse(text).map(Self).ok_or(InvalidQuantity)
    }
}

impl fmt::Display for Quantity {
    /// Writes the shortest decimal form: `2`, `1500m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1000 == 0 { write!(f, "{}", self.0 / 1000) } else { write!(f, "{}m", self.0) }
    }
}

/// Parses a quantity into thousandths.
fn parse(text: &str) -> Option<i128> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 24 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let divisor = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    // thousandths per unit of the suffix, as a fraction
    let (per_unit, parts) = match suffix {
        "n" => (1, 1_000_000),
        "u" => (1, 1_000),
        "m" => (1, 1),
        "" => (1000, 1),
        "k" => (1000 * 1000, 1),
        "M" => (1000 * 1000i128.pow(2), 1),
        "G" => (1000 * 1000i128.pow(3), 1),
        "T" => (1000 * 1000i128.pow(4), 1),
        "P" => (1000 * 1000i128.pow(5), 1),
        "E" => (1000 * 1000i128.pow(6), 1),
        "Ki" => (1000 << 10, 1),
        "Mi" => (1000 << 20, 1),
        "Gi" => (1000 << 30, 1),
        "Ti" => (1000 << 40, 1),
        "Pi" => (1000 << 50, 1),
        "Ei" => (1000 << 60, 1),
        exponent => match exponent.strip_prefix(['e', 'E'])?.strip_prefix('-') {
            Some(negative) => (1000, 10i128.checked_pow(negative.parse().ok()?)?),
            None => {
                let power = exponent[1..].trim_start_matches('+').parse().ok()?;
                (1000i128.checked_mul(10i128.checked_pow(power)?)?, 1)
            }
        },
    };
    let divisor = divisor.checked_mul(parts)?;
    let milli = digits.checked_mul(per_unit)?.checked_add(divisor - 1)? / divisor;
    Some(if negative { -milli } else { milli })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_are_exact() {
        for (text, milli) in [
            ("1", 1000),
            ("500m", 500),
            ("1.5", 1500),
            (".5", 500),
            ("1.", 1000),
            ("2Ki", 2_048_000),
            ("0.5Gi", 536_870_912_000),
            ("1e3", 1_000_000),
            ("1E+3", 1_000_000),
            ("15e-1", 1500),
            ("-2", -2000),
            ("+2", 2000),
            ("1u", 1),
            ("1n", 1),
            ("1500n", 1),
            ("0.0001", 1),
            ("0", 0),
            ("3P", 3_000_000_000_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Quantity(milli)), "{text}");
        }
        for text in ["", ".", "x", "1x", "Gi", "1..2", "-", "1e", "--1", "1 ", "1ki", &"9".repeat(25)] {
            assert_eq!(text.parse::<Quantity>(), Err(InvalidQuantity), "{text}");
        }
    }

    #[test]
    fn every_quantity_of_kubernetes_has_a_form_for_the_custom_resources() {
        for (text, expected) in [
            ("4", "4"),
            ("3500m", "3500m"),
            ("1.5Gi", "1.5Gi"),
            ("1e9", "1000000000"),
            ("1E3", "1000"),
            ("15e-1", "1500m"),
            ("1Pi", "1125899906842624"),
            ("2P", "2000000000000000"),
            ("1Ei", "1152921504606846976"),
            ("1u", "1m"),
            ("1n", "1m"),
            (".5", "500m"),
            ("1.", "1"),
            ("+2", "2"),
        ] {
            assert_eq!(Quantity::canonical(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "four", "1e30", "9000P0", "16Ei", "1Zi"] {
            assert_eq!(Quantity::canonical(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_are_rounded_up() {
        for (text, bytes) in [("10Gi", 10 << 30), ("1.5Ki", 1536), ("1m", 1), ("-1", 0), ("0", 0)] {
            assert_eq!(text.parse::<Quantity>().unwrap().ceil(), bytes, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_quantity_reads_back(milli in -1_000_000_000_000i128..1_000_000_000_000) {
            prop_assert_eq!(Quantity(milli).to_string().parse(), Ok(Quantity(milli)));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.eEniumkKMGTPE]{0,40}") {
            let _ = text.parse::<Quantity>();
        }
    }
}
