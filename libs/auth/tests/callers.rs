//! Calls of other services, on their own and in the request of a user.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::path::Path;

use api::audit::Actor;
use atelier_auth::{
    AuthState, Caller, Claims, HasAuth, Member, OnBehalf, Revocation, Role, SubjectToken, internal_rule,
};
use axum::{
    Extension, Router,
    routing::{any, get},
};
use ids::{ApiKeyId, SessionId, TenantId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use testkit::{Client, Issuer, SERVICE_TOKEN, eventually};

#[derive(Clone)]
struct App(AuthState);

impl HasAuth for App {
    fn auth(&self) -> &AuthState {
        &self.0
    }
}

const QUEUE: &str = "/internal/v1/queue";

async fn service(issuer: &Issuer) -> Client {
    let auth = issuer.auth();
    let process = service::Process::default();
    process.workers.start("test", auth.verifier.task());
    // the workers live as long as their tokens
    std::mem::forget(process);
    let who = |actor: Actor| {
        axum::Json(json!({ "user": actor.user, "session": actor.session, "api_key": actor.api_key,
            "is_admin": actor.is_admin, "service": actor.service }))
    };
    let routes = Router::new()
        .route("/internal/v1/token-exchanges", get(async |caller: Caller| caller.name))
        .route("/internal/v1/unheard-of", get(async |caller: Caller| caller.name))
        .route(
            "/internal/v1/revocations",
            get(async move |_: Caller, Extension(actor): Extension<Actor>| who(actor)),
        )
        .route(QUEUE, get(async move |_: OnBehalf, Extension(actor): Extension<Actor>| who(actor)))
        .route(
            "/internal/v1/claims",
            get(async |caller: Caller, tenant: String| caller.acts_for(tenant.parse().unwrap())),
        )
        .route("/v1/instances", any(async move |_: Member, Extension(actor): Extension<Actor>| who(actor)))
        .route(
            "/v1/storages",
            get(async |_: Member, SubjectToken(token): SubjectToken| token.expose_secret().to_owned()),
        )
        .with_state(App(auth));
    Client::new(&testkit::serve(routes).await)
}

#[tokio::test]
async fn an_operation_accepts_the_services_that_may_call_it() {
    let issuer = Issuer::start().await;
    let client = service(&issuer).await;
    let exchange = "/internal/v1/token-exchanges";
    assert_eq!(client.service("gateway").get(exchange).await.expect(200).text, "gateway");
    let others: Vec<_> = testkit::services().filter(|name| *name != "gateway").collect();
    assert!(!others.is_empty(), "no other service has a token");
    for other in others {
        client.service(other).get(exchange).await.expect_problem(403, "forbidden");
    }
    client.token(SERVICE_TOKEN).get(exchange).await.expect_problem(403, "forbidden");
    client.get(exchange).await.expect_problem(401, "unauthenticated");
    client.token(&issuer.admin()).get(exchange).await.expect_problem(401, "unauthenticated");
    client.service("gateway").get("/internal/v1/unheard-of").await.expect_problem(403, "forbidden");
    let own = client.token(SERVICE_TOKEN).get("/internal/v1/revocations").await.expect(200);
    assert_eq!((&own.body["user"], &own.body["service"]), (&Value::Null, &json!("test")));
}

#[tokio::test]
async fn a_service_acts_with_the_rights_of_the_user_whose_token_it_sends() {
    let issuer = Issuer::start().await;
    let client = service(&issuer).await;
    let gpu = client.service("gpu");
    let tenant = TenantId::new();
    let claims = Claims {
        sid: Some(SessionId::new()),
        key: Some(ApiKeyId::new()),
        scope: Some("instances:read".to_owned()),
        ..issuer.claims(Some((tenant, Role::Viewer)), false)
    };
    let token = issuer.sign(&claims);
    let expected = json!({ "user": claims.sub, "session": claims.sid, "api_key": claims.key, "is_admin": false,
        "service": "gpu" });
    assert_eq!(gpu.on_behalf(&token).get(QUEUE).await.expect(200).body, expected);
    // public operations too
    assert_eq!(gpu.on_behalf(&token).get("/v1/instances").await.expect(200).body, expected);
    let refused = gpu.on_behalf(&token).post("/v1/instances", json!({})).await;
    assert_eq!(refused.expect_problem(403, "insufficient-scope").str("scope"), "instances:write");
    let direct = client.token(&token).get("/v1/instances").await.expect(200);
    assert_eq!((&direct.body["user"], &direct.body["service"]), (&json!(claims.sub), &Value::Null));

    // it names no other tenant
    let writer = issuer.user(tenant, Role::Member);
    for (named, status) in [(tenant, 200), (TenantId::new(), 404)] {
        let path = "/internal/v1/claims";
        let http = reqwest::Client::new();
        let request = http.get(format!("{}{path}", client.base())).bearer_auth(testkit::service_token("gpu"));
        let answer =
            request.header("x-atelier-subject", &writer).body(named.to_string()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{named}");
        let alone = http.get(format!("{}{path}", client.base())).bearer_auth(testkit::service_token("gpu"));
        let alone = alone.body(named.to_string()).send().await.unwrap();
        assert_eq!(alone.status().as_u16(), 200, "a service on its own");
    }

    // the token that is sent on is the user's
    let storages = issuer.user(tenant, Role::Viewer);
    assert_eq!(gpu.on_behalf(&storages).get("/v1/storages").await.expect(200).text, storages);
    assert_eq!(client.token(&storages).get("/v1/storages").await.expect(200).text, storages);
}

#[tokio::test]
async fn a_subject_is_verified_as_a_caller_is() {
    let issuer = Issuer::start().await;
    let client = service(&issuer).await;
    let gpu = client.service("gpu");
    let claims = issuer.claims(Some((TenantId::new(), Role::Owner)), false);
    let good = issuer.sign(&claims);
    let _ = gpu.on_behalf(&good).get(QUEUE).await.expect(200);

    gpu.get(QUEUE).await.expect_problem(401, "unauthenticated");
    gpu.on_behalf("").get(QUEUE).await.expect_problem(401, "unauthenticated");
    let expired = issuer.sign(&Claims { exp: claims.exp - 700, ..claims.clone() });
    let stranger = Issuer::with_new_key().await;
    let foreign = stranger.sign(&Claims { iss: claims.iss.clone(), ..claims.clone() });
    let scoped = issuer.sign(&Claims { scope: Some("storages:write".to_owned()), ..claims.clone() });
    for path in [QUEUE, "/v1/instances"] {
        for token in [&expired, &foreign, &"x.y.z".to_owned(), &SERVICE_TOKEN.to_owned()] {
            gpu.on_behalf(token).get(path).await.expect_problem(401, "unauthenticated");
        }
        gpu.on_behalf(&scoped).get(path).await.expect_problem(403, "insufficient-scope");
        // a user cannot act as a service for another user
        client.token(&good).on_behalf(&good).get(path).await.expect_problem(401, "unauthenticated");
        client.on_behalf(&good).get(path).await.expect_problem(401, "unauthenticated");
    }
    // operations that services call on their own do not accept a user
    client
        .service("gateway")
        .on_behalf(&good)
        .get("/internal/v1/token-exchanges")
        .await
        .expect_problem(403, "forbidden");
    // two users at once
    let twice = reqwest::Client::new()
        .get(format!("{}{QUEUE}", client.base()))
        .bearer_auth(testkit::service_token("gpu"))
        .header("x-atelier-subject", &good)
        .header("x-atelier-subject", &good);
    assert_eq!(twice.send().await.unwrap().status(), 401);

    issuer.revoke(Revocation { user_id: Some(claims.sub), ..Revocation::default() });
    eventually("the subject is refused", async || {
        (gpu.on_behalf(&good).get(QUEUE).await.status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_administrator_with_platform_scopes_is_one_for_other_services_too() {
    let issuer = Issuer::start().await;
    let gpu = service(&issuer).await.service("gpu");
    let admin =
        |scope: &str| issuer.sign(&Claims { scope: Some(scope.to_owned()), ..issuer.claims(None, true) });
    let seen = gpu.on_behalf(&admin("platform:read")).get(QUEUE).await.expect(200);
    assert_eq!(seen.body["is_admin"], true);
    gpu.on_behalf(&admin("members:write")).get(QUEUE).await.expect_problem(403, "insufficient-scope");
}

#[test]
fn every_documented_internal_operation_has_a_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi");
    let (mut checked, mut without) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let document: Value = serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        for path in
            document["paths"].as_object().unwrap().keys().filter(|path| path.starts_with("/internal/"))
        {
            if internal_rule(path).is_none() {
                without.push(path.clone());
            }
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked}");
    assert!(without.is_empty(), "not in platform.toml: {without:?}");
}
