//! What passes through TLS: WebSockets, instances over both versions of HTTP, clients behind a load balancer.

use atelier_gateway::Config;
use axum::body::Bytes;
use futures::{SinkExt, StreamExt, future::join_all};
use reqwest::Version;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, Message, handshake::client::Response},
};

use crate::{
    platform::{Instance, Platform},
    proxy_protocol::{trusting, v1, v2},
    tls::{Authority, with_tls},
    websockets::upgrade,
};

type Opened = Result<(WebSocketStream<TlsStream<TcpStream>>, Response), tungstenite::Error>;

/// A platform with a certificate for itself and its instances.
async fn secured(change: impl FnOnce(&mut Config)) -> (Authority, Platform) {
    let authority = Authority::new();
    let tls = with_tls(vec![authority.sign("one", &["localhost", "*.apps.localhost"])]);
    let platform = Platform::with(|config| {
        tls(config);
        // no certificate is for `*.localhost`
        config.apps.domain = "apps.localhost".to_owned();
        change(config);
    })
    .await;
    (authority, platform)
}

/// An instance that runs in the pod.
fn instance(platform: &Platform) -> Instance {
    let instance = platform.instance();
    Instance { host: instance.host.replace(".localhost", ".apps.localhost"), ..instance }
}

/// A browser that resolves the host name of the instance.
fn browser(authority: &Authority, platform: &Platform, instance: &Instance) -> reqwest::Client {
    let builder = authority.builder(platform).resolve(name(instance), platform.address);
    builder.build().unwrap()
}

/// The host name of an instance without the port.
fn name(instance: &Instance) -> &str {
    instance.host.split(':').next().unwrap()
}

