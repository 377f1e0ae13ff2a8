//! The published keys of an issuer.

use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse},
};
use tokio::time::Instant;

/// Names of the signature algorithms that are accepted (RFC 7518, RFC 8037).
pub const ALGORITHMS: [&str; 9] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

/// The keys that the issuer last returned.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<Key>,
    pub(crate) fetched_at: Option<Instant>,
    /// Number of the fetch.
    pub(crate) number: u64,
}

impl Keys {
    /// Returns the keys that can have signed a token: those with its key id. A token or a key without one may belong to any.
    pub(crate) fn candidates<'k>(&'k self, kid: Option<&'k str>) -> impl Iterator<Item = &'k Key> {
        let is_known = self.keys.iter().any(|key| key.id.is_some() && key.id.as_deref() == kid);
        self.keys.iter().filter(move |key| match kid {
            None => true,
            Some(_) if is_known => key.id.as_deref() == kid,
            Some(_) => key.id.is_none(),
        })
    }
}

/// A key, and the checks of tokens that it signed: only algorithms of its own type are accepted.
pub(crate) struct Key {
    id: Option<String>,
    pub(crate) decoding: DecodingKey,
    pub(crate) validation: Validation,
}

impl Key {
    /// The key of a JWK, if it is a signature key of an accepted algorithm. A key that names its algorithm verifies no other.
    pub(crate) fn of(jwk: &Jwk, validation: &Validation) -> Option<Self> {
        let of_type: &[Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[
                Algorithm::RS256,
                Algorithm::RS384,
                Algorithm::RS512,
                Algorithm::PS256,
                Algorithm::PS384,
                Algorithm::PS512,
            ],
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                &[Algorithm::ES256]
            }
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => {
                &[Algorithm::ES384]
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                &[Algorithm::EdDSA]
            }
            _ => return None,
        };
        let declared = jwk.common.key_algorithm;
        let accepted = |one: &&Algorithm| declared.is_none_or(|declared| declared == (**one).into());
        let algorithms: Vec<_> = of_type.iter().filter(accepted).copied().collect();
        let signs = jwk.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let decoding = DecodingKey::from_jwk(jwk).ok().filter(|_| signs && !algorithms.is_empty())?;
        let validation = Validation { algorithms, ..validation.clone() };
        Some(Self { id: jwk.common.key_id.clone(), decoding, validation })
    }
}
