//! Passkeys: registration, sign-in with one alone and after the password, and what is refused.

use atelier_identity::PasskeyConfig;
use serde_json::{Value, json};
use testkit::{Client, Response};

use crate::{
    authenticator::{Authenticator, ORIGIN, RP_ID},
    platform::{PASSWORD, Platform},
    totp::{base32, code},
};

const EMAIL: &str = "ada@x.test";

/// A user with a passkey.
struct Fixture {
    platform: Platform,
    admin: Client,
    user: String,
    client: Client,
    passkey: Authenticator,
    /// Id of the passkey.
    id: String,
}

async fn platform() -> Platform {
    Platform::with(|config| {
        config.passkeys =
            Some(PasskeyConfig { rp_id: RP_ID.to_owned(), origins: vec![ORIGIN.parse().unwrap()] });
    })
    .await
}

/// Begins a registration and returns the options.
async fn registration(client: &Client) -> Value {
    let begun = client.post("/v1/me/passkey-registrations", Value::Null).await.expect(201);
    begun.body["public_key"].clone()
}

async fn register(client: &Client, name: &str) -> (Authenticator, String) {
    let options = registration(client).await;
    let mut passkey = Authenticator::new(&options);
    let body = json!({ "name": name, "credential": passkey.create(&options) });
    let created = client.post("/v1/me/passkeys", body).await.expect(201);
    (passkey, created.str("id").to_owned())
}

/// Begins a sign-in and returns the options.
async fn challenge(client: &Client) -> Value {
    let begun = client.post("/v1/sessions/passkey-challenges", Value::Null).await.expect(201);
    assert_eq!(begun.header("cache-control"), Some("no-store"));
    begun.body["public_key"].clone()
}

async fn sign_in(client: &Client, credential: &Value) -> Response {
    client.post("/v1/sessions/passkey", json!({ "credential": credential })).await
}

impl Fixture {
    async fn new() -> Self {
        let platform = platform().await;
        let admin = platform.admin().await;
        let user = platform.user(&admin, EMAIL).await;
        let client = platform.as_user(EMAIL).await;
        let (passkey, id) = register(&client, "laptop").await;
        Self { platform, admin, user, client, passkey, id }
    }

    /// Signs in with the passkey, after `change`.
    async fn sign_in(&mut self, change: impl FnOnce(&mut Authenticator)) -> Response {
        let options = challenge(&self.platform.client).await;
        change(&mut self.passkey);
        sign_in(&self.platform.client, &self.passkey.get(&options)).await
    }
}

#[tokio::test]
async fn a_passkey_signs_in_without_a_password() {
    let mut fixture = Fixture::new().await;
    let tenant = fixture.platform.tenant(&fixture.admin, "studio").await;
    fixture.platform.member(&fixture.admin, &tenant, &fixture.user, "owner").await;
    let session = fixture.sign_in(|_| {}).await.expect(200);
    assert_eq!(session.header("cache-control"), Some("no-store"));
    let client = fixture.platform.client.token(session.str("access_token"));
    let me = client.get("/v1/me").await.expect(200);
    assert_eq!((&me.body["user"]["email"], &me.body["role"]), (&json!(EMAIL), &json!("owner")));
    let refresh = json!({ "refresh_token": session.str("refresh_token") });
    let _ = fixture.platform.client.post("/v1/sessions/refresh", refresh).await.expect(200);

    // the sign-in is in the audit log of the tenant, the registration in that of the platform
    let log = client.get("/v1/audit").await.expect(200).body;
    let entry = &log["items"][0];
    assert_eq!((&entry["operation"], &entry["status"]), (&json!("POST /v1/sessions/passkey"), &json!(200)));
    assert_eq!(entry["user_id"], fixture.user);
    assert!(entry["session_id"].as_str().unwrap().starts_with("ses_"));
    let log = fixture.admin.get("/v1/platform-audit").await.expect(200).body["items"].clone();
    let registered =
        log.as_array().unwrap().iter().find(|entry| entry["operation"] == "POST /v1/me/passkeys");
    assert_eq!(registered.unwrap()["fields"], json!(["name", "credential"]));

    // a browser gets a cookie
    let options = challenge(&fixture.platform.client).await;
    let body = json!({ "credential": fixture.passkey.get(&options), "cookie": true, "tenant_id": tenant });
    let answer = fixture.platform.client.post("/v1/sessions/passkey", body).await.expect(200);
    assert_eq!((&answer.body["access_token"], &answer.body["refresh_token"]), (&Value::Null, &Value::Null));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-atelier_session=ses_"), "{cookie}");
    let secret = cookie.split_once('=').unwrap().1.split(';').next().unwrap();
    let body = json!({ "credential": secret, "client_address": "203.0.113.7" });
    let granted = fixture.platform.client.service("gateway").post("/internal/v1/token-exchanges", body).await;
    let _ = granted.expect(200);
    let used = fixture.client.get(&format!("/v1/me/passkeys/{}", fixture.id)).await.expect(200);
    assert!(used.body["last_used_at"].is_string());
}

