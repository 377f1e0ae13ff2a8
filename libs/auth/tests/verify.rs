//! Valid and invalid tokens, sent to a service that verifies them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use atelier_auth::{
    Admin, AuthConfig, AuthState, Caller, ClaimNames, Claims, HasAuth, Member, Role, User, Verifier,
};
use axum::{Json, Router, routing::get};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, Issuer, SERVICE_TOKEN};
use tokio::{net::TcpListener, task::JoinSet};

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
        .route("/internal", get(async |caller: Caller| caller.name))
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
    assert_eq!(peer.get("/internal").await.expect(200).text, "test");
    peer.get("/user").await.expect_problem(401, "unauthenticated");
    member.get("/internal").await.expect_problem(401, "unauthenticated");
    for path in ["/user", "/admin", "/member", "/internal"] {
        let answer = anyone.get(path).await.expect_problem(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[tokio::test]
async fn an_invalid_token_is_refused() {
    let issuer = Issuer::start().await;
    let stranger = Issuer::start().await;
    let anyone = service(&issuer).await;
    let good = issuer.claims(None, true);
    let _ = anyone.token(&issuer.sign(&good)).get("/user").await.expect(200);

    let token = issuer.sign(&good);
    let (rest, signature) = token.rsplit_once('.').unwrap();
    let (_, payload) = rest.split_once('.').unwrap();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT","kid":"test"}"#);
    let hs256 = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT","kid":"test"}"#);
    let other_payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&issuer.claims(None, true)).unwrap());
    let bad = [
        ("expired", issuer.sign(&Claims { exp: good.exp - 700, ..good.clone() })),
        ("not yet valid", {
            let mut claims = serde_json::to_value(&good).unwrap();
            claims["nbf"] = json!(good.exp - 540);
            issuer.sign(&claims)
        }),
        ("other issuer", issuer.sign(&Claims { iss: "https://evil".into(), ..good.clone() })),
        ("other audience", issuer.sign(&Claims { aud: "other".into(), ..good.clone() })),
        ("other key", stranger.sign(&good)),
        ("alg none", format!("{none}.{payload}.")),
        ("alg confused", format!("{hs256}.{payload}.{signature}")),
        ("payload changed", format!("{}.{other_payload}.{signature}", token.split('.').next().unwrap())),
        ("cut short", token[..token.len() - 4].to_owned()),
        ("no token", "nonsense".to_owned()),
    ];
    for (what, token) in bad {
        let answer = anyone.token(&token).get("/user").await;
        assert_eq!(answer.status, 401, "{what}: {}", answer.text);
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

#[tokio::test]
async fn a_revoked_key_is_refused_and_requests_do_not_queue_for_a_dead_issuer() {
    let issuer = Issuer::start().await;
    let published = reqwest::get(issuer.config().jwks_url.unwrap()).await.unwrap();
    let keys: Value = published.json().await.unwrap();
    let revoked = Arc::new(AtomicBool::new(false));
    let is_revoked = Arc::clone(&revoked);
    let routes = Router::new().route(
        "/jwks.json",
        get(async move || {
            Json(if is_revoked.load(Ordering::SeqCst) { json!({ "keys": [] }) } else { keys.clone() })
        }),
    );
    let url = format!("{}/jwks.json", testkit::serve(routes).await);
    let config = AuthConfig { jwks_url: Some(url), keys_seconds: 0, ..issuer.config() };
    let verifier = Verifier::new(config, reqwest::Client::new());
    verifier.verify(&issuer.admin()).await.unwrap();
    revoked.store(true, Ordering::SeqCst);
    testkit::eventually("the key is refused", async || {
        verifier.verify(&issuer.admin()).await.err().map(|refused| assert_eq!(refused.status, 401))
    })
    .await;

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
