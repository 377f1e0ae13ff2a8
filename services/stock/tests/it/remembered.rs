//! Reads of specifications and datacenters that are remembered: what users see after a change, and while the cache is away, damaged or
//! emptied.

use auth::Role;
use cache::CacheConfig;
use serde_json::json;
use testkit::{Client, Response, Valkey, eventually};

use crate::fixture::{Fixture, Replica, spec};

const PATHS: [&str; 3] = ["/v1/gpu-specs", "/v1/gpu-specs?limit=1", "/v1/datacenters"];

/// A database, two replicas with a common cache, and a user of the second.
struct Shop {
    fixture: Fixture,
    one: Replica,
    two: Replica,
    user: Client,
}

impl Shop {
    async fn open(store: Option<&Valkey>) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.cache =
            store.map(|store| CacheConfig { url: store.url().into(), key: ("A".repeat(43) + "=").into() });
        let (one, two) = (fixture.replica().await, fixture.replica().await);
        let user = fixture.user(&two, Role::Viewer);
        Self { fixture, one, two, user }
    }

    /// Reads with this client until an answer is remembered: a change that nobody has told of is not seen.
    async fn is_remembered(&self, client: &Client, path: &str) {
        let hidden = || self.fixture.sql("update stock.gpu_specs set gpu_model = gpu_model || '-x'");
        eventually("an answer is remembered", async || {
            let before = client.get(path).await.expect(200);
            hidden().await;
            (client.get(path).await.expect(200).body == before.body).then_some(())
        })
        .await;
    }

    /// What an administrator reads, who is told the present state.
    async fn now(&self, path: &str) -> Response {
        self.two.admin.get(path).await.expect(200)
    }
}

#[tokio::test]
async fn users_see_a_change_by_another_replica_at_once() {
    let store = Valkey::start().await;
    let shop = Shop::open(Some(&store)).await;
    let made = shop.one.admin.post("/v1/gpu-specs", spec("a", "0.2")).await.expect(201);
    let path = format!("/v1/gpu-specs/{}", made.str("id"));
    let _ = shop.one.datacenter("uk-1").await;
    for path in PATHS.into_iter().chain([&*path]) {
        let (user, now) = (shop.user.get(path).await.expect(200), shop.now(path).await);
        assert_eq!(user.text, now.text, "{path}");
        let again = shop.user.get(path).await.expect(200);
        assert_eq!((&again.text, again.header("etag")), (&now.text, now.header("etag")), "{path}");
    }
    shop.is_remembered(&shop.user, &path).await;
    // the other replica has the same answer
    let other = shop.fixture.user(&shop.one, Role::Viewer);
    let same =
        async || other.get(&path).await.expect(200).body == shop.user.get(&path).await.expect(200).body;
    eventually("replicas share an answer", async || same().await.then_some(())).await;
    assert!(store.names().await.iter().all(|name| name.starts_with("atelier:stock:catalogue:")));

    // whoever changes something sees it, and so does everybody
    let changed = shop.one.admin.patch(&path, "*", json!({ "price_per_hour": "0.3" })).await.expect(200);
    assert_eq!(changed.str("price_per_hour"), "0.3");
    eventually("the user sees the price", async || {
        let seen = shop.user.get(&path).await.expect(200);
        (seen.str("price_per_hour") == "0.3" && seen.header("etag") == changed.header("etag")).then_some(())
    })
    .await;
    let _ = shop.one.admin.delete(&path).await.expect(204);
    eventually("the user does not see it any longer", async || {
        (shop.user.get(&path).await.status == 404).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_cache_that_is_lost_damaged_or_away_changes_no_answer() {
    let store = Valkey::start().await;
    let shop = Shop::open(Some(&store)).await;
    let made = shop.one.admin.post("/v1/gpu-specs", spec("a", "0.2")).await.expect(201);
    let path = format!("/v1/gpu-specs/{}", made.str("id"));
    shop.is_remembered(&shop.user, &path).await;
    for name in store.names().await {
        let () = store.run("SET", (name, "{\"price_per_hour\":\"0\"}")).await;
    }
    assert_eq!(shop.user.get(&path).await.expect(200).text, shop.now(&path).await.text, "damaged");
    shop.is_remembered(&shop.user, &path).await;
    let () = store.run("FLUSHALL", "SYNC").await;
    assert_eq!(shop.user.get(&path).await.expect(200).text, shop.now(&path).await.text, "emptied");
    drop(store);
    for price in ["0.4", "0.5", "0.6"] {
        let _ = shop.one.admin.patch(&path, "*", json!({ "price_per_hour": price })).await.expect(200);
        assert_eq!(shop.user.get(&path).await.expect(200).str("price_per_hour"), price, "away");
    }
}

#[tokio::test]
async fn without_a_store_a_replica_remembers_for_a_second() {
    let shop = Shop::open(None).await;
    let made = shop.two.admin.post("/v1/gpu-specs", spec("a", "0.2")).await.expect(201);
    let path = format!("/v1/gpu-specs/{}", made.str("id"));
    shop.is_remembered(&shop.user, &path).await;
    let _ = shop.two.admin.patch(&path, "*", json!({ "price_per_hour": "0.3" })).await.expect(200);
    assert_eq!(
        shop.user.get(&path).await.expect(200).str("price_per_hour"),
        "0.3",
        "of this replica: at once"
    );
    let _ = shop.one.admin.patch(&path, "*", json!({ "price_per_hour": "0.4" })).await.expect(200);
    eventually("a change by another is seen", async || {
        (shop.user.get(&path).await.expect(200).str("price_per_hour") == "0.4").then_some(())
    })
    .await;
}
