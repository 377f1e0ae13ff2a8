//! Valid and invalid tokens, sent to a service that verifies them.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use atelier_auth::{
    Admin, AuthConfig, AuthState, Caller, ClaimNames, Claims, HasAuth, Member, Revocation, Role, User,
    Verifier,
};
use aws_lc_rs::{
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use axum::{Json, Router, http::StatusCode, routing::get};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, Issuer, SERVICE_TOKEN};
use tokio::{net::TcpListener, sync::Mutex, task::JoinSet};

#[derive(Clone)]
struct App(AuthState);

impl HasAuth for App {
    fn auth(&self) -> &AuthState {
        &self.0
    }
}

async fn service(issuer: &Issuer) -> Client {
    let routes = Router::new()
        .route("/user", get(|_: User| async {}))
        .route("/admin", get(|_: Admin| async {}))
        .route("/member", get(async |member: Member| member.tenant.to_string()))
        .route("/writer", get(async |member: Member| member.writer()))
        .route("/owner", get(async |member: Member| member.owner()))
        .route("/internal/v1/usage", get(async |caller: Caller| caller.name))
        .with_state(App(issuer.auth()));
    Client::new(&testkit::serve(routes).await)
}

#[tokio::test]
async fn each_route_accepts_its_roles_only() {
    let issuer = Issuer::start().await;
    let anyone = service(&issuer).await;
    let tenant = TenantId::new();
    let admin = anyone.token(&issuer.admin());
    let viewer = anyone.token(&issuer.user(tenant, Role::Viewer));
    let member = anyone.token(&issuer.user(tenant, Role::Member));
    let peer = anyone.token(SERVICE_TOKEN);

    let _ = admin.get("/admin").await.expect(200);
    admin.get("/member").await.expect_problem(403, "forbidden");
    assert_eq!(viewer.get("/member").await.expect(200).text, tenant.to_string());
    viewer.get("/writer").await.expect_problem(403, "forbidden");
    let _ = member.get("/writer").await.expect(200);
    member.get("/admin").await.expect_problem(403, "forbidden");
    member.get("/owner").await.expect_problem(403, "forbidden");
    let _ = anyone.token(&issuer.user(tenant, Role::Owner)).get("/owner").await.expect(200);
    assert_eq!(peer.get("/internal/v1/usage").await.expect(200).text, "test");
    peer.get("/user").await.expect_problem(401, "unauthenticated");
    member.get("/internal/v1/usage").await.expect_problem(401, "unauthenticated");
    for path in ["/user", "/admin", "/member", "/internal/v1/usage"] {
        let answer = anyone.get(path).await.expect_problem(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[tokio::test]
async fn an_invalid_token_is_refused() {
    let issuer = Issuer::start().await;
    let stranger = Issuer::with_new_key().await;
    let anyone = service(&issuer).await;
    let good = issuer.claims(None, true);
    let _ = anyone.token(&issuer.sign(&good)).get("/user").await.expect(200);

    let token = issuer.sign(&good);
    let (rest, signature) = token.rsplit_once('.').unwrap();
    let (_, payload) = rest.split_once('.').unwrap();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT","kid":"test"}"#);
    let hs256 = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT","kid":"test"}"#);
    let other_payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&issuer.claims(None, true)).unwrap());
    let (invalid, elsewhere) =
        ("The token is not valid.", "The token was issued by or for another platform.");
    let bad = [
        (
            "expired",
            "The token has expired; refresh it.",
            issuer.sign(&Claims { exp: good.exp - 700, ..good.clone() }),
        ),
        ("not yet valid", invalid, {
            let mut claims = serde_json::to_value(&good).unwrap();
            claims["nbf"] = json!(good.exp - 540);
            issuer.sign(&claims)
        }),
        ("other issuer", elsewhere, issuer.sign(&Claims { iss: "https://evil".into(), ..good.clone() })),
        ("other audience", elsewhere, issuer.sign(&Claims { aud: "other".into(), ..good.clone() })),
        ("other key", invalid, stranger.sign(&good)),
        ("alg none", "The token is not a JWT.", format!("{none}.{payload}.")),
        (
            "alg confused",
            "The token's key does not verify this algorithm.",
            format!("{hs256}.{payload}.{signature}"),
        ),
        (
            "payload changed",
            invalid,
            format!("{}.{other_payload}.{signature}", token.split('.').next().unwrap()),
        ),
        ("cut short", invalid, token[..token.len() - 4].to_owned()),
        ("no token", "The token is not a JWT.", "nonsense".to_owned()),
    ];
    for (what, why, token) in bad {
        let answer = anyone.token(&token).get("/user").await.expect_problem(401, "unauthenticated");
        assert_eq!(answer.str("detail"), why, "{what}");
    }
}

#[tokio::test]
async fn the_names_of_claims_can_be_configured() {
    let issuer = Issuer::start().await;
    let config = AuthConfig {
        claims: ClaimNames {
            user: "preferred_username".into(),
            tenant: "atelier_tenant".into(),
            ..ClaimNames::default()
        },
        ..issuer.config()
    };
    let verifier = Verifier::new(config, reqwest::Client::new());
    let (tenant, ours) = (TenantId::new(), issuer.claims(None, false));
    let token = issuer.sign(&json!({
        "iss": ours.iss, "aud": "atelier", "sub": "f:1234:alice", "preferred_username": "alice",
        "atelier_tenant": tenant, "role": "member", "iat": ours.iat, "exp": ours.exp,
    }));
    let principal = verifier.verify(&token).await.unwrap();
    assert_eq!(principal.tenant, Some((tenant, Role::Member)));
    assert_eq!(principal, verifier.verify(&token).await.unwrap());
    assert!(!principal.admin);
    let odd_role = issuer.sign(&json!({
        "iss": ours.iss, "aud": "atelier", "sub": "x", "preferred_username": "alice",
        "atelier_tenant": tenant, "role": "emperor", "exp": ours.exp,
    }));
    assert_eq!(verifier.verify(&odd_role).await.unwrap_err().status, 401);
}

/// A copy of an issuer's published keys that a test can change.
struct Published {
    /// `None`: the issuer answers with an error.
    keys: std::sync::Mutex<Option<Value>>,
    fetches: AtomicUsize,
    /// A test locks this to delay the answer to a fetch.
    answers: Mutex<()>,
}

impl Published {
    /// The keys of `issuer`, and a verifier that fetches them.
    async fn of(issuer: &Issuer) -> (Arc<Self>, Verifier) {
        let keys = reqwest::get(issuer.config().jwks_url.unwrap()).await.unwrap();
        let published = Arc::new(Self {
            keys: std::sync::Mutex::new(Some(keys.json().await.unwrap())),
            fetches: AtomicUsize::new(0),
            answers: Mutex::new(()),
        });
        let state = Arc::clone(&published);
        let answer = async move || {
            state.fetches.fetch_add(1, Ordering::SeqCst);
            let _answers = state.answers.lock().await;
            state.keys.lock().unwrap().clone().map(Json).ok_or(StatusCode::BAD_GATEWAY)
        };
        let url = testkit::serve(Router::new().route("/jwks.json", get(answer))).await;
        let config = AuthConfig { jwks_url: Some(format!("{url}/jwks.json")), ..issuer.config() };
        (published, Verifier::new(config, reqwest::Client::new()))
    }

    /// Returns the keys published so far.
    fn replace(&self, keys: Option<Value>) -> Option<Value> {
        std::mem::replace(&mut *self.keys.lock().unwrap(), keys)
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

/// The token with the id of a key that is not published.
fn with_unknown_key(token: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","typ":"JWT","kid":"unknown"}"#);
    format!("{header}.{}", token.split_once('.').unwrap().1)
}

#[tokio::test]
async fn the_keys_are_fetched_when_needed_and_not_for_each_unknown_key() {
    let issuer = Issuer::start().await;
    let (published, verifier) = Published::of(&issuer).await;
    let token = issuer.admin();
    let keys = published.replace(None);
    for _ in 0..2 {
        assert_eq!(verifier.verify(&token).await.unwrap_err().status, 503);
    }
    assert_eq!(published.fetches(), 1, "backs off after a failure");
    published.replace(keys);
    pass(2).await;
    verifier.verify(&token).await.unwrap();
    for _ in 0..2 {
        assert_eq!(verifier.verify(&with_unknown_key(&token)).await.unwrap_err().status, 401);
    }
    assert_eq!(published.fetches(), 2);
    pass(6).await;
    assert_eq!(verifier.verify(&with_unknown_key(&token)).await.unwrap_err().status, 401);
    assert_eq!(published.fetches(), 3, "the key may be new");
    pass(301).await;
    verifier.verify(&token).await.unwrap();
    verifier.verify(&token).await.unwrap();
    assert_eq!(published.fetches(), 4, "the keys are too old");
}

#[tokio::test]
async fn known_keys_stay_in_use_during_a_fetch_and_while_the_issuer_is_down() {
    let issuer = Issuer::start().await;
    let (published, verifier) = Published::of(&issuer).await;
    verifier.verify(&issuer.admin()).await.unwrap();
    pass(301).await;
    let held = published.answers.lock().await;
    let (first, token) = (verifier.clone(), issuer.admin());
    let first = tokio::spawn(async move { first.verify(&token).await });
    testkit::eventually("the keys are being fetched", async || (published.fetches() == 2).then_some(()))
        .await;
    let second = tokio::time::timeout(Duration::from_secs(1), verifier.verify(&issuer.admin())).await;
    second.expect("does not wait for the fetch").unwrap();
    published.replace(None);
    drop(held);
    first.await.unwrap().unwrap();
}

#[test]
fn a_configuration_needs_the_issuer_only() {
    let config: AuthConfig = serde_json::from_value(json!({"issuer": "https://id.example"})).unwrap();
    assert_eq!((config.audience.as_str(), config.keys_seconds), ("atelier", 300));
}

#[tokio::test]
async fn a_revoked_key_is_refused_once_the_keys_are_too_old() {
    let issuer = Issuer::start().await;
    let (published, verifier) = Published::of(&issuer).await;
    let token = issuer.admin();
    verifier.verify(&token).await.unwrap();
    published.replace(Some(json!({ "keys": [] })));
    pass(299).await;
    verifier.verify(&token).await.unwrap();
    pass(2).await;
    assert_eq!(verifier.verify(&token).await.unwrap_err().status, 401);
}

#[tokio::test]
async fn requests_do_not_queue_for_a_dead_issuer() {
    let issuer = Issuer::start().await;
    // accepts connections but never answers
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let verifier =
        Verifier::new(AuthConfig { jwks_url: Some(url), ..issuer.config() }, reqwest::Client::new());
    let all: JoinSet<_> = (0..5)
        .map(|_| {
            let (verifier, token) = (verifier.clone(), issuer.admin());
            async move { verifier.verify(&token).await }
        })
        .collect();
    let all = tokio::time::timeout(Duration::from_secs(10), all.join_all()).await;
    let all = all.expect("requests wait together, not in a queue");
    assert!(all.into_iter().all(|refused| refused.unwrap_err().status == 503));
}

/// A check costs neither a query (this crate has no access to a database) nor a request: revocations are in memory.
#[tokio::test]
async fn ten_thousand_checks_cost_no_request() {
    let issuer = Issuer::start().await;
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let feed = Router::new().route(
        "/internal/v1/revocations",
        get(move || async move {
            // the first request is answered; the next one waits for a change that never comes
            if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                std::future::pending::<()>().await;
            }
            Json(json!({ "items": [], "next_cursor": "1", "complete": true }))
        }),
    );
    let mut config = issuer.config();
    config.revocations.as_mut().unwrap().url = testkit::serve(feed).await;
    let verifier = Verifier::new(config, reqwest::Client::new());
    let process = service::Process::default();
    process.workers.start("test", verifier.task());
    let token = issuer.user(TenantId::new(), Role::Owner);
    testkit::eventually("the feed is followed", async || (reads.load(Ordering::SeqCst) == 2).then_some(()))
        .await;
    for _ in 0..10_000 {
        verifier.verify(&token).await.unwrap();
    }
    assert_eq!(reads.load(Ordering::SeqCst), 2);
    process.shutdown.begin();
}

#[tokio::test]
async fn a_revoked_token_is_refused_within_a_second() {
    let issuer = Issuer::start().await;
    let verifier = Verifier::new(issuer.config(), reqwest::Client::new());
    let process = service::Process::default();
    process.workers.start("test", verifier.task());
    let claims = issuer.claims(Some((TenantId::new(), Role::Owner)), false);
    let token = issuer.sign(&claims);
    verifier.verify(&token).await.unwrap();
    let begun = std::time::Instant::now();
    issuer.revoke(Revocation { user_id: Some(claims.sub), ..Revocation::default() });
    testkit::eventually("the token is refused", async || verifier.verify(&token).await.err()).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    process.shutdown.begin();
}

/// A key pair of another type than the issuer's.
enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl Pair {
    fn jwk(&self, kid: &str) -> Value {
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Es256(pair) => {
                // 0x04, x, y
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y), "kid": kid })
            }
            Self::EdDsa(pair) => {
                let x = encoded(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "use": "sig", "alg": "EdDSA" })
            }
        }
    }

    /// A token that names any algorithm and key.
    fn sign(&self, alg: &str, kid: &str, claims: &Claims) -> String {
        let text = unsigned(alg, kid, claims);
        let signature = match self {
            Self::Es256(pair) => pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn unsigned(alg: &str, kid: &str, claims: &Claims) -> String {
    let header = json!({ "alg": alg, "typ": "JWT", "kid": kid });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(&header), part(&serde_json::to_value(claims).unwrap()))
}

#[tokio::test]
async fn a_key_verifies_its_own_algorithm_only() {
    let issuer = Issuer::start().await;
    let (published, verifier) = Published::of(&issuer).await;
    let es = Pair::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap());
    let ed = Pair::EdDsa(Ed25519KeyPair::generate().unwrap());
    let rsa = published.replace(None).unwrap()["keys"][0].clone();
    let mut for_encryption = es.jwk("enc");
    for_encryption["use"] = json!("enc");
    let mut of_other_algorithm = rsa.clone();
    (of_other_algorithm["kid"], of_other_algorithm["alg"]) = (json!("rs512"), json!("RS512"));
    let keys = json!([
        rsa, es.jwk("es"), ed.jwk("ed"), for_encryption, of_other_algorithm,
        { "kty": "from the future", "kid": "x" }, { "kty": "oct", "kid": "hmac", "k": "c2VjcmV0" },
    ]);
    published.replace(Some(json!({ "keys": keys })));
    let claims = issuer.claims(None, true);
    for good in [issuer.sign(&claims), es.sign("ES256", "es", &claims), ed.sign("EdDSA", "ed", &claims)] {
        assert_eq!(verifier.verify(&good).await.unwrap().user, claims.sub);
    }

    let hmac = |kid: &str, secret: &[u8]| {
        let text = unsigned("HS256", kid, &claims);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let modulus = URL_SAFE_NO_PAD.decode(rsa["n"].as_str().unwrap()).unwrap();
    let x = URL_SAFE_NO_PAD.decode(ed.jwk("ed")["x"].as_str().unwrap()).unwrap();
    let mut bad = vec![
        ("HS256 with the modulus", hmac("test", &modulus)),
        ("HS256 with the JWK", hmac("test", rsa.to_string().as_bytes())),
        ("HS256 with the Ed25519 key", hmac("ed", &x)),
        ("HS256 with a published secret", hmac("hmac", b"secret")),
        ("none", format!("{}.", unsigned("none", "es", &claims))),
        ("a key for encryption", es.sign("ES256", "enc", &claims)),
        ("no signature", format!("{}.", unsigned("ES256", "es", &claims))),
    ];
    // the key of one algorithm, under the name of another
    for (kid, algorithms) in
        [("test", ["ES256", "EdDSA"]), ("es", ["RS256", "EdDSA"]), ("ed", ["RS256", "ES256"])]
    {
        for alg in algorithms.into_iter().chain(["RS512", "PS256", "ES384", "HS256"]) {
            bad.push(("another algorithm", es.sign(alg, kid, &claims)));
            bad.push(("another algorithm", ed.sign(alg, kid, &claims)));
        }
    }
    bad.push(("another key", es.sign("EdDSA", "ed", &claims)));
    bad.push(("another key", ed.sign("ES256", "es", &claims)));
    bad.push((
        "a key for another algorithm",
        issuer.sign(&claims).replacen(
            issuer.sign(&claims).split('.').next().unwrap(),
            &URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"rs512"}"#),
            1,
        ),
    ));
    for (what, token) in bad {
        assert_eq!(verifier.verify(&token).await.unwrap_err().status, 401, "{what}: {token}");
    }
}
