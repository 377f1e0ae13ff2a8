//! Refuses parts of a JSON body that would be changed when stored. Integers of 64 bits are exact; other numbers are
//! stored in binary with 53 significant bits (RFC 8259, section 6), so a number that needs more would change. Of
//! several members with the same name, only one would be stored.

use std::collections::HashSet;

use crate::{checks::pointer_to, problem::Problem};

/// Decimal digits that distinguish two binary numbers.
const DIGITS: usize = 17;

enum Within {
    Object { key: String, known: HashSet<String> },
    Array { index: usize },
}

/// Refuses the first number or member that would be changed. The text is valid JSON.
///
/// # Errors
/// 422 with the pointer to it.
pub fn check(json: &[u8]) -> Result<(), Problem> {
    let (mut path, mut expects_key, mut at) = (Vec::new(), false, 0);
    while let Some(byte) = json.get(at) {
        let rest = json.get(at..).unwrap_or_default();
        at += 1;
        match byte {
            b'{' => {
                path.push(Within::Object { key: String::new(), known: HashSet::new() });
                expects_key = true;
            }
            b'[' => path.push(Within::Array { index: 0 }),
            b'}' | b']' => drop(path.pop()),
            b':' => expects_key = false,
            b',' => match path.last_mut() {
                Some(Within::Array { index }) => *index += 1,
                _ => expects_key = true,
            },
            b'"' => {
                let text = rest.get(..string(rest)).unwrap_or_default();
                at += text.len() - 1;
                if let (Some(Within::Object { key, known }), true) = (path.last_mut(), expects_key) {
                    *key = serde_json::from_slice(text).unwrap_or_default();
                    if !known.insert(key.clone()) {
                        return Err(Problem::invalid_field(pointer(&path), "duplicate member"));
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                let length = rest.iter().take_while(|byte| b"+-.eE0123456789".contains(byte)).count();
                let number = rest
                    .get(..length)
                    .and_then(|number| std::str::from_utf8(number).ok())
                    .unwrap_or_default();
                at += length - 1;
                if !is_kept(number) {
                    let detail = format!(
                        "the number would be rounded: send at most {DIGITS} significant digits, an integer of 64 bits, or a string"
                    );
                    return Err(Problem::invalid_field(pointer(&path), detail));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The length of a string with its quotes.
fn string(rest: &[u8]) -> usize {
    let mut escaped = false;
    let end = rest.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |end| end + 2)
}

fn pointer(path: &[Within]) -> String {
    path.iter().fold(String::new(), |parent, within| match within {
        Within::Object { key, .. } => pointer_to(&parent, key),
        Within::Array { index } => pointer_to(&parent, index),
    })
}

fn is_kept(number: &str) -> bool {
    let is_integer = !number.contains(['.', 'e', 'E']);
    if is_integer && (number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()) {
        return true;
    }
    let Ok(value) = number.parse::<f64>() else { return false };
    let (digits, exponent) = decimal(number);
    if digits.is_empty() {
        return true;
    }
    if !value.is_finite() || value == 0.0 {
        return false;
    }
    (!is_integer && digits.len() <= DIGITS) || decimal(&format!("{value:e}")) == (digits, exponent)
}

/// The digits of a number without zeros at its ends, and the power of ten of the last one.
fn decimal(number: &str) -> (String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    let length = |text: &str| i64::try_from(text.len()).unwrap_or_default();
    let shift = length(digits) - length(significant) - length(fraction);
    (significant.to_owned(), exponent.parse::<i64>().unwrap_or_default().saturating_add(shift))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_that_are_kept_and_others() {
        for kept in [
            "0",
            "-0",
            "0.0",
            "0e99999999999999999999",
            "1",
            "-1",
            "1.0",
            "1.50",
            "1e2",
            "1E+2",
            "12e-1",
            "9007199254740993",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "100000000000000000000",
            "1e300",
            "0.1",
            "0.30000000000000004",
            "0.10000000000000001",
            "3.141592653589793",
            "5e-324",
            "1.7976931348623157e308",
        ] {
            assert!(is_kept(kept), "{kept}");
        }
        for other in [
            "18446744073709551616",
            "-9223372036854775809",
            "12345678901234567890123",
            "1e400",
            "-1e400",
            "1e-400",
            "0.1234567890123456789",
            "3.14159265358979323846",
            "1.00000000000000000001",
            "1e99999999999999999999",
        ] {
            assert!(!is_kept(other), "{other}");
        }
    }

    #[test]
    fn the_number_is_named_by_its_pointer() {
        let bad = "12345678901234567890123";
        for (text, at) in [
            (bad.to_owned(), ""),
            (format!(r#"{{"a":1,"b":[0,"x",{{"c/d":{bad}}}]}}"#), "/b/2/c~1d"),
            (format!(r#"{{"a":{{"b":"\"{bad}"}}, "e\u0061": {bad}}}"#), "/ea"),
            (format!(r#"[[],{{}},[1,{{"\\":"\\"}},{bad}]]"#), "/2/2"),
        ] {
            let problem = check(text.as_bytes()).unwrap_err();
            assert_eq!((problem.status.as_u16(), problem.errors[0].pointer.as_str()), (422, at), "{text}");
            assert!(check(text.replace(bad, "7").as_bytes()).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_programs_write_is_kept(value in any::<f64>().prop_filter("finite", |value| value.is_finite()), whole in any::<i64>()) {
            for text in [format!("{value:e}"), format!("{value:.16e}"), serde_json::to_string(&value).unwrap(), whole.to_string()] {
                prop_assert!(is_kept(&text), "{text}");
            }
        }
    }
}
