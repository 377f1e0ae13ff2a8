//! Tokens with scopes: which operations they may call.

use std::path::Path;

use atelier_auth::{Admin, AuthState, Claims, HasAuth, Member, Role, User, required_scope};
use axum::{
    Router,
    http::Method,
    routing::{any, get},
};
use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, Issuer};

#[derive(Clone)]
struct App(AuthState);

impl HasAuth for App {
    fn auth(&self) -> &AuthState {
        &self.0
    }
}

async fn service(issuer: &Issuer) -> Client {
    let routes = Router::new()
        .route("/v1/instances", any(|_: Member| async {}))
        .route("/v1/instances/{id}/terminal", get(|_: Member| async {}))
        .route("/v1/storages", any(|_: User| async {}))
        .route("/v1/platform-usage", get(|_: Admin| async {}))
        .route("/v1/tenants/{id}/members", any(async |User(caller): User| caller.admin.to_string()))
        .route("/v1/mq-credentials", any(|_: Member| async {}))
        .route("/v1/mq-credentials/{id}/take-over", any(|_: Member| async {}))
        .route("/v1/webhooks", any(|_: Member| async {}))
        .route("/v1/storages/{id}/credentials", any(|_: Member| async {}))
        .route("/v1/unheard-of", get(|_: User| async {}))
        .with_state(App(issuer.auth()));
    Client::new(&testkit::serve(routes).await)
}

fn with_scope(issuer: &Issuer, claims: Claims, scope: &str) -> String {
    issuer.sign(&Claims { scope: Some(scope.to_owned()), ..claims })
}

#[tokio::test]
async fn a_token_with_scopes_calls_their_operations_only() {
    let issuer = Issuer::start().await;
    let client = service(&issuer).await;
    let claims = issuer.claims(Some((TenantId::new(), Role::Owner)), false);
    let reader = client.token(&with_scope(&issuer, claims.clone(), "instances:read usage:read"));
    let _ = reader.get("/v1/instances").await.expect(200);
    for (answer, missing) in [
        (reader.post("/v1/instances", json!({})).await, "instances:write"),
        (reader.delete("/v1/instances").await, "instances:write"),
        (reader.get("/v1/instances/inst_1/terminal").await, "instances:write"),
        (reader.get("/v1/storages").await, "storages:read"),
    ] {
        let refused = answer.expect_problem(403, "insufficient-scope");
        assert_eq!(refused.str("scope"), missing);
        assert!(refused.str("detail").contains(missing), "{}", refused.text);
    }
    let writer = client.token(&with_scope(&issuer, claims.clone(), "instances:write"));
    let _ = writer.get("/v1/instances").await.expect(200);
    let _ = writer.post("/v1/instances", json!({})).await.expect(200);
    for nothing in ["", "openid profile", "instances"] {
        let client = client.token(&with_scope(&issuer, claims.clone(), nothing));
        client.get("/v1/instances").await.expect_problem(403, "insufficient-scope");
    }
    // a claim that is not a string
    let mut odd = serde_json::to_value(&claims).unwrap();
    odd["scope"] = json!(["instances:read"]);
    client.token(&issuer.sign(&odd)).get("/v1/instances").await.expect_problem(403, "insufficient-scope");
    let all = client.token(&issuer.sign(&claims));
    for path in ["/v1/instances", "/v1/storages", "/v1/unheard-of"] {
        let _ = all.get(path).await.expect(200);
    }
    reader.get("/v1/unheard-of").await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn an_administrator_with_scopes_acts_as_one_for_platform_scopes_only() {
    let issuer = Issuer::start().await;
    let client = service(&issuer).await;
    let admin = |scope| client.token(&with_scope(&issuer, issuer.claims(None, true), scope));
    let (usage, members) = ("/v1/platform-usage", "/v1/tenants/ten_1/members");
    admin("instances:write members:write").get(usage).await.expect_problem(403, "insufficient-scope");
    let _ = admin("platform:read").get(usage).await.expect(200);
    for (scope, read, written) in [
        ("members:write", "false", "false"),
        ("members:write platform:read", "true", "false"),
        ("members:write platform:write", "true", "true"),
    ] {
        assert_eq!(admin(scope).get(members).await.expect(200).text, read, "{scope}");
        assert_eq!(admin(scope).post(members, Value::Null).await.expect(200).text, written, "{scope}");
    }
}

#[tokio::test]
async fn what_a_key_makes_can_do_no_more_than_the_key() {
    let issuer = Issuer::start().await;
    let client = service(&issuer).await;
    let claims = issuer.claims(Some((TenantId::new(), Role::Owner)), false);
    let key = |scope: &str, limited| {
        client.token(&with_scope(&issuer, Claims { limited, ..claims.clone() }, scope))
    };
    let (broker, taken, webhooks, access) = (
        "/v1/mq-credentials",
        "/v1/mq-credentials/mqc_1/take-over",
        "/v1/webhooks",
        "/v1/storages/sto_1/credentials",
    );
    // broker credentials submit jobs, and webhooks report them
    for (path, lacks, missing, suffices) in [
        (broker, "api-keys:write jobs:read", "jobs:write", "api-keys:write jobs:write"),
        (taken, "api-keys:write", "jobs:write", "api-keys:write jobs:write"),
        (webhooks, "api-keys:write", "jobs:read", "api-keys:write jobs:read"),
    ] {
        let refused = key(lacks, false).post(path, json!({})).await;
        assert_eq!(refused.expect_problem(403, "insufficient-scope").str("scope"), missing, "{path}");
        let _ = key(suffices, false).post(path, json!({})).await.expect(200);
        let _ = key("api-keys:write", false).delete(path).await.expect(200);
    }
    // requests to the broker and the object store do not pass the gateway, which counts the requests of a key
    let all = "api-keys:write jobs:write storages:write";
    for path in [broker, taken, access] {
        key(all, true).post(path, json!({})).await.expect_problem(403, "api-key-limited");
        let _ = key(all, false).post(path, json!({})).await.expect(200);
        for answer in [key(all, true).get(path).await, key(all, true).delete(path).await] {
            let _ = answer.expect(200);
        }
    }
    let _ = key(all, true).post(webhooks, json!({})).await.expect(200);
    let _ = client.token(&issuer.sign(&claims)).post(broker, json!({})).await.expect(200);
}

#[test]
fn every_documented_operation_has_a_scope() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi");
    let (mut checked, mut without) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let document: Value = serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                if !operation["security"].to_string().contains("bearer") {
                    continue;
                }
                let method: Method = method.to_uppercase().parse().unwrap();
                if required_scope(&method, path).is_none() {
                    without.push(format!("{method} {path}"));
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(without.is_empty(), "not in platform.toml: {without:?}");
}
