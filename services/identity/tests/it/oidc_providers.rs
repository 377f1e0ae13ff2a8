//! What OpenID providers send: claims, keys, algorithms, descriptions.

use atelier_identity::{App, ClaimRule, EmailTrust, OidcProvider};
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair, KeySize, PublicKeyComponents},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
        RSA_PSS_SHA512,
    },
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use testkit::Response;

use crate::oidc::{Fixture, Special, assert_failed};

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key of a provider.
enum Key {
    Rsa(KeyPair),
    Ec(&'static str, EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Key {
    fn rsa() -> Self {
        Self::Rsa(KeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    fn jwk(&self) -> Value {
        match self {
            Self::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({ "kty": "RSA", "use": "sig", "n": encoded(&public.n), "e": encoded(&public.e) })
            }
            Self::Ec(curve, pair) => {
                // 0x04, x, y
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({ "kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y) })
            }
            Self::Ed(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encoded(pair.public_key().as_ref()) })
            }
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let text =
            format!("{}.{}", encoded(header.to_string().as_bytes()), encoded(claims.to_string().as_bytes()));
        let random = SystemRandom::new();
        let signature = match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let padding: &dyn aws_lc_rs::signature::RsaEncoding = match header["alg"].as_str().unwrap() {
                    "RS256" => &RSA_PKCS1_SHA256,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    _ => &RSA_PSS_SHA512,
                };
                pair.sign(padding, &random, text.as_bytes(), &mut signature).unwrap();
                signature
            }
            Self::Ec(_, pair) => pair.sign(&random, text.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
        };
        format!("{text}.{}", encoded(&signature))
    }
}

fn with_kid(mut jwk: Value, kid: &str) -> Value {
    jwk["kid"] = json!(kid);
    jwk
}

impl Fixture {
    /// Signs in with a token of this header and key.
    async fn sign_in_signed(&self, key: &Key, header: &Value) -> Response {
        let claims = self.provider.claims("ada", "ada@corp.test");
        self.sign_in_with(&claims, |claims, _| *claims = json!(key.sign(header, claims))).await
    }
}

#[track_caller]
fn assert_signed_in(answer: &Response, what: &str) {
    assert_eq!((answer.status, answer.header("location")), (303, Some("/studio?tab=1")), "{what}");
}

#[tokio::test]
async fn tokens_are_signed_with_any_common_algorithm() {
    let (rsa, ed) = (Key::rsa(), Key::Ed(Ed25519KeyPair::generate().unwrap()));
    let es256 = Key::Ec("P-256", EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap());
    let es384 = Key::Ec("P-384", EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap());
    let mut for_encryption = with_kid(Key::rsa().jwk(), "enc");
    (for_encryption["use"], for_encryption["alg"]) = (json!("enc"), json!("RSA-OAEP"));
    let mut of_one_algorithm = with_kid(rsa.jwk(), "rs256");
    of_one_algorithm["alg"] = json!("RS256");
    let keys = json!({ "keys": [
        for_encryption, of_one_algorithm, with_kid(rsa.jwk(), "rsa"), with_kid(es256.jwk(), "es256"),
        with_kid(es384.jwk(), "es384"), with_kid(ed.jwk(), "ed"),
        { "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA", "kid": "es512" },
    ]});
    let fixture = Fixture::of(Special { keys: Some(keys), ..Special::default() }, |_| {}).await;
    for (key, alg, kid, accepted) in [
        (&rsa, "RS256", "rsa", true),
        (&rsa, "RS384", "rsa", true),
        (&rsa, "RS512", "rsa", true),
        (&rsa, "PS256", "rsa", true),
        (&rsa, "PS384", "rsa", true),
        (&rsa, "PS512", "rsa", true),
        (&es256, "ES256", "es256", true),
        (&es384, "ES384", "es384", true),
        (&ed, "EdDSA", "ed", true),
        (&rsa, "RS256", "rs256", true),
        (&rsa, "RS512", "rs256", false),
        (&es256, "ES256", "rsa", false),
        (&es256, "ES384", "es256", false),
        (&rsa, "HS256", "rsa", false),
        (&rsa, "RS256", "unknown", false),
    ] {
        let answer = fixture.sign_in_signed(key, &json!({ "alg": alg, "kid": kid })).await;
        match accepted {
            true => assert_signed_in(&answer, &format!("{alg} {kid}")),
            false => assert_failed(&answer, "sign-in-failed"),
        }
    }
}

#[tokio::test]
async fn a_token_need_not_name_its_key() {
    let (one, other, stranger) = (Key::rsa(), Key::rsa(), Key::rsa());
    let unnamed = json!({ "alg": "RS256" });
    for (what, keys) in [
        ("one key without an id", json!([one.jwk()])),
        ("one key with an id", json!([with_kid(one.jwk(), "a")])),
        ("several keys", json!([with_kid(other.jwk(), "a"), with_kid(one.jwk(), "b")])),
        ("several keys without ids", json!([other.jwk(), one.jwk()])),
    ] {
        let keys = Some(json!({ "keys": keys }));
        let fixture = Fixture::of(Special { keys, ..Special::default() }, |_| {}).await;
        assert_signed_in(&fixture.sign_in_signed(&one, &unnamed).await, what);
        assert_failed(&fixture.sign_in_signed(&stranger, &unnamed).await, "sign-in-failed");
    }
    // a key needs no id, even if the token names one
    let keys = Some(json!({ "keys": [one.jwk()] }));
    let fixture = Fixture::of(Special { keys, ..Special::default() }, |_| {}).await;
    assert_signed_in(
        &fixture.sign_in_signed(&one, &json!({ "alg": "RS256", "kid": "x" })).await,
        "a key without id",
    );
}

const DIRECTORY: &str = "11111111-2222-3333-4444-555555555555";

/// What a provider sends, and the resulting user.
struct Case {
    provider: &'static str,
    special: Special,
    /// Claims in addition to the default ones; null removes one.
    claims: Value,
    configured: fn(&mut OidcProvider),
    email: Option<&'static str>,
}

fn rule(name: &str, value: &str) -> ClaimRule {
    ClaimRule { name: name.to_owned(), value: value.to_owned() }
}

fn cases() -> Vec<Case> {
    let plain = || Special::default();
    let info = |info: Value| Special { user_info: Some(info), ..Special::default() };
    let entra = || Special {
        description: json!({ "issuer": "{url}/{tenantid}/v2.0" }),
        path: "/organizations/v2.0",
        ..Special::default()
    };
    let of_directory =
        json!({ "iss": format!("{{url}}/{DIRECTORY}/v2.0"), "tid": DIRECTORY, "email_verified": null });
    vec![
        Case {
            provider: "Keycloak: roles of the realm and of a client",
            special: plain(),
            claims: json!({ "azp": "atelier", "realm_access": { "roles": ["offline_access", "artist"] },
                            "resource_access": { "atelier.test": { "roles": ["user"] } } }),
            configured: |corp| {
                corp.required_claims = vec![
                    rule("realm_access.roles", "artist"),
                    rule("resource_access.atelier.test.roles", "user"),
                ];
            },
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "Keycloak: without the role",
            special: plain(),
            claims: json!({ "realm_access": { "roles": ["offline_access"] } }),
            configured: |corp| corp.required_claims = vec![rule("realm_access.roles", "artist")],
            email: None,
        },
        Case {
            provider: "Google: another domain",
            special: plain(),
            claims: json!({ "hd": "other.test" }),
            configured: |corp| corp.required_claims = vec![rule("hd", "corp.test")],
            email: None,
        },
        Case {
            provider: "Google: the own domain",
            special: plain(),
            claims: json!({ "hd": "corp.test", "azp": "atelier", "at_hash": "x" }),
            configured: |corp| corp.required_claims = vec![rule("hd", "corp.test")],
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "Okta: a thin ID token, the rest in the user info",
            special: info(
                json!({ "sub": "ada", "email": "ada@corp.test", "email_verified": true, "groups": ["Everyone"] }),
            ),
            claims: json!({ "email": null, "email_verified": null, "name": null }),
            configured: |corp| corp.required_claims = vec![rule("groups", "Everyone")],
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "user info of another person",
            special: info(json!({ "sub": "boss", "email": "boss@corp.test", "email_verified": true })),
            claims: json!({ "email": null }),
            configured: |_| {},
            email: None,
        },
        Case {
            provider: "user info that verifies another address",
            special: info(json!({ "sub": "ada", "email": "ada@corp.test", "email_verified": true })),
            claims: json!({ "email": "boss@corp.test", "email_verified": null }),
            configured: |_| {},
            email: None,
        },
        Case {
            provider: "Dex: a group as text",
            special: plain(),
            claims: json!({ "groups": "artists", "federated_claims": { "connector_id": "ldap" } }),
            configured: |corp| {
                corp.required_claims =
                    vec![rule("groups", "artists"), rule("federated_claims.connector_id", "ldap")];
            },
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "Authentik: says that no address is verified",
            special: plain(),
            claims: json!({ "email_verified": false }),
            configured: |corp| corp.claims.email_trust = EmailTrust::UnlessDenied,
            email: None,
        },
        Case {
            provider: "Authentik: its addresses count all the same",
            special: plain(),
            claims: json!({ "email_verified": false, "groups": ["authentik Admins"] }),
            configured: |corp| corp.claims.email_trust = EmailTrust::Always,
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "ADFS: upn, a group as text, an issuer of access tokens",
            special: Special {
                description: json!({ "access_token_issuer": "{url}/adfs/services/trust" }),
                ..plain()
            },
            claims: json!({ "email": null, "email_verified": null, "upn": "ada@corp.test", "group": "Artists" }),
            configured: |corp| {
                corp.claims.email = "upn".to_owned();
                corp.claims.email_trust = EmailTrust::UnlessDenied;
                corp.required_claims = vec![rule("group", "Artists")];
            },
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "no email_verified: not trusted by default",
            special: plain(),
            claims: json!({ "email_verified": null }),
            configured: |_| {},
            email: None,
        },
        Case {
            provider: "Entra ID: people of one of several directories",
            special: entra(),
            claims: {
                let mut claims = of_directory.clone();
                claims["email"] = Value::Null;
                claims["preferred_username"] = json!("ada@corp.test");
                claims
            },
            configured: |corp| {
                corp.issuer = format!("{}/{{tenantid}}/v2.0", corp.issuer);
                corp.tenant_ids = vec![DIRECTORY.to_owned()];
                corp.claims.email = "preferred_username".to_owned();
                corp.claims.email_trust = EmailTrust::UnlessDenied;
            },
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "Entra ID: of any directory, with the claim about the owner of the domain",
            special: entra(),
            claims: {
                let mut claims = of_directory.clone();
                claims["xms_edov"] = json!("1");
                claims
            },
            configured: |corp| {
                corp.issuer = format!("{}/organizations/v2.0", corp.issuer);
                corp.claims.email_verified = "xms_edov".to_owned();
            },
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "Entra ID: of another directory",
            special: entra(),
            claims: of_directory.clone(),
            configured: |corp| {
                corp.issuer = format!("{}/{{tenantid}}/v2.0", corp.issuer);
                corp.tenant_ids = vec!["99999999-2222-3333-4444-555555555555".to_owned()];
                corp.claims.email_trust = EmailTrust::UnlessDenied;
            },
            email: None,
        },
        Case {
            provider: "Entra ID: the issuer of another directory than the one named",
            special: entra(),
            claims: {
                let mut claims = of_directory;
                claims["tid"] = json!("99999999-2222-3333-4444-555555555555");
                claims
            },
            configured: |corp| corp.issuer = format!("{}/organizations/v2.0", corp.issuer),
            email: None,
        },
        Case {
            provider: "for several clients, of which we are the party",
            special: plain(),
            claims: json!({ "aud": ["other", "atelier"], "azp": "atelier" }),
            configured: |_| {},
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "for several clients, of which another is the party",
            special: plain(),
            claims: json!({ "aud": ["other", "atelier"], "azp": "other" }),
            configured: |_| {},
            email: None,
        },
        Case {
            provider: "for several clients, without a party",
            special: plain(),
            claims: json!({ "aud": ["other", "atelier"] }),
            configured: |_| {},
            email: None,
        },
        Case {
            provider: "for us, in a list",
            special: plain(),
            claims: json!({ "aud": ["atelier"] }),
            configured: |_| {},
            email: Some("ada@corp.test"),
        },
        Case {
            provider: "a description with a slash at the end",
            special: Special { description: json!({ "issuer": "{url}/" }), ..plain() },
            claims: json!({ "iss": "{url}/" }),
            configured: |_| {},
            email: Some("ada@corp.test"),
        },
    ]
}

/// Every third case: each has a platform of its own.
async fn sign_in_third(first: usize) {
    let some = cases().into_iter().skip(first).step_by(3);
    for Case { provider, special, claims: more, configured, email } in some {
        let fixture = Fixture::of(special, configured).await;
        let mut claims = fixture.provider.claims("ada", "ada@corp.test");
        let more: Value =
            serde_json::from_str(&more.to_string().replace("{url}", &fixture.provider.url)).unwrap();
        for (name, value) in more.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
                value => claims[name] = value.clone(),
            }
        }
        let answer = fixture.sign_in(&claims).await;
        let Some(email) = email else {
            let failed = answer.header("location").unwrap();
            assert!(failed.starts_with("/studio?tab=1&sign_in_error="), "{provider}: {failed}");
            fixture.platform.process.shutdown.begin();
            continue;
        };
        assert_signed_in(&answer, provider);
        let client = fixture.session(&answer).await;
        let me = client.get("/v1/me").await.expect(200);
        assert_eq!(me.body["user"]["email"], email, "{provider}");
        // it is the account of this provider, and the last way to sign in
        let accounts = client.get("/v1/me/linked-accounts").await.expect(200);
        assert_eq!(accounts.body["items"][0]["provider"], "corp", "{provider}");
        let account = format!("/v1/me/linked-accounts/{}", accounts.body["items"][0]["id"].as_str().unwrap());
        client.delete(&account).await.expect_problem(409, "last-sign-in-method");
        assert_signed_in(&fixture.sign_in(&claims).await, provider);
        fixture.platform.process.shutdown.begin();
    }
}

