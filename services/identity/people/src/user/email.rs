//! E-mail addresses, in the form of [`api::email`].

use crate::field::InvalidField;

/// Checks that the text can be an e-mail address: one `@` with text around it, no invisible characters.
///
/// # Errors
/// Names the field.
pub fn check_email(pointer: &'static str, email: &str) -> Result<(), InvalidField> {
    let plausible = email.len() <= 254
        && !email.chars().any(|c| c.is_whitespace() || c.is_control())
        && email.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && local.len() <= 64 && !domain.is_empty() && !domain.contains('@')
        });
    if plausible { Ok(()) } else { Err(InvalidField::new(pointer, "is not an e-mail address")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_at_sign_with_text_around_it() {
        let longest = format!("{}@{}", "a".repeat(64), "b".repeat(189));
        for good in ["a@b", "designer@example.com", "Ünï@bücher.de", "a+b@c.d", &longest] {
            assert!(check_email("", good).is_ok(), "{good}");
        }
        let (long, long_local) = (format!("{longest}b"), format!("{}@x", "a".repeat(65)));
        for bad in ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n", "a\u{7f}@b", &long, &long_local] {
            assert!(check_email("", bad).is_err(), "{bad:?}");
        }
    }
}
