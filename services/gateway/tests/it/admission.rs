//! Effects of tenants on each other when a service is overloaded.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Router, extract::Request, http::Method, routing::get};
use testkit::Client;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

use crate::platform::Platform;

#[tokio::test]
async fn a_tenant_with_many_requests_waits_behind_itself() {
    let at_once = Arc::new(AtomicUsize::new(0));
    let (busy, most) = (Arc::clone(&at_once), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    // requests of the heavy tenant stay at the service until they are released
    let (release, released) = watch::channel(false);
    let stock = Router::new().fallback(move |request: Request| {
        let (busy, most, mut released) = (Arc::clone(&busy), Arc::clone(&seen), released.clone());
        async move {
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            if !request.headers().contains_key("x-light") {
                let _ = released.wait_for(|released| *released).await;
            }
            busy.fetch_sub(1, Ordering::SeqCst);
        }
    });
    let url = testkit::serve(stock).await.parse().unwrap();
    let platform = Platform::with(|config| config.services["stock"] = url).await;
    let (heavy, light) = (platform.member(), platform.member().header("x-light", "1"));
    let mut crowd = JoinSet::new();
    for _ in 0..400 {
        let heavy = heavy.clone();
        crowd.spawn(async move { heavy.get("/v1/stock").await });
    }
    let metrics = Client::new(&format!("http://{}", platform.metrics));
    testkit::eventually("the queue of the tenant is full", async || {
        let text = metrics.get("/metrics").await.text;
        text.contains("gateway_waiting_requests{upstream=\"stock\"} 256").then_some(())
    })
    .await;
    let _ = light.get("/v1/stock").await.expect(200);
    release.send_replace(true);
    let (mut served, mut shed) = (0, 0);
    for answer in crowd.join_all().await {
        if answer.status == 200 {
            served += 1;
        } else {
            assert!(answer.header("retry-after").is_some());
            answer.expect_problem(503, "overloaded");
            shed += 1;
        }
    }
    assert!(served > 0 && shed > 0, "{served} served, {shed} shed");
    let most = most.load(Ordering::SeqCst);
    assert!(most <= 64, "{most} requests were at the service at a time");
    testkit::eventually("nothing is left at the gate", async || {
        let text = metrics.get("/metrics").await.text;
        let idle =
            ["waiting", "admitted"].map(|what| format!("gateway_{what}_requests{{upstream=\"stock\"}} 0"));
        idle.iter().all(|line| text.contains(line)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_tenant_has_a_number_of_requests_at_a_time() {
    let (release, released) = watch::channel(false);
    let stock = Router::new().fallback(move || {
        let mut released = released.clone();
        async move { drop(released.wait_for(|released| *released).await) }
    });
    let url = testkit::serve(stock).await.parse().unwrap();
    let platform = Platform::with(|config| {
        config.services["stock"] = url;
        config.limits.tenant_requests_at_a_time = 2;
    })
    .await;
    let (busy, other) = (platform.member(), platform.member());
    let mut held = JoinSet::new();
    for _ in 0..2 {
        let busy = busy.clone();
        held.spawn(async move { busy.get("/v1/stock").await });
    }
    let refused = testkit::eventually("the tenant has two requests under way", async || {
        let answer = busy.get("/v1/me").await;
        (answer.status == 429).then_some(answer)
    })
    .await
    .expect_problem(429, "too-many-requests");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let _ = other.get("/v1/me").await.expect(200);
    release.send_replace(true);
    for answer in held.join_all().await {
        let _ = answer.expect(200);
    }
    let _ = busy.get("/v1/me").await.expect(200);
}

/// More than the requests of one tenant that a service gets at a time.
const REQUESTS: usize = 40;

#[tokio::test]
async fn a_deletion_overtakes_what_waits() {
    let arrived: Arc<Mutex<Vec<Method>>> = Arc::default();
    // each request stays at the service until one is released
    let released = Arc::new(Semaphore::new(0));
    let (seen, release) = (Arc::clone(&arrived), Arc::clone(&released));
    let stock = Router::new().route("/readyz", get(async || ())).fallback(move |request: Request| {
        let (seen, release) = (Arc::clone(&seen), Arc::clone(&release));
        async move {
            seen.lock().unwrap().push(request.method().clone());
            release.acquire().await.unwrap().forget();
        }
    });
    let url = testkit::serve(stock).await.parse().unwrap();
    let platform = Platform::with(|config| config.services["stock"] = url).await;
    let member = platform.member();
    let mut requests = JoinSet::new();
    for _ in 0..REQUESTS {
        let member = member.clone();
        // a request that waited too long is sent again
        requests.spawn(async move { while member.get("/v1/stock").await.status == 503 {} });
    }
    let metrics = Client::new(&format!("http://{}", platform.metrics));
    let waiting = async |more: usize| {
        testkit::eventually("all have arrived", async || {
            let text = metrics.get("/metrics").await.text;
            let value = |name: &str| -> Option<usize> {
                let line = format!("gateway_{name}_requests{{upstream=\"stock\"}} ");
                text.lines().find_map(|one| one.strip_prefix(&line)?.parse().ok())
            };
            let (waiting, admitted) = (value("waiting")?, value("admitted")?);
            let at_service = arrived.lock().unwrap().len();
            (waiting + admitted == REQUESTS + more && waiting > 0 && at_service == admitted)
                .then_some(admitted)
        })
        .await
    };
    let before = waiting(0).await;
    let deletion = tokio::spawn({
        let member = member.clone();
        async move { member.delete("/v1/stock/x").await.status }
    });
    waiting(1).await;
    released.add_permits(1);
    testkit::eventually("the next one arrives", async || {
        (arrived.lock().unwrap().len() > before).then_some(())
    })
    .await;
    assert_eq!(arrived.lock().unwrap()[before], Method::DELETE);
    released.add_permits(1000);
    assert_eq!(deletion.await.unwrap(), 200);
    while requests.join_next().await.is_some() {}
}
