//! `pods/portforward` over WebSocket: the `v4.channel.k8s.io` protocol, as the kubelet serves it. Each port has two
//! channels, for data and for an error message; the first frame of each is the port. There is no half-close: the
//! connection ends when either side of all ports does.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request};
use axum::response::Response;
use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use objects::error::Failure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc;

use super::request::{Query, Target};
use crate::hub::Hub;

const PROTOCOL: &str = "v4.channel.k8s.io";
const MOST_PORTS: usize = 128;

pub(crate) async fn serve(
    hub: &Arc<Hub>,
    request: Request,
    target: &Target,
    query: &Query,
) -> Result<Response, Failure> {
    let resource = &target.resource;
    let pod = hub
        .store
        .lock()
        .get("pods", &target.namespace, &target.name)
        .ok_or_else(|| resource.not_found(&target.name))?;
    let ports = ports(query)?;
    if !request.headers().contains_key("sec-websocket-key") {
        return Err(Failure::bad_request(
            "portforward is served over WebSocket only: the request is no upgrade to it",
        ));
    }
    if hub.runtime.running(pod.uid()).is_none() {
        return Err(Failure::bad_request(format!(
            "unable to forward port because pod {} is not running",
            target.name
        )));
    }
    let address = pod.value["status"]["podIP"].as_str().unwrap_or_default().to_owned();
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &())
        .await
        .map_err(|e| Failure::bad_request(e.to_string()))?;
    let upgrade = upgrade.protocols([PROTOCOL]);
    if upgrade.selected_protocol().is_none() {
        return Err(Failure::bad_request(format!("none of the offered subprotocols is served: {PROTOCOL}")));
    }
    let (hub, name) = (hub.clone(), format!("{}/{}", target.namespace, target.name));
    Ok(upgrade.on_upgrade(move |socket| async move {
        Box::pin(relay(&hub, socket, &address, &ports, &name)).await;
    }))
}

/// The ports of a request: `ports`, repeated or separated by commas.
fn ports(query: &Query) -> Result<Vec<u16>, Failure> {
    let mut ports = Vec::new();
    for text in query.all("ports").flat_map(|all| all.split(',')) {
        match text.parse::<u16>() {
            Ok(port) if port > 0 => ports.push(port),
            _ => return Err(Failure::bad_request(format!("port {text:?} must be within 1 and 65535"))),
        }
    }
    if ports.is_empty() || ports.len() > MOST_PORTS {
        return Err(Failure::bad_request("query parameter \"ports\" is required, with at most 128 ports"));
    }
    Ok(ports)
}

/// Connects to a port of the pod. The processes of pods share the machine's network: what a container would have at
/// `localhost` is at the pod's own address or at 127.0.0.1.
async fn connect(address: &str, port: u16) -> std::io::Result<TcpStream> {
    match TcpStream::connect((address, port)).await {
        Ok(stream) => Ok(stream),
        Err(_) => TcpStream::connect(("127.0.0.1", port)).await,
    }
}

fn frame(channel: u8, data: &[u8]) -> Message {
    let mut bytes = Vec::with_capacity(data.len() + 1);
    bytes.push(channel);
    bytes.extend_from_slice(data);
    Message::Binary(bytes.into())
}

/// Copies what the pod sends, until it closes the connection.
async fn copy(mut from: OwnedReadHalf, channel: u8, to: mpsc::Sender<Message>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        if to.send(frame(channel, &buffer[..n])).await.is_err() {
            return;
        }
    }
}

async fn relay(hub: &Hub, socket: WebSocket, address: &str, ports: &[u16], pod: &str) {
    let (mut tx, mut rx) = socket.split();
    let (out, mut frames) = mpsc::channel::<Message>(16);
    let (mut writers, mut copies) = (Vec::new(), Vec::new());
    for (index, port) in ports.iter().enumerate() {
        let channel = u8::try_from(2 * index).unwrap_or(u8::MAX - 1);
        for channel in [channel, channel + 1] {
            if tx.send(frame(channel, &port.to_le_bytes())).await.is_err() {
                return;
            }
        }
        match connect(address, *port).await {
            Ok(stream) => {
                let (read, write) = stream.into_split();
                writers.push(Some(write));
                copies.push(copy(read, channel, out.clone()));
            }
            Err(error) => {
                writers.push(None);
                let why = format!("error forwarding port {port} to pod {pod}: {error}");
                if tx.send(frame(channel + 1, why.as_bytes())).await.is_err() {
                    return;
                }
            }
        }
    }
    drop(out);
    let receiving = async {
        while let Some(Ok(message)) = rx.next().await {
            let Message::Binary(data) = message else {
                if matches!(message, Message::Close(_)) {
                    return;
                }
                continue;
            };
            let Some((channel, bytes)) = data.split_first() else { continue };
            if let Some(writer) = writers.get_mut(usize::from(*channel / 2)).filter(|_| channel % 2 == 0)
                && let Some(stream) = writer
                && stream.write_all(bytes).await.is_err()
            {
                *writer = None;
            }
        }
    };
    let sending = async {
        while let Some(message) = frames.recv().await {
            if tx.send(message).await.is_err() {
                return;
            }
        }
    };
    let forwarding = async {
        tokio::join!(join_all(copies), sending);
    };
    tokio::select! {
        () = hub.stop.cancelled() => {}
        () = receiving => {}
        () = forwarding => {}
    }
    let close = CloseFrame { code: close_code::NORMAL, reason: "".into() };
    let _ = tx.send(Message::Close(Some(close))).await;
    // the client confirms the close before the connection ends
    let answered = async { while let Some(Ok(_)) = rx.next().await {} };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), answered).await;
}
