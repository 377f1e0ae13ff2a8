//! Codes, and second factors as clients see them.

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

const STEP_SECONDS: i64 = 30;

/// The second factor of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Totp {
    /// Whether sign-in with the password requires a code.
    pub(super) enabled: bool,
    /// Since when, or null.
    pub(super) enabled_at: Option<Timestamp>,
    /// Recovery codes that have not been used.
    pub(super) recovery_codes_left: i64,
}

/// A secret for an authenticator app.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TotpSecret {
    /// The secret in base 32. Only in the first response; null otherwise.
    pub(super) secret: Option<String>,
    /// The same as a URL, for a QR code. Only in the first response; null otherwise.
    pub(super) url: Option<String>,
}

/// A code of the authenticator app.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TotpCode {
    /// Six digits, or a recovery code.
    pub(super) code: String,
}

/// Codes for when the device is lost.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecoveryCodes {
    /// Each can be used once, instead of a code of the app. Only in the first response; null otherwise.
    pub(super) recovery_codes: Option<Vec<String>>,
}

/// The code of a time step: HOTP (RFC 4226) with SHA-1 and six digits, which every app supports.
fn code_at(secret: &[u8], step: i64) -> u32 {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag.last().copied().unwrap_or_default() & 15);
    let word = tag[offset..offset + 4].iter().fold(0, |word: u32, byte| word << 8 | u32::from(*byte));
    (word & 0x7fff_ffff) % 1_000_000
}

/// Returns the time step of a code: the present one, or one before or after, as clocks differ.
pub(super) fn step_of(secret: &[u8], code: &str, now: Timestamp) -> Option<i64> {
    let digits: String = code.chars().filter(|c| *c != ' ').collect();
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let given: u32 = digits.parse().ok()?;
    let present = now.as_second() / STEP_SECONDS;
    (present - 1..=present + 1).find(|step| code_at(secret, *step) == given)
}

/// Returns the secret as people enter it, and as a URL (Key URI Format).
pub(super) fn shown(secret: &[u8], email: &str) -> (String, String) {
    let text = BASE32_NOPAD.encode(secret);
    let account: String = url::form_urlencoded::byte_serialize(email.as_bytes()).collect();
    let account = account.replace('+', "%20");
    let url = format!("otpauth://totp/Atelier:{account}?secret={text}&issuer=Atelier");
    (text, url)
}

/// Returns the recovery code of these bytes.
pub(super) fn recovery_code(bytes: [u8; 10]) -> String {
    let text = BASE32_NOPAD.encode(&bytes).to_lowercase();
    format!("{}-{}-{}-{}", &text[..4], &text[4..8], &text[8..12], &text[12..])
}

/// Returns the hash of a recovery code, ignoring case and separators; none if the text is not a recovery
/// code.
pub(super) fn recovery_hash(code: &str) -> Option<Vec<u8>> {
    let text: String = code.chars().filter(|c| !matches!(c, '-' | ' ')).collect::<String>().to_uppercase();
    let bytes = BASE32_NOPAD.decode(text.as_bytes()).ok().filter(|bytes| bytes.len() == 10)?;
    Some(Sha256::digest(bytes).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_standard() {
        // RFC 6238, appendix B, last six digits
        for (seconds, code) in [
            (59, 287_082),
            (1_111_111_109, 81_804),
            (1_111_111_111, 50_471),
            (1_234_567_890, 5_924),
            (2_000_000_000, 279_037),
            (20_000_000_000, 353_130),
        ] {
            assert_eq!(code_at(SECRET, seconds / 30), code, "{seconds}");
        }
    }

    #[test]
    fn a_code_is_valid_for_its_step_and_those_beside_it() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        assert_eq!(step_of(SECRET, "287082", at(59)), Some(1));
        assert_eq!(step_of(SECRET, "287 082", at(30)), Some(1));
        assert_eq!(step_of(SECRET, "287082", at(29)), Some(1), "the app's clock is ahead");
        assert_eq!(step_of(SECRET, "287082", at(89)), Some(1), "or behind");
        assert_eq!(step_of(SECRET, "287082", at(90)), None);
        assert_eq!(step_of(SECRET, "005924", at(1_234_567_890)), Some(41_152_263));
        for bad in ["", "5924", "28708", "2870820", "+87082", "28708x", "٢٨٧٠٨٢"] {
            assert_eq!(step_of(SECRET, bad, at(59)), None, "{bad}");
        }
    }

    #[test]
    fn a_recovery_code_is_recognized_as_people_type_it() {
        let (code, other) = (recovery_code([7; 10]), recovery_code([8; 10]));
        let hash = recovery_hash(&code).unwrap();
        assert_eq!(recovery_hash(&code.to_uppercase().replace('-', " ")), Some(hash.clone()));
        assert_ne!(recovery_hash(&other), Some(hash));
        for bad in ["", "287082", &code[1..], &format!("{code}a")] {
            assert_eq!(recovery_hash(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_secret_is_shown_as_apps_read_it() {
        let (text, url) = shown(SECRET, "ada@x.test");
        assert_eq!(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(url, format!("otpauth://totp/Atelier:ada%40x.test?secret={text}&issuer=Atelier"));
    }
}
