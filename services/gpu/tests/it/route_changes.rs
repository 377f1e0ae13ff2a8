//! The feed of changed routes, which the gateway follows.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::Fixture;

impl Fixture {
    /// Reads the feed after a cursor. Returns what has changed, and the next cursor.
    pub(crate) async fn changed_routes(&self, after: &str, wait_seconds: u32) -> (Vec<Value>, String) {
        let path = format!("/internal/v1/route-changes?after={after}&wait_seconds={wait_seconds}");
        let page = self.gateway().get(&path).await.expect(200).body;
        assert_eq!(page["complete"], true, "{page}");
        let items = page["items"].as_array().unwrap().iter().map(|item| item["change"].clone()).collect();
        (items, page["next_cursor"].as_str().unwrap().to_owned())
    }

    /// Waits for the next changes while `act` runs.
    async fn changed_by(&self, cursor: &mut String, act: impl Future<Output = ()>) -> Vec<Value> {
        let (read, ()) = tokio::join!(timeout(Duration::from_secs(20), self.changed_routes(cursor, 20)), act);
        let (items, next) = read.unwrap();
        *cursor = next;
        items
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_a_route_is_published() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let own = json!({ "instance_id": id });
    let (items, mut cursor) = fixture.changed_routes("", 0).await;
    assert!(items.contains(&own) && items.iter().all(|item| *item == own), "{items:?}");

    // what is no matter of routes is not published
    let view = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200);
    let etag = view.header("etag").unwrap();
    let path = format!("/v1/instances/{id}");
    let _ = fixture.member().patch(&path, etag, json!({ "name": "renamed" })).await.expect(200);
    let (items, _) = fixture.changed_routes(&cursor, 0).await;
    assert_eq!(items, Vec::<Value>::new());

    let stopped = fixture.changed_by(&mut cursor, async { drop(fixture.act(id, "stop").await) }).await;
    assert_eq!(stopped, [own]);
    let tenant = json!({ "tenant_id": fixture.tenant });
    for (generation, state, expected) in
        [(1, "suspended", vec![tenant.clone()]), (2, "suspended", vec![]), (3, "active", vec![tenant])]
    {
        let (before, at) = fixture.changed_routes(&cursor, 0).await;
        assert!(before.iter().all(|change| change["tenant_id"].is_null()), "{before:?}");
        fixture.put_tenant(generation, state, false).await;
        let (items, next) = fixture.changed_routes(&at, 0).await;
        let of_tenants: Vec<_> = items.into_iter().filter(|change| !change["tenant_id"].is_null()).collect();
        assert_eq!(of_tenants, expected, "{state}");
        cursor = next;
    }
    fixture.member().get("/internal/v1/route-changes").await.expect_problem(401, "unauthenticated");
}
