//! Contents of files, streamed by a command each. Clients read and write in order; what is out of order begins a new
//! command at that position.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::timeout;

use super::{packet::Refusal, remote::HOME};
use crate::{
    cluster::{ExecInput, ExecOutput, ExecStatus, Output},
    ssh::session::{self, Container},
};

/// How long the container may take to write what it has received.
const WRITTEN: Duration = Duration::from_secs(60);
/// The largest part that is read at a time.
pub(super) const MAX_READ: usize = 128 * 1024;

/// Reads a file.
#[derive(Default)]
pub(super) struct FileReader {
    stream: Option<(ExecInput, ExecOutput)>,
    position: u64,
    received: BytesMut,
    ended: bool,
}

/// Writes a file.
#[derive(Default)]
pub(super) struct FileWriter {
    stream: Option<(ExecInput, ExecOutput)>,
    position: u64,
}

async fn run(container: &Container, script: &str, path: &str) -> Result<(ExecInput, ExecOutput), Refusal> {
    let words =
        ["sh".to_owned(), "-c".to_owned(), format!("{HOME}{script}"), "sh".to_owned(), path.to_owned()];
    session::open(container, &words, false).await.map_err(Refusal::Failure)
}

impl FileReader {
    /// Reads up to `length` bytes from `offset` on; fewer only at the end of the file.
    pub(super) async fn read(
        &mut self,
        container: &Container,
        path: &str,
        offset: u64,
        length: usize,
    ) -> Result<Bytes, Refusal> {
        if self.stream.is_none() || offset != self.position {
            let script = match offset {
                0 => "exec cat <\"$1\"".to_owned(),
                _ => format!("exec tail -c +{} <\"$1\"", offset.saturating_add(1)),
            };
            let stream = run(container, &script, path).await?;
            *self = Self { stream: Some(stream), position: offset, ..Self::default() };
        }
        let length = length.min(MAX_READ);
        let mut said = BytesMut::new();
        while self.received.len() < length && !self.ended {
            let Some((_, output)) = &mut self.stream else { break };
            match output.next().await {
                Some(Output::Stdout(bytes)) => self.received.extend_from_slice(&bytes),
                Some(Output::Stderr(bytes)) => said.extend_from_slice(&bytes),
                Some(Output::Ended(ExecStatus::Exited(0))) => self.ended = true,
                Some(Output::Ended(_)) | None => {
                    self.stream = None;
                    return Err(Refusal::of(&String::from_utf8_lossy(&said)));
                }
            }
        }
        if self.received.is_empty() {
            return Err(Refusal::End);
        }
        let part = self.received.split_to(length.min(self.received.len())).freeze();
        self.position += part.len() as u64;
        Ok(part)
    }
}

impl FileWriter {
    /// Writes bytes at `offset`, or at the end of the file. That they are stored is known after [`Self::finish`].
    pub(super) async fn write(
        &mut self,
        container: &Container,
        path: &str,
        offset: Option<u64>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        if self.stream.is_none() || offset.is_some_and(|offset| offset != self.position) {
            self.finish().await?;
            let script = match offset {
                None => "exec cat >>\"$1\"".to_owned(),
                Some(0) => "exec cat 1<>\"$1\"".to_owned(),
                Some(offset) => {
                    format!(
                        "exec dd of=\"$1\" bs=65536 conv=notrunc oflag=seek_bytes seek={offset} 2>/dev/null"
                    )
                }
            };
            self.stream = Some(run(container, &script, path).await?);
            self.position = offset.unwrap_or_default();
        }
        let Some((input, _)) = &mut self.stream else { return Err(Refusal::BadMessage) };
        input.write(bytes).await.map_err(|error| Refusal::Failure(error.to_string()))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Waits until all is written.
    pub(super) async fn finish(&mut self) -> Result<(), Refusal> {
        let Some((mut input, mut output)) = self.stream.take() else { return Ok(()) };
        input.end().await.map_err(|error| Refusal::Failure(error.to_string()))?;
        let mut said = BytesMut::new();
        let ended = timeout(WRITTEN, async {
            loop {
                match output.next().await {
                    Some(Output::Stdout(bytes) | Output::Stderr(bytes)) => said.extend_from_slice(&bytes),
                    Some(Output::Ended(status)) => return Some(status),
                    None => return None,
                }
            }
        });
        match ended.await {
            Ok(Some(ExecStatus::Exited(0))) => Ok(()),
            Ok(Some(ExecStatus::Exited(_))) => Err(Refusal::of(&String::from_utf8_lossy(&said))),
            Ok(Some(ExecStatus::Failed(why))) => Err(Refusal::Failure(why)),
            Ok(None) => Err(Refusal::Failure("the connection to the instance was lost".to_owned())),
            Err(_) => Err(Refusal::Failure("the instance does not store what it received".to_owned())),
        }
    }
}