#[tokio::test]
async fn an_answer_counts_once_for_its_challenge_and_the_platform() {
    let mut fixture = Fixture::new().await;
    let options = challenge(&fixture.platform.client).await;
    let answer = fixture.passkey.get(&options);
    let _ = sign_in(&fixture.platform.client, &answer).await.expect(200);
    sign_in(&fixture.platform.client, &answer).await.expect_problem(401, "passkey-refused");
    // a wrong answer also invalidates the challenge
    let options = challenge(&fixture.platform.client).await;
    fixture.passkey.origin = "https://evil.test".to_owned();
    sign_in(&fixture.platform.client, &fixture.passkey.get(&options))
        .await
        .expect_problem(401, "passkey-refused");
    fixture.passkey.origin = ORIGIN.to_owned();
    sign_in(&fixture.platform.client, &fixture.passkey.get(&options))
        .await
        .expect_problem(401, "passkey-refused");

    type Change = fn(&mut Authenticator);
    let changes: [(&str, Change); 6] = [
        ("another origin", |it| it.origin = "https://evil.test".to_owned()),
        ("a subdomain", |it| it.origin = "https://sub.atelier.test".to_owned()),
        ("plain http", |it| it.origin = "http://atelier.test".to_owned()),
        ("another domain", |it| it.rp_id = "evil.test".to_owned()),
        ("a user who was not verified", |it| it.verifies_user = false),
        ("an unknown passkey", |it| it.credential_id = vec![7; 32]),
    ];
    for (what, change) in changes {
        let credential_id = fixture.passkey.credential_id.clone();
        let answer = fixture.sign_in(change).await;
        assert_eq!(answer.status, 401, "{what}");
        answer.expect_problem(401, "passkey-refused");
        fixture.passkey.origin = ORIGIN.to_owned();
        fixture.passkey.rp_id = RP_ID.to_owned();
        fixture.passkey.verifies_user = true;
        fixture.passkey.credential_id = credential_id;
    }
    let unknown =
        json!({ "rpId": RP_ID, "userVerification": "required", "allowCredentials": [], "challenge": "AAAA" });
    sign_in(&fixture.platform.client, &fixture.passkey.get(&unknown))
        .await
        .expect_problem(401, "passkey-refused");
    // the challenge of a registration is not valid for a sign-in
    let mut options = registration(&fixture.client).await;
    options["rpId"] = json!(RP_ID);
    options["userVerification"] = json!("required");
    options["allowCredentials"] = json!([]);
    sign_in(&fixture.platform.client, &fixture.passkey.get(&options))
        .await
        .expect_problem(401, "passkey-refused");
    // and no challenge is valid after it has expired
    let options = challenge(&fixture.platform.client).await;
    let mut db = fixture.platform.db.admin().await;
    let past = "update identity.passkey_challenges set expires_at = now() - interval '1 second'";
    sqlx::query(past).execute(&mut db).await.unwrap();
    sign_in(&fixture.platform.client, &fixture.passkey.get(&options))
        .await
        .expect_problem(401, "passkey-refused");
    let _ = fixture.sign_in(|_| {}).await.expect(200);
}

