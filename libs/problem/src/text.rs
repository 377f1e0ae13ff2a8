//! Text that people type: the same characters can be sent as different code points, by different keyboards and systems.
//! Names are stored in one form (Unicode normalization form C), so that names that look the same are the same.

use serde::{Deserialize, Deserializer};
use unicode_normalization::UnicodeNormalization as _;

/// Returns the text in normalization form C.
#[must_use]
pub fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// Reads text in normalization form C.
///
/// # Errors
/// If the value is not text.
pub fn nfc<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(composed(&String::deserialize(deserializer)?))
}

/// As [`nfc`], for text that can be absent: use it with `default`.
///
/// # Errors
/// If the value is neither text nor null.
pub fn optional_nfc<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.as_deref().map(composed))
}

/// Returns the canonical form of a name: equal for names that differ only in case, in the width of characters or in
/// spaces (RFC 8266).
#[must_use]
pub fn folded(name: &str) -> String {
    let folded: String = name.nfkc().collect::<String>().to_lowercase().nfkc().collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_alike_is_alike() {
        #[derive(Deserialize)]
        struct Named {
            #[serde(deserialize_with = "nfc")]
            name: String,
            #[serde(default, deserialize_with = "optional_nfc")]
            other: Option<String>,
        }
        let read = |json: &str| serde_json::from_str::<Named>(json).map(|read| (read.name, read.other));
        let composed = ("K\u{f6}ln".to_owned(), None);
        assert_eq!(read(r#"{ "name": "Ko\u0308ln" }"#).unwrap(), composed);
        assert_eq!(read(r#"{ "name": "K\u00f6ln", "other": null }"#).unwrap(), composed);
        assert_eq!(read(r#"{ "name": "x", "other": "e\u0301" }"#).unwrap().1.as_deref(), Some("\u{e9}"));
        assert!(read(r#"{ "name": 7 }"#).is_err() && read(r#"{ "name": "x", "other": 7 }"#).is_err());
    }

    #[test]
    fn names_are_compared_without_case_width_and_spaces() {
        for (one, other, same) in [
            ("K\u{f6}ln", "KO\u{308}LN", true),
            ("\u{ff21}\u{ff22}\u{ff23}", "abc", true),
            ("\u{391}\u{3a3}", "\u{3b1}\u{3c3}", false), // a final sigma is another letter
            ("a  b", "A\u{a0}b", true),
            ("\u{ff76}\u{ff9e}", "\u{30ac}", true),
            ("a", "\u{430}", false), // Cyrillic
            ("ab", "a b", false),
        ] {
            assert_eq!(folded(one) == folded(other), same, "{one} {other}");
        }
    }
}
