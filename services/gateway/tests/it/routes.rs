//! Routes are pushed: a change invalidates what the gateway has cached of an instance, and closes its open connections.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use futures::{SinkExt, Stream, StreamExt};
use ids::InstanceId;
use serde_json::json;
use testkit::eventually;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    platform::{Instance, Platform},
    websockets::connect,
};

/// Limit for a change to have its effect.
const SOON: Duration = Duration::from_secs(1);

async fn followed(platform: &Platform) {
    eventually("the feed is followed", async || {
        platform.fixture.is_followed.load(Ordering::SeqCst).then_some(())
    })
    .await;
}

/// A response of the instance that has begun and does not end.
async fn stream(platform: &Platform, instance: &Instance) -> impl Stream<Item = bool> + Unpin + use<> {
    let body =
        futures::stream::once(async { Ok::<_, std::io::Error>("first") }).chain(futures::stream::pending());
    let mut request = reqwest::Client::new()
        .post(format!("http://{}/mirror", platform.address))
        .header("host", &instance.host)
        .body(reqwest::Body::wrap_stream(body));
    if instance.host.starts_with("inst-") {
        request = request.header("cookie", platform.cookie(instance).await);
    }
    let mut stream = request.send().await.unwrap().bytes_stream().map(|part| part.is_ok());
    assert!(stream.next().await.unwrap());
    stream
}

type Socket = tokio_tungstenite::WebSocketStream<tokio::net::TcpStream>;

async fn socket(platform: &Platform, instance: &Instance) -> Socket {
    let cookie = platform.cookie(instance).await;
    let (mut socket, _) = connect(platform, &instance.host, "/ws", &[("cookie", &cookie)]).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))), "the greeting");
    socket
}

/// Asserts that the socket ends soon.
async fn is_cut(mut socket: Socket) {
    let end = tokio::time::timeout(SOON, socket.next()).await.expect("the socket is still open");
    assert!(!matches!(end, Some(Ok(Message::Text(_) | Message::Binary(_)))), "{end:?}");
}

async fn goes_on(socket: &mut Socket) {
    socket.send(Message::text("still here")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("still here"));
}

#[tokio::test]
async fn what_is_open_to_a_stopped_instance_is_cut_and_its_address_is_not_used_again() {
    let platform = Platform::start().await;
    followed(&platform).await;
    let (instance, other) = (platform.instance(), platform.instance());
    let (cut, mut neighbour) = (socket(&platform, &instance).await, socket(&platform, &other).await);
    let mut download = stream(&platform, &instance).await;
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(200);

    platform.route(&instance, "stopping", None);
    is_cut(cut).await;
    let end = tokio::time::timeout(SOON, download.next()).await.expect("the download still runs");
    assert_eq!(end, Some(false), "it does not seem complete");
    // the pod still listens; no request reaches it
    for _ in 0..20 {
        opened.get("/").await.expect_problem(503, "instance-not-running");
    }
    goes_on(&mut neighbour).await;

    // a pod elsewhere
    let moved = testkit::serve(axum::Router::new().fallback(|| async { "moved" })).await;
    platform.route(&instance, "running", Some(moved.trim_start_matches("http://")));
    let begun = Instant::now();
    eventually("it runs elsewhere", async || {
        let answer = opened.get("/").await;
        assert!(answer.status == 503 || answer.text == "moved", "{}", answer.text);
        (answer.status == 200).then_some(())
    })
    .await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_request_that_waits_for_its_response_ends_with_the_route() {
    let platform = Platform::start().await;
    followed(&platform).await;
    let instance = platform.instance();
    // a pod that accepts connections and never answers
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    platform.route(&instance, "running", Some(&silent.local_addr().unwrap().to_string()));
    let opened = platform.opened(&instance).await;
    let (get, post) = (opened.clone(), opened.clone());
    let get = tokio::spawn(async move { get.get("/").await });
    let post = tokio::spawn(async move { post.post("/", json!({})).await });
    let connections = [silent.accept().await.unwrap(), silent.accept().await.unwrap()];
    platform.route(&instance, "stopped", None);
    let begun = Instant::now();
    get.await.unwrap().expect_problem(503, "instance-not-running");
    post.await.unwrap().expect_problem(502, "instance-broke-off");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    drop(connections);
}

#[tokio::test]
async fn a_change_that_changes_nothing_cuts_nothing() {
    let platform = Platform::start().await;
    followed(&platform).await;
    let instance = platform.instance();
    let mut socket = socket(&platform, &instance).await;
    let asked = platform.fixture.asked_for_routes.load(Ordering::SeqCst);
    platform.route(&instance, "running", Some(&platform.pod));
    platform.publish(json!({ "tenant_id": instance.tenant }));
    platform.publish(json!({ "instance_id": InstanceId::new() }));
    eventually("the gateway has looked", async || {
        (platform.fixture.asked_for_routes.load(Ordering::SeqCst) > asked).then_some(())
    })
    .await;
    goes_on(&mut socket).await;
    platform.route(&instance, "stopped", None);
    is_cut(socket).await;
}

#[tokio::test]
async fn a_known_route_is_not_asked_for_again() {
    let platform = Platform::start().await;
    followed(&platform).await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(200);
    let asked = platform.fixture.asked_for_routes.load(Ordering::SeqCst);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1500) {
        let _ = opened.get("/").await.expect(200);
    }
    assert_eq!(platform.fixture.asked_for_routes.load(Ordering::SeqCst), asked);
}

