//! Checks that a second tenant sees nothing of the first.

use anyhow::{Context, ensure};
use machine::{
    access::SignIn,
    client::{Api, text},
};
use serde_json::{Value, json};

const SECOND_TENANT: &str = "demo-rival";

/// A designer of another tenant, created by the first run of the demo.
pub(super) async fn sign_in_second_tenant(admin: &Api, visitor: &Api) -> anyhow::Result<Api> {
    let rival = SignIn { email: "rival@demo.example".into(), password: "a rival's own long password".into() };
    if let Ok(signed_in) = visitor.sign_in(&rival).await {
        return Ok(signed_in);
    }
    let tenants = admin.list("/v1/tenants").await?;
    let tenant = match tenants.into_iter().find(|tenant| tenant["name"] == SECOND_TENANT) {
        Some(tenant) => tenant,
        None => admin.post("/v1/tenants", json!({ "name": SECOND_TENANT }), 201).await?,
    };
    let users = admin.list("/v1/users").await?;
    let user = match users.into_iter().find(|user| user["email"] == rival.email.as_str()) {
        Some(user) => user,
        None => {
            let body = json!({ "email": rival.email, "password": rival.password, "display_name": "Rival" });
            admin.post("/v1/users", body, 201).await?
        }
    };
    let members = format!("/v1/tenants/{}/members", text(&tenant, "id")?);
    admin.post(&members, json!({ "user_id": user["id"], "role": "member" }), 201).await?;
    visitor.sign_in(&rival).await
}

pub(super) async fn sees_nothing(
    rival: &Api,
    instance: &str,
    storage: &str,
    operation: &Value,
) -> anyhow::Result<()> {
    for list in ["/v1/instances", "/v1/storages", "/v1/instance-operations", "/v1/storage-operations"] {
        let seen = rival.list(list).await?;
        ensure!(seen.is_empty(), "{list} shows {seen:?}");
    }
    let operation = operation.as_str().context("no operation id")?;
    let missing = rival
        .send(reqwest::Method::GET, "/v1/instances/inst_00000000000070008000000000000000", None, None)
        .await?;
    for path in [
        format!("/v1/instances/{instance}"),
        format!("/v1/instances/{instance}/log"),
        format!("/v1/instances/{instance}/usage"),
        format!("/v1/storages/{storage}"),
        format!("/v1/instance-operations/{operation}"),
    ] {
        let answer = rival.send(reqwest::Method::GET, &path, None, None).await?;
        ensure!(
            (answer.status, &answer.body) == (404, &missing.body),
            "{path} differs from a missing object: {} {}",
            answer.status,
            answer.text
        );
    }
    for action in ["start", "stop", "tickets"] {
        rival.act(&format!("/v1/instances/{instance}/{action}"), 404).await?;
    }
    rival.delete(&format!("/v1/instances/{instance}"), 404).await.map(drop)
}
