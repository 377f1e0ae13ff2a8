//! Replies.

use bytes::{BufMut, Bytes, BytesMut};

use super::{attributes::Attributes, fields::Refusal};

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
