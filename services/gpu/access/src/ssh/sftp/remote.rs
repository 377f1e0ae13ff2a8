//! A shell in the container that carries out one short command after the other. Paths are quoted; the end of each
//! command's output is marked by a random word, so that no file's name or content can look like it.

use bytes::{Buf, Bytes, BytesMut};
use clusters::{ExecInput, ExecOutput, Output};

use instances::instance::Container;

use super::{super::exec, fields::Refusal};

/// The longest output of a command: a list of about 150,000 files.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;

/// Relative paths begin at the user's home, as for commands.
pub(super) const HOME: &str = "cd \"${HOME:-.}\" 2>/dev/null; LC_ALL=C; export LC_ALL; ";

/// The connection to the shell is broken.
const LOST: &str = "The connection to the instance was lost.";

pub(super) struct Remote {
    input: ExecInput,
    output: ExecOutput,
    /// The random word.
    mark: String,
    received: BytesMut,
}

impl Remote {
    pub(super) async fn open(container: &Container) -> Result<Self, String> {
        let words = ["sh".to_owned(), "-c".to_owned(), format!("{HOME}exec sh")];
        let (input, output) = exec::open(container, &words, false).await?;
        let mark = format!("{:032x}", rand::random::<u128>());
        Ok(Self { input, output, mark, received: BytesMut::new() })
    }

    /// The random word, for commands that mark parts of their output.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Runs a command, and returns what it printed, or the refusal for its error message.
    ///
    /// # Errors
    /// If the shell is gone.
    pub(super) async fn call(&mut self, command: &[u8]) -> Result<Result<Bytes, Refusal>, String> {
        let mut script = Vec::with_capacity(command.len() + 128);
        // in a process of its own: some errors end the shell
        script.extend_from_slice(b"( ");
        script.extend_from_slice(command);
        script.extend_from_slice(b"\n) </dev/null 2>&1; printf '\\n%s %s\\n' ");
        script.extend_from_slice(self.mark.as_bytes());
        script.extend_from_slice(b" \"$?\"\n");
        self.input.write(&script).await.map_err(|_| LOST)?;
        loop {
            if let Some((printed, status)) = self.ended() {
                return Ok(match status {
                    0 => Ok(printed),
                    _ => Err(Refusal::of(&String::from_utf8_lossy(&printed))),
                });
            }
            if self.received.len() > MAX_OUTPUT {
                return Err("The directory is too large to be listed over SFTP.".to_owned());
            }
            match self.output.next().await {
                Some(Output::Stdout(bytes)) => self.received.extend_from_slice(&bytes),
                Some(Output::Stderr(_)) => {}
                Some(Output::Ended(_)) | None => return Err(LOST.to_owned()),
            }
        }
    }

    /// Takes a command's output and status, if its end has come.
    fn ended(&mut self) -> Option<(Bytes, u32)> {
        // the mark, with a status and newlines, is the last that the command prints
        let last = self.received.strip_suffix(b"\n")?;
        let start = last.len().saturating_sub(self.mark.len() + 6);
        let tail = last.get(start..)?;
        let word = format!("\n{} ", self.mark);
        let at = start + tail.windows(word.len()).position(|window| window == word.as_bytes())?;
        let status = std::str::from_utf8(last.get(at + word.len()..)?).ok()?.parse().ok()?;
        let printed = self.received.split_to(at).freeze();
        self.received.advance(self.received.len());
        Some((printed, status))
    }
}

/// Quotes a word for the shell.
pub(super) fn quote(word: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(word.len() + 2);
    quoted.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Puts quoted words in the places of `{}`.
pub(super) fn command(template: &str, words: &[&[u8]]) -> Vec<u8> {
    let mut command = Vec::new();
    let mut words = words.iter();
    for (index, part) in template.split("{}").enumerate() {
        if index > 0 {
            command.extend_from_slice(&quote(words.next().copied().unwrap_or_default()));
        }
        command.extend_from_slice(part.as_bytes());
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_in_their_places() {
        assert_eq!(command("mv -- {} {}", &[b"a b", b"it's $(x)"]), b"mv -- 'a b' 'it'\\''s $(x)'");
    }
}
