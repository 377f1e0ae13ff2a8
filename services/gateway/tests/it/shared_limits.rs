//! Rate limits that gateways share in a Valkey or Redis.

use std::time::{Duration, Instant};

use atelier_gateway::{Limits, SharedLimits};
use testkit::{SlowProxy, Valkey, eventually, within};

use crate::platform::Platform;

/// A gateway that accepts ten requests of a user at once, and then one in an hour or so.
async fn gateway(port: u16) -> Platform {
    Platform::with(|config| {
        config.limits = Limits {
            request_burst: 10,
            requests_per_second: 1,
            shared: Some(SharedLimits { url: format!("redis://127.0.0.1:{port}").into() }),
            ..Limits::default()
        };
    })
    .await
}

/// How many of `count` requests are accepted.
async fn accepted(client: &testkit::Client, count: usize) -> usize {
    let mut accepted = 0;
    for _ in 0..count {
        let answer = client.get("/v1/stock").await;
        assert!(matches!(answer.status, 200 | 429), "{}", answer.status);
        accepted += usize::from(answer.status == 200);
    }
    accepted
}

#[tokio::test]
async fn gateways_share_limits_and_count_by_themselves_while_the_store_is_away() {
    let store = Valkey::start().await;
    let (one, two) = (gateway(store.port()).await, gateway(store.port()).await);
    // each has an issuer of its own; the user is the same
    let claims = one.issuer.claims(None, true);
    let client = |gateway: &Platform| {
        let claims = auth::Claims { iss: gateway.issuer.config().issuer, ..claims.clone() };
        gateway.client.token(&gateway.issuer.sign(&claims))
    };
    let (first, second) = (client(&one), client(&two));
    let headers = first.get("/v1/stock").await.expect(200);
    assert_eq!(headers.header("ratelimit"), Some("\"user\";r=9"));
    let (a, b) = tokio::join!(accepted(&first, 15), accepted(&second, 15));
    // one more is allowed for each second that the requests take
    assert!((9..=12).contains(&(a + b)), "{a} + {b}");

    let port = store.port();
    drop(store);
    eventually("the first gateway counts by itself", async || (accepted(&first, 1).await == 1).then_some(()))
        .await;
    let alone = accepted(&first, 20).await;
    assert!((5..=12).contains(&alone), "neither open nor closed: {alone}");

    let _store = Valkey::at(port).await;
    eventually("the gateways share a count again", async || {
        // its own count is exhausted
        let answer = first.get("/v1/stock").await;
        (answer.status == 200 && answer.header("ratelimit") == Some("\"user\";r=9")).then_some(())
    })
    .await;
}

/// How often the store was asked to count a request.
async fn asked(store: &Valkey) -> u64 {
    let info: String = store.run("INFO", "commandstats").await;
    let calls = |line: &str| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next()?.parse().ok();
    info.lines().find_map(calls).unwrap_or(0)
}

#[tokio::test]
async fn a_slow_store_delays_few_requests_and_an_emptied_one_counts_anew() {
    let store = Valkey::start().await;
    let proxy = SlowProxy::start(format!("127.0.0.1:{}", store.port())).await;
    let platform = gateway(proxy.address().port()).await;
    let member = platform.member();
    let is_asked = async || {
        let before = asked(&store).await;
        let _ = accepted(&member, 3).await;
        (asked(&store).await == before + 3).then_some(())
    };
    eventually("the store counts", is_asked).await;

    proxy.hold_back(Duration::from_secs(60));
    let (begun, before) = (Instant::now(), asked(&store).await);
    let let_through = accepted(&member, 200).await;
    let seconds = begun.elapsed().as_secs();
    // one request waits at first, then one after 50, 100, 200 … ms, and one in a second
    let waited = asked(&store).await - before;
    assert!((1..=7 + seconds).contains(&waited), "{waited} of 200 requests waited, in {seconds} s");
    let most = 12 + usize::try_from(seconds).unwrap();
    assert!((5..=most).contains(&let_through), "neither open nor closed: {let_through} in {seconds} s");

    proxy.hold_back(Duration::ZERO);
    within(Duration::from_secs(10), "the store counts again", is_asked).await;

    // the store has lost everything, including the script
    eventually("it counts from the beginning", async || {
        let () = store.run("FLUSHALL", "SYNC").await;
        let () = store.run("SCRIPT", "FLUSH").await;
        let answer = member.get("/v1/stock").await;
        (answer.status == 200 && answer.header("ratelimit") == Some("\"user\";r=9")).then_some(())
    })
    .await;
    let let_through = accepted(&member, 30).await;
    // plus what the gateway's own count has left, if an answer of the store is late
    let most = 12 + 2 * usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!((9..=most).contains(&let_through), "{let_through}");
    eventually("the store counts", is_asked).await;
}

#[tokio::test]
async fn a_refused_request_counts_against_no_shared_limit() {
    let store = Valkey::start().await;
    let platform = Platform::with(|config| {
        config.limits = Limits {
            tenant_request_burst: 2,
            tenant_requests_per_second: 1,
            address_request_burst: 12,
            address_requests_per_second: 1,
            shared: Some(SharedLimits { url: store.url().into() }),
            ..Limits::default()
        };
    })
    .await;
    let few = accepted(&platform.member(), 30).await;
    assert!((2..=8).contains(&few), "{few}");
    let _ = platform.member().get("/v1/stock").await.expect(200);
}
