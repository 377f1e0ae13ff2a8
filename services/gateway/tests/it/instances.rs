use std::sync::atomic::Ordering;

use ids::{InstanceId, TenantId};
use serde_json::json;
use testkit::{Response, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::platform::{Instance, Platform};

#[tokio::test]
async fn a_ticket_becomes_a_cookie_and_the_cookie_a_page() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let (at, ticket) = (platform.at(&instance), platform.ticket(&instance));
    let path = format!("/.atelier/session?ticket={ticket}");
    let answer = at.get(&path).await.expect(303);
    assert_eq!(answer.header("location"), Some("/"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("atelier_session=") && !set.contains("Domain"), "{set}");
    for attribute in ["; Path=/", "; HttpOnly", "; SameSite=Lax", "; Max-Age=28800"] {
        assert!(set.contains(attribute), "{set}");
    }
    let opened = at.header("cookie", &format!("theirs=1; {}; more=2", set.split(';').next().unwrap()));
    let page = opened.get("/some/path?q=a%2Fb").await.expect(200);
    assert_eq!((page.str("service"), page.str("uri")), ("pod", "/some/path?q=a%2Fb"));
    let headers = &page.body["headers"];
    assert_eq!(headers["host"], instance.host.as_str());
    assert_eq!(headers["x-forwarded-host"], instance.host.as_str());
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert_eq!(headers["x-forwarded-proto"], "http");
    assert_eq!(headers["cookie"], "theirs=1; more=2", "our cookie does not reach the instance");
    at.get(&path).await.expect_problem(401, "not-opened");
}

#[tokio::test]
async fn with_https_the_cookie_is_secure_and_bound_to_its_host() {
    let platform = Platform::with(|config| {
        config.public_url = "https://atelier.example".parse().unwrap();
        config.apps.domain = "apps.example".to_owned();
    })
    .await;
    let instance = platform.instance();
    let host = format!("{}.apps.example", instance.id.k8s_name());
    let at = platform.client.header("host", &host);
    let answer =
        at.get(&format!("/.atelier/session?ticket={}", platform.ticket(&instance))).await.expect(303);
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-atelier=") && set.contains("; Secure"), "{set}");
    let opened = at.header("cookie", set.split(';').next().unwrap());
    assert_eq!(opened.get("/").await.expect(200).body["headers"]["x-forwarded-proto"], "https");
    // a name outside the apps domain belongs to the platform
    platform.client.header("host", "inst-x.localhost").get("/v1").await.expect_problem(404, "no-such-route");
}

/// A response without the headers that always differ.
pub(crate) fn essence(answer: &Response) -> (u16, String, Vec<(String, String)>) {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    (answer.status, answer.text.clone(), headers)
}

#[tokio::test]
async fn closed_unknown_and_foreign_instances_look_alike() {
    let platform = Platform::start().await;
    let (one, two) = (platform.instance(), platform.instance());
    let cookie_of_one = platform.cookie(&one).await;
    let missing = InstanceId::new().k8s_name();
    let hosts = [
        two.host.clone(),
        format!("{missing}.localhost"),
        "inst-x.localhost".to_owned(),
        "a.b.localhost".to_owned(),
    ];
    for accept in ["text/html,*/*", "application/json"] {
        let mut seen = Vec::new();
        for host in &hosts {
            let client = platform.client.header("host", host).header("accept", accept);
            let client = client.header("sec-fetch-mode", "navigate");
            for path in ["/", "/readyz", "/v1/stock", "/.atelier/session?ticket=x", "/.atelier/session"] {
                seen.push(essence(&client.get(path).await));
                seen.push(essence(&client.header("cookie", &cookie_of_one).get(path).await));
            }
        }
        assert_eq!(seen[0].0, 401);
        assert_eq!(seen[0].1.contains("<h1>"), accept.starts_with("text/html"));
        seen.dedup();
        assert_eq!(seen.len(), 1, "{seen:#?}");
    }
    assert_eq!(platform.fixture.asked_for_routes.load(Ordering::SeqCst), 0, "no service was asked");
}

#[tokio::test]
async fn a_cookie_ends_with_its_instance_and_cannot_be_changed() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let cookie = platform.cookie(&instance).await;
    let with = |cookie: &str| platform.at(&instance).header("cookie", cookie);
    let _ = with(&cookie).get("/").await.expect(200);
    let mut parts: Vec<_> = cookie.split('.').map(str::to_owned).collect();
    parts[1] = parts[1].replacen(|c: char| c.is_ascii_lowercase(), "A", 1);
    with(&parts.join(".")).get("/").await.expect_problem(401, "not-opened");
    let platform_token = platform.issuer.admin();
    with(&format!("atelier_session={platform_token}")).get("/").await.expect_problem(401, "not-opened");

    // the id belongs to another tenant now, then no longer exists
    let moved = Instance { tenant: TenantId::new(), ..instance.clone() };
    platform.route(&moved, "running", Some(&platform.pod));
    eventually("the new owner is known", async || (with(&cookie).get("/").await.status == 401).then_some(()))
        .await;
    platform.route(&instance, "running", Some(&platform.pod));
    eventually("the owner is back", async || (with(&cookie).get("/").await.status == 200).then_some(()))
        .await;
    platform.fixture.routes.lock().unwrap().clear();
    platform.publish(json!({ "instance_id": instance.id }));
    eventually("the instance is gone", async || (with(&cookie).get("/").await.status == 404).then_some(()))
        .await;
    with(&cookie).get("/").await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn only_the_user_learns_that_an_instance_is_not_running() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    platform.route(&instance, "stopped", None);
    let opened = platform.opened(&instance).await;
    let page = opened.header("accept", "text/html").get("/").await.expect(503);
    assert!(page.text.contains("The instance is stopped"), "{}", page.text);
    let answer = opened.get("/").await.expect_problem(503, "instance-not-running");
    assert_eq!(answer.header("retry-after"), Some("3"));
    platform.at(&instance).get("/").await.expect_problem(401, "not-opened");

    platform.route(&instance, "starting", None);
    eventually("it starts", async || {
        let page = opened.header("accept", "text/html").get("/").await;
        (page.status == 503 && page.text.contains("http-equiv=\"refresh\"")).then_some(())
    })
    .await;
    platform.route(&instance, "running", Some(&platform.pod));
    eventually("it runs", async || (opened.get("/").await.status == 200).then_some(())).await;
}

