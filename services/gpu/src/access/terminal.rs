//! `/v1/instances/{id}/terminal`: a command with a terminal in the instance's container, over a WebSocket.
//!
//! Binary frames carry input from the client and output to it. A text frame from the client sets the size:
//! `{"resize":{"cols":80,"rows":24}}`. At the end the client gets one text frame, `{"exit_code":0}`, then the
//! close frame.

use std::time::Duration;

use api::{Path, Problem, ProblemType};
use auth::Member;
use axum::{
    extract::{
        RawQuery, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use futures::{FutureExt, SinkExt, StreamExt};
use ids::InstanceId;
use kube::api::TerminalSize;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::watch,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{Container, limit::Kind};
use crate::{cluster::Exec, error::Error, state::AppState};

/// Limit of words in a command.
const MAX_WORDS: usize = 64;
/// Limit of bytes in all words of a command.
const MAX_BYTES: usize = 16 * 1024;
/// Limit of bytes in a frame from the client.
const MAX_FRAME: usize = 64 * 1024;
/// Bytes of output in one frame, at most.
const CHUNK: usize = 16 * 1024;

/// A text frame from the client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Control {
    resize: Size,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    cols: u16,
    rows: u16,
}

/// Returns the command in a query string: each `command` is one word; without any, a shell.
fn command(query: &str) -> Result<Vec<String>, Problem> {
    let mut words = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if name != "command" {
            return Err(Problem::invalid_field("query", format!("unknown parameter `{name}`")));
        }
        words.push(value.into_owned());
    }
    let bytes: usize = words.iter().map(String::len).sum();
    if words.len() > MAX_WORDS || bytes > MAX_BYTES || words.iter().any(|word| word.contains('\0')) {
        return Err(Problem::invalid_field(
            "command",
            format!("at most {MAX_WORDS} words and {MAX_BYTES} bytes, without zero bytes"),
        ));
    }
    if words.first().is_some_and(String::is_empty) {
        return Err(Problem::invalid_field("command", "the first word is the program and cannot be empty"));
    }
    if words.is_empty() {
        words.push("sh".to_owned());
    }
    Ok(words)
}

/// Opens a terminal (WebSocket).
#[utoipa::path(
    get, path = "/v1/instances/{id}/terminal", operation_id = "open_instance_terminal", tag = "instances",
    params(
        ("id" = InstanceId, Path, description = "Instance id"),
        ("command" = Option<Vec<String>>, Query, description = "Words of the command, one `command` each. A shell if absent.")
    ),
    responses((status = 101, description = "A WebSocket. Binary frames carry input and output. The client sets the size with the text frame {\"resize\":{\"cols\":80,\"rows\":24}}. The last frame is the text frame {\"exit_code\":0}.")),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceNotRunning, ProblemType::WebsocketRequired,
        ProblemType::TooManyStreams
    ]))),
)]
pub(crate) async fn open_instance_terminal(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<InstanceId>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    member.writer()?;
    let Container { cluster, pod } = super::container(&app, member.tenant, id).await?;
    let words = command(query.as_deref().unwrap_or_default())?;
    let upgrade =
        upgrade.map_err(|_| Problem::new(ProblemType::WebsocketRequired, "The terminal is a WebSocket."))?;
    let open = app.streams.open(member.tenant, Kind::Terminal)?;
    let exec = cluster.exec(&pod, &words).await.map_err(Error::from)?;
    tracing::info!(instance.id = %id, user.id = %member.principal.user, "terminal opened");
    let (idle, shutdown) = (app.config.terminal.idle(), app.shutdown.clone());
    let (revocations, grant) = (app.auth.verifier.revocations().clone(), member.principal.grant());
    let revoked = async move { revocations.ended(grant).await };
    let upgrade = upgrade.max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME);
    Ok(upgrade.on_upgrade(move |socket| {
        Box::pin(async move {
            bridge(socket, exec, idle, shutdown, revoked).await;
            drop(open);
        })
    }))
}