#[tokio::test]
async fn another_key_or_user_does_not_sign_in() {
    let mut fixture = Fixture::new().await;
    let eve = fixture.platform.user(&fixture.admin, "eve@x.test").await;
    let client = fixture.platform.as_user("eve@x.test").await;
    let (mut other, _) = register(&client, "eve's").await;
    // eve's key under the id of ada's passkey, and for ada
    let (own_id, own_user) = (other.credential_id.clone(), other.user_handle.clone());
    other.credential_id = fixture.passkey.credential_id.clone();
    other.user_handle = fixture.passkey.user_handle.clone();
    let options = challenge(&fixture.platform.client).await;
    sign_in(&fixture.platform.client, &other.get(&options)).await.expect_problem(401, "passkey-refused");
    // her own passkey, for ada
    other.credential_id = own_id;
    let options = challenge(&fixture.platform.client).await;
    sign_in(&fixture.platform.client, &other.get(&options)).await.expect_problem(401, "passkey-refused");
    // without a user handle
    other.user_handle = Vec::new();
    let options = challenge(&fixture.platform.client).await;
    sign_in(&fixture.platform.client, &other.get(&options)).await.expect_problem(401, "passkey-refused");
    other.user_handle = own_user;
    let options = challenge(&fixture.platform.client).await;
    let session = sign_in(&fixture.platform.client, &other.get(&options)).await.expect(200);
    assert_eq!(session.body["user"]["id"], eve);

    // passkeys of other users are answered like missing ones
    let path = format!("/v1/me/passkeys/{}", fixture.id);
    let change = json!({ "name": "mine" });
    client.get(&path).await.expect_problem(404, "not-found");
    client.patch(&path, "*", change).await.expect_problem(404, "not-found");
    client.delete(&path).await.expect_problem(404, "not-found");
    assert_eq!(client.get("/v1/me/passkeys").await.expect(200).body["items"].as_array().unwrap().len(), 1);
    let _ = fixture.sign_in(|_| {}).await.expect(200);
}

#[tokio::test]
async fn a_counter_that_does_not_increase_is_refused() {
    let mut fixture = Fixture::new().await;
    let options = registration(&fixture.client).await;
    let mut counting = Authenticator::new(&options);
    counting.counter = 5;
    let body = json!({ "name": "security key", "credential": counting.create(&options) });
    let _ = fixture.client.post("/v1/me/passkeys", body).await.expect(201);
    let mut try_with = async |counter: u32| {
        let options = challenge(&fixture.platform.client).await;
        counting.counter = counter;
        sign_in(&fixture.platform.client, &counting.get(&options)).await
    };
    let _ = try_with(10).await.expect(200);
    for counter in [10, 9, 0] {
        try_with(counter).await.expect_problem(401, "passkey-refused");
    }
    let _ = try_with(11).await.expect(200);
    // an authenticator without a counter always sends 0
    for _ in 0..2 {
        let _ = fixture.sign_in(|_| {}).await.expect(200);
    }
}

#[tokio::test]
async fn passkeys_are_renamed_and_deleted() {
    let mut fixture = Fixture::new().await;
    let path = format!("/v1/me/passkeys/{}", fixture.id);
    let read = fixture.client.get(&path).await.expect(200);
    assert_eq!((&read.body["name"], &read.body["last_used_at"]), (&json!("laptop"), &Value::Null));
    let etag = read.header("etag").unwrap();
    for bad in ["", "a\u{202e}b", &"x".repeat(101)] {
        let answer = fixture.client.patch(&path, etag, json!({ "name": bad })).await;
        answer.expect_problem(422, "invalid-field");
    }
    let renamed = fixture.client.patch(&path, etag, json!({ "name": "old laptop" })).await.expect(200);
    assert_eq!(renamed.str("name"), "old laptop");
    let stale = fixture.client.patch(&path, etag, json!({ "name": "x" })).await;
    stale.expect_problem(412, "changed-meanwhile");
    // the use of a passkey does not change its version
    let _ = fixture.sign_in(|_| {}).await.expect(200);
    let read = fixture.client.get(&path).await.expect(200);
    assert_eq!(read.header("etag"), renamed.header("etag"));
    let (_, second) = register(&fixture.client, "phone").await;
    let list = fixture.client.get("/v1/me/passkeys?limit=1").await.expect(200).body;
    assert_eq!(list["items"][0]["name"], "old laptop");
    let next = format!("/v1/me/passkeys?cursor={}", list["next_cursor"].as_str().unwrap());
    assert_eq!(fixture.client.get(&next).await.expect(200).body["items"][0]["id"], second);

    let _ = fixture.client.delete(&path).await.expect(204);
    fixture.client.get(&path).await.expect_problem(404, "not-found");
    fixture.sign_in(|_| {}).await.expect_problem(401, "passkey-refused");
    // administrators remove all of a user
    let of_user = format!("/v1/users/{}/passkeys", fixture.user);
    fixture.client.delete(&of_user).await.expect_problem(403, "forbidden");
    let _ = fixture.admin.delete(&of_user).await.expect(204);
    assert_eq!(fixture.client.get("/v1/me/passkeys").await.expect(200).body["items"], json!([]));
    let missing = fixture.admin.delete("/v1/users/usr_01939f0a7c3d7e6b8a1f4f0d5c2b1a00/passkeys").await;
    missing.expect_problem(404, "not-found");
}