/// Exchanges a ticket for the cookie (`name=value`).
async fn open(browser: &reqwest::Client, platform: &Platform, instance: &Instance) -> String {
    let ticket = platform.ticket(instance);
    let at = format!("https://{}/.atelier/session?ticket={ticket}", instance.host);
    let opened = browser.get(at).send().await.unwrap();
    assert_eq!(opened.status(), 303);
    let set = opened.headers()["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-") && set.contains("; Secure"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

async fn websocket(
    authority: &Authority,
    platform: &Platform,
    (host, path): (&str, &str),
    headers: &[(&str, &str)],
) -> Opened {
    let stream = authority.connect(platform.address, host.split(':').next().unwrap()).await;
    client_async(upgrade(("wss", host, path), headers), stream).await
}

/// Returns the greeting, after large messages have come back.
async fn echoes(opened: Opened) -> String {
    let (mut socket, _) = opened.unwrap();
    let Some(Ok(Message::Text(greeting))) = socket.next().await else { panic!("no greeting") };
    // several TLS records each
    for message in [Message::text("hello"), Message::binary(vec![7; 300_000])] {
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    socket.close(None).await.unwrap();
    while let Some(Ok(_)) = socket.next().await {}
    greeting.to_string()
}

fn refused(opened: Opened) -> u16 {
    match opened {
        Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("not refused over HTTP: {:?}", other.map(|(_, answer)| answer)),
    }
}

#[tokio::test]
async fn the_terminal_opens_over_tls() {
    let (authority, platform) = secured(|_| {}).await;
    let host = format!("localhost:{}", platform.address.port());
    let at = (host.as_str(), "/v1/instances/inst_x/terminal?command=sh");
    let bearer = format!("Bearer {}", platform.issuer.admin());
    let opened = websocket(&authority, &platform, at, &[("authorization", &bearer)]).await;
    assert_eq!(echoes(opened).await, format!("Some({bearer:?})"));
    assert_eq!(refused(websocket(&authority, &platform, at, &[]).await), 401);
}

#[tokio::test]
async fn an_instance_opens_over_tls() {
    let (authority, platform) = secured(|_| {}).await;
    let instance = instance(&platform);
    let browser = browser(&authority, &platform, &instance);
    let cookie = open(&browser, &platform, &instance).await;
    let page = browser.get(format!("https://{}/page?q=1", instance.host)).header("cookie", &cookie);
    let seen: serde_json::Value = page.send().await.unwrap().json().await.unwrap();
    assert_eq!((&seen["service"], &seen["uri"]), (&"pod".into(), &"/page?q=1".into()));
    assert_eq!(seen["headers"]["x-forwarded-proto"], "https");
    assert_eq!(seen["headers"]["host"], instance.host.as_str());

    let at = (instance.host.as_str(), "/ws");
    let own = format!("https://{}", instance.host);
    let opened = websocket(&authority, &platform, at, &[("cookie", &cookie), ("origin", &own)]).await;
    assert_eq!(echoes(opened).await, "None");
    assert_eq!(refused(websocket(&authority, &platform, at, &[]).await), 401);
    for origin in [own.replacen("https", "http", 1), "https://evil.test".to_owned()] {
        let headers = [("cookie", cookie.as_str()), ("origin", &origin)];
        assert_eq!(refused(websocket(&authority, &platform, at, &headers).await), 403, "{origin}");
    }

    platform.route(&instance, "stopped", None);
    testkit::eventually("its page says that it is stopped", async || {
        let page = browser.get(&own).header("cookie", &cookie).header("accept", "text/html");
        let page = page.send().await.unwrap();
        let is_page = page.status() == 503 && page.headers().contains_key("strict-transport-security");
        let text = page.text().await.unwrap();
        let link = format!("href=\"https://localhost:{}/\"", platform.address.port());
        (is_page && text.contains("The instance is stopped") && text.contains(&link)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_instance_is_served_over_http2_and_tls() {
    let (authority, platform) = secured(|_| {}).await;
    let instance = instance(&platform);
    let browser = browser(&authority, &platform, &instance);
    let cookie = open(&browser, &platform, &instance).await;
    // at the same time, in streams of one connection
    let sizes = [0, 1, 20_000, 3_000_000];
    let answers = join_all(sizes.map(async |size| {
        let body = Bytes::from(vec![7; size]);
        let mirror = browser.post(format!("https://{}/mirror", instance.host)).header("cookie", &cookie);
        let answer = mirror.body(body.clone()).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2), "{size}");
        (answer.bytes().await.unwrap() == body).then_some(size)
    }))
    .await;
    assert_eq!(answers, sizes.map(Some));
    let page = browser.get(format!("https://{}/", instance.host)).header("cookie", &cookie);
    let seen: serde_json::Value = page.send().await.unwrap().json().await.unwrap();
    assert_eq!(seen["headers"]["host"], instance.host.as_str());
    let closed = browser.get(format!("https://{}/", instance.host)).send().await.unwrap();
    assert_eq!((closed.status().as_u16(), closed.version()), (401, Version::HTTP_2));
}

/// A connection that begins with these bytes and continues with TLS. Returns the answer to a request in it.
async fn behind(authority: &Authority, platform: &Platform, header: &[u8], request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(platform.address).await.unwrap();
    stream.write_all(header).await.unwrap();
    let mut stream = authority.handshake(stream, "localhost").await.ok()?;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test]
async fn a_load_balancer_names_the_clients_of_tls_connections() {
    let (authority, platform) = secured(|config| {
        config.proxy_protocol = trusting("127.0.0.0/8");
        config.limits.sign_in_burst = 2;
        config.limits.sign_ins_per_minute = 1;
    })
    .await;
    let sign_in =
        "POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    for client in [[203, 0, 113, 1], [203, 0, 113, 2]] {
        for header in [v1(client), v2(client)] {
            let answer = behind(&authority, &platform, &header, sign_in).await.unwrap();
            let [a, b, c, d] = client;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert!(answer.contains(&format!("\"x-forwarded-for\":\"{a}.{b}.{c}.{d}\"")), "{answer}");
            assert!(answer.contains("\"x-forwarded-proto\":\"https\""), "{answer}");
        }
        let answer = behind(&authority, &platform, &v1(client), sign_in).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    }
    // a handshake without the header, and a header that the client itself sends inside of TLS
    assert_eq!(behind(&authority, &platform, b"", sign_in).await, None);
    let claimed = format!("PROXY TCP4 203.0.113.9 127.0.0.1 5000 443\r\n{sign_in}");
    let answer = behind(&authority, &platform, &v1([203, 0, 113, 3]), &claimed).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}
