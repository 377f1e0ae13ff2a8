//! RS256 with keys that are parsed once: `jsonwebtoken` alone parses the key again for each token.

use std::sync::{Arc, LazyLock};

use aws_lc_rs::signature::{ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, aws_lc},
    errors::{self, ErrorKind},
    signature::{Error, Verifier},
};
use moka::sync::Cache;

/// Cached parsed keys. Issuers publish a few at a time.
const CAPACITY: u64 = 64;

/// The provider of `jsonwebtoken` with another verifier for RS256.
static PROVIDER: LazyLock<CryptoProvider> =
    LazyLock::new(|| CryptoProvider { verifier_factory: verifier, ..aws_lc::DEFAULT_PROVIDER.clone() });

/// Parsed keys by modulus and exponent.
static PARSED: LazyLock<Cache<[Vec<u8>; 2], Arc<ParsedPublicKey>>> = LazyLock::new(|| Cache::new(CAPACITY));

/// Makes `jsonwebtoken` use this module, in a process that has not used it for a token before.
pub(crate) fn install() {
    // refused when it is installed already
    let _ = PROVIDER.install_default();
}

struct Rs256(Arc<ParsedPublicKey>);

impl Verifier<Vec<u8>> for Rs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Error> {
        self.0.verify_sig(message, signature).map_err(Error::from_source)
    }
}

impl JwtVerifier for Rs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> errors::Result<Box<dyn JwtVerifier>> {
    match (algorithm, key.kind()) {
        (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
            Ok(Box::new(Rs256(parsed([n.clone(), e.clone()])?)))
        }
        _ => (aws_lc::DEFAULT_PROVIDER.verifier_factory)(algorithm, key),
    }
}

fn parsed(key: [Vec<u8>; 2]) -> errors::Result<Arc<ParsedPublicKey>> {
    if let Some(parsed) = PARSED.get(&key) {
        return Ok(parsed);
    }
    let components = RsaPublicKeyComponents { n: &key[0], e: &key[1] };
    let parsed = components
        .to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256)
        .map_err(|error| ErrorKind::InvalidRsaKey(error.to_string()))?;
    let parsed = Arc::new(parsed);
    PARSED.insert(key, Arc::clone(&parsed));
    Ok(parsed)
}