#[tokio::test]
async fn a_registration_belongs_to_its_session() {
    let fixture = Fixture::new().await;
    let options = registration(&fixture.client).await;
    let mut passkey = Authenticator::new(&options);
    let body = json!({ "name": "x", "credential": passkey.create(&options) });
    // another session of the user, and another user
    let other = fixture.platform.as_user(EMAIL).await;
    other.post("/v1/me/passkeys", body.clone()).await.expect_problem(422, "invalid-field");
    fixture.admin.post("/v1/me/passkeys", body.clone()).await.expect_problem(422, "invalid-field");
    for (what, change) in [
        (
            "another origin",
            Box::new(|it: &mut Authenticator| it.origin = "https://evil.test".to_owned())
                as Box<dyn Fn(&mut Authenticator)>,
        ),
        ("another domain", Box::new(|it| it.rp_id = "evil.test".to_owned())),
        ("a user who was not verified", Box::new(|it| it.verifies_user = false)),
    ] {
        let options = registration(&fixture.client).await;
        let mut bad = Authenticator::new(&options);
        change(&mut bad);
        let body = json!({ "name": "x", "credential": bad.create(&options) });
        let answer = fixture.client.post("/v1/me/passkeys", body).await;
        assert_eq!(answer.status, 422, "{what}");
        assert_eq!(answer.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/credential");
    }
    // the first challenge was replaced by later ones
    fixture.client.post("/v1/me/passkeys", body).await.expect_problem(422, "invalid-field");
    // the passkey of another user, under whose id it could sign in otherwise
    let options = registration(&fixture.admin).await;
    let mut copy = Authenticator::new(&options);
    copy.credential_id = fixture.passkey.credential_id.clone();
    let body = json!({ "name": "x", "credential": copy.create(&options) });
    fixture.admin.post("/v1/me/passkeys", body).await.expect_problem(422, "invalid-field");
    // expired
    let options = registration(&fixture.client).await;
    let body = json!({ "name": "x", "credential": Authenticator::new(&options).create(&options) });
    let mut db = fixture.platform.db.admin().await;
    let past = "update identity.passkey_challenges set expires_at = now() - interval '1 second'";
    sqlx::query(past).execute(&mut db).await.unwrap();
    fixture.client.post("/v1/me/passkeys", body).await.expect_problem(422, "invalid-field");
    // an answer registers one passkey, and a repeated request is answered alike
    let options = registration(&fixture.client).await;
    let body = json!({ "name": "x", "credential": Authenticator::new(&options).create(&options) });
    let first = fixture.client.key("once").post("/v1/me/passkeys", body.clone()).await.expect(201);
    let again = fixture.client.key("once").post("/v1/me/passkeys", body.clone()).await.expect(201);
    assert_eq!(first.body, again.body);
    fixture.client.post("/v1/me/passkeys", body).await.expect_problem(422, "invalid-field");
    // API keys register none
    let key = json!({ "name": "ci", "scopes": ["account:write"] });
    let key = fixture.client.post("/v1/api-keys", key).await.expect(201);
    let exchange = json!({ "credential": key.str("secret"), "client_address": "203.0.113.7" });
    let granted =
        fixture.platform.client.service("gateway").post("/internal/v1/token-exchanges", exchange).await;
    let keyed = fixture.platform.client.token(granted.expect(200).str("access_token"));
    keyed.post("/v1/me/passkey-registrations", Value::Null).await.expect_problem(403, "person-required");
}

#[tokio::test]
async fn a_user_has_a_limited_number_of_passkeys() {
    let fixture = Fixture::new().await;
    for n in 1..20 {
        register(&fixture.client, &format!("number {n}")).await;
    }
    let refused = fixture.client.post("/v1/me/passkey-registrations", Value::Null).await;
    let refused = refused.expect_problem(409, "too-many-passkeys");
    assert_eq!(refused.body["limit"], 20);
}

#[tokio::test]
async fn a_passkey_takes_the_place_of_a_code() {
    let mut fixture = Fixture::new().await;
    let enrolled = fixture.client.post("/v1/me/totp", Value::Null).await.expect(201);
    let secret = base32(enrolled.str("secret"));
    let first = json!({ "code": code(&secret, 0) });
    let _ = fixture.client.post("/v1/me/totp/start", first).await.expect(200);
    let client = fixture.platform.client.clone();
    let try_in = async |passkey: Value| {
        let body = json!({ "email": EMAIL, "password": PASSWORD, "passkey": passkey });
        client.post("/v1/sessions", body).await
    };
    try_in(Value::Null).await.expect_problem(401, "second-factor-required");
    let options = challenge(&client).await;
    let answer = fixture.passkey.get(&options);
    let _ = try_in(answer.clone()).await.expect(200);
    try_in(answer).await.expect_problem(401, "second-factor-required");
    // a passkey of another user
    fixture.platform.user(&fixture.admin, "eve@x.test").await;
    let (mut other, _) = register(&fixture.platform.as_user("eve@x.test").await, "eve's").await;
    let options = challenge(&client).await;
    try_in(other.get(&options)).await.expect_problem(401, "second-factor-required");
    // a wrong password counts before the passkey
    let options = challenge(&client).await;
    let body =
        json!({ "email": EMAIL, "password": "not this one", "passkey": fixture.passkey.get(&options) });
    client.post("/v1/sessions", body).await.expect_problem(401, "wrong-credentials");
    // a passkey alone needs no code: it has verified its user
    let _ = fixture.sign_in(|_| {}).await.expect(200);
    // wrong passkeys count as wrong codes
    for _ in 0..3 {
        let options = challenge(&client).await;
        try_in(other.get(&options)).await.expect_problem(401, "second-factor-required");
    }
    try_in(Value::Null).await.expect_problem(429, "too-many-attempts");
}

#[tokio::test]
async fn disabled_and_deleted_users_do_not_sign_in() {
    let mut fixture = Fixture::new().await;
    let user = format!("/v1/users/{}", fixture.user);
    let _ = fixture.admin.patch(&user, "*", json!({ "disabled": true })).await.expect(200);
    fixture.sign_in(|_| {}).await.expect_problem(403, "user-disabled");
    let _ = fixture.admin.patch(&user, "*", json!({ "disabled": false })).await.expect(200);
    let _ = fixture.sign_in(|_| {}).await.expect(200);
    let _ = fixture.admin.delete(&user).await.expect(204);
    fixture.sign_in(|_| {}).await.expect_problem(401, "passkey-refused");
    let mut db = fixture.platform.db.admin().await;
    let left: i64 =
        sqlx::query_scalar("select count(*) from identity.passkeys").fetch_one(&mut db).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn failures_lock_the_client_and_not_the_owner() {
    let mut fixture = Fixture::new().await;
    let stranger = fixture.platform.client.header("x-forwarded-for", "198.51.100.1");
    let mut statuses = Vec::new();
    for _ in 0..21 {
        let options = challenge(&stranger).await;
        fixture.passkey.origin = "https://evil.test".to_owned();
        statuses.push(sign_in(&stranger, &fixture.passkey.get(&options)).await.status);
    }
    assert_eq!(statuses, [401; 21]);
    let options =
        json!({ "rpId": RP_ID, "userVerification": "required", "allowCredentials": [], "challenge": "AAAA" });
    let locked =
        sign_in(&stranger, &fixture.passkey.get(&options)).await.expect_problem(429, "too-many-attempts");
    assert!(locked.header("retry-after").is_some());
    let begin = stranger.post("/v1/sessions/passkey-challenges", Value::Null).await;
    begin.expect_problem(429, "too-many-attempts");
    fixture.passkey.origin = ORIGIN.to_owned();
    let _ = fixture.sign_in(|_| {}).await.expect(200);
    // it does not count as a failed password either
    let _ = fixture.platform.sign_in(EMAIL).await;
}

#[tokio::test]
async fn without_configuration_there_are_no_passkeys() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let begin = admin.post("/v1/me/passkey-registrations", Value::Null).await;
    begin.expect_problem(409, "passkeys-disabled");
    let begin = platform.client.post("/v1/sessions/passkey-challenges", Value::Null).await;
    begin.expect_problem(409, "passkeys-disabled");
    assert_eq!(admin.get("/v1/me/passkeys").await.expect(200).body["items"], json!([]));
}
