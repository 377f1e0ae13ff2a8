//! The log and the terminal of an instance, from a real process in the development cluster.

use std::time::Duration;

use futures::{SinkExt, StreamExt, stream::SplitStream};
use ids::InstanceId;
use serde_json::{Value, json};
use testkit::eventually;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest},
};

use crate::{harness::Fixture, pods};

/// A running instance with a real pod, which prints two lines and then one with each that is typed.
pub(crate) async fn with_pod(fixture: &Fixture) -> InstanceId {
    let id = fixture.ordered(Fixture::order()).await;
    bring_up_with_pod(fixture, id).await;
    id
}

/// Brings an ordered instance up with a real pod.
pub(crate) async fn bring_up_with_pod(fixture: &Fixture, id: InstanceId) {
    let unit = fixture.unit_of(id).await;
    let script = "echo first; echo second; while [ ! -e done ]; do sleep 0.1; done; echo third; sleep 1000";
    pods::give(fixture, id, 1, script).await;
    fixture.operator.ready(&unit).await;
    fixture.in_state(id, "running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_read_and_followed() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let member = fixture.member();
    let path = format!("/v1/instances/{id}/log");
    let log = eventually("both lines are there", async || {
        let log = member.get(&path).await.expect(200);
        log.text.contains("second").then_some(log)
    })
    .await;
    assert_eq!(log.text, "first\nsecond\n");
    assert_eq!(log.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(member.get(&format!("{path}?tail=1")).await.expect(200).text, "second\n");
    for bad in ["tail=-1", "tail=10001", "tail=x", "follow=maybe", "surprise=1"] {
        member.get(&format!("{path}?{bad}")).await.expect_problem(422, "invalid-field");
    }
    let token = fixture.issuer.user(fixture.tenant, auth::Role::Viewer);
    let followed = reqwest::Client::new()
        .get(format!("{}{path}?follow=true&tail=1", fixture.base))
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    let mut lines = followed.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("second") {
        seen += std::str::from_utf8(&lines.next().await.unwrap().unwrap()).unwrap();
    }
    let (printed, code) = terminal(&fixture, id, &["touch", "done"], &[]).await;
    assert_eq!((printed.as_str(), code), ("", 0));
    while !seen.contains("third") {
        seen += std::str::from_utf8(&lines.next().await.unwrap().unwrap()).unwrap();
    }
    assert_eq!(seen, "second\nthird\n");
}

/// Creates a file in the working folder of the instance's container.
pub(crate) async fn touch(fixture: &Fixture, id: InstanceId, file: &str) {
    assert_eq!(touch_at(fixture, &fixture.base, id, file).await, 0);
}

/// As [`touch`], at another replica. The exit code.
pub(crate) async fn touch_at(fixture: &Fixture, base: &str, id: InstanceId, file: &str) -> i64 {
    let token = fixture.issuer.user(fixture.tenant, auth::Role::Member);
    let query = format!("command=touch&command={file}");
    let mut socket = connect(base, id, &query, &token).await.unwrap();
    let _ = begun(&mut socket).await;
    ended(socket.split().1).await.1
}

pub(crate) type Terminal = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Runs a command in the instance's terminal. Returns its output and its exit code.
async fn terminal(fixture: &Fixture, id: InstanceId, command: &[&str], sent: &[Message]) -> (String, i64) {
    let mut socket = opened(fixture, id, command).await;
    for message in sent {
        socket.send(message.clone()).await.unwrap();
    }
    ended(socket.split().1).await
}

pub(crate) async fn opened(fixture: &Fixture, id: InstanceId, command: &[&str]) -> Terminal {
    opened_by(fixture, id, command, &fixture.issuer.user(fixture.tenant, auth::Role::Member)).await
}

async fn opened_by(fixture: &Fixture, id: InstanceId, command: &[&str], token: &str) -> Terminal {
    let query: String = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(command.iter().map(|word| ("command", word)))
        .finish();
    let url = format!("{}/v1/instances/{id}/terminal?{query}", fixture.base.replace("http", "ws"));
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request.headers_mut().insert("x-forwarded-for", "192.0.2.7".parse().unwrap());
    let mut socket = connect_async(request).await.unwrap().0;
    assert_eq!(begun(&mut socket).await.1, 0);
    socket
}

/// The first frame: the session and the offset of the output that follows.
async fn begun(socket: &mut Terminal) -> (String, u64) {
    let first = tokio::time::timeout(Duration::from_secs(30), socket.next()).await.unwrap();
    let Some(Ok(Message::Text(text))) = first else { panic!("no session: {first:?}") };
    let first: Value = serde_json::from_str(&text).unwrap();
    let session = &first["session"];
    (session["id"].as_str().unwrap().to_owned(), session["offset"].as_u64().unwrap())
}

async fn ended(mut socket: SplitStream<Terminal>) -> (String, i64) {
    let (mut printed, mut code) = (Vec::new(), None);
    while let Some(message) = said(&mut socket).await {
        match message {
            Message::Binary(bytes) => {
                assert!(code.is_none(), "printed after the end");
                printed.extend_from_slice(&bytes);
            }
            Message::Text(text) => {
                let end: Value = serde_json::from_str(&text).unwrap();
                code = end["exit_code"].as_i64();
            }
            Message::Close(_) => break,
            _ => {}
        }
    }
    (String::from_utf8(printed).unwrap().replace("\r\n", "\n"), code.expect("an exit code came"))
}

async fn said(socket: &mut SplitStream<Terminal>) -> Option<Message> {
    let next = tokio::time::timeout(Duration::from_secs(30), socket.next()).await;
    next.expect("the terminal goes on").map(Result::unwrap)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_carries_bytes_both_ways_sizes_and_the_exit_code() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    assert_eq!(terminal(&fixture, id, &["sh", "-c", "echo hello; exit 3"], &[]).await, ("hello\n".into(), 3));
    let resize = Message::text(json!({ "resize": { "cols": 101, "rows": 37 } }).to_string());
    let typed = Message::binary(&b"line\n"[..]);
    let script = "read -r line; echo \"got $line\"; stty size";
    let (printed, code) = terminal(&fixture, id, &["sh", "-c", script], &[resize, typed]).await;
    assert!(printed.contains("got line\n37 101\n"), "{printed:?}");
    assert_eq!(code, 0);
    // much of it arrives whole
    let (printed, _) = terminal(&fixture, id, &["sh", "-c", "seq 1 20000"], &[]).await;
    assert!(printed.starts_with("1\n2\n") && printed.ends_with("19999\n20000\n"));
    assert_eq!(printed.lines().count(), 20000);
    // and while much is printed, much can be typed
    let script = "stty -echo; seq 1 300000 & echo \"took $(head -n 60000 | wc -l)\"; wait";
    let (mut typing, mut socket) = opened(&fixture, id, &["sh", "-c", script]).await.split();
    assert!(matches!(said(&mut socket).await, Some(Message::Binary(_))));
    tokio::spawn(async move {
        let lines = Message::binary("as long as a line that somebody types\n".repeat(1500));
        for _ in 0..40 {
            typing.send(lines.clone()).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    let (printed, code) = ended(socket).await;
    assert!(printed.contains("took 60000\n") && printed.contains("\n300000\n"));
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_pod_there_is_no_log_and_no_terminal() {
    let fixture = Fixture::start().await;
    let id = fixture.ordered(Fixture::order()).await;
    let path = format!("/v1/instances/{id}");
    fixture.unit_of(id).await;
    for part in ["log", "terminal"] {
        let refused = fixture.member().get(&format!("{path}/{part}")).await;
        let refused = refused.expect_problem(409, "instance-not-running");
        assert!(!refused.body["next"].is_null());
    }
    // the operator says that it runs, but its pod is gone
    fixture.brought_up(id).await;
    fixture.member().get(&format!("{path}/log")).await.expect_problem(409, "instance-not-running");
    // a terminal without a WebSocket
    let id = with_pod(&fixture).await;
    fixture
        .member()
        .get(&format!("/v1/instances/{id}/terminal"))
        .await
        .expect_problem(426, "websocket-required");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_users_rights_ends_their_terminals_and_logs() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let mut claims = fixture.issuer.claims(Some((fixture.tenant, auth::Role::Member)), false);
    let removed = claims.sub;
    let token = fixture.issuer.sign(&claims);
    let followed = reqwest::Client::new()
        .get(format!("{}/v1/instances/{id}/log?follow=true", fixture.base))
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    let mut lines = followed.bytes_stream();
    assert!(lines.next().await.unwrap().is_ok());
    let mut terminal = opened_by(&fixture, id, &["cat"], &token).await;
    let mut stays = opened(&fixture, id, &["cat"]).await;
    terminal.send(Message::binary(&b"a\n"[..])).await.unwrap();
    assert!(matches!(terminal.next().await, Some(Ok(Message::Binary(_)))), "the terminal works");

    fixture.issuer.revoke(auth::Revocation { user_id: Some(removed), ..auth::Revocation::default() });
    let begun = std::time::Instant::now();
    let close = loop {
        if let Message::Close(Some(frame)) = terminal.next().await.unwrap().unwrap() {
            break frame;
        }
    };
    assert_eq!((u16::from(close.code), close.reason.as_str()), (1008, "your rights have ended"));
    while lines.next().await.is_some() {}
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let refused = testkit::Client::new(&fixture.base).token(&token);
    refused.get("/v1/instances").await.expect_problem(401, "unauthenticated");
    // other users, and a later token of this one, go on
    stays.send(Message::binary(&b"b\n"[..])).await.unwrap();
    assert!(matches!(stays.next().await, Some(Ok(Message::Binary(_)))), "the other terminal works");
    claims.iat += 1.0;
    let _ = refused.token(&fixture.issuer.sign(&claims)).get("/v1/instances").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_so_many_logs_and_terminals_open_at_a_time() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let follow = async || {
        let token = fixture.issuer.user(fixture.tenant, auth::Role::Viewer);
        let url = format!("{}/v1/instances/{id}/log?follow=true", fixture.base);
        reqwest::Client::new().get(url).bearer_auth(token).send().await.unwrap()
    };
    let (first, _second) = (follow().await, follow().await);
    let log = format!("/v1/instances/{id}/log");
    let refused = fixture.member().get(&log).await.expect_problem(429, "too-many-streams");
    assert_eq!((refused.header("retry-after"), &refused.body["limit"]), (Some("5"), &json!(2)));
    drop(first);
    eventually("the closed log is not counted", async || {
        (fixture.member().get(&format!("{log}?tail=1")).await.status == 200).then_some(())
    })
    .await;

    let _stays = opened(&fixture, id, &["cat"]).await;
    let mut ends = opened(&fixture, id, &["cat"]).await;
    let url = format!("{}/v1/instances/{id}/terminal?command=cat", fixture.base.replace("http", "ws"));
    let connect = async || {
        let mut request = url.as_str().into_client_request().unwrap();
        let token = fixture.issuer.user(fixture.tenant, auth::Role::Member);
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        connect_async(request).await
    };
    let Err(tungstenite::Error::Http(refused)) = connect().await else { panic!("a third terminal") };
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "5");
    // neither a client that is gone nor a request without a WebSocket is counted
    ends.close(None).await.unwrap();
    eventually("the closed terminal is not counted", async || connect().await.ok()).await;
}

/// Connects with any query. The answer of a refusal.
async fn connect(
    base: &str,
    id: InstanceId,
    query: &str,
    token: &str,
) -> Result<Terminal, Box<http::Response<Option<Vec<u8>>>>> {
    let url = format!("{}/v1/instances/{id}/terminal?{query}", base.replace("http", "ws"));
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    match connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(refused)) => Err(refused),
        Err(other) => panic!("{other}"),
    }
}

/// Reads output until it ends with `text`.
async fn until(socket: &mut Terminal, text: &str) -> Vec<u8> {
    let mut printed = Vec::new();
    while !String::from_utf8_lossy(&printed).contains(text) {
        match tokio::time::timeout(Duration::from_secs(30), socket.next()).await.unwrap() {
            Some(Ok(Message::Binary(bytes))) => printed.extend_from_slice(&bytes),
            other => panic!("{other:?}"),
        }
    }
    printed
}

/// The events of terminals, oldest first: type and `end_reason`.
async fn terminal_events(fixture: &Fixture, id: InstanceId) -> Vec<(String, Value)> {
    let events = fixture.member().get(&format!("/v1/instances/{id}/events")).await.expect(200).body;
    let items = events["items"].as_array().unwrap().iter().rev();
    let name = |event: &Value| event["type"].as_str().unwrap().to_owned();
    items
        .filter(|event| name(event).contains("terminal"))
        .map(|event| (name(event), event["data"].clone()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_goes_on_after_a_lost_connection() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let claims = fixture.issuer.claims(Some((fixture.tenant, auth::Role::Member)), false);
    let token = fixture.issuer.sign(&claims);
    let script =
        "stty -echo; echo ready; read -r a; sleep 0.3; seq 1 2000; read -r b; echo \"got $a $b\"; exit 4";
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(["sh", "-c", script].map(|word| ("command", word)))
        .finish();
    let mut socket = connect(&fixture.base, id, &query, &token).await.unwrap();
    let (session, offset) = begun(&mut socket).await;
    assert_eq!(offset, 0);
    let mut printed = until(&mut socket, "ready").await;
    socket.send(Message::binary(&b"one\n"[..])).await.unwrap();
    // the answer to a ping shows that the line has arrived
    socket.send(Message::Ping("x".into())).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Pong(_)))));
    // without a close frame
    drop(socket);
    let other = fixture.issuer.user(fixture.tenant, auth::Role::Owner);
    let resume = |received: usize| format!("session={session}&received={received}");
    let refused = connect(&fixture.base, id, &resume(0), &other).await.unwrap_err();
    assert_eq!(refused.status(), 410, "another user");
    for bad in [format!("session={session}"), format!("{}&command=sh", resume(0))] {
        assert_eq!(connect(&fixture.base, id, &bad, &token).await.unwrap_err().status(), 422, "{bad}");
    }
    // another replica cannot serve it
    let replica = fixture.replica().await;
    let refused = connect(&replica.base, id, &resume(0), &token).await.unwrap_err();
    assert_eq!(refused.status(), 410);
    replica.process.shutdown.begin();

    // twice: what the first connection received, and what none has received
    let mut socket = connect(&fixture.base, id, &resume(printed.len()), &token).await.unwrap();
    assert_eq!(begun(&mut socket).await, (session.clone(), printed.len() as u64));
    let _lost_again = until(&mut socket, "1000").await;
    drop(socket);
    let mut socket = connect(&fixture.base, id, &resume(printed.len()), &token).await.unwrap();
    assert_eq!(begun(&mut socket).await, (session.clone(), printed.len() as u64));
    printed.extend(until(&mut socket, "2000").await);
    // a second connection takes it over
    let mut newer = connect(&fixture.base, id, &resume(printed.len()), &token).await.unwrap();
    let _ = begun(&mut newer).await;
    newer.send(Message::binary(&b"two\n"[..])).await.unwrap();
    let (rest, code) = ended(newer.split().1).await;
    let printed = String::from_utf8(printed).unwrap().replace("\r\n", "\n") + &rest;
    let expected: String = (1..=2000).map(|number| format!("{number}\n")).collect();
    assert!(printed.ends_with(&format!("ready\n{expected}got one two\n")), "{printed:.100}");
    assert_eq!(code, 4);
    assert_eq!(connect(&fixture.base, id, &resume(0), &token).await.unwrap_err().status(), 410);
    let events = eventually("the end is recorded", async || {
        let events = terminal_events(&fixture, id).await;
        (events.len() == 2).then_some(events)
    })
    .await;
    assert_eq!(events[0].0, "instance.terminal_opened");
    assert_eq!((&events[1].1["session_id"], &events[1].1["end_reason"]), (&json!(session), &json!("exited")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_terminal_counts_until_it_ends_and_ends_with_the_rights() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let claims = fixture.issuer.claims(Some((fixture.tenant, auth::Role::Member)), false);
    let (user, token) = (claims.sub, fixture.issuer.sign(&claims));
    let lost = opened_by(&fixture, id, &["sh", "-c", "echo $$ > pid; exec sleep 1000"], &token).await;
    let _other = opened(&fixture, id, &["cat"]).await;
    drop(lost);
    let refused = connect(&fixture.base, id, "command=cat", &token).await.unwrap_err();
    assert_eq!(refused.status(), 429, "a lost terminal counts");
    fixture.issuer.revoke(auth::Revocation { user_id: Some(user), ..auth::Revocation::default() });
    let events = eventually("it has ended", async || {
        let events = terminal_events(&fixture, id).await;
        events.iter().any(|(name, _)| name.ends_with("closed")).then_some(events)
    })
    .await;
    assert_eq!(events[0].1["client_address"], "192.0.2.7");
    assert_eq!(events.last().unwrap().1["end_reason"], "rights_ended");
    let _room = opened(&fixture, id, &["cat"]).await;

    // no client reconnects in time
    let mut config = fixture.config.clone();
    config.terminal.reconnect_seconds = 1;
    let impatient = crate::harness::Replica::start(&config, true).await;
    let before = terminal_events(&fixture, id).await.len();
    let token = fixture.issuer.user(fixture.tenant, auth::Role::Member);
    let mut lost = connect(&impatient.base, id, "command=cat", &token).await.unwrap();
    let _ = begun(&mut lost).await;
    drop(lost);
    let ends = async |count: usize| {
        eventually("the terminal has ended", async || {
            let events = terminal_events(&fixture, id).await;
            (events.len() == count).then(|| events.last().unwrap().1["end_reason"].clone())
        })
        .await
    };
    assert_eq!(ends(before + 2).await, "disconnected");
    // shutdown ends and records what is open
    let mut open = connect(&impatient.base, id, "command=cat", &token).await.unwrap();
    let _ = begun(&mut open).await;
    impatient.process.shutdown.begin();
    impatient.process.shutdown.finish().await;
    assert_eq!(ends(before + 4).await, "service_stopped");
}
