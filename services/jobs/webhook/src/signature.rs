//! Secrets and signatures of Standard Webhooks.

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rand::RngExt as _;
use secrecy::SecretString;

/// Prefix of a secret as users see it.
const PREFIX: &str = "whsec_";
/// Bytes of a secret.
const LENGTH: usize = 32;

/// Makes a secret.
pub(super) fn generate() -> [u8; LENGTH] {
    rand::rng().random()
}

/// The secret as users see it.
pub(super) fn shown(secret: &[u8]) -> SecretString {
    format!("{PREFIX}{}", STANDARD.encode(secret)).into()
}

/// The header `webhook-signature`: one signature for each secret.
pub(super) fn sign(secrets: &[Vec<u8>], id: &str, timestamp: i64, body: &str) -> String {
    let content = format!("{id}.{timestamp}.{body}");
    let signature = |secret: &Vec<u8>| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        format!("v1,{}", STANDARD.encode(hmac::sign(&key, content.as_bytes())))
    };
    secrets.iter().map(signature).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard's reference libraries.
    #[test]
    fn the_signature_is_that_of_the_standard() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            sign(&[secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
