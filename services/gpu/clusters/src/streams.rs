//! Commands with separate streams, and connections to ports, in an instance's pod. Unlike `kube`'s own
//! `AttachedProcess`, the two directions of a command do not wait for each other: a command that writes before it
//! reads on would otherwise block both.

use bytes::{BufMut, Bytes, BytesMut};
use crds::{ClusterError, names::CONTAINER};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use gpu_core::unit::PodRef;
use hyper_util::rt::TokioIo;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Status};
use kube::{Client, Resource, api::AttachParams, core::Request};
use serde_json::json;
use tokio_tungstenite::{WebSocketStream, tungstenite};
use tungstenite::Message;

use super::{Cluster, PodError, pods::answer};

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

/// A command to run in a pod.
#[derive(Debug)]
pub struct Command<'a> {
    /// Program and arguments.
    pub words: &'a [String],
    /// Whether it has a terminal: standard error is then part of standard output.
    pub terminal: bool,
}

/// Something that a command sent.
#[derive(Debug)]
pub enum Output {
    /// Bytes of standard output.
    Stdout(Bytes),
    /// Bytes of standard error.
    Stderr(Bytes),
    /// How it ended; nothing follows.
    Ended(ExecStatus),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecStatus {
    /// The exit status.
    Exited(u32),
    /// It was not run, or the cluster does not know its end.
    Failed(String),
}

/// Where a command reads.
pub struct ExecInput {
    sink: SplitSink<Socket, Message>,
    closes: bool,
}

/// What a command sends.
pub struct ExecOutput(SplitStream<Socket>);

/// The writing side of a connection to a port.
pub struct Forward(SplitSink<Socket, Message>);

/// The reading side of a connection to a port.
pub struct Forwarded {
    stream: SplitStream<Socket>,
    /// Whether the first frame of each channel, which carries the port, has arrived.
    begun: [bool; 2],
}

impl Cluster {
    /// Runs a command in the pod.
    ///
    /// # Errors
    /// If the container does not run or the cluster does not answer.
    pub async fn run(
        &self,
        pod: &PodRef,
        command: &Command<'_>,
    ) -> Result<(ExecInput, ExecOutput), PodError> {
        let params = if command.terminal {
            AttachParams::interactive_tty()
        } else {
            AttachParams::default().stdin(true).stdout(true).stderr(true)
        };
        let request = request(pod).exec(pod.name(), command.words, &params.container(CONTAINER));
        let connection = self.connect(request.map_err(kube::Error::BuildRequest)?).await?;
        let closes = connection.supports_stream_close();
        let (sink, stream) = connection.into_stream().split();
        Ok((ExecInput { sink, closes }, ExecOutput(stream)))
    }

    /// Connects to a port of the pod, on its `localhost`.
    ///
    /// # Errors
    /// If the pod does not run or the cluster does not answer. [`Forwarded::next`] reports that nothing
    /// listens on the port.
    pub async fn forward(&self, pod: &PodRef, port: u16) -> Result<(Forward, Forwarded), PodError> {
        let request = request(pod).portforward(pod.name(), &[port]);
        let connection = self.connect(request.map_err(kube::Error::BuildRequest)?).await?;
        let (sink, stream) = connection.into_stream().split();
        Ok((Forward(sink), Forwarded { stream, begun: [false; 2] }))
    }

    async fn connect(&self, request: http::Request<Vec<u8>>) -> Result<kube::client::Connection, PodError> {
        let client: Client = self.client_for_streams().await?;
        answer(client.connect(request)).await
    }

    async fn client_for_streams(&self) -> Result<Client, ClusterError> {
        self.clients.client_for_streams(&self.name).await
    }
}

fn request(pod: &PodRef) -> Request {
    Request::new(Pod::url_path(&(), Some(pod.namespace())))
}

fn frame(channel: u8, data: &[u8]) -> Message {
    let mut bytes = BytesMut::with_capacity(data.len() + 1);
    bytes.put_u8(channel);
    bytes.put_slice(data);
    Message::Binary(bytes.freeze())
}

impl ExecInput {
    /// Writes to the command's standard input. Waits while the command does not read.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), tungstenite::Error> {
        self.sink.send(frame(STDIN, data)).await
    }