#[tokio::test]
async fn an_unreachable_address_is_looked_up_again() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    platform.route(&instance, "running", Some(testkit::NOBODY));
    let opened = platform.opened(&instance).await;
    opened.get("/").await.expect_problem(503, "instance-not-running");
    platform.route(&instance, "running", Some(&platform.pod));
    let _ = opened.get("/").await.expect(200);
}

#[tokio::test]
async fn an_instance_is_reached_at_its_new_address_at_once() {
    use std::io::{Read, Write};
    let platform = Platform::start().await;
    let instance = platform.instance();
    // a pod that answers once and ends
    let before = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    platform.route(&instance, "running", Some(&before.local_addr().unwrap().to_string()));
    let answers_once = std::thread::spawn(move || {
        let (mut stream, _) = before.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
    });
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(204);
    answers_once.join().unwrap();
    // its address is still cached
    platform.route(&instance, "running", Some(&platform.pod));
    let _ = opened.get("/").await.expect(200);

    // the cached state `not running` is dropped when the instance starts
    let other = platform.instance();
    platform.route(&other, "stopped", None);
    let opened = platform.opened(&other).await;
    let _ = opened.get("/").await.expect(503);
    platform.route(&other, "running", Some(&platform.pod));
    let begun = std::time::Instant::now();
    eventually("it runs", async || (opened.get("/").await.status == 200).then_some(())).await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn instances_stay_reachable_while_the_gpu_service_is_unavailable() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(200);
    platform.fixture.gpu_away.store(true, Ordering::SeqCst);
    let before = platform.fixture.asked_for_routes.load(Ordering::SeqCst);
    eventually("the gateway has asked again", async || {
        let _ = opened.get("/").await.expect(200);
        (platform.fixture.asked_for_routes.load(Ordering::SeqCst) > before + 1).then_some(())
    })
    .await;
    let unknown = platform.instance();
    let opened = platform.opened(&unknown).await;
    opened.get("/").await.expect_problem(503, "unavailable");
}

#[tokio::test]
async fn concurrent_requests_share_one_lookup() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let all = (0..50).map(|_| {
        let opened = opened.clone();
        tokio::spawn(async move { opened.get("/").await.status })
    });
    for one in all.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), 200);
    }
    let asked = platform.fixture.asked_for_routes.load(Ordering::SeqCst);
    assert!(asked <= 3, "asked {asked} times");
}

#[tokio::test]
async fn cookies_and_tokens_of_the_platform_do_not_pass() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let with_token = opened.header("authorization", &format!("Bearer {}", platform.issuer.admin()));
    assert!(with_token.get("/").await.expect(200).body["headers"].get("authorization").is_none());
    // the second of two, and among the subprotocols of a WebSocket
    let both = opened
        .header("authorization", "Basic eDp5")
        .header("authorization", &format!("Bearer {}", platform.issuer.admin()))
        .header("sec-websocket-protocol", &format!("chat, bearer.{}", platform.issuer.admin()))
        .header("x_forwarded_for", "1.2.3.4");
    let seen = both.get("/").await.expect(200).body["headers"].clone();
    assert!(!seen.to_string().contains(&platform.issuer.admin()[..40]), "{seen}");
    assert_eq!((seen["sec-websocket-protocol"].as_str(), seen.get("x_forwarded_for")), (Some("chat"), None));
    let own = opened.header("authorization", "Bearer the-instances-own");
    assert_eq!(own.get("/").await.expect(200).body["headers"]["authorization"], "Bearer the-instances-own");
    let basic = opened.header("authorization", "Basic eDp5").header("x-atelier-user", "root");
    let seen = basic.post("/api", json!({ "a": 1 })).await.expect(200).body;
    assert_eq!(seen["headers"]["authorization"], "Basic eDp5");
    assert!(seen["headers"].get("x-atelier-user").is_none());

    let cookies = opened.get("/cookies").await.expect(200);
    let set: Vec<_> = cookies.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap()).collect();
    assert_eq!(set, ["mine=1; Path=/"], "neither our cookie nor one with a domain");
    assert_eq!(opened.get("/metrics").await.expect(200).text, "the instance's own");
    opened.get("/.atelier/other").await.expect_problem(404, "no-such-route");
    let refused = opened.send("PUT".parse().unwrap(), "/.atelier/session?ticket=x", &json!(null)).await;
    let refused = refused.expect_problem(405, "method-not-allowed");
    assert_eq!(refused.header("allow"), Some("GET, POST"));
    let refused = opened.send("TRACE".parse().unwrap(), "/", &json!(null)).await;
    let refused = refused.expect_problem(405, "method-not-allowed");
    assert_eq!(refused.header("allow"), Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
}

