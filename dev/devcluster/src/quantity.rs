//! Kubernetes quantities (`500m`, `16Gi`, `1e3`) as exact thousandths in an `i128`.

/// A quantity in thousandths of its unit, or `None` when the text is no quantity.
pub(crate) fn parse_milli(text: &str) -> Option<i128> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
    let (number, suffix) = body.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || number.len() > 24 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    // multiplier in thousandths
    let multiplier: i128 = match suffix {
        "" => 1000,
        "n" | "u" => {
            let per = if suffix == "n" { 1_000_000 } else { 1_000 };
            let value = digits.checked_add(per * scale - 1)? / (per * scale);
            return Some(if negative { -value } else { value });
        }
        "m" => 1,
        "k" => 1_000_000,
        "M" => 1_000_000_000,
        "G" => 1_000_000_000_000,
        "T" => 1_000_000_000_000_000,
        "P" => 1_000_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000_000,
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        "Ti" => 1000 << 40,
        "Pi" => 1000 << 50,
        "Ei" => 1000 << 60,
        exp if exp.starts_with(['e', 'E']) => {
            let n: u32 = exp[1..].trim_start_matches('+').parse().ok()?;
            1000i128.checked_mul(10i128.checked_pow(n)?)?
        }
        _ => return None,
    };
    let value = digits.checked_mul(multiplier)?;
    let value = value.checked_add(scale - 1)? / scale;
    Some(if negative { -value } else { value })
}

/// Thousandths as the shortest decimal text (`2`, `1500m`).
pub(crate) fn format_milli(milli: i128) -> String {
    if milli % 1000 == 0 { (milli / 1000).to_string() } else { format!("{milli}m") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        for (text, milli) in [
            ("1", 1000),
            ("500m", 500),
            ("1.5", 1500),
            ("2Ki", 2_048_000),
            ("0.5Gi", 536_870_912_000),
            ("1e3", 1_000_000),
            ("-2", -2000),
            ("1u", 1),
        ] {
            assert_eq!(parse_milli(text), Some(milli), "{text}");
        }
        for text in ["", "x", "1x", "Gi", "1..2", "-"] {
            assert_eq!(parse_milli(text), None, "{text}");
        }
        assert_eq!(format_milli(1500), "1500m");
    }
}
