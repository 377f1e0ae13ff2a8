//! Terminals that outlive a lost connection: the command, its last output, and the client, if one is connected.
//!
//! A session is a task of the replica that runs the command. It ends with the command, when its client closes it, is
//! idle, or does not connect again in time, and with the rights of the user.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use auth::{Member, RightsEnd};
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use clusters::Exec;
use futures::{
    FutureExt, SinkExt, StreamExt,
    channel::mpsc::Sender as SizeSender,
    future::{BoxFuture, Shared},
};
use gpu_core::event::TerminalEnd;
use ids::{InstanceId, TenantId, TerminalId, UserId};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::TerminalSize;
use serde::Deserialize;
use serde_json::json;
use service::Shutdown;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use super::{Parts, TerminalConfig, replay::Replay};

/// Maximum number of bytes of output in one frame.
const CHUNK: usize = 16 * 1024;
/// How long the client may take to answer the close frame.
const CLOSE: Duration = Duration::from_secs(2);

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

/// The user of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) tenant: TenantId,
    pub(super) instance: InstanceId,
    pub(super) user: UserId,
}

/// A connected client.
pub(super) struct Client {
    pub(super) socket: WebSocket,
    /// Bytes of output that it has received.
    pub(super) received: u64,
    /// Completes when its rights end.
    pub(super) rights: BoxFuture<'static, RightsEnd>,
}

impl Client {
    pub(super) fn new(app: &Parts, member: &Member, socket: WebSocket, received: u64) -> Self {
        Self { socket, received, rights: Box::pin(app.streams.rights_end(member, false)) }
    }
}

struct Entry {
    owner: Owner,
    clients: mpsc::Sender<Client>,
}

/// The open sessions of this replica. Clones share them.
#[derive(Clone)]
pub struct Sessions {
    open: Arc<Mutex<HashMap<TerminalId, Entry>>>,
    shutdown: Shutdown,
}

impl Sessions {
    /// Returns an empty collection. Its terminals end with the process.
    pub fn new(shutdown: &Shutdown) -> Self {
        Self { open: Arc::default(), shutdown: shutdown.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TerminalId, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a session that receives clients.
    pub(super) fn register(&self, id: TerminalId, owner: Owner, clients: mpsc::Sender<Client>) {
        self.lock().insert(id, Entry { owner, clients });
    }

    /// Runs a session until it ends; shutdown waits for it.
    pub(super) fn run(&self, id: TerminalId, session: impl Future<Output = ()> + Send + 'static) {
        let registered = Registered { sessions: self.clone(), id };
        self.shutdown.track(async move {
            session.await;
            drop(registered);
        });
    }

    /// Returns where a session receives clients, if it is the owner's.
    pub(super) fn find(&self, id: TerminalId, owner: Owner) -> Option<mpsc::Sender<Client>> {
        let open = self.lock();
        let entry = open.get(&id).filter(|entry| entry.owner == owner)?;
        (!entry.clients.is_closed()).then(|| entry.clients.clone())
    }
}

/// Removes a session when it ends, however it ends.
struct Registered {
    sessions: Sessions,
    id: TerminalId,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.id);
    }
}

/// Why a client is not served any more.
enum Leave {
    /// The session ends.
    End(TerminalEnd),
    /// A text frame is not valid.
    Invalid,
    /// The connection is lost.
    Lost,
    /// The same user has connected again.
    Replaced(Box<Client>),
}

/// A command with its terminal.
pub(super) struct Session {
    id: TerminalId,
    exec: Exec,
    stdin: Box<dyn AsyncWrite + Send + Unpin>,
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    status: Shared<BoxFuture<'static, Option<Status>>>,
    sizes: Option<SizeSender<TerminalSize>>,
    replay: Replay,
    /// Whether the command has closed its output.
    is_over: bool,
    idle: Duration,
    detached: Duration,
    clients: mpsc::Receiver<Client>,
}

impl Session {
    /// Returns the session of a command; none if its streams are taken.
    pub(super) fn new(
        id: TerminalId,
        mut exec: Exec,
        clients: mpsc::Receiver<Client>,
        config: &TerminalConfig,
    ) -> Option<Self> {
        let (stdin, stdout, status) = (exec.stdin()?, exec.stdout()?, exec.take_status()?);
        let status: BoxFuture<'static, Option<Status>> = Box::pin(status);
        Some(Self {
            id,
            sizes: exec.terminal_size(),
            exec,
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            status: status.shared(),
            replay: Replay::default(),
            is_over: false,
            idle: config.idle(),
            detached: config.reconnect(),
            clients,
        })
    }

    /// Serves clients until the session ends.
    pub(super) async fn run(mut self) -> TerminalEnd {
        // the first client is connected as soon as its connection is upgraded
        let Ok(Some(mut client)) = timeout(self.detached, self.clients.recv()).await else {
            self.exec.abort();
            return TerminalEnd::Disconnected;
        };
        loop {
            let next = match self.serve(&mut client).await {
                Leave::Replaced(next) => next,
                Leave::Lost => match self.wait(&mut client.rights).await {
                    Ok(next) => next,
                    Err(end) => return self.end(end, client.socket).await,
                },
                Leave::Invalid => {
                    self.exec.abort();
                    let reason = "a text frame must be {\"resize\":{\"cols\":…,\"rows\":…}}";
                    say_goodbye(client.socket, None, (close_code::INVALID, reason)).await;
                    return TerminalEnd::Disconnected;
                }
                Leave::End(end) => return self.end(end, client.socket).await,
            };
            let before = std::mem::replace(&mut client, *next);
            let close = (close_code::POLICY, "connected from elsewhere");
            tokio::spawn(say_goodbye(before.socket, None, close));
        }
    }