    /// Ends the command's standard input. On clusters before 1.30 this ends the connection.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn end(&mut self) -> Result<(), tungstenite::Error> {
        if self.closes {
            self.sink.send(Message::Binary(Bytes::from_static(&[CLOSE, STDIN]))).await
        } else {
            self.sink.close().await
        }
    }

    /// Sets the size of the terminal.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn resize(&mut self, columns: u16, rows: u16) -> Result<(), tungstenite::Error> {
        let size = json!({ "Width": columns, "Height": rows }).to_string();
        self.sink.send(frame(RESIZE, size.as_bytes())).await
    }

    /// Keeps a silent connection open.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn ping(&mut self) -> Result<(), tungstenite::Error> {
        self.sink.send(Message::Ping(Bytes::new())).await
    }
}

impl ExecOutput {
    /// Returns what comes next; none if the connection is broken.
    pub async fn next(&mut self) -> Option<Output> {
        loop {
            let Message::Binary(mut bytes) = self.0.next().await?.ok()? else { continue };
            // a frame of one byte only says that the channel is open
            if bytes.len() < 2 {
                continue;
            }
            let channel = bytes.split_to(1);
            match channel.first().copied() {
                Some(STDOUT) => return Some(Output::Stdout(bytes)),
                Some(STDERR) => return Some(Output::Stderr(bytes)),
                Some(STATUS) => return Some(Output::Ended(status(&bytes))),
                _ => {}
            }
        }
    }
}

fn status(bytes: &[u8]) -> ExecStatus {
    let Ok(status) = serde_json::from_slice::<Status>(bytes) else {
        return ExecStatus::Failed("the cluster sent no valid status".to_owned());
    };
    if status.status.as_deref() == Some("Success") {
        return ExecStatus::Exited(0);
    }
    let mut causes = status.details.iter().flat_map(|details| details.causes.iter().flatten());
    let code = causes.find(|cause| cause.reason.as_deref() == Some("ExitCode"));
    match code.and_then(|cause| cause.message.as_deref()?.parse().ok()) {
        Some(code) => ExecStatus::Exited(code),
        None => ExecStatus::Failed(status.message.unwrap_or_default()),
    }
}

impl Forward {
    /// Writes to the connection. Waits while the other side does not read.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), tungstenite::Error> {
        self.0.send(frame(0, data)).await
    }

    /// Keeps a silent connection open.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn ping(&mut self) -> Result<(), tungstenite::Error> {
        self.0.send(Message::Ping(Bytes::new())).await
    }
}

impl Forwarded {
    /// Returns the bytes that come next; none at the end.
    ///
    /// # Errors
    /// The reason, if nothing listens on the port or the connection to it is broken.
    pub async fn next(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            let Message::Binary(mut bytes) = self.stream.next().await?.ok()? else { continue };
            if bytes.is_empty() {
                continue;
            }
            let channel = usize::from(bytes.split_to(1).first().copied().unwrap_or_default());
            let Some(begun) = self.begun.get_mut(channel) else { continue };
            if !std::mem::replace(begun, true) || bytes.is_empty() {
                continue;
            }
            return Some(if channel == 0 {
                Ok(bytes)
            } else {
                Err(String::from_utf8_lossy(&bytes).into_owned())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_command_is_its_exit_code_or_why_there_is_none() {
        let of = |value: serde_json::Value| status(value.to_string().as_bytes());
        assert_eq!(of(json!({ "status": "Success" })), ExecStatus::Exited(0));
        let causes = json!([{ "reason": "ExitCode", "message": "7" }]);
        let failed =
            json!({ "status": "Failure", "details": { "causes": causes }, "message": "exit status 7" });
        assert_eq!(of(failed), ExecStatus::Exited(7));
        let missing = json!({ "status": "Failure", "message": "exec: \"sh\": not found" });
        assert_eq!(of(missing), ExecStatus::Failed("exec: \"sh\": not found".into()));
        assert!(matches!(status(b"nonsense"), ExecStatus::Failed(_)));
    }
}