#[tokio::test]
async fn pages_of_other_origins_only_read() {
    let platform = Platform::start().await;
    let (instance, sibling) = (platform.instance(), platform.instance());
    let opened = platform.opened(&instance).await;
    let own = opened.header("origin", &format!("http://{}", instance.host));
    let _ = own.post("/api", json!({})).await.expect(200);
    let _ = opened.post("/api", json!({})).await.expect(200);
    for origin in [&format!("http://{}", sibling.host), "null", "https://evil.example"] {
        let foreign = opened.header("origin", origin);
        foreign.post("/api", json!({})).await.expect_problem(403, "cross-origin");
        foreign
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .get("/ws")
            .await
            .expect_problem(403, "cross-origin");
        let _ = foreign.get("/").await.expect(200);
        let closed = platform.at(&instance).header("origin", origin);
        closed.post("/api", json!({})).await.expect_problem(401, "not-opened");
    }
}

#[tokio::test]
async fn what_only_looks_at_a_ticket_does_not_use_it_up() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let (at, ticket) = (platform.at(&instance), platform.ticket(&instance));
    let path = format!("/.atelier/session?ticket={ticket}");
    let html = at.header("accept", "text/html");
    let navigates = html.header("sec-fetch-mode", "navigate");
    for prepared in [
        navigates.header("sec-purpose", "prefetch"),
        navigates.header("sec-purpose", "prefetch;prerender"),
        html.header("purpose", "prefetch"),
        html.header("x-moz", "prefetch"),
        html.header("user-agent", "Mozilla/5.0 (compatible; Discordbot/2.0)"),
        // a browser that does not send `Sec-Fetch-Mode: navigate`
        html.clone(),
    ] {
        let page = prepared.get(&path).await.expect(200);
        assert!(page.text.contains(&format!("<form method=\"post\" action=\"{path}\">")), "{}", page.text);
        assert_eq!((page.header("cache-control"), page.header("set-cookie")), (Some("no-store"), None));
        assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
    }
    for looks in [at.header("sec-purpose", "prefetch"), at.header("user-agent", "WhatsApp/2.23 A")] {
        looks.get(&path).await.expect_problem(401, "not-opened");
    }
    let head = at.send("HEAD".parse().unwrap(), &path, &json!(null)).await;
    assert_eq!(head.status, 405);
    // the form of the page
    let opened = html.post(&path, json!(null)).await.expect(303);
    assert!(opened.header("set-cookie").is_some());
    at.get(&path).await.expect_problem(401, "not-opened");
    // a browser navigates to the URL
    let path = format!("/.atelier/session?ticket={}", platform.ticket(&instance));
    let _ = navigates.get(&path).await.expect(303);
}

#[tokio::test]
async fn an_instance_that_speaks_an_old_http_is_answered_for_in_the_new_one() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    platform.route(&instance, "running", Some(&listener.local_addr().unwrap().to_string()));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let head = String::from_utf8_lossy(&request[..read]).into_owned();
            // with a length, and to the end of the connection, as `python -m http.server` does
            let answer = match head.split(' ').nth(1) {
                Some("/length") => "HTTP/1.0 200 OK\r\nServer: old\r\nContent-Length: 5\r\n\r\nhello",
                Some("/missing") => "HTTP/1.0 404 File not found\r\nConnection: close\r\n\r\nnot here",
                _ => "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nhello",
            };
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let cookie = platform.cookie(&instance).await;
    for (path, status, body) in [
        ("/", "200 OK", "hello"),
        ("/length", "200 OK", "hello"),
        ("/missing", "404 File not found", "not here"),
    ] {
        // two on one connection
        let mut stream = tokio::net::TcpStream::connect(platform.address).await.unwrap();
        for last in [false, true] {
            let connection = if last { "close" } else { "keep-alive" };
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: {connection}\r\n\r\n",
                instance.host
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            while !String::from_utf8_lossy(&answer).contains(body) {
                let read = stream.read_buf(&mut answer).await.unwrap();
                assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
            }
            if !last && !String::from_utf8_lossy(&answer).to_lowercase().contains("content-length") {
                while !answer.ends_with(b"0\r\n\r\n") {
                    assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
                }
            }
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        }
    }
}
