//! `/v1/instances/{id}/terminal`: a command with a terminal in the instance's container, over a WebSocket.
//!
//! Binary frames carry what is typed up and what is printed down. A text frame up resizes:
//! `{"resize":{"cols":80,"rows":24}}`. At the end one text frame comes down, `{"exit_code":0}`, then the
//! close.

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

use crate::{app::AppState, cluster::Exec, error::Error};

/// Words of a command, and bytes of all of them.
const MAX_WORDS: usize = 64;
const MAX_BYTES: usize = 16 * 1024;
/// The largest frame from a user.
const MAX_FRAME: usize = 64 * 1024;
/// Bytes printed that are sent at a time.
const CHUNK: usize = 16 * 1024;

/// What a text frame may say.
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

/// The command in a query string: each `command` is one word; a shell when there is none.
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
#[utoipa::path(get, path = "/v1/instances/{id}/terminal", tag = "instances",
    operation_id = "open_instance_terminal",
    params(("id" = InstanceId, Path),
        ("command" = Option<Vec<String>>, Query, description = "The command's words, each as one `command`; a shell when absent")),
    responses((status = 101, description = "A WebSocket: binary frames are the terminal's bytes both ways; the text frame {\"resize\":{\"cols\":80,\"rows\":24}} goes up, {\"exit_code\":0} comes down at the end"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn open_instance_terminal(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<InstanceId>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    member.writer()?;
    let (cluster, pod) = super::pod(&app, member.tenant, id).await?;
    let words = command(query.as_deref().unwrap_or_default())?;
    let upgrade = upgrade
        .map_err(|_| Problem::new(ProblemType::WebsocketRequired, "The terminal speaks WebSocket only."))?;
    let exec = cluster.exec(&pod, &words).await.map_err(|error| Error::Pod(Box::new(error)))?;
    tracing::info!(instance.id = %id, user.id = %member.principal.user, "terminal opened");
    let (idle, ending) = (app.config.terminal.idle(), app.ending.clone());
    let upgrade = upgrade.max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME);
    Ok(upgrade.on_upgrade(move |socket| Box::pin(bridge(socket, exec, idle, ending))))
}

/// Why the bridge ends.
enum End {
    /// The command ended.
    Exited,
    /// The user went.
    Left,
    /// We end it.
    Closed(u16, &'static str),
}

async fn bridge(socket: WebSocket, mut exec: Exec, idle: Duration, ending: CancellationToken) {
    let (Some(mut stdin), Some(mut stdout), Some(status)) = (exec.stdin(), exec.stdout(), exec.take_status())
    else {
        return;
    };
    let status = status.shared();
    let mut sizes = exec.terminal_size();
    let (mut to_user, mut from_user) = socket.split();
    let (used, mut use_seen) = watch::channel(());
    // neither direction waits for the other: what is typed comes back before more of it is taken
    let down = async {
        let mut printed = vec![0; CHUNK];
        while let Ok(count @ 1..) = stdout.read(&mut printed).await {
            used.send_replace(());
            let bytes = printed.get(..count).unwrap_or_default().to_vec();
            if to_user.send(Message::Binary(bytes.into())).await.is_err() {
                return End::Left;
            }
        }
        End::Exited
    };
    let up = async {
        while let Some(Ok(frame)) = from_user.next().await {
            used.send_replace(());
            match frame {
                Message::Binary(bytes) => {
                    // the command may have closed its input; what it prints still counts
                    let _ = stdin.write_all(&bytes).await;
                    let _ = stdin.flush().await;
                }
                Message::Text(text) => match serde_json::from_str::<Control>(&text) {
                    Ok(Control { resize: Size { cols, rows } }) if cols > 0 && rows > 0 => {
                        if let Some(sizes) = &mut sizes {
                            // a size that does not arrive is not worth an end
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
        End::Left
    };
    let quiet = async { while timeout(idle, use_seen.changed()).await.is_ok() {} };
    let end = tokio::select! {
        biased;
        () = ending.cancelled() => End::Closed(close_code::RESTART, "the service is restarting; connect again"),
        end = down => end,
        end = up => end,
        // the cluster broke off, and nothing says that nothing more will be printed
        None = status.clone() => End::Exited,
        () = quiet => End::Closed(close_code::POLICY, "idle for too long"),
    };
    let mut last = Vec::new();
    let close = match end {
        End::Left => {
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
    // until the other side has closed too, or does not
    let _ = timeout(Duration::from_secs(2), async {
        for message in last {
            // the user may be gone
            let _ = to_user.send(message).await;
        }
        while let Some(Ok(_)) = from_user.next().await {}
    })
    .await;
}

/// The exit code in the status with which a cluster ends a command.
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
