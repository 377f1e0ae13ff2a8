//! Kubernetes quantities as whole numbers, as far as the operator compares them.

/// Bytes of a quantity such as `10Gi`, rounded up; `None` when it is not one.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    milli(text).map(|milli| u64::try_from(milli.div_ceil(1000)).unwrap_or(u64::MAX))
}

/// Thousandths of a quantity such as `500m` or `1.5Gi`; `None` when it is not one.
#[must_use]
pub fn milli(text: &str) -> Option<u128> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let scale: u128 = match suffix {
        "m" => 1,
        "" => 1000,
        "k" => 1000 * 1000,
        "M" => 1000 * 1000_u128.pow(2),
        "G" => 1000 * 1000_u128.pow(3),
        "T" => 1000 * 1000_u128.pow(4),
        "P" => 1000 * 1000_u128.pow(5),
        "Ki" => 1000 * 1024,
        "Mi" => 1000 * 1024_u128.pow(2),
        "Gi" => 1000 * 1024_u128.pow(3),
        "Ti" => 1000 * 1024_u128.pow(4),
        "Pi" => 1000 * 1024_u128.pow(5),
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty())
        || whole.len() > 18
        || fraction.len() > 9
        || fraction.contains('.')
    {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let digits = u32::try_from(fraction.len()).ok()?;
    Some(whole * scale + (part * scale).div_ceil(10_u128.pow(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read() {
        assert_eq!(bytes("10Gi"), Some(10 << 30));
        assert_eq!(bytes("1.5Ki"), Some(1536));
        assert_eq!(milli("500m"), Some(500));
        assert_eq!(milli("4"), Some(4000));
        assert_eq!(milli("0.1"), Some(100));
        for wrong in ["", ".", "x", "1x", "-1", "1..2", "1e3"] {
            assert_eq!(milli(wrong), None, "{wrong}");
        }
    }
}
