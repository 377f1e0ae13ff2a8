//! Forged access tokens.

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use encryption::{Cipher, Encrypted, EncryptionKey};
use ids::SigningKeyId;
use jiff::Timestamp;
use jsonwebtoken::EncodingKey;
use serde_json::{Map, Value, json};
use sqlx::Connection;
use testkit::TestDb;

/// Signs tokens with the key of the identity service, and with others.
pub(crate) struct Forge {
    kid: String,
    key: EncodingKey,
    /// The public key of the identity service, as an attacker has it.
    public: Value,
    public_pem: String,
    other: EncodingKey,
}

impl Forge {
    /// Takes the key from the database of the identity service.
    pub(crate) async fn new(db: &TestDb, keys: &[EncryptionKey]) -> Self {
        let mut conn = db.admin().await;
        let key = "select id, wrapped_by, private_key, public_jwk from identity.signing_keys
                   order by active_from limit 1";
        let (id, key_id, bytes, public): (SigningKeyId, String, Vec<u8>, Value) =
            sqlx::query_as(key).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        let cipher = Cipher::new(atelier_identity::NAME, keys).unwrap();
        let pkcs8 = cipher.decrypt(&Encrypted { key_id, bytes }, &id.to_string()).unwrap();
        let pair = KeyPair::from_pkcs8(&pkcs8).unwrap();
        let spki: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let other = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let other: aws_lc_rs::encoding::Pkcs8V1Der<'_> = other.as_der().unwrap();
        Self {
            kid: id.to_string(),
            key: encoding_key(&pkcs8),
            public,
            public_pem: pem("PUBLIC KEY", spki.as_ref()),
            other: encoding_key(other.as_ref()),
        }
    }

    /// A token with the claims of `good` that must be accepted: without it, the forged ones prove nothing.
    #[must_use]
    pub(crate) fn accepted(&self, good: &str) -> String {
        self.sign(&claims(good))
    }

    /// Forged variants of `good`, each with what is wrong with it.
    #[must_use]
    pub(crate) fn refused(&self, good: &str) -> Vec<(&'static str, String)> {
        let claims = claims(good);
        let now = Timestamp::now().as_second();
        let with = |name: &str, value: Value| {
            let mut claims = claims.clone();
            claims.insert(name.to_owned(), value);
            self.sign(&claims)
        };
        let without = |name: &str| {
            let mut claims = claims.clone();
            claims.remove(name);
            self.sign(&claims)
        };
        let secret = |secret: &[u8]| EncodingKey::from_secret(secret);
        let header = |alg: &str| json!({ "typ": "JWT", "alg": alg, "kid": self.kid });
        let modulus = URL_SAFE_NO_PAD.decode(self.public["n"].as_str().unwrap()).unwrap();
        let signature = good.rsplit('.').next().unwrap();
        vec![
            ("expired", with("exp", json!(now - 60))),
            ("not yet valid", with("nbf", json!(now + 3600))),
            ("exp is text", with("exp", json!("9999999999"))),
            ("exp is null", with("exp", Value::Null)),
            ("no exp", without("exp")),
            ("another audience", with("aud", json!("another"))),
            ("no audience", without("aud")),
            ("another issuer", with("iss", json!("http://attacker.test"))),
            ("no issuer", without("iss")),
            ("no subject", without("sub")),
            ("no role", without("role")),
            ("unknown role", with("role", json!("root"))),
            ("a tenant that is no id", with("tid", json!("all"))),
            ("alg none", format!("{}.", unsigned(&header("none"), &claims))),
            ("alg none with a signature", format!("{}.{signature}", unsigned(&header("none"), &claims))),
            ("alg NONE", format!("{}.", unsigned(&header("NONE"), &claims))),
            (
                "HS256 with the public key",
                hmac(&header("HS256"), &claims, &secret(self.public_pem.as_bytes())),
            ),
            ("HS256 with the modulus", hmac(&header("HS256"), &claims, &secret(&modulus))),
            (
                "unknown key id",
                self.sign_by(&json!({ "alg": "RS256", "kid": "unknown" }), &claims, &self.key),
            ),
            ("no key id", self.sign_by(&json!({ "alg": "RS256" }), &claims, &self.key)),
            ("another key", self.sign_by(&header("RS256"), &claims, &self.other)),
            (
                "a key of its own",
                self.sign_by(
                    &json!({ "alg": "RS256", "kid": self.kid, "jwk": self.public }),
                    &claims,
                    &self.other,
                ),
            ),
            ("changed claims", {
                let mut claims = claims.clone();
                claims.insert("adm".into(), true.into());
                format!("{}.{signature}", unsigned(&header("RS256"), &claims))
            }),
            ("no signature", good.rsplit_once('.').unwrap().0.to_owned() + "."),
            ("not a token", "x.y.z".to_owned()),
        ]
    }

    fn sign(&self, claims: &Map<String, Value>) -> String {
        self.sign_by(&json!({ "typ": "JWT", "alg": "RS256", "kid": self.kid }), claims, &self.key)
    }

    #[expect(clippy::unused_self, reason = "as the other signatures")]
    fn sign_by(&self, header: &Value, claims: &Map<String, Value>, key: &EncodingKey) -> String {
        let message = unsigned(header, claims);
        let algorithm = jsonwebtoken::Algorithm::RS256;
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
        format!("{message}.{signature}")
    }
}

fn hmac(header: &Value, claims: &Map<String, Value>, key: &EncodingKey) -> String {
    let message = unsigned(header, claims);
    let algorithm = jsonwebtoken::Algorithm::HS256;
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// Header and claims, encoded.
fn unsigned(header: &Value, claims: &Map<String, Value>) -> String {
    let encode = |value: String| URL_SAFE_NO_PAD.encode(value);
    format!("{}.{}", encode(header.to_string()), encode(Value::Object(claims.clone()).to_string()))
}

/// The claims of a token.
fn claims(token: &str) -> Map<String, Value> {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

/// Converts a PKCS#8 key to PEM: from DER the JWT library accepts PKCS#1 only.
fn encoding_key(pkcs8: &[u8]) -> EncodingKey {
    EncodingKey::from_rsa_pem(pem("PRIVATE KEY", pkcs8).as_bytes()).unwrap()
}
