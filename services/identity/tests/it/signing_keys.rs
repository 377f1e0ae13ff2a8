use std::collections::BTreeSet;

use auth::{AuthConfig, Verifier};
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::platform::{ADMIN, PASSWORD, Platform};

pub(crate) async fn kids(client: &Client) -> BTreeSet<String> {
    let set = client.get("/.well-known/jwks.json").await.expect(200).body;
    set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

fn kid_of(session: &Value) -> String {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let header = session["access_token"].as_str().unwrap().split('.').next().unwrap();
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    assert_eq!(header["alg"], "RS256");
    header["kid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn tokens_verify_against_the_published_keys() {
    let platform = Platform::start().await;
    let answer = platform.client.get("/.well-known/openid-configuration").await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("public, max-age=300"));
    assert_eq!(answer.body["issuer"], "http://atelier.test");
    assert_eq!(answer.body["jwks_uri"], "http://atelier.test/.well-known/jwks.json");
    let jwks = platform.client.get("/.well-known/jwks.json").await.expect(200);
    assert_eq!(jwks.header("cache-control"), Some("public, max-age=300"));
    let key = &jwks.body["keys"][0];
    assert_eq!((&key["kty"], &key["use"], &key["alg"]), (&json!("RSA"), &json!("sig"), &json!("RS256")));
    for private in ["d", "p", "q", "dp", "dq", "qi"] {
        assert!(key.get(private).is_none(), "{private} is published");
    }

    let config = AuthConfig {
        issuer: "http://atelier.test".to_owned(),
        audience: "atelier".to_owned(),
        jwks_url: Some(format!("{}/.well-known/jwks.json", platform.client.base())),
        keys_seconds: 300,
        claims: auth::ClaimNames::default(),
        revocations: None,
    };
    let verifier = Verifier::new(config, reqwest::Client::new());
    let session = platform.sign_in(ADMIN).await;
    let principal = verifier.verify(session["access_token"].as_str().unwrap()).await.unwrap();
    assert!(principal.admin);
    assert_eq!(principal.tenant, None);
    assert_eq!(principal.user.to_string(), session["user"]["id"].as_str().unwrap());
}

#[tokio::test]
async fn replicas_agree_on_one_first_key_and_on_the_next() {
    let platform = Platform::with(|config| {
        // long enough to sign in before the next key is active
        config.signing.publish_before_seconds = 8;
        config.signing.poll_seconds = 1;
        // signs in repeatedly
        config.sessions.most_per_user = 10_000;
    })
    .await;
    let (second, _end) = platform.replica().await;
    let first = kids(&platform.client).await;
    assert_eq!(first.len(), 1);
    assert_eq!(kids(&second).await, first);

    let admin = platform.admin().await;
    let before = platform.sign_in(ADMIN).await;
    let next = admin.post("/v1/signing-keys/rotate", json!(null)).await.expect(202);
    admin.post("/v1/signing-keys/rotate", json!(null)).await.expect_problem(409, "rotation-under-way");
    assert!(first.contains(&kid_of(&platform.sign_in(ADMIN).await)), "the next key is not used yet");
    for client in [&platform.client, &second] {
        eventually("both keys are published everywhere", async || {
            (kids(client).await.len() == 2).then_some(())
        })
        .await;
    }
    let body = json!({ "email": ADMIN, "password": PASSWORD });
    for client in [&platform.client, &second] {
        eventually("the new key signs", async || {
            let session = client.post("/v1/sessions", body.clone()).await.expect(200).body;
            (kid_of(&session) == next.str("id")).then_some(())
        })
        .await;
    }
    // tokens of the old key are valid until they expire
    let _ = second.token(before["access_token"].as_str().unwrap()).get("/v1/me").await.expect(200);
    let stages: Vec<_> = admin.get("/v1/signing-keys").await.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["stage"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(stages, ["retiring", "active"]);
}

#[tokio::test]
async fn private_keys_are_encrypted_and_hidden_from_the_app_role() {
    let platform = Platform::start().await;
    let mut superuser = platform.db.admin().await;
    let (stored, by): (Vec<u8>, String) =
        sqlx::query_as("select private_key, wrapped_by from identity.signing_keys")
            .fetch_one(&mut superuser)
            .await
            .unwrap();
    assert_eq!(by, "first");
    // PKCS#8 begins with this object identifier of RSA
    let rsa = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    assert!(!stored.windows(rsa.len()).any(|w| w == rsa));
    sqlx::query("set role atelier_identity_app").execute(&mut superuser).await.unwrap();
    let refused =
        sqlx::query("select private_key from identity.signing_keys").fetch_all(&mut superuser).await;
    assert!(refused.unwrap_err().to_string().contains("permission denied"));
}

#[tokio::test]
async fn the_app_role_requests_keys_and_creates_none() {
    let platform = Platform::start().await;
    let mut superuser = platform.db.admin().await;
    sqlx::query("set role atelier_identity_app").execute(&mut superuser).await.unwrap();
    for forbidden in [
        "insert into identity.signing_keys (id, public_jwk, wrapped_by, private_key, active_from)
         values (gen_random_uuid(), '{}', 'first', '', now())",
        "update identity.signing_keys set active_from = now()",
        "delete from identity.signing_keys",
        "delete from identity.signing_key_requests",
    ] {
        let refused = sqlx::query(forbidden).execute(&mut superuser).await;
        assert!(refused.unwrap_err().to_string().contains("permission denied"), "{forbidden}");
    }
}

#[tokio::test]
async fn a_requested_key_is_created_once() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let (_second, _end) = platform.replica().await;
    let once = admin.key("rotate");
    let requested = once.post("/v1/signing-keys/rotate", json!(null)).await.expect(202);
    let again = once.post("/v1/signing-keys/rotate", json!(null)).await.expect(202);
    assert_eq!(requested.body, again.body);
    let listed = eventually("the requested key exists", async || {
        let keys = admin.get("/v1/signing-keys").await.expect(200).body["items"].as_array().unwrap().clone();
        keys.iter().any(|key| key["id"] == requested.body["id"]).then_some(keys)
    })
    .await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!(listed[1]["stage"], "next");
    let left: i64 = sqlx::query_scalar("select count(*) from identity.signing_key_requests")
        .fetch_one(&mut platform.db.admin().await)
        .await
        .unwrap();
    assert_eq!(left, 0);
    admin.post("/v1/signing-keys/rotate", json!(null)).await.expect_problem(409, "rotation-under-way");
}

#[tokio::test]
async fn replicas_that_start_together_create_one_key() {
    let platform = Platform::start().await;
    let mut superuser = platform.db.admin().await;
    sqlx::query("delete from identity.signing_keys").execute(&mut superuser).await.unwrap();
    let ((one, _end), (two, _other_end)) = tokio::join!(platform.replica(), platform.replica());
    let key = kids(&one).await;
    assert_eq!(key.len(), 1);
    assert_eq!(kids(&two).await, key);
    eventually("the first replica follows", async || (kids(&platform.client).await == key).then_some(()))
        .await;
}
