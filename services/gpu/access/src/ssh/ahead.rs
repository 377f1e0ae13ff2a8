//! Reads ahead of `russh`, which stops reading while a command does not read its input, and then does not
//! notice that the client is gone.

use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader, copy_buf, duplex, join},
    net::TcpStream,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Bytes that are read ahead: more than a client may send on a channel until its window is opened again (2 MiB).
const AHEAD: usize = 4 * 1024 * 1024;
/// Bytes that are read at a time.
const PART: usize = 64 * 1024;

/// Notices the end of the client's connection.
pub(super) struct Lost {
    token: CancellationToken,
    _reading: AbortOnDropHandle<()>,
}

impl Lost {
    /// Waits until the client has closed its connection, or it is broken.
    pub(super) async fn noticed(&self) {
        self.token.cancelled().await;
    }
}

/// Reads the stream as it comes.
pub(super) fn of(stream: TcpStream) -> (impl AsyncRead + AsyncWrite + Unpin + Send + 'static, Lost) {
    let (from, to) = stream.into_split();
    let (reader, mut writer) = duplex(AHEAD);
    let token = CancellationToken::new();
    let ended = token.clone();
    let reading = tokio::spawn(async move {
        // a broken connection is an end, too
        let _ = copy_buf(&mut BufReader::with_capacity(PART, from), &mut writer).await;
        drop(writer);
        ended.cancel();
    });
    (join(reader, to), Lost { token, _reading: AbortOnDropHandle::new(reading) })
}
