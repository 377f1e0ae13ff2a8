//! The second factor of users who sign in with a password.

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use testkit::{Client, Response};

use crate::platform::{PASSWORD, Platform};

const EMAIL: &str = "ada@x.test";

/// A user with an authenticator app.
struct Fixture {
    platform: Platform,
    admin: Client,
    user: String,
    secret: Vec<u8>,
    recovery_codes: Vec<String>,
}

/// Decodes base 32 without padding.
pub(crate) fn base32(text: &str) -> Vec<u8> {
    let (mut bits, mut word, mut bytes) = (0, 0_u32, Vec::new());
    for byte in text.bytes() {
        let digit = if byte.is_ascii_uppercase() { byte - b'A' } else { byte - b'2' + 26 };
        word = word << 5 | u32::from(digit);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
    }
    bytes
}

/// The code that an app shows `steps` after the present one.
#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
pub(crate) fn code(secret: &[u8], steps: i64) -> String {
    let step = jiff::Timestamp::now().as_second() / 30 + steps;
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret), &step.to_be_bytes());
    let offset = usize::from(tag.as_ref()[19] & 15);
    let word = u32::from_be_bytes(tag.as_ref()[offset..offset + 4].try_into().unwrap());
    format!("{:06}", (word & 0x7fff_ffff) % 1_000_000)
}

async fn sign_in(client: &Client, totp: Option<&str>) -> Response {
    let body = json!({ "email": EMAIL, "password": PASSWORD, "totp": totp });
    client.post("/v1/sessions", body).await
}

impl Fixture {
    async fn new() -> Self {
        let platform = Platform::start().await;
        let admin = platform.admin().await;
        let user = platform.user(&admin, EMAIL).await;
        let client = platform.as_user(EMAIL).await;
        let enrolled = client.post("/v1/me/totp", Value::Null).await.expect(201);
        let secret = base32(enrolled.str("secret"));
        assert_eq!(secret.len(), 20);
        assert!(enrolled.str("url").contains(enrolled.str("secret")));
        let answer = sign_in(&platform.client, None).await;
        assert_eq!(answer.status, 200, "no code is required yet");
        let wrong = json!({ "code": "000000" });
        client.post("/v1/me/totp/start", wrong).await.expect_problem(422, "invalid-field");
        let first = client.post("/v1/me/totp/start", json!({ "code": code(&secret, 0) })).await.expect(200);
        let recovery_codes: Vec<String> =
            serde_json::from_value(first.body["recovery_codes"].clone()).unwrap();
        assert_eq!(recovery_codes.len(), 10);
        Self { platform, admin, user, secret, recovery_codes }
    }

    async fn sign_in(&self, totp: Option<&str>) -> Response {
        sign_in(&self.platform.client, totp).await
    }
}

#[tokio::test]
async fn sign_in_requires_a_code_and_accepts_each_once() {
    let fixture = Fixture::new().await;
    let missing = fixture.sign_in(None).await.expect_problem(401, "second-factor-required");
    let now = code(&fixture.secret, 1);
    let session = fixture.sign_in(Some(&now)).await.expect(200);
    let replayed = fixture.sign_in(Some(&now)).await.expect_problem(401, "second-factor-required");
    assert_ne!(missing.str("detail"), replayed.str("detail"));
    // nor an earlier one
    fixture.sign_in(Some(&code(&fixture.secret, 0))).await.expect_problem(401, "second-factor-required");
    for bad in ["", "000000", "123", "aaaa-aaaa-aaaa-aaaa"] {
        fixture.sign_in(Some(bad)).await.expect_problem(401, "second-factor-required");
    }
    let locked = fixture.sign_in(Some(&code(&fixture.secret, 1))).await;
    locked.expect_problem(429, "too-many-attempts");
    let client = fixture.platform.client.token(session.str("access_token"));
    let read = client.get("/v1/me/totp").await.expect(200);
    assert_eq!((&read.body["enabled"], &read.body["recovery_codes_left"]), (&json!(true), &json!(10)));
    client.post("/v1/me/totp", Value::Null).await.expect_problem(409, "totp-enabled");
}

