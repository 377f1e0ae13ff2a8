//! Chunks: consecutive lines of a log as one compressed object. Pure.
//!
//! A chunk is gzip of lines `<RFC 3339 time> <text>`, as the cluster prints them; a tab in place of the space marks a
//! part that the next line continues. Sequence numbers are counted from that of the first line, which the index has.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};

use super::line::{Line, MAX_PART, Position, Sequencer, Splitter};

/// Bytes of text after which a chunk is full. One more line may be added.
pub(super) const FULL: usize = 1024 * 1024;
/// Maximum size of an unpacked chunk in bytes: every line has a time, and could be empty.
const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
/// Lines after which a chunk is full.
const MAX_LINES: i32 = 20_000;

/// A chunk that is being filled.
pub(super) struct Builder {
    unpacked: Vec<u8>,
    first: Option<Position>,
    last: Position,
    lines: i32,
    text_bytes: i32,
}

/// A chunk to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Position of the first line.
    pub(super) first: Position,
    /// Position of the last line.
    pub(super) last: Position,
    /// Number of lines and parts of lines.
    pub(super) lines: i32,
    /// Bytes of their text.
    pub(super) text_bytes: i32,
    /// The object.
    pub(super) bytes: Bytes,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self { unpacked: Vec::new(), first: None, last: Position::default(), lines: 0, text_bytes: 0 }
    }

    /// Adds a line. Returns whether the chunk is full.
    pub(super) fn add(&mut self, line: &Line) -> bool {
        self.first.get_or_insert(line.at);
        self.last = line.at;
        self.lines += 1;
        self.text_bytes += i32::try_from(line.text.len()).unwrap_or(i32::MAX);
        let separator: &[u8] = if line.ends { b" " } else { b"\t" };
        let stamp = format!("{:.9}", line.at.timestamp());
        for part in [stamp.as_bytes(), separator, &line.text, b"\n"] {
            self.unpacked.extend_from_slice(part);
        }
        self.text_bytes() >= FULL || self.lines >= MAX_LINES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines == 0
    }

    pub(super) fn text_bytes(&self) -> usize {
        usize::try_from(self.text_bytes).unwrap_or(0)
    }

    /// Returns what was added, if anything was.
    pub(super) fn finish(self) -> Option<Chunk> {
        let first = self.first?;
        // writing to a vector cannot fail
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        let packed = gzip.write_all(&self.unpacked).and_then(|()| gzip.finish());
        let bytes = packed.unwrap_or_default().into();
        Some(Chunk { first, last: self.last, lines: self.lines, text_bytes: self.text_bytes, bytes })
    }
}

/// The lines of a stored chunk, unpacked one after the other.
pub(super) struct Lines {
    gzip: io::Take<GzDecoder<io::Cursor<Bytes>>>,
    splitter: Splitter,
    sequencer: Sequencer,
}

/// Returns the lines of a chunk that begins at this position.
pub(super) fn lines(bytes: Bytes, first: Position) -> Lines {
    let before = Position { time: first.time, sequence: first.sequence - 1 };
    Lines {
        gzip: GzDecoder::new(io::Cursor::new(bytes)).take(MAX_UNPACKED),
        splitter: Splitter::default(),
        sequencer: Sequencer::after(before),
    }
}

impl Iterator for Lines {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        loop {
            if let Some(stamped) = self.splitter.next() {
                let at = self.sequencer.place(stamped.time);
                return Some(Ok(Line { at, text: stamped.text, ends: stamped.ends }));
            }
            let mut buffer = vec![0; MAX_PART];
            match self.gzip.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.splitter.push(buffer.get(..count).unwrap_or_default()),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lines_of_a_chunk_come_back_as_they_were(
            texts in prop::collection::vec((0_i64..3, "[^\\n]{0,40}", any::<bool>()), 1..50),
            first in 1_i32..9,
        ) {
            let mut sequencer = Sequencer::after(Position { time: 1_767_268_800_000_000_007, sequence: first - 1 });
            let (mut builder, mut added, mut time) = (Builder::new(), Vec::new(), 0);
            for (step, text, ends) in texts {
                time += step;
                let at = sequencer.place(1_767_268_800_000_000_007 + time);
                let line = Line { at, text: text.into_bytes().into(), ends };
                builder.add(&line);
                added.push(line);
            }
            let chunk = builder.finish().unwrap();
            prop_assert_eq!((chunk.first, chunk.last), (added[0].at, added.last().unwrap().at));
            prop_assert_eq!(usize::try_from(chunk.lines).unwrap(), added.len());
            let read: Vec<Line> = lines(chunk.bytes, chunk.first).collect::<io::Result<_>>().unwrap();
            prop_assert_eq!(read, added);
        }
    }

    #[test]
    fn a_chunk_is_full_after_so_much_text() {
        let mut builder = Builder::new();
        assert!(Builder::new().finish().is_none());
        let line = Line { at: Position::default(), text: vec![b'x'; MAX_PART].into(), ends: true };
        let full = (1..).find(|_| builder.add(&line)).unwrap();
        assert_eq!(full, FULL / MAX_PART);
        assert_eq!(builder.text_bytes(), FULL);
    }

    #[test]
    fn a_damaged_chunk_is_an_error() {
        assert!(lines(Bytes::from_static(b"no gzip at all"), Position::default()).any(|line| line.is_err()));
    }
}
