//! The last output of a terminal, for a client that connects again. Pure.

use std::collections::VecDeque;

/// Bytes that are kept after they were sent, and bytes that wait while no client is connected.
pub(super) const KEPT: usize = 256 * 1024;

/// The last bytes of output, by their offset from its beginning.
#[derive(Debug, Default)]
pub(super) struct Replay {
    bytes: VecDeque<u8>,
    /// Offset of the first byte that is kept.
    begin: u64,
    /// Offset of the first byte that was not sent.
    sent: u64,
}

impl Replay {
    fn end(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }

    fn unsent(&self) -> usize {
        usize::try_from(self.end() - self.sent).unwrap_or(usize::MAX)
    }

    /// Whether more output may be read. Otherwise the command waits.
    pub(super) fn has_room(&self) -> bool {
        self.unsent() < KEPT
    }

    /// Adds output, and drops the oldest that was sent.
    pub(super) fn push(&mut self, output: &[u8]) {
        self.bytes.extend(output);
        let excess = self.bytes.len().saturating_sub(self.unsent() + KEPT);
        self.bytes.drain(..excess);
        self.begin += excess as u64;
    }

    /// Returns up to `most` bytes that were not sent, and counts them as sent.
    pub(super) fn take(&mut self, most: usize) -> Option<Vec<u8>> {
        let from = usize::try_from(self.sent - self.begin).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = self.bytes.iter().skip(from).take(most).copied().collect();
        self.sent += bytes.len() as u64;
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Continues for a client that has `received` bytes. Returns the offset of the byte that it gets next, which is
    /// later if not all is kept.
    pub(super) fn resume(&mut self, received: u64) -> u64 {
        self.sent = received.clamp(self.begin, self.end());
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_has_not_received() {
        let mut replay = Replay::default();
        replay.push(b"hello world");
        assert_eq!(replay.take(5).unwrap(), b"hello");
        assert_eq!(replay.take(100).unwrap(), b" world");
        assert_eq!(replay.take(100), None);
        assert_eq!(replay.resume(6), 6);
        assert_eq!(replay.take(100).unwrap(), b"world");
        assert_eq!(replay.resume(99), 11);
    }

    #[test]
    fn so_much_is_kept_and_what_was_not_sent_is_never_dropped() {
        let mut replay = Replay::default();
        for _ in 0..4 {
            replay.push(&[b'a'; KEPT / 2]);
            while replay.take(1000).is_some() {}
        }
        assert_eq!(replay.bytes.len(), KEPT + KEPT / 2, "what was sent, and what came last");
        assert_eq!(replay.resume(0), KEPT as u64 / 2, "the oldest is gone");
        while replay.take(1000).is_some() {}
        assert!(replay.has_room());
        replay.push(&[b'b'; KEPT]);
        assert!(!replay.has_room(), "the command waits");
        assert_eq!(replay.bytes.len(), 2 * KEPT);
    }
}
