use std::time::{Duration, Instant};

use auth::Revocation;
use futures::{SinkExt, StreamExt};
use testkit::eventually;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, Message, handshake::client::Response, http::Request},
};

use crate::platform::Platform;

pub(crate) type Opened = Result<(WebSocketStream<TcpStream>, Response), tungstenite::Error>;

pub(crate) async fn connect(platform: &Platform, host: &str, path: &str, headers: &[(&str, &str)]) -> Opened {
    let stream = TcpStream::connect(platform.address).await.unwrap();
    client_async(upgrade(("ws", host, path), headers), stream).await
}

/// The request that opens a WebSocket, with further headers.
pub(crate) fn upgrade((scheme, host, path): (&str, &str, &str), headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder()
        .uri(format!("{scheme}://{host}{path}"))
        .header("host", host)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", tungstenite::handshake::client::generate_key());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

fn status(refused: Opened) -> u16 {
    match refused {
        Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
        other => panic!("not refused over HTTP: {:?}", other.map(|(_, answer)| answer)),
    }
}

async fn echoes(mut socket: WebSocketStream<TcpStream>) -> String {
    let Some(Ok(Message::Text(seen))) = socket.next().await else { panic!("no greeting") };
    for message in [Message::text("hello"), Message::binary(vec![7; 300_000])] {
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    socket.close(None).await.unwrap();
    while let Some(Ok(_)) = socket.next().await {}
    seen.to_string()
}

#[tokio::test]
async fn a_websocket_of_an_instance_works_both_ways() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    assert_eq!(status(connect(&platform, &instance.host, "/ws", &[]).await), 401);
    let cookie = platform.cookie(&instance).await;
    let (socket, answer) =
        connect(&platform, &instance.host, "/ws", &[("cookie", &cookie), ("sec-websocket-protocol", "chat")])
            .await
            .unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "chat");
    assert_eq!(echoes(socket).await, "None");
}

#[tokio::test]
async fn the_terminal_takes_the_token_from_a_header() {
    let platform = Platform::start().await;
    let host = platform.address.to_string();
    let path = "/v1/instances/inst_x/terminal?command=sh";
    let bearer = format!("Bearer {}", platform.issuer.admin());
    let (socket, _) = connect(&platform, &host, path, &[("authorization", &bearer)]).await.unwrap();
    assert_eq!(echoes(socket).await, format!("Some({bearer:?})"));
    assert_eq!(status(connect(&platform, &host, path, &[]).await), 401);
}

#[tokio::test]
async fn the_terminal_takes_the_token_from_a_subprotocol() {
    let platform = Platform::start().await;
    let host = platform.address.to_string();
    let path = "/v1/instances/inst_x/terminal";
    let token = platform.issuer.admin();
    let offered = format!("atelier.terminal, bearer.{token}");
    let (socket, answer) =
        connect(&platform, &host, path, &[("sec-websocket-protocol", &offered)]).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "atelier.terminal", "the token is not echoed");
    assert!(echoes(socket).await.contains(&token));
    let forged = "atelier.terminal, bearer.x.y.z";
    assert_eq!(status(connect(&platform, &host, path, &[("sec-websocket-protocol", forged)]).await), 401);
}

#[tokio::test]
async fn shutdown_closes_websockets() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let cookie = platform.cookie(&instance).await;
    let (mut socket, _) = connect(&platform, &instance.host, "/ws", &[("cookie", &cookie)]).await.unwrap();
    assert!(socket.next().await.unwrap().is_ok());
    platform.process.shutdown.begin();
    while let Some(Ok(_)) = socket.next().await {}
    platform.served.await.unwrap();
}

#[tokio::test]
async fn the_end_of_a_users_rights_cuts_what_they_have_opened() {
    let platform = Platform::start().await;
    let (instance, other) = (platform.instance(), platform.instance());
    let mut sockets = Vec::new();
    for instance in [&instance, &other] {
        let cookie = platform.cookie(instance).await;
        let (mut socket, _) =
            connect(&platform, &instance.host, "/ws", &[("cookie", &cookie)]).await.unwrap();
        assert!(matches!(socket.next().await, Some(Ok(Message::Text(_)))), "the greeting");
        sockets.push(socket);
    }
    let opened = platform.opened(&instance).await;
    let _ = opened.get("/").await.expect(200);
    let download = reqwest::Client::new()
        .post(format!("http://{}/mirror", platform.address))
        .header("host", &instance.host)
        .header("cookie", platform.cookie(&instance).await)
        .body(reqwest::Body::wrap_stream(
            futures::stream::once(async { Ok::<_, std::io::Error>("first") })
                .chain(futures::stream::pending()),
        ))
        .send()
        .await
        .unwrap();
    let mut download = download.bytes_stream();
    assert_eq!(download.next().await.unwrap().unwrap(), "first");

    platform.issuer.revoke(Revocation {
        user_id: Some(instance.user),
        tenant_id: Some(instance.tenant),
        ..Revocation::default()
    });
    let begun = Instant::now();
    let [mut cut, mut goes_on] = <[_; 2]>::try_from(sockets).unwrap();
    assert!(
        !matches!(cut.next().await, Some(Ok(Message::Text(_) | Message::Binary(_)))),
        "the socket is cut"
    );
    assert!(download.next().await.unwrap().is_err(), "a download does not seem complete");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let _ = opened.get("/").await.expect(401);
    assert_eq!(status(connect(&platform, &instance.host, "/ws", &[]).await), 401);
    goes_on.send(Message::text("still here")).await.unwrap();
    assert_eq!(goes_on.next().await.unwrap().unwrap(), Message::text("still here"));
}

#[tokio::test]
async fn a_tenant_has_so_many_websockets_to_its_instances() {
    let platform = Platform::with(|config| config.limits.instance_requests_at_a_time = 3).await;
    let (instance, other) = (platform.instance(), platform.instance());
    let cookie = platform.cookie(&instance).await;
    let open = async || connect(&platform, &instance.host, "/ws", &[("cookie", &cookie)]).await;
    let mut sockets = Vec::new();
    for _ in 0..3 {
        sockets.push(open().await.unwrap().0);
    }
    assert_eq!(status(open().await), 429);
    let refused = platform.at(&instance).header("cookie", &cookie).get("/").await;
    assert!(refused.expect_problem(429, "too-many-requests").header("retry-after").is_some());
    // the limit is per tenant
    let _ = platform.opened(&other).await.get("/").await.expect(200);
    drop(sockets.pop());
    eventually("a closed one is not counted", async || open().await.ok().map(drop)).await;
}
