//! `pods/exec` over WebSocket: the `v4.channel.k8s.io` and `v5.channel.k8s.io` protocols.

use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request};
use axum::response::Response;
use futures::{SinkExt, StreamExt};
use objects::error::Failure;
use objects::json::text;
use objects::pod::container;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::request::{Query, Target};
use crate::hub::Hub;
use crate::runtime::process::{self, Launch, Launched};

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

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
    let container = text(&container(&pod.value)["name"]);
    if let Some(asked) = query.get("container").filter(|c| !c.is_empty() && *c != container) {
        return Err(Failure::bad_request(format!("container {asked} is not valid for pod {}", target.name)));
    }
    let argv: Vec<String> = query.all("command").map(str::to_owned).collect();
    if argv.is_empty() {
        return Err(Failure::bad_request("you must specify at least one command for the container"));
    }
    if !request.headers().contains_key("sec-websocket-key") {
        return Err(Failure::bad_request(
            "exec is served over WebSocket only: the request is no upgrade to it",
        ));
    }
    let sandbox = hub.runtime.running(pod.uid()).ok_or_else(|| {
        Failure::bad_request(format!("cannot exec into a container that is not running: {container}"))
    })?;
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &())
        .await
        .map_err(|e| Failure::bad_request(e.to_string()))?;
    let upgrade = upgrade.protocols(["v5.channel.k8s.io", "v4.channel.k8s.io"]);
    if upgrade.selected_protocol().is_none() {
        return Err(Failure::bad_request(
            "none of the offered subprotocols is served: v5.channel.k8s.io, v4.channel.k8s.io",
        ));
    }
    let tty = query.flag("tty");
    let mut env = sandbox.env.clone();
    if tty && !env.iter().any(|(k, _)| k == "TERM") {
        env.push(("TERM".into(), "xterm-256color".into()));
    }
    let launch = Launch { argv, env, cwd: sandbox.cwd.clone(), stdin: query.flag("stdin"), tty };
    let hub = hub.clone();
    Ok(upgrade.on_upgrade(move |socket| async move {
        match hub.runtime.spawner.launch(launch).await {
            Ok(launched) => Box::pin(relay(&hub, socket, launched)).await,
            Err(error) => {
                let (mut tx, _) = socket.split();
                let status = failure(127, &format!("command terminated with exit code 127: {error:#}"));
                let _ = tx.send(frame(ERROR, status.to_string().as_bytes())).await;
                let _ = tx.send(closing()).await;
            }
        }
    }))
}

/// Clients take any other closure for a broken connection.
fn closing() -> Message {
    Message::Close(Some(CloseFrame { code: close_code::NORMAL, reason: "".into() }))
}

fn frame(channel: u8, data: &[u8]) -> Message {
    let mut bytes = Vec::with_capacity(data.len() + 1);
    bytes.push(channel);
    bytes.extend_from_slice(data);
    Message::Binary(bytes.into())
}

fn failure(code: i32, message: &str) -> Value {
    json!({
        "metadata": {}, "status": "Failure", "message": message, "reason": "NonZeroExitCode",
        "details": { "causes": [{ "reason": "ExitCode", "message": code.to_string() }] },
    })
}

fn outcome(status: ExitStatus) -> Value {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    if code == 0 {
        json!({ "metadata": {}, "status": "Success" })
    } else {
        failure(code, &format!("command terminated with non-zero exit code: exit status {code}"))
    }
}

type Input = Box<dyn AsyncWrite + Send + Unpin>;

fn pump(mut from: impl AsyncRead + Send + Unpin + 'static, channel: u8, to: mpsc::Sender<Message>) {
    tokio::spawn(async move {
        let mut buffer = vec![0; 16 * 1024];
        // reading from a closed terminal fails
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            if to.send(frame(channel, &buffer[..n])).await.is_err() {
                return;
            }
        }
    });
}

/// Relays the streams of a process until it ends or the client disconnects. Neither direction waits for the other:
/// a command may write output before it reads on.
async fn relay(hub: &Hub, socket: WebSocket, mut launched: Launched) {
    let (mut tx, mut rx) = socket.split();
    let (out, mut frames) = mpsc::channel::<Message>(16);
    let mut terminal: Option<OwnedFd> = None;
    let mut input: Option<Input> = launched.child.stdin.take().map(|s| Box::new(s) as Input);
    if let Some(fd) = launched.terminal.take() {
        match (fd.try_clone(), fd.try_clone()) {
            (Ok(read), Ok(write)) => {
                pump(tokio::fs::File::from_std(read.into()), STDOUT, out.clone());
                input = Some(Box::new(tokio::fs::File::from_std(write.into())));
                terminal = Some(fd);
            }
            _ => tracing::warn!("cannot duplicate terminal"),
        }
    }
    if let Some(stdout) = launched.child.stdout.take() {
        pump(stdout, STDOUT, out.clone());
    }
    if let Some(stderr) = launched.child.stderr.take() {
        pump(stderr, STDERR, out.clone());
    }
    drop(out);
    let exited = CancellationToken::new();
    let receiving = async {
        loop {
            tokio::select! {
                // the reader of a terminal ends only when all copies are closed
                () = exited.cancelled(), if terminal.is_some() => {
                    terminal = None;
                    input = None;
                }
                message = rx.next() => match message {
                    Some(Ok(Message::Binary(data))) => receive(&data, &mut input, terminal.as_ref()).await,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(_)) => {}
                },
            }
        }
    };
    let mut ended = None;
    let sending = async {
        let mut open = true;
        // a process may close its output and still read
        while open || ended.is_none() {
            tokio::select! {
                status = launched.child.wait(), if ended.is_none() => {
                    ended = Some(status);
                    exited.cancel();
                }
                message = frames.recv(), if open => match message {
                    Some(message) => if tx.send(message).await.is_err() { return },
                    None => open = false,
                },
            }
        }
    };
    tokio::select! {
        () = hub.stop.cancelled() => {}
        () = receiving => {}
        () = sending => {}
    }
    let status = match ended {
        Some(status) => status,
        None => kill(&mut launched).await,
    };
    if let Ok(status) = status {
        let _ = tx.send(frame(ERROR, outcome(status).to_string().as_bytes())).await;
    }
    let _ = tx.send(closing()).await;
    // the client confirms the close before the connection ends
    let answered = async { while let Some(Ok(_)) = rx.next().await {} };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), answered).await;
}

async fn kill(launched: &mut Launched) -> std::io::Result<ExitStatus> {
    process::signal_group(launched.pid, nix::sys::signal::Signal::SIGKILL);
    launched.child.wait().await
}

async fn receive(data: &[u8], input: &mut Option<Input>, terminal: Option<&OwnedFd>) {
    match data.split_first() {
        Some((0, bytes)) => {
            if let Some(stdin) = input
                && (stdin.write_all(bytes).await.is_err() || stdin.flush().await.is_err())
            {
                *input = None;
            }
        }
        Some((&RESIZE, bytes)) => {
            if let (Some(terminal), Ok(size)) = (terminal, serde_json::from_slice::<Value>(bytes)) {
                let edge = |name: &str| size[name].as_u64().and_then(|n| u16::try_from(n).ok()).unwrap_or(0);
                process::resize(terminal, edge("Width"), edge("Height"));
            }
        }
        Some((&CLOSE, [0])) => *input = None,
        _ => {}
    }
}
