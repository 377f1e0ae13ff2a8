//! The two sides of a channel, so that they do not block each other.
//!
//! `russh` hands a channel's messages over one by one and reads nothing more from the connection until they are taken,
//! not even that the client can receive again. So messages are taken as they come while the other side waits for the
//! client, up to [`MOST`]; otherwise up to [`SOME`], and then the client has to wait.

use bytes::Bytes;
use russh::{Channel, ChannelMsg, ChannelWriteHalf, server::Msg};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

/// Bytes that wait for a reader while the client can receive.
const SOME: usize = 1024 * 1024;
/// Maximum number of bytes that wait for a reader. A client that does not receive and sends more loses the
/// channel.
const MOST: usize = 32 * 1024 * 1024;

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Bytes that were taken and not yet read.
    waiting: usize,
    /// Whether something is being sent to the client.
    sending: bool,
}

/// What comes from the client.
pub(super) struct Inbox {
    messages: mpsc::UnboundedReceiver<ChannelMsg>,
    state: watch::Sender<State>,
    _taking: AbortOnDropHandle<()>,
}

/// What goes to the client.
pub(super) struct Outbox {
    writer: ChannelWriteHalf<Msg>,
    state: watch::Sender<State>,
}

/// The channel was closed.
pub(super) struct Closed;

fn size(message: &ChannelMsg) -> usize {
    match message {
        ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. } => data.len(),
        _ => 0,
    }
}

pub(super) fn split(channel: Channel<Msg>) -> (Inbox, Outbox) {
    let (mut reader, writer) = channel.split();
    let (taken, messages) = mpsc::unbounded_channel();
    let state = watch::Sender::new(State::default());
    let (counted, mut changed) = (state.clone(), state.subscribe());
    let taking = tokio::spawn(async move {
        while let Some(message) = reader.wait().await {
            let room = |state: &State| state.waiting < SOME || state.sending;
            // the sender lives as long as this task
            let Ok(found) = changed.wait_for(room).await.map(|state| *state) else { return };
            if found.waiting > MOST {
                tracing::warn!("a client sends more than it lets be answered, its channel is closed");
                return;
            }
            counted.send_modify(|state| state.waiting += size(&message));
            if taken.send(message).is_err() {
                return;
            }
        }
    });
    let inbox = Inbox { messages, state: state.clone(), _taking: AbortOnDropHandle::new(taking) };
    (inbox, Outbox { writer, state })
}

impl Inbox {
    /// Returns the next message; none when the channel is closed.
    pub(super) async fn wait(&mut self) -> Option<ChannelMsg> {
        let message = self.messages.recv().await?;
        let read = size(&message);
        if read > 0 {
            self.state.send_modify(|state| state.waiting = state.waiting.saturating_sub(read));
        }
        Some(message)
    }
}

impl Outbox {
    /// Sends bytes of standard output. Waits while the client cannot receive.
    pub(super) async fn data(&self, bytes: Bytes) -> Result<(), Closed> {
        self.sending(self.writer.data_bytes(bytes)).await
    }

    /// Sends bytes of standard error. Waits while the client cannot receive.
    pub(super) async fn error(&self, bytes: Bytes) -> Result<(), Closed> {
        const STDERR: u32 = 1;
        self.sending(self.writer.extended_data_bytes(STDERR, bytes)).await
    }

    async fn sending(&self, send: impl Future<Output = Result<(), russh::Error>>) -> Result<(), Closed> {
        let _sending = Sending::new(&self.state);
        send.await.map_err(|_| Closed)
    }

    /// Ends the output, with an exit status if there is one, and closes the channel.
    pub(super) async fn end(&self, status: Option<u32>) {
        // the client may be gone
        let _ = self.writer.eof().await;
        if let Some(status) = status {
            let _ = self.writer.exit_status(status).await;
        }
        let _ = self.writer.close().await;
    }
}

/// Marks that something is being sent, until it is dropped.
struct Sending<'a>(&'a watch::Sender<State>);

impl<'a> Sending<'a> {
    fn new(state: &'a watch::Sender<State>) -> Self {
        state.send_modify(|state| state.sending = true);
        Self(state)
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.sending = false);
    }
}