#[tokio::test]
async fn without_the_feed_routes_are_asked_for_again_and_again() {
    let platform = Platform::start().await;
    platform.fixture.feed_away.store(true, Ordering::SeqCst);
    platform.fixture.published.notify_waiters();
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(200);
    platform.route(&instance, "stopped", None);
    // until the feed is considered lost
    testkit::within(Duration::from_secs(25), "it is known to have stopped", async || {
        (opened.get("/").await.status == 503).then_some(())
    })
    .await;
    platform.route(&instance, "running", Some(&platform.pod));
    let _ = opened.get("/").await.expect(200);
    // the feed is back, with all that it has published since
    let mut socket = socket(&platform, &instance).await;
    platform.fixture.feed_away.store(false, Ordering::SeqCst);
    platform.route(&instance, "stopped", None);
    let end =
        tokio::time::timeout(Duration::from_secs(10), socket.next()).await.expect("the socket is still open");
    assert!(!matches!(end, Some(Ok(Message::Text(_) | Message::Binary(_)))), "{end:?}");
}

#[tokio::test]
async fn a_port_that_was_open_to_everyone_is_closed_at_once() {
    let platform = Platform::start().await;
    followed(&platform).await;
    let instance = platform.instance();
    let port = platform.port(&instance, 8188, false);
    let label = port.host.split('.').next().unwrap().to_owned();
    let route = platform.fixture.routes.lock().unwrap()[&label].clone();
    let tenant = json!({ "tenant_id": instance.tenant });
    let own = json!({ "instance_id": instance.id });
    let closed = |route: &serde_json::Value| {
        let mut route = route.clone();
        route["sign_in"] = true.into();
        route
    };
    // its tenant is suspended, it is removed, it needs sign-in now
    for (change, now) in [(tenant, None), (own.clone(), None), (own.clone(), Some(closed(&route)))] {
        platform.fixture.routes.lock().unwrap().insert(label.clone(), route.clone());
        platform.publish(own.clone());
        eventually("it is open", async || (platform.at(&port).get("/").await.status == 200).then_some(()))
            .await;
        let (mut socket, _) = connect(&platform, &port.host, "/ws", &[]).await.unwrap();
        assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))), "the greeting");
        let mut download = stream(&platform, &port).await;
        match now {
            Some(now) => drop(platform.fixture.routes.lock().unwrap().insert(label.clone(), now)),
            None => drop(platform.fixture.routes.lock().unwrap().remove(&label)),
        }
        platform.publish(change);
        is_cut(socket).await;
        let end = tokio::time::timeout(SOON, download.next()).await.expect("the download still runs");
        assert_eq!(end, Some(false));
        platform.at(&port).get("/").await.expect_problem(401, "not-opened");
    }
}

#[tokio::test]
async fn made_up_host_names_are_remembered_and_limited() {
    let platform = Platform::start().await;
    followed(&platform).await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(200);
    let asked = || platform.fixture.asked_for_routes.load(Ordering::SeqCst);
    let before = asked();
    let unknown =
        |port: u16| platform.client.header("host", &format!("p{port}-{}.localhost", instance.id.k8s_name()));
    for _ in 0..100 {
        unknown(1).get("/").await.expect_problem(401, "not-opened");
    }
    assert_eq!(asked() - before, 1, "the gpu service is asked once");
    let mut limited = 0;
    for port in 2..100 {
        let answer = unknown(port).get("/").await;
        assert!([401, 429].contains(&answer.status), "{}", answer.text);
        limited += usize::from(answer.status == 429);
    }
    assert!(limited > 30 && asked() - before < 65, "{limited} refused, asked {} times", asked() - before);
    // clients with an open connection are not affected
    let _ = opened.get("/").await.expect(200);
    let other = platform.instance();
    let _ = platform.opened(&other).await.get("/").await.expect(200);
    // a port that is opened is reachable immediately
    let port = platform.port(&instance, 1, false);
    platform.publish(json!({ "instance_id": instance.id }));
    eventually("the port is open", async || match platform.at(&port).get("/").await.status {
        429 => Some(()),
        status => (status == 200).then_some(()),
    })
    .await;
}
