//! What the broker itself limits.

use std::time::Duration;

use lapin::Connection;
use serde_json::json;
use testkit::{eventually, within};
use uuid::Uuid;

use crate::{
    fixture::pool,
    mq_tenant::{Studio, connect, fox, named},
};

/// Connections that a credential may have open.
const CONNECTIONS: usize = 32;

/// Opens connections until one is refused. Returns them, and why.
async fn open_all(url: &str) -> (Vec<Connection>, String) {
    let mut open = Vec::new();
    loop {
        assert!(open.len() < 90, "none is refused");
        match connect(url).await {
            Ok(connection) => open.push(connection),
            Err(error) => return (open, error.to_string()),
        }
    }
}

#[tokio::test]
async fn mq_a_credential_has_so_many_connections_open_and_none_when_it_is_deleted() {
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    for tenant in [&many, &other] {
        eventually("the broker limits the credential", async || is_limited(&studio, &tenant.user).await)
            .await;
    }
    let (open, refused) = open_all(&many.url).await;
    assert!(refused.contains("user connection limit"), "{refused}");
    assert_eq!(open.len(), CONNECTIONS);
    let mut line = other.open().await;
    let number = Uuid::new_v4();
    line.send(&fox(number, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", number));

    let are_closed = async |open: &[Connection]| {
        eventually("its connections are closed", async || {
            open.iter().all(|connection| !connection.status().connected()).then_some(())
        })
        .await;
    };
    let _ = many.member.delete(&format!("/v1/mq-credentials/{}", many.user)).await.expect(204);
    are_closed(&open).await;
    assert!(connect(&many.url).await.is_err());
    assert!(line.connection.status().connected());
    // nobody signs in as what carries the limits
    assert!(connect(&studio.broker.url_of(&other.user, "")).await.is_err());
    let order = json!({ "generation": 2, "state": "suspended", "delete_storages": false });
    let path = format!("/internal/v1/tenants/{}", other.id);
    let identity = service.client.service("identity");
    let _ = identity.put(&path, order).await.expect(200);
    are_closed(&[line.connection]).await;
    let order = json!({ "generation": 3, "state": "active", "delete_storages": false });
    let _ = identity.put(&path, order).await.expect(200);
    eventually("it may connect again", async || connect(&other.url).await.ok()).await;

    // a broker that has lost its data gets the limits again
    studio.replace_broker().await;
    within(Duration::from_secs(90), "the broker limits the credential again", async || {
        is_limited(&studio, &other.user).await
    })
    .await;
    service.stop().await;
}

/// Whether the broker limits the connections of a credential.
async fn is_limited(studio: &Studio, user: &str) -> Option<()> {
    let url = format!("{}/api/user-limits/{user}", studio.broker.management_url());
    let limits = reqwest::Client::new().get(url).send().await.ok()?.text().await.ok()?;
    limits.contains(&format!(r#""max-connections":{CONNECTIONS}"#)).then_some(())
}