#[tokio::test]
async fn people_of_common_providers_sign_in() {
    sign_in_third(0).await;
}

#[tokio::test]
async fn people_of_further_providers_sign_in() {
    sign_in_third(1).await;
}

#[tokio::test]
async fn people_of_other_providers_sign_in() {
    sign_in_third(2).await;
}

#[tokio::test]
async fn clocks_of_providers_may_differ() {
    let fixture = Fixture::with(|_| {}).await;
    for (what, claim, seconds, accepted) in [
        ("it is ahead", "nbf", 90, true),
        ("it is ahead", "iat", 90, true),
        ("it is behind", "exp", -90, true),
        ("too far ahead", "nbf", 300, false),
        ("expired", "exp", -300, false),
    ] {
        let mut claims = fixture.provider.claims("ada", "ada@corp.test");
        claims[claim] = json!(claims["iat"].as_i64().unwrap() + seconds);
        let answer = fixture.sign_in(&claims).await;
        match accepted {
            true => assert_signed_in(&answer, what),
            false => assert_failed(&answer, "sign-in-failed"),
        }
    }
}

#[tokio::test]
async fn a_provider_that_cannot_work_is_refused_before_anybody_goes_there() {
    for (what, description) in [
        ("algorithms", json!({ "id_token_signing_alg_values_supported": ["HS256", "none"] })),
        ("response types", json!({ "response_types_supported": ["id_token", "id_token token"] })),
        (
            "how clients prove who they are",
            json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"] }),
        ),
        ("another issuer", json!({ "issuer": "https://evil.test" })),
    ] {
        let fixture = Fixture::of(Special { description, ..Special::default() }, |_| {}).await;
        let answer = fixture.platform.client.get("/v1/sign-in/corp").await;
        assert_eq!(answer.status, 503, "{what}");
        answer.expect_problem(503, "unavailable");
    }
    let description =
        json!({ "id_token_signing_alg_values_supported": ["none", "ES384"], "response_types_supported": [] });
    let fixture = Fixture::of(Special { description, ..Special::default() }, |_| {}).await;
    let _ = fixture.platform.client.get("/v1/sign-in/corp").await.expect(302);
}

#[tokio::test]
async fn the_service_does_not_start_with_a_provider_that_lets_anybody_in_as_anybody() {
    let fixture = Fixture::with(|_| {}).await;
    let refused = |change: fn(&mut OidcProvider)| {
        let mut config = fixture.platform.config().clone();
        change(&mut config.oidc_providers[0]);
        App::new(config, service::Process::default()).err().map(|error| error.to_string())
    };
    let everyone = |corp: &mut OidcProvider| {
        corp.issuer = "https://login.microsoftonline.com/{tenantid}/v2.0".to_owned();
        corp.claims.email_trust = EmailTrust::UnlessDenied;
    };
    let error = refused(everyone).unwrap();
    assert!(error.contains("oidc_providers: corp") && error.contains("tenant_ids"), "{error}");
    let error = refused(|corp| corp.scopes = vec!["email".to_owned()]).unwrap();
    assert!(error.contains("openid"), "{error}");
    assert_eq!(refused(|corp| corp.claims.email_trust = EmailTrust::Always), None);
}