#[tokio::test]
async fn concurrent_sign_ins_with_one_code_open_one_session() {
    let fixture = Fixture::new().await;
    let now = code(&fixture.secret, 1);
    let all: Vec<_> = (0..4)
        .map(|_| {
            let (client, now) = (fixture.platform.client.clone(), now.clone());
            tokio::spawn(async move { sign_in(&client, Some(&now)).await.status })
        })
        .collect();
    let mut opened = 0;
    for one in all {
        opened += usize::from(one.await.unwrap() == 200);
    }
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn wrong_codes_are_throttled_as_wrong_passwords_are() {
    let fixture = Fixture::new().await;
    // a wrong code was already sent when the second factor was set up
    for _ in 0..5 {
        fixture.sign_in(Some("000000")).await.expect_problem(401, "second-factor-required");
    }
    let now = code(&fixture.secret, 1);
    fixture.sign_in(Some(&now)).await.expect_problem(429, "too-many-attempts");
}

#[tokio::test]
async fn a_recovery_code_works_once() {
    let fixture = Fixture::new().await;
    let code = fixture.recovery_codes[3].to_uppercase();
    let session = fixture.sign_in(Some(&code)).await.expect(200);
    fixture.sign_in(Some(&code)).await.expect_problem(401, "second-factor-required");
    let client = fixture.platform.client.token(session.str("access_token"));
    assert_eq!(client.get("/v1/me/totp").await.expect(200).body["recovery_codes_left"], 9);
    let mut db = fixture.platform.db.admin().await;
    for table in ["totp_factors", "recovery_codes", "idempotency_keys"] {
        let rows = sqlx::AssertSqlSafe(format!(
            "select coalesce(string_agg(t::text, ' '), '') from identity.{table} t"
        ));
        let rows: String = sqlx::query_scalar(rows).fetch_one(&mut db).await.unwrap();
        let secret: String = fixture.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!rows.contains(&secret) && !rows.contains(&fixture.recovery_codes[0]), "{table}: {rows}");
    }
}

#[tokio::test]
async fn the_factor_is_removed_with_a_code_or_by_an_administrator() {
    let fixture = Fixture::new().await;
    let session = fixture.sign_in(Some(&fixture.recovery_codes[0])).await.expect(200);
    let client = fixture.platform.client.token(session.str("access_token"));
    client.post("/v1/me/totp/remove", json!({ "code": "000000" })).await.expect_problem(422, "invalid-field");
    let _ = client.post("/v1/me/totp/remove", json!({ "code": fixture.recovery_codes[1] })).await.expect(204);
    let _ = fixture.sign_in(None).await.expect(200);
    client.post("/v1/me/totp/remove", json!({ "code": "000000" })).await.expect_problem(404, "not-found");

    let fixture = Fixture::new().await;
    let path = format!("/v1/users/{}/totp", fixture.user);
    let session = fixture.sign_in(Some(&fixture.recovery_codes[0])).await.expect(200);
    let client = fixture.platform.client.token(session.str("access_token"));
    client.delete(&path).await.expect_problem(403, "forbidden");
    let _ = fixture.admin.delete(&path).await.expect(204);
    let _ = fixture.sign_in(None).await.expect(200);
    fixture.admin.delete(&path).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn the_secret_is_shown_once() {
    let platform = Platform::start().await;
    let admin = platform.admin().await.key("once");
    let first = admin.post("/v1/me/totp", Value::Null).await.expect(201);
    let again = admin.post("/v1/me/totp", Value::Null).await.expect(201);
    assert!(first.body["secret"].is_string());
    assert_eq!((&again.body["secret"], &again.body["url"]), (&Value::Null, &Value::Null));
}
