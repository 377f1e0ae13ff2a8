//! Fields of requests, and replies.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::attributes::Attributes;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is nothing more to read.
    End,
    NoSuchFile,
    PermissionDenied,
    /// What the container said.
    Failure(String),
    BadMessage,
    Unsupported,
}

impl Refusal {
    /// The refusal that a command's message stands for.
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

    fn code(&self) -> u32 {
        match self {
            Self::End => 1,
            Self::NoSuchFile => 2,
            Self::PermissionDenied => 3,
            Self::Failure(_) => 4,
            Self::BadMessage => 5,
            Self::Unsupported => 8,
        }
    }

    fn message(&self) -> &str {
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

/// What is told of a command that failed and said nothing.
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

fn framed(kind: u8, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut packet = BytesMut::new();
    packet.put_u32(0);
    packet.put_u8(kind);
    write(&mut packet);
    let length = u32::try_from(packet.len() - 4).unwrap_or(u32::MAX);
    if let Some(start) = packet.first_chunk_mut::<4>() {
        *start = length.to_be_bytes();
    }
    packet.freeze()
}

fn put(packet: &mut BytesMut, bytes: &[u8]) {
    packet.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    packet.put_slice(bytes);
}

pub(super) fn version() -> Bytes {
    framed(2, |packet| {
        packet.put_u32(3);
        for name in ["posix-rename@openssh.com", "fsync@openssh.com"] {
            put(packet, name.as_bytes());
            put(packet, b"1");
        }
    })
}

pub(super) fn status(id: u32, result: &Result<(), Refusal>) -> Bytes {
    framed(101, |packet| {
        packet.put_u32(id);
        let (code, message) = match result {
            Ok(()) => (0, "Success"),
            Err(refusal) => (refusal.code(), refusal.message()),
        };
        packet.put_u32(code);
        put(packet, message.as_bytes());
        put(packet, b"en");
    })
}

pub(super) fn handle(id: u32, handle: u32) -> Bytes {
    framed(102, |packet| {
        packet.put_u32(id);
        put(packet, &handle.to_be_bytes());
    })
}

pub(super) fn data(id: u32, bytes: &[u8]) -> Bytes {
    framed(103, |packet| {
        packet.put_u32(id);
        put(packet, bytes);
    })
}

/// A name with its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) name: Bytes,
    pub(super) attributes: Attributes,
}

pub(super) fn names(id: u32, names: &[Name]) -> Bytes {
    framed(104, |packet| {
        packet.put_u32(id);
        packet.put_u32(u32::try_from(names.len()).unwrap_or(u32::MAX));
        for Name { name, attributes } in names {
            put(packet, name);
            put(packet, &attributes.long_name(name));
            attributes.write(packet);
        }
    })
}

pub(super) fn attributes(id: u32, attributes: &Attributes) -> Bytes {
    framed(105, |packet| {
        packet.put_u32(id);
        attributes.write(packet);
    })
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
