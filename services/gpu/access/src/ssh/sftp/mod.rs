//! The `sftp` subsystem (version 3 of the protocol, with OpenSSH's `posix-rename` and `fsync`), which `sftp` and modern
//! `scp` speak. Nothing is installed in the instance: `remote` runs shell commands, `file` streams contents.

mod attributes;
mod fields;
mod file;
mod handles;
mod packet;
mod remote;

use bytes::{Buf, Bytes, BytesMut};
use russh::ChannelMsg;

use instances::instance::Container;

use super::{
    channel::{Inbox, Outbox},
    context::Context,
};
use handles::Handles;

/// The largest packet from a client, as OpenSSH's.
const MAX_PACKET: usize = 256 * 1024;

/// Serves the subsystem until the client ends it. Returns the exit status; an error is a sentence for the user.
pub(super) async fn run(
    context: &Context,
    container: Container,
    mut reader: Inbox,
    writer: &Outbox,
) -> Result<u32, String> {
    let mut handles = Handles::open(container).await?;
    serve(context, &mut handles, &mut reader, writer).await?;
    // confirmed writes are kept, also those to files that the client did not close
    handles.settle(|_| true).await;
    Ok(0)
}

/// Answers requests until the client ends the subsystem, or the connection ends.
async fn serve(
    context: &Context,
    handles: &mut Handles,
    reader: &mut Inbox,
    writer: &Outbox,
) -> Result<(), String> {
    let mut received = BytesMut::new();
    loop {
        let message = tokio::select! {
            () = context.stop.cancelled() => return Ok(()),
            message = reader.wait() => message,
        };
        match message {
            Some(ChannelMsg::Data { data }) => received.extend_from_slice(&data),
            Some(ChannelMsg::Eof | ChannelMsg::Close) | None => return Ok(()),
            Some(_) => continue,
        }
        while let Some(request) = next_packet(&mut received)? {
            context.admitted.touch();
            let reply = tokio::select! {
                () = context.stop.cancelled() => return Ok(()),
                reply = handles.serve(request) => reply?,
            };
            if writer.data(reply).await.is_err() {
                return Ok(());
            }
            context.admitted.touch();
        }
    }
}

/// Takes the next packet, without its length, off the received bytes.
fn next_packet(received: &mut BytesMut) -> Result<Option<Bytes>, String> {
    let Some(length) = received.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize) else {
        return Ok(None);
    };
    if length == 0 || length > MAX_PACKET {
        return Err("The SFTP client sent a packet of an invalid length.".to_owned());
    }
    if received.len() < length + 4 {
        return Ok(None);
    }
    received.advance(4);
    Ok(Some(received.split_to(length).freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_taken_one_by_one() {
        let mut received = BytesMut::from(&b"\0\0\0\x02ab\0\0\0\x01"[..]);
        assert_eq!(next_packet(&mut received), Ok(Some(Bytes::from_static(b"ab"))));
        assert_eq!(next_packet(&mut received), Ok(None));
        received.extend_from_slice(b"c");
        assert_eq!(next_packet(&mut received), Ok(Some(Bytes::from_static(b"c"))));
        assert_eq!(next_packet(&mut received), Ok(None));
        for bad in [&b"\0\0\0\0"[..], b"\xff\0\0\0"] {
            assert!(next_packet(&mut BytesMut::from(bad)).is_err());
        }
    }
}
