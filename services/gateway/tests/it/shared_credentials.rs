//! Tokens that gateways share in a Valkey or Redis, which is killed, slow, emptied and damaged.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use auth::{ApiKey, Claims, Revocation};
use cache::CacheConfig;
use testkit::{SlowProxy, Valkey, eventually, within};

use crate::credentials::{Fixture, key};

fn at(url: &str) -> CacheConfig {
    CacheConfig { url: url.into(), key: ("A".repeat(43) + "=").into() }
}

/// A gateway with an identity service.
async fn first(url: &str) -> Fixture {
    let fixture = Fixture::with(|config| config.cache = Some(at(url))).await;
    fixture.platform.ready().await;
    fixture
}

/// Another gateway of the same platform.
async fn another(url: &str, first: &Fixture) -> Fixture {
    let fixture = Fixture::with(|config| {
        config.cache = Some(at(url));
        config.auth = first.platform.issuer.config();
        config.services["identity"] = first.identity_url.parse().unwrap();
    })
    .await;
    fixture.platform.ready().await;
    fixture
}

async fn status(fixture: &Fixture, key: &str) -> u16 {
    fixture.client(key).get("/v1/stock").await.status
}

fn name(key: &str) -> String {
    format!("atelier:gateway:credentials:{}", hex::encode(ApiKey::parse(key).unwrap().hash()))
}

/// Uses a new key at the first gateway until its token is stored: a busy machine may fail to store some. Returns the key, its
/// claims and its token.
async fn stored(fixture: &Fixture, store: &Valkey) -> (String, Claims, String) {
    for seed in 1..100 {
        let (key, claims) = (key(seed), fixture.claims());
        let token = fixture.grants(&key, &claims, 300, None);
        assert_eq!(status(fixture, &key).await, 200);
        if store.names().await.contains(&name(&key)) {
            return (key, claims, token);
        }
    }
    panic!("no token was stored");
}

#[tokio::test]
async fn gateways_exchange_a_key_once_and_store_no_secret() {
    let store = Valkey::start().await;
    let one = first(&store.url()).await;
    let (key, _, token) = stored(&one, &store).await;
    let asked = one.identity.asked();
    eventually("another gateway uses the token", async || {
        let two = another(&store.url(), &one).await;
        let seen = two.client(&key).get("/v1/stock").await.expect(200);
        assert_eq!(seen.body["headers"]["authorization"], format!("Bearer {token}"));
        // it may have asked the identity service if the store was slow
        (one.identity.asked() == asked).then_some(())
    })
    .await;
    let bytes: Vec<u8> = store.run("GET", name(&key)).await;
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains(&token) && !text.contains("eyJ") && !text.contains("atl_"), "{text}");
    assert!(store.names().await.iter().all(|name| !name.contains("atl_")));
}

#[tokio::test]
async fn a_revoked_key_is_refused_although_its_token_is_stored() {
    let store = Valkey::start().await;
    let one = first(&store.url()).await;
    let two = another(&store.url(), &one).await;
    let (key, claims, _) = stored(&one, &store).await;
    assert_eq!(status(&two, &key).await, 200);
    let bytes: Vec<u8> = store.run("GET", name(&key)).await;
    one.identity.answers.lock().unwrap().remove(&key);
    let begun = Instant::now();
    one.platform.issuer.revoke(Revocation { session_id: claims.sid, ..Revocation::default() });
    for gateway in [&one, &two] {
        within(Duration::from_secs(5), "the key is refused", async || {
            // another gateway may have stored the token again after this one removed it
            let () = store.run("SET", (name(&key), bytes.clone())).await;
            (status(gateway, &key).await == 401).then_some(())
        })
        .await;
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // a new gateway that has only the store
    let () = store.run("SET", (name(&key), bytes)).await;
    let three = another(&store.url(), &one).await;
    three.client(&key).get("/v1/stock").await.expect_problem(401, "api-key-invalid");
}

#[tokio::test]
async fn a_stored_token_is_as_old_as_its_issue() {
    let store = Valkey::start().await;
    let one = first(&store.url()).await;
    let (young, claims, _) = stored(&one, &store).await;
    // one that was issued a minute ago is exchanged anew, by each gateway
    let old = key(200);
    let claims = Claims { iat: claims.iat - 61.0, ..claims };
    one.grants(&old, &claims, 239, None);
    assert_eq!(status(&one, &old).await, 200);
    let asked = one.identity.asked();
    let two = another(&store.url(), &one).await;
    assert_eq!(status(&two, &old).await, 200);
    assert_eq!(one.identity.asked(), asked + 1);
    // while the identity service is unavailable, a gateway that has never seen the key accepts it
    one.identity.away.store(true, Ordering::SeqCst);
    let three = another(&store.url(), &one).await;
    for key in [&old, &young] {
        eventually("the stored token is used", async || (status(&three, key).await == 200).then_some(()))
            .await;
    }
    assert_eq!(status(&three, &key(201)).await, 503, "a key whose token nobody has");
}

#[tokio::test]
async fn a_store_that_is_lost_damaged_or_slow_changes_no_answer() {
    let store = Valkey::start().await;
    let proxy = SlowProxy::start(format!("127.0.0.1:{}", store.port())).await;
    let url = format!("redis://{}", proxy.address());
    let one = first(&url).await;
    let (key_a, _, token_a) = stored(&one, &store).await;
    let key_b = key(210);
    let token_b = one.grants(&key_b, &one.claims(), 300, None);
    let uses = async |key: &str, token: &str| {
        let asked = one.identity.asked();
        let gateway = another(&url, &one).await;
        let seen = gateway.client(key).get("/v1/stock").await.expect(200);
        assert_eq!(seen.body["headers"]["authorization"], format!("Bearer {token}"));
        one.identity.asked() - asked
    };
    let bytes: Vec<u8> = store.run("GET", name(&key_a)).await;
    // the token of another key
    let () = store.run("SET", (name(&key_b), bytes.clone())).await;
    assert_eq!(uses(&key_b, &token_b).await, 1);
    let mut damaged = bytes;
    damaged[20] ^= 1;
    let () = store.run("SET", (name(&key_a), damaged)).await;
    assert_eq!(uses(&key_a, &token_a).await, 1);
    let () = store.run("FLUSHALL", "SYNC").await;
    assert_eq!(uses(&key_a, &token_a).await, 1);
    proxy.hold_back(Duration::from_secs(20));
    let begun = Instant::now();
    assert_eq!(uses(&key_a, &token_a).await, 1);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(store);
    assert_eq!(uses(&key_a, &token_a).await, 1);
}
