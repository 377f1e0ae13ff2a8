//! Contents of files, streamed by a command each. Clients read and write in order; a request out of order
//! starts a new command at its position.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use clusters::{ExecInput, ExecOutput, ExecStatus, Output};
use tokio::time::timeout;

use instances::instance::Container;

use super::{
    super::exec::{self, printf_format},
    fields::Refusal,
    remote::HOME,
};

/// How long the container may take to write what it has received.
const WRITTEN: Duration = Duration::from_secs(60);
/// The largest part that is read at a time.
pub(super) const MAX_READ: usize = 128 * 1024;
/// Maximum number of bytes kept of a command's messages.
const MAX_SAID: usize = 4096;
const LOST: &str = "The connection to the instance was lost.";

/// Reads a file.
#[derive(Default)]
pub(super) struct FileReader {
    stream: Option<Stream>,
    position: u64,
    received: BytesMut,
    ended: bool,
}

/// Writes a file.
#[derive(Default)]
pub(super) struct FileWriter {
    stream: Option<Stream>,
    position: u64,
    /// What was confirmed before may be lost, so all that follows is refused.
    failed: Option<Refusal>,
}

/// A command that reads or writes a file.
struct Stream {
    input: ExecInput,
    output: Printed,
}

/// What a command prints.
struct Printed {
    output: ExecOutput,
    /// Its messages.
    said: BytesMut,
}

impl Stream {
    /// Runs a script with the path in the variable `p`.
    async fn run(container: &Container, script: &str, path: &[u8]) -> Result<Self, Refusal> {
        // a name need not be UTF-8, and may end with newlines
        let script = format!("{HOME}p=$(printf '{}.'); p=${{p%.}}; {script}", printf_format(path));
        let words = ["sh".to_owned(), "-c".to_owned(), script];
        let (input, output) = exec::open(container, &words, false).await.map_err(Refusal::Failure)?;
        Ok(Self { input, output: Printed { output, said: BytesMut::new() } })
    }
}

impl Printed {
    /// Returns the next part of standard output; none at its end.
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        loop {
            match self.output.next().await {
                Some(Output::Stdout(bytes)) => return Ok(Some(bytes)),
                Some(Output::Stderr(mut bytes)) => {
                    bytes.truncate(MAX_SAID.saturating_sub(self.said.len()));
                    self.said.extend_from_slice(&bytes);
                }
                Some(Output::Ended(ExecStatus::Exited(0))) => return Ok(None),
                Some(Output::Ended(ExecStatus::Exited(_))) => {
                    return Err(Refusal::of(&String::from_utf8_lossy(&self.said)));
                }
                Some(Output::Ended(ExecStatus::Failed(why))) => return Err(Refusal::of(&why)),
                None => return Err(Refusal::of(LOST)),
            }
        }
    }

    /// Waits for the end.
    async fn ended(&mut self) -> Result<(), Refusal> {
        while self.next().await?.is_some() {}
        Ok(())
    }
}

impl FileReader {
    /// Reads up to `length` bytes from `offset` on; fewer only at the end of the file.
    pub(super) async fn read(
        &mut self,
        container: &Container,
        path: &[u8],
        offset: u64,
        length: usize,
    ) -> Result<Bytes, Refusal> {
        let part = self.part(container, path, offset, length.min(MAX_READ)).await;
        if part.is_err() {
            // the file may grow until the client asks again
            *self = Self::default();
        }
        part
    }

    async fn part(
        &mut self,
        container: &Container,
        path: &[u8],
        offset: u64,
        length: usize,
    ) -> Result<Bytes, Refusal> {
        if self.stream.is_none() || offset != self.position {
            let script = match offset {
                0 => "exec cat <\"$p\"".to_owned(),
                _ => format!("exec tail -c +{} <\"$p\"", offset.saturating_add(1)),
            };
            let stream = Stream::run(container, &script, path).await?;
            *self = Self { stream: Some(stream), position: offset, ..Self::default() };
        }
        while self.received.len() < length && !self.ended {
            let Some(stream) = &mut self.stream else { break };
            match stream.output.next().await? {
                Some(bytes) => self.received.extend_from_slice(&bytes),
                None => self.ended = true,
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
    /// Writes bytes at `offset`, or at the end of the file. They are stored once [`Self::finish`] has
    /// succeeded.
    pub(super) async fn write(
        &mut self,
        container: &Container,
        path: &[u8],
        offset: Option<u64>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        if offset.is_some_and(|offset| offset != self.position) {
            self.finish().await?;
        }
        if let Some(refusal) = &self.failed {
            return Err(refusal.clone());
        }
        let end = offset.unwrap_or_default().checked_add(bytes.len() as u64);
        if end.is_none_or(|end| i64::try_from(end).is_err()) {
            return Err(Refusal::Failure("no file is that long".to_owned()));
        }
        let sent = self.send(container, path, offset, bytes).await;
        self.keep(sent)
    }

    async fn send(
        &mut self,
        container: &Container,
        path: &[u8],
        offset: Option<u64>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            stream => {
                self.position = offset.unwrap_or_default();
                stream.insert(Stream::run(container, &script(offset), path).await?)
            }
        };
        tokio::select! {
            biased;
            // before its input ends, the command ends only if it cannot write
            ended = stream.output.ended() => return Err(ended.err().unwrap_or_else(|| Refusal::of(""))),
            written = stream.input.write(bytes) => written.map_err(|_| Refusal::of(LOST))?,
        }
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Waits until all is written.
    pub(super) async fn finish(&mut self) -> Result<(), Refusal> {
        let written = match self.stream.take() {
            Some(Stream { mut input, mut output }) => {
                // a command that has ended has no input, and says why
                let _ = input.end().await;
                let silent = |_| Err(Refusal::of("The instance does not store what it received."));
                timeout(WRITTEN, output.ended()).await.unwrap_or_else(silent)
            }
            None => self.failed.clone().map_or(Ok(()), Err),
        };
        self.keep(written)
    }

    fn keep(&mut self, result: Result<(), Refusal>) -> Result<(), Refusal> {
        if let Err(refusal) = &result {
            (self.failed, self.stream) = (Some(refusal.clone()), None);
        }
        result
    }
}

/// Copies standard input to an existing file, from this position on or to the end.
fn script(offset: Option<u64>) -> String {
    let open = match offset {
        None => "exec 3>>\"$p\"".to_owned(),
        Some(0) => "exec 3<>\"$p\"".to_owned(),
        // moves the position, which the commands share
        Some(offset) => format!(
            "exec 3<>\"$p\"; e=$(dd bs=1 count=0 seek={offset} conv=notrunc 2>&1 </dev/null >&3) || \
             {{ printf '%s\n' \"$e\" >&2; exit 1; }}"
        ),
    };
    format!("[ -e \"$p\" ] || {{ echo No such file >&2; exit 1; }}; {open}; exec cat >&3")
}
