//! Fields of requests, and why a request is refused.

use bytes::{Buf, Bytes};

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is nothing more to read.
    End,
    NoSuchFile,
    PermissionDenied,
    /// The container's message.
    Failure(String),
    BadMessage,
    Unsupported,
}

impl Refusal {
    /// The refusal for a command's error message.
    pub(super) fn of(message: &str) -> Self {
        let lower = message.to_lowercase();
        if lower.contains("no such file") || lower.contains("nonexistent") {
            Self::NoSuchFile
        } else if lower.contains("permission denied") || lower.contains("not permitted") {
            Self::PermissionDenied
        } else {
            let line = message.lines().map(str::trim).find(|line| !line.is_empty());
            Self::Failure(line.unwrap_or(UNEXPLAINED).chars().take(200).collect())
        }
    }

    pub(super) fn code(&self) -> u32 {
        match self {
            Self::End => 1,
            Self::NoSuchFile => 2,
            Self::PermissionDenied => 3,
            Self::Failure(_) => 4,
            Self::BadMessage => 5,
            Self::Unsupported => 8,
        }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Self::End => "End of file",
            Self::NoSuchFile => "No such file",
            Self::PermissionDenied => "Permission denied",
            Self::Failure(message) if message.is_empty() => UNEXPLAINED,
            Self::Failure(message) => message,
            Self::BadMessage => "Bad message",
            Self::Unsupported => "Operation unsupported",
        }
    }
}

/// The message for a command that failed without one.
const UNEXPLAINED: &str = "The instance could not do it, and did not say why.";

/// Reads the fields of a request.
pub(super) struct Fields(pub(super) Bytes);

impl Fields {
    pub(super) fn byte(&mut self) -> Result<u8, Refusal> {
        self.0.try_get_u8().map_err(|_| Refusal::BadMessage)
    }

    pub(super) fn number(&mut self) -> Result<u32, Refusal> {
        self.0.try_get_u32().map_err(|_| Refusal::BadMessage)
    }

    pub(super) fn long(&mut self) -> Result<u64, Refusal> {
        self.0.try_get_u64().map_err(|_| Refusal::BadMessage)
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes, Refusal> {
        let length = self.number()? as usize;
        if length > self.0.len() {
            return Err(Refusal::BadMessage);
        }
        Ok(self.0.split_to(length))
    }

    /// A path; no file name contains a zero byte.
    pub(super) fn path(&mut self) -> Result<Bytes, Refusal> {
        let path = self.bytes()?;
        if path.contains(&0) { Err(Refusal::BadMessage) } else { Ok(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_always_has_a_message() {
        for (said, expected) in [
            ("cat: write error: No space left on device\n", "cat: write error: No space left on device"),
            ("\n  \nlast\n", "last"),
            ("", UNEXPLAINED),
            ("\n\n", UNEXPLAINED),
        ] {
            assert_eq!(Refusal::of(said).message(), expected);
        }
        assert_eq!(Refusal::Failure(String::new()).message(), UNEXPLAINED);
        assert_eq!(Refusal::of("sh: 1: cannot open x: No such file"), Refusal::NoSuchFile);
        assert_eq!(Refusal::of("rm: cannot remove 'x': Operation not permitted"), Refusal::PermissionDenied);
    }
}