/// How a terminal ends.
enum End {
    /// The command exited.
    Exited,
    /// The client disconnected.
    Disconnected,
    /// This service closes it, with this code and reason.
    Closed(u16, &'static str),
}

/// Copies bytes between the client and the command until one of them ends.
async fn bridge(
    socket: WebSocket,
    mut exec: Exec,
    idle: Duration,
    shutdown: CancellationToken,
    revoked: impl Future<Output = ()>,
) {
    let (Some(mut stdin), Some(mut stdout), Some(status)) = (exec.stdin(), exec.stdout(), exec.take_status())
    else {
        return;
    };
    let status = status.shared();
    let mut sizes = exec.terminal_size();
    let (mut to_client, mut from_client) = socket.split();
    let (activity, mut active) = watch::channel(());
    // neither direction waits for the other
    let output = async {
        let mut buffer = vec![0; CHUNK];
        while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
            activity.send_replace(());
            let bytes = buffer.get(..count).unwrap_or_default().to_vec();
            if to_client.send(Message::Binary(bytes.into())).await.is_err() {
                return End::Disconnected;
            }
        }
        End::Exited
    };
    let input = async {
        while let Some(Ok(frame)) = from_client.next().await {
            activity.send_replace(());
            match frame {
                Message::Binary(bytes) => {
                    // the command may have closed its input and still write output
                    let _ = stdin.write_all(&bytes).await;
                    let _ = stdin.flush().await;
                }
                Message::Text(text) => match serde_json::from_str::<Control>(&text) {
                    Ok(Control { resize: Size { cols, rows } }) if cols > 0 && rows > 0 => {
                        if let Some(sizes) = &mut sizes {
                            // a lost resize does not end the terminal
                            let _ = sizes.send(TerminalSize { width: cols, height: rows }).await;
                        }
                    }
                    _ => {
                        return End::Closed(
                            close_code::INVALID,
                            "a text frame must be {\"resize\":{\"cols\":…,\"rows\":…}}",
                        );
                    }
                },
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Close(_) => break,
            }
        }
        End::Disconnected
    };
    let idled = async { while timeout(idle, active.changed()).await.is_ok() {} };
    let end = tokio::select! {
        biased;
        () = shutdown.cancelled() => End::Closed(close_code::RESTART, "the service is restarting; connect again"),
        () = revoked => End::Closed(close_code::POLICY, "your rights have ended"),
        end = output => end,
        end = input => end,
        // the connection to the cluster broke, and its output may never end
        None = status.clone() => End::Exited,
        () = idled => End::Closed(close_code::POLICY, "idle for too long"),
    };
    let mut last = Vec::new();
    let close = match end {
        End::Disconnected => {
            exec.abort();
            return;
        }
        End::Exited => {
            let code = status.await.map_or(-1, |status| exit_code(&status));
            last.push(Message::Text(json!({ "exit_code": code }).to_string().into()));
            CloseFrame { code: close_code::NORMAL, reason: "".into() }
        }
        End::Closed(code, reason) => {
            exec.abort();
            CloseFrame { code, reason: reason.into() }
        }
    };
    last.push(Message::Close(Some(close)));
    // the client answers the close frame, or is gone
    let _ = timeout(Duration::from_secs(2), async {
        for message in last {
            let _ = to_client.send(message).await;
        }
        while let Some(Ok(_)) = from_client.next().await {}
    })
    .await;
}

/// Returns the exit code from the final status of a command, or -1.
fn exit_code(status: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Status) -> i64 {
    if status.status.as_deref() == Some("Success") {
        return 0;
    }
    status
        .details
        .iter()
        .flat_map(|details| details.causes.iter().flatten())
        .find(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .and_then(|cause| cause.message.as_deref()?.parse().ok())
        .unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_word_by_word() {
        assert_eq!(command("").unwrap(), ["sh"]);
        assert_eq!(command("command=sh&command=-c&command=echo%20a+b").unwrap(), ["sh", "-c", "echo a b"]);
        for bad in ["command=", "cmd=sh", &format!("command={}", "x".repeat(MAX_BYTES + 1)), "command=a%00b"]
        {
            assert!(command(bad).is_err(), "{bad:.40}");
        }
    }
}
