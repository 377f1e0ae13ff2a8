//! Commands in an instance's terminal, over a WebSocket.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use machine::client::Api;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use super::browser::{Socket, websocket};

/// Opens a terminal with a shell command.
pub(super) async fn open(
    designer: &Api,
    gateway: &str,
    instance: &str,
    command: &str,
) -> anyhow::Result<Socket> {
    let gateway: url::Url = gateway.parse()?;
    let port = gateway.port_or_known_default().context("the gateway's URL has no port")?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("command", "sh"), ("command", "-c"), ("command", command)])
        .finish();
    let host = gateway.host_str().context("the gateway's URL has no host")?;
    let url = format!("ws://{host}:{port}/v1/instances/{instance}/terminal?{query}");
    let token = format!("Bearer {}", designer.token.as_deref().unwrap_or_default());
    websocket(&url, address, ("authorization", &token)).await
}

/// Runs one command in the instance's terminal; returns its output.
pub(super) async fn run(
    designer: &Api,
    gateway: &str,
    instance: &str,
    command: &str,
) -> anyhow::Result<String> {
    let mut socket = open(designer, gateway, instance, command).await?;
    let mut printed = Vec::new();
    while let Some(message) = socket.next().await {
        match message? {
            Message::Binary(bytes) => printed.extend_from_slice(&bytes),
            Message::Text(text) => {
                let last: Value = serde_json::from_str(&text)?;
                // the first frame names the session
                if !last["session"].is_null() {
                    continue;
                }
                let printed = String::from_utf8_lossy(&printed).into_owned();
                ensure!(last["exit_code"] == 0, "`{command}` ended with {last}: {printed}");
                // the server may have closed the connection
                let _ = socket.close(None).await;
                return Ok(printed);
            }
            _ => {}
        }
    }
    bail!("the terminal closed without an exit code")
}

/// Path of the generated picture in the storage.
pub(super) async fn find_picture(designer: &Api, gateway: &str, instance: &str) -> anyhow::Result<String> {
    let printed = run(designer, gateway, instance, "find storage/ -name '*.png'").await?;
    let file = printed.lines().next().unwrap_or_default().trim().to_owned();
    ensure!(file.starts_with("storage/"), "no picture in the storage: {printed:?}");
    Ok(file)
}
