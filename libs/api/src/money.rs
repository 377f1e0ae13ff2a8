//! Money on the wire: a decimal number in a string, exact to the last digit. A JSON number is refused.

use std::borrow::Cow;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serializer, de::Error};

const EXPECTED: &str = "must be a decimal number in a string, like \"0.2\"";

/// Writes the number without trailing zeros.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&value.normalize())
}

/// Reads a number.
///
/// # Errors
/// If it is not a decimal number in a string.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| D::Error::custom(EXPECTED))
}

fn parse(text: &str) -> Option<Decimal> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !digits.starts_with('.');
    if !plain || digits.ends_with('.') || text.len() > 32 {
        return None;
    }
    Decimal::from_str_exact(text).ok()
}

/// For a field that may be absent.
pub mod option {
    use super::{Cow, Decimal, Deserialize, Deserializer, EXPECTED, Error, Serializer};

    /// Writes the number, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &Option<Decimal>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(&value.normalize()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a number or null.
    ///
    /// # Errors
    /// If it is neither null nor a decimal number in a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Decimal>, D::Error> {
        let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
        text.map(|text| super::parse(&text).ok_or_else(|| D::Error::custom(EXPECTED))).transpose()
    }
}

/// For a field that may be absent, or null to remove the value.
pub mod nullable {
    use super::{Decimal, Deserializer, Serializer, option};

    /// Writes the number, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(
        value: &Option<Option<Decimal>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        option::serialize(&value.flatten(), serializer)
    }

    /// Reads a number or null.
    ///
    /// # Errors
    /// If it is neither null nor a decimal number in a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<Decimal>>, D::Error> {
        option::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_decimals_are_exact() {
        for (text, value) in [
            ("0.2", Decimal::new(2, 1)),
            ("0", Decimal::ZERO),
            ("-0.1", Decimal::new(-1, 1)),
            ("0.0000001", Decimal::new(1, 7)),
            (
                "12345678901234567890.123456",
                Decimal::from_i128_with_scale(12_345_678_901_234_567_890_123_456, 6),
            ),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "1e3",
            ".5",
            "-.5",
            "5.",
            "0x1",
            "1,5",
            " 1",
            "1.2.3",
            "NaN",
            "--1",
            &"1".repeat(33),
            &"1".repeat(40),
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
