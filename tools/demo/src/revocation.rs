//! A member who is removed from a tenant, while they have a terminal open.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use machine::{
    access::SignIn,
    client::{Api, text},
};
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::terminal;

/// A further member of the designer's tenant.
pub(super) struct Colleague {
    member: String,
    api: Api,
}

/// Adds a colleague to the designer's tenant and signs in as them.
pub(super) async fn add_colleague(admin: &Api, designer: &Api, visitor: &Api) -> anyhow::Result<Colleague> {
    let sign_in =
        SignIn { email: "colleague@demo.example".into(), password: "a colleague's own long password".into() };
    let users = admin.list("/v1/users?email_prefix=colleague@demo.example").await?;
    let user = match users.into_iter().next() {
        Some(user) => user,
        None => {
            let body =
                json!({ "email": sign_in.email, "password": sign_in.password, "display_name": "Colleague" });
            admin.post("/v1/users", body, 201).await?
        }
    };
    let me = designer.get("/v1/me").await?;
    let members = format!("/v1/tenants/{}/members", text(&me, "tenant_id")?);
    let member = format!("{members}/{}", text(&user, "id")?);
    // left over from an interrupted demo
    if admin.send(reqwest::Method::GET, &member, None, None).await?.status == 404 {
        admin.post(&members, json!({ "user_id": user["id"], "role": "member" }), 201).await?;
    }
    Ok(Colleague { member, api: visitor.sign_in(&sign_in).await? })
}

/// Removes the colleague while they have a terminal open. Returns how long it stayed open, in milliseconds.
pub(super) async fn remove_colleague(
    admin: &Api,
    colleague: &Colleague,
    gateway: &str,
    instance: &str,
) -> anyhow::Result<u128> {
    let mut socket = terminal::open(&colleague.api, gateway, instance, "echo open; cat").await?;
    while !matches!(socket.next().await.context("the terminal closed")??, Message::Binary(_)) {}
    let begun = Instant::now();
    admin.delete(&colleague.member, 204).await?;
    let closed = timeout(Duration::from_secs(1), async {
        while let Some(Ok(message)) = socket.next().await {
            if matches!(message, Message::Close(_)) {
                break;
            }
        }
    });
    if closed.await.is_err() {
        bail!("the terminal of the removed member is still open after a second");
    }
    let took = begun.elapsed().as_millis();
    let answer = colleague.api.send(reqwest::Method::GET, "/v1/instances", None, None).await?;
    ensure!(answer.status == 401, "the removed member's token is still accepted: {}", answer.text);
    Ok(took)
}