    async fn end(self, end: TerminalEnd, socket: WebSocket) -> TerminalEnd {
        let close = match end {
            TerminalEnd::Exited => {
                let code = self.status.await.map_or(-1, |status| exit_code(&status));
                let last = Message::Text(json!({ "exit_code": code }).to_string().into());
                say_goodbye(socket, Some(last), (close_code::NORMAL, "")).await;
                return end;
            }
            TerminalEnd::Disconnected => {
                self.exec.abort();
                return end;
            }
            TerminalEnd::Idle => (close_code::POLICY, "idle for too long"),
            TerminalEnd::RightsEnded => (close_code::POLICY, "your rights have ended"),
            TerminalEnd::ServiceStopped => (close_code::RESTART, "the service is restarting; connect again"),
        };
        self.exec.abort();
        say_goodbye(socket, None, close).await;
        end
    }

    /// Copies bytes between a client and the command.
    async fn serve(&mut self, client: &mut Client) -> Leave {
        let Client { socket, received, rights } = client;
        let offset = self.replay.resume(*received);
        let begin = json!({ "session": { "id": self.id, "offset": offset } });
        if socket.send(Message::Text(begin.to_string().into())).await.is_err() {
            return Leave::Lost;
        }
        let (mut to_client, mut from_client) = socket.split();
        let (activity, mut active) = watch::channel(());
        let Self { stdin, stdout, status, sizes, replay, is_over, clients, idle, .. } = self;
        // neither direction waits for the other
        let output = async {
            let mut buffer = vec![0; CHUNK];
            loop {
                while let Some(bytes) = replay.take(CHUNK) {
                    if to_client.send(Message::Binary(bytes.into())).await.is_err() {
                        return Leave::Lost;
                    }
                }
                if *is_over {
                    return Leave::End(TerminalEnd::Exited);
                }
                match stdout.read(&mut buffer).await {
                    Ok(count @ 1..) => replay.push(buffer.get(..count).unwrap_or_default()),
                    Ok(0) | Err(_) => *is_over = true,
                }
                activity.send_replace(());
            }
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
                            if let Some(sizes) = sizes {
                                // a lost resize does not end the terminal
                                let _ = sizes.send(TerminalSize { width: cols, height: rows }).await;
                            }
                        }
                        _ => return Leave::Invalid,
                    },
                    Message::Ping(_) | Message::Pong(_) => {}
                    Message::Close(frame) if is_final(frame.as_ref()) => {
                        return Leave::End(TerminalEnd::Disconnected);
                    }
                    Message::Close(_) => return Leave::Lost,
                }
            }
            Leave::Lost
        };
        let idled = async { while timeout(*idle, active.changed()).await.is_ok() {} };
        tokio::select! {
            biased;
            end = rights => Leave::End(ended(end)),
            Some(next) = clients.recv() => Leave::Replaced(Box::new(next)),
            leave = output => leave,
            leave = input => leave,
            // the connection to the cluster broke, and its output may never end
            None = status.clone() => Leave::End(TerminalEnd::Exited),
            () = idled => Leave::End(TerminalEnd::Idle),
        }
    }

    /// Keeps the output until the client is back.
    async fn wait(&mut self, rights: &mut BoxFuture<'static, RightsEnd>) -> Result<Box<Client>, TerminalEnd> {
        let Self { stdout, replay, is_over, clients, detached, .. } = self;
        let output = async {
            let mut buffer = vec![0; CHUNK];
            while replay.has_room() && !*is_over {
                match stdout.read(&mut buffer).await {
                    Ok(count @ 1..) => replay.push(buffer.get(..count).unwrap_or_default()),
                    Ok(0) | Err(_) => *is_over = true,
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            end = rights => Err(ended(end)),
            Some(next) = clients.recv() => Ok(Box::new(next)),
            () = sleep(*detached) => Err(TerminalEnd::Disconnected),
            end = output => Err(end),
        }
    }
}

/// Whether the client has closed the terminal, instead of only leaving the page.
fn is_final(frame: Option<&CloseFrame>) -> bool {
    frame.is_none_or(|frame| matches!(frame.code, close_code::NORMAL | close_code::STATUS))
}

/// Sends the last frames. The client answers the close frame, or is gone.
async fn say_goodbye(mut socket: WebSocket, last: Option<Message>, (code, reason): (u16, &'static str)) {
    let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = timeout(CLOSE, async {
        for message in last.into_iter().chain([close]) {
            let _ = socket.send(message).await;
        }
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
}

/// Returns the exit code from the final status of a command, or -1.
fn exit_code(status: &Status) -> i64 {
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

/// How a terminal ends with the rights of its user.
fn ended(end: RightsEnd) -> TerminalEnd {
    match end {
        RightsEnd::Shutdown => TerminalEnd::ServiceStopped,
        RightsEnd::Revoked | RightsEnd::TokenExpired => TerminalEnd::RightsEnded,
    }
}
