//! API keys: what the gateway sends to services instead, and when it asks the identity service.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use atelier_gateway::{Config, Limits};
use auth::{ApiKey, Claims, Revocation, Role};
use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{patch, post},
};
use ids::{ApiKeyId, TenantId};
use serde_json::{Value, json};
use testkit::{Client, SERVICE_TOKEN, eventually};

use crate::platform::Platform;

/// A stand-in for the identity service.
#[derive(Default)]
pub(crate) struct Identity {
    /// Status and body by credential.
    pub(crate) answers: Mutex<HashMap<String, (u16, Value)>>,
    asked: AtomicUsize,
    pub(crate) away: AtomicBool,
    /// A test locks this to delay the answer to an exchange.
    gate: tokio::sync::Mutex<()>,
}

impl Identity {
    async fn answer(&self, headers: &HeaderMap, body: &Value) -> Response {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let _gate = self.gate.lock().await;
        let service = format!("Bearer {SERVICE_TOKEN}");
        assert!(headers.get("authorization").is_some_and(|sent| sent == service.as_str()));
        assert_eq!(body["client_address"], "127.0.0.1");
        if self.away.load(Ordering::SeqCst) {
            return StatusCode::BAD_GATEWAY.into_response();
        }
        let known = self.answers.lock().unwrap().get(body["credential"].as_str().unwrap()).cloned();
        match known {
            Some((status, answer)) => (StatusCode::from_u16(status).unwrap(), Json(answer)).into_response(),
            None => api::Problem::new(api::ProblemType::ApiKeyInvalid, "Unknown.").into_response(),
        }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

pub(crate) struct Fixture {
    pub(crate) platform: Platform,
    pub(crate) identity: Arc<Identity>,
    pub(crate) identity_url: String,
}

/// A key with a valid checksum, another one for each seed.
pub(crate) fn key(seed: u8) -> String {
    let mut byte = seed;
    let made = ApiKey::generate::<Infallible>(|bytes| {
        bytes.fill_with(|| {
            byte = byte.wrapping_mul(167).wrapping_add(13);
            byte
        });
        Ok(())
    });
    made.unwrap().expose().to_owned()
}

impl Fixture {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let identity = Arc::new(Identity::default());
        let state = Arc::clone(&identity);
        let exchange =
            async move |headers: HeaderMap, Json(body): Json<Value>| state.answer(&headers, &body).await;
        let services = Router::new()
            .route("/internal/v1/token-exchanges", post(exchange))
            .route("/v1/sessions/current", patch(async || Json(json!({}))));
        let url = testkit::serve(services).await;
        let platform = Platform::with(|config| {
            config.services["identity"] = url.parse().unwrap();
            change(config);
        })
        .await;
        Self { platform, identity, identity_url: url }
    }

    pub(crate) fn claims(&self) -> Claims {
        let claims = self.platform.issuer.claims(Some((TenantId::new(), Role::Member)), false);
        let id = ApiKeyId::new();
        Claims { sid: Some(auth::session_of(id)), key: Some(id), ..claims }
    }

    /// Has the key exchanged for a token with these claims.
    pub(crate) fn grants(&self, key: &str, claims: &Claims, expires_in: u32, rate: Option<u32>) -> String {
        let token = self.platform.issuer.sign(claims);
        let grant = json!({ "access_token": token, "expires_in": expires_in, "requests_per_second": rate, "creators": [] });
        self.identity.answers.lock().unwrap().insert(key.to_owned(), (200, grant));
        token
    }

    pub(crate) fn client(&self, key: &str) -> Client {
        self.platform.client.token(key)
    }
}

#[tokio::test]
async fn services_see_a_token_instead_of_the_key() {
    let fixture = Fixture::start().await;
    let token = fixture.grants(&key(1), &fixture.claims(), 300, None);
    for path in ["/v1/instances", "/v1/storages", "/v1/stock"] {
        let seen = fixture.client(&key(1)).get(path).await.expect(200);
        assert_eq!(seen.body["headers"]["authorization"], format!("Bearer {token}"));
        assert!(!seen.text.contains("atl_"), "{}", seen.text);
    }
    assert_eq!(fixture.identity.asked(), 1, "the token is remembered");
    let scoped = Claims { scope: Some("instances:read".to_owned()), ..fixture.claims() };
    fixture.grants(&key(2), &scoped, 300, None);
    let _ = fixture.client(&key(2)).get("/v1/instances").await.expect(200);
    fixture.client(&key(2)).get("/v1/storages").await.expect_problem(403, "insufficient-scope");
    // an access token of a user is forwarded unchanged
    let _ = fixture.platform.member().get("/v1/instances").await.expect(200);
    assert_eq!(fixture.identity.asked(), 2);
}

#[tokio::test]
async fn text_that_is_no_key_is_not_asked_for() {
    let fixture = Fixture::start().await;
    let good = key(1);
    let changed = if good.ends_with('a') { "b" } else { "a" };
    for bad in ["atl_", "atl_x", &good[..41], &format!("{}{changed}", &good[..41])] {
        let answer = fixture.client(bad).get("/v1/stock").await.expect_problem(401, "api-key-invalid");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(fixture.identity.asked(), 0);
}

#[tokio::test]
async fn concurrent_requests_share_one_exchange() {
    let fixture = Fixture::start().await;
    fixture.grants(&key(1), &fixture.claims(), 300, None);
    let gate = fixture.identity.gate.lock().await;
    let requests: Vec<_> = (0..20)
        .map(|_| {
            let client = fixture.client(&key(1));
            tokio::spawn(async move { client.get("/v1/stock").await.status })
        })
        .collect();
    eventually("one asks", async || (fixture.identity.asked() == 1).then_some(())).await;
    drop(gate);
    for request in requests {
        assert_eq!(request.await.unwrap(), 200);
    }
    assert_eq!(fixture.identity.asked(), 1);
}

#[tokio::test]
async fn a_refusal_is_remembered_for_a_second() {
    let fixture = Fixture::start().await;
    let client = fixture.client(&key(1));
    let begun = Instant::now();
    client.get("/v1/stock").await.expect_problem(401, "api-key-invalid");
    client.get("/v1/stock").await.expect_problem(401, "api-key-invalid");
    assert_eq!(fixture.identity.asked(), 1);
    fixture.grants(&key(1), &fixture.claims(), 300, None);
    testkit::within(Duration::from_secs(3), "the key is asked for again", async || {
        (client.get("/v1/stock").await.status == 200).then_some(())
    })
    .await;
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    let suspended = api::Problem::new(api::ProblemType::TenantSuspended, "Suspended.");
    let answer = (403, serde_json::to_value(&suspended).unwrap());
    fixture.identity.answers.lock().unwrap().insert(key(2), answer);
    fixture.client(&key(2)).get("/v1/stock").await.expect_problem(403, "tenant-suspended");
}

#[tokio::test]
async fn without_an_answer_no_key_is_accepted() {
    let fixture = Fixture::start().await;
    fixture.identity.away.store(true, Ordering::SeqCst);
    let answer = fixture.client(&key(1)).get("/v1/stock").await.expect_problem(503, "unavailable");
    assert!(answer.header("retry-after").is_some());
    // if the identity service refuses the gateway, the caller gets a server error
    fixture.identity.away.store(false, Ordering::SeqCst);
    let refused =
        serde_json::to_value(api::Problem::unauthenticated("The service token is unknown.")).unwrap();
    fixture.identity.answers.lock().unwrap().insert(key(2), (401, refused));
    fixture.client(&key(2)).get("/v1/stock").await.expect_problem(503, "unavailable");
    // nor is a token that does not verify forwarded
    let stranger = testkit::Issuer::start().await;
    let grant = json!({ "access_token": stranger.admin(), "expires_in": 300, "requests_per_second": null, "creators": [] });
    fixture.identity.answers.lock().unwrap().insert(key(3), (200, grant));
    fixture.client(&key(3)).get("/v1/stock").await.expect_problem(503, "unavailable");
}

#[tokio::test]
async fn without_an_answer_the_last_token_is_used_until_it_expires() {
    let fixture = Fixture::start().await;
    // the gateway uses it for one second; it is valid for two
    fixture.grants(&key(1), &fixture.claims(), 7, None);
    let _ = fixture.client(&key(1)).get("/v1/stock").await.expect(200);
    fixture.identity.away.store(true, Ordering::SeqCst);
    let mut served_without_answer = false;
    testkit::within(Duration::from_secs(5), "the token is no longer used", async || {
        let status = fixture.client(&key(1)).get("/v1/stock").await.status;
        assert!(matches!(status, 200 | 503), "{status}");
        served_without_answer |= status == 200 && fixture.identity.asked() >= 2;
        (status == 503).then_some(())
    })
    .await;
    assert!(served_without_answer);
}

#[tokio::test]
async fn a_revoked_token_is_exchanged_anew_at_once() {
    let fixture = Fixture::start().await;
    let claims = fixture.claims();
    fixture.grants(&key(1), &claims, 300, None);
    let _ = fixture.client(&key(1)).get("/v1/stock").await.expect(200);
    // a lower role revokes the tokens of the member
    let lesser = Revocation { user_id: Some(claims.sub), tenant_id: claims.tid, ..Revocation::default() };
    fixture.platform.issuer.revoke(lesser);
    let later = Claims { role: Some(Role::Viewer), iat: claims.iat + 5.0, ..claims.clone() };
    let token = fixture.grants(&key(1), &later, 300, None);
    eventually("the new token is used", async || {
        let seen = fixture.client(&key(1)).get("/v1/stock").await.expect(200);
        (seen.body["headers"]["authorization"] == format!("Bearer {token}")).then_some(())
    })
    .await;
    // the end of the key
    fixture.identity.answers.lock().unwrap().remove(&key(1));
    let (begun, session_id) = (Instant::now(), claims.sid);
    let end = Revocation { session_id, ..Revocation::default() };
    // `later` is dated ahead
    testkit::within(Duration::from_secs(10), "the key is refused", async || {
        fixture.platform.issuer.revoke(end);
        (fixture.client(&key(1)).get("/v1/stock").await.status == 401).then_some(())
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn refused_keys_count_as_failed_sign_ins_of_their_address() {
    let limits = Limits { sign_in_burst: 3, sign_ins_per_minute: 1, ..Limits::default() };
    let fixture = Fixture::with(|config| config.limits = limits).await;
    let good = key(100);
    fixture.grants(&good, &fixture.claims(), 300, None);
    let _ = fixture.client(&good).get("/v1/stock").await.expect(200);
    for seed in 1..=3 {
        fixture.client(&key(seed)).get("/v1/stock").await.expect_problem(401, "api-key-invalid");
    }
    let asked = fixture.identity.asked();
    let mut limited = 0;
    for seed in 4..=20 {
        let answer =
            fixture.client(&key(seed)).get("/v1/stock").await.expect_problem(429, "too-many-requests");
        assert!(answer.header("retry-after").is_some());
        limited += 1;
    }
    assert!(fixture.identity.asked() - asked < limited / 2, "most are refused without a call");
    let _ = fixture.client(&good).get("/v1/stock").await.expect(200);
}

#[tokio::test]
async fn a_key_has_a_limit_of_its_own() {
    let fixture = Fixture::start().await;
    fixture.grants(&key(1), &fixture.claims(), 300, Some(2));
    fixture.grants(&key(2), &fixture.claims(), 300, Some(2));
    for status in [200, 200, 429] {
        assert_eq!(fixture.client(&key(1)).get("/v1/stock").await.status, status);
    }
    let _ = fixture.client(&key(2)).get("/v1/stock").await.expect(200);
    let limited = fixture.client(&key(1)).get("/v1/stock").await.expect_problem(429, "too-many-requests");
    assert_eq!(limited.header("ratelimit-policy"), Some("\"api-key\";q=2;w=1"));
}

#[tokio::test]
async fn a_websocket_takes_a_key_as_subprotocol() {
    let fixture = Fixture::start().await;
    let token = fixture.grants(&key(1), &fixture.claims(), 300, None);
    let host = fixture.platform.address.to_string();
    let offered = format!("chat, bearer.{}", key(1));
    let headers = [("sec-websocket-protocol", offered.as_str())];
    let (mut socket, _) =
        crate::websockets::connect(&fixture.platform, &host, "/v1/instances/x/terminal", &headers)
            .await
            .unwrap();
    let greeting = futures::StreamExt::next(&mut socket).await.unwrap().unwrap().into_text().unwrap();
    assert!(greeting.contains(&token) && !greeting.contains("atl_"), "{greeting}");
}

/// A browser's session: the secret in its cookie, and the claims of its token.
fn browser_session(fixture: &Fixture) -> (String, Claims) {
    let session = ids::SessionId::new();
    let secret = auth::SessionSecret::generate::<Infallible>(session, |_| Ok(())).unwrap();
    let claims = fixture.platform.issuer.claims(Some((TenantId::new(), Role::Member)), false);
    (secret.expose().to_owned(), Claims { sid: Some(session), ..claims })
}

#[tokio::test]
async fn the_cookie_of_the_console_becomes_a_token() {
    let fixture = Fixture::start().await;
    let (secret, claims) = browser_session(&fixture);
    let token = fixture.grants(&secret, &claims, 300, None);
    let browser = fixture.platform.client.header("cookie", &format!("theme=dark; atelier_console={secret}"));
    let seen = browser.get("/v1/stock").await.expect(200);
    assert_eq!(seen.body["headers"]["authorization"], format!("Bearer {token}"));
    assert!(seen.body["headers"].get("cookie").is_none() && !seen.text.contains(&secret), "{}", seen.text);

    let origin = format!("http://localhost:{}", fixture.platform.address.port());
    for (name, value, status) in [
        ("origin", origin.as_str(), 200),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "same-site", 403),
        ("origin", "http://inst-1.localhost", 403),
        ("x-other", "1", 403),
    ] {
        let answer = browser.header(name, value).post("/v1/storages", json!({})).await;
        assert_eq!(answer.status, status, "{name}: {value}: {}", answer.text);
    }
    browser.delete("/v1/instances/x").await.expect_problem(403, "cross-origin");
    // a form without a referrer
    let form = browser.header("origin", "null").header("sec-fetch-site", "same-origin");
    let _ = form.post("/v1/storages", json!({})).await.expect(200);
    // `Authorization` comes first: no browser sends it of its own accord
    let own = fixture.platform.issuer.user(TenantId::new(), Role::Viewer);
    let seen = browser.token(&own).post("/v1/storages", json!({})).await.expect(200);
    assert_eq!(seen.body["headers"]["authorization"], format!("Bearer {own}"));
    browser.token("rubbish").get("/v1/stock").await.expect_problem(401, "unauthenticated");
    let other = fixture.platform.client.header("cookie", "atelier_console=rubbish");
    other.get("/v1/stock").await.expect_problem(401, "unauthenticated");
    assert_eq!(fixture.identity.asked(), 1);
}

#[tokio::test]
async fn pages_of_other_origins_neither_read_nor_hold_streams_with_the_cookie() {
    let fixture = Fixture::start().await;
    let (secret, claims) = browser_session(&fixture);
    fixture.grants(&secret, &claims, 300, None);
    let browser = fixture.platform.client.header("cookie", &format!("atelier_console={secret}"));
    let stream = browser.header("accept", "text/event-stream");
    for (client, what) in [(&browser, "a picture or script"), (&stream, "a stream")] {
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "http://evil.test"),
        ] {
            let answer = client.header(name, value).get("/v1/events").await;
            assert_eq!(answer.status, 403, "{what}, {name}: {value}: {}", answer.text);
            answer.expect_problem(403, "cross-origin");
        }
        let own = client.header("sec-fetch-site", "same-origin").header("origin", "null");
        assert_eq!(own.get("/v1/events").await.status, 200, "{what} of the console");
    }
    assert_eq!(browser.get("/v1/events").await.status, 200, "a browser that says nothing");
    let tab = browser.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "navigate");
    tab.header("sec-fetch-dest", "iframe").get("/v1/events").await.expect_problem(403, "cross-origin");
    let _ = tab.header("sec-fetch-dest", "document").get("/v1/events").await.expect(200);
    let own = fixture.platform.issuer.user(TenantId::new(), Role::Viewer);
    let _ = stream.token(&own).header("sec-fetch-site", "cross-site").get("/v1/events").await.expect(200);
}

#[tokio::test]
async fn keys_that_a_key_created_count_against_its_limit() {
    let fixture = Fixture::start().await;
    let creator = ApiKeyId::new();
    for seed in [1, 2] {
        fixture.grants(&key(seed), &fixture.claims(), 300, Some(2));
        let mut answers = fixture.identity.answers.lock().unwrap();
        let limits = json!([{ "api_key_id": creator, "requests_per_second": 2 }]);
        answers.get_mut(&key(seed)).unwrap().1["creators"] = limits;
    }
    for (seed, status) in [(1, 200), (2, 200), (2, 429), (1, 429)] {
        assert_eq!(fixture.client(&key(seed)).get("/v1/stock").await.status, status, "key {seed}");
    }
}

#[tokio::test]
async fn a_websocket_with_the_cookie_comes_from_the_console_itself() {
    let fixture = Fixture::start().await;
    let (secret, claims) = browser_session(&fixture);
    let token = fixture.grants(&secret, &claims, 300, None);
    let host = fixture.platform.address.to_string();
    let (cookie, path) = (format!("atelier_console={secret}"), "/v1/instances/x/terminal");
    for headers in
        [vec![("cookie", cookie.as_str())], vec![("cookie", &cookie), ("origin", "http://evil.test")]]
    {
        let refused = crate::websockets::connect(&fixture.platform, &host, path, &headers).await;
        let Err(tokio_tungstenite::tungstenite::Error::Http(answer)) = refused else { panic!("not refused") };
        assert_eq!(answer.status(), 403);
    }
    let origin = format!("http://localhost:{}", fixture.platform.address.port());
    let headers = [("cookie", cookie.as_str()), ("origin", &origin)];
    let (mut socket, _) = crate::websockets::connect(&fixture.platform, &host, path, &headers).await.unwrap();
    let greeting = futures::StreamExt::next(&mut socket).await.unwrap().unwrap().into_text().unwrap();
    assert!(greeting.contains(&token), "{greeting}");
}

#[tokio::test]
async fn an_ended_session_is_refused() {
    let fixture = Fixture::start().await;
    let (secret, claims) = browser_session(&fixture);
    fixture.grants(&secret, &claims, 300, None);
    let browser = fixture.platform.client.header("cookie", &format!("atelier_console={secret}"));
    let _ = browser.get("/v1/stock").await.expect(200);
    let ended = api::Problem::new(api::ProblemType::SessionEnded, "Ended.");
    let answer = (401, serde_json::to_value(&ended).unwrap());
    fixture.identity.answers.lock().unwrap().insert(secret, answer);
    let begun = Instant::now();
    fixture.platform.issuer.revoke(Revocation { session_id: claims.sid, ..Revocation::default() });
    eventually("the cookie is refused", async || {
        let answer = browser.get("/v1/stock").await;
        (answer.status == 401).then(|| answer.expect_problem(401, "session-ended"))
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn after_a_change_of_the_tenant_no_request_is_sent_with_the_token_before() {
    let fixture = Fixture::start().await;
    fixture.platform.ready().await;
    let (secret, claims) = browser_session(&fixture);
    let before = fixture.grants(&secret, &claims, 300, None);
    let browser = fixture.platform.client.header("cookie", &format!("atelier_console={secret}"));
    let browser = browser.header("sec-fetch-site", "same-origin");
    let sent = async || {
        browser.get("/v1/stock").await.expect(200).body["headers"]["authorization"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(sent().await, format!("Bearer {before}"));
    // to the same tenant: nothing is revoked, and the gateway does not wait
    let change = |tenant| {
        let browser = browser.clone();
        let body = json!({ "tenant_id": tenant });
        tokio::spawn(async move { browser.patch("/v1/sessions/current", "*", body).await.status })
    };
    assert_eq!(change(claims.tid).await.unwrap(), 200);

    let tenant = Some(TenantId::new());
    let later = Claims { tid: tenant, iat: claims.iat + 5.0, ..claims.clone() };
    let after = fixture.grants(&secret, &later, 300, None);
    let mut changed = change(tenant);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut changed).await;
    assert!(early.is_err(), "answered before the gateway knows that the token is revoked");
    fixture.platform.issuer.revoke(Revocation { session_id: claims.sid, ..Revocation::default() });
    assert_eq!(changed.await.unwrap(), 200);
    assert_eq!(sent().await, format!("Bearer {after}"));
}
