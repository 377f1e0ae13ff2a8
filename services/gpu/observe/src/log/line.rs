//! Lines of a container's log, and positions in it. Pure.
//!
//! A position is the time of a line and its number among the lines of that time. The times of a log never
//! decrease: a line that the cluster stamped earlier than the one before it (two streams are stamped
//! independently) counts with the time of the previous line. So every reader that begins at a full second or
//! earlier assigns the same numbers, whichever window of the log it reads.

use std::{fmt, str::FromStr};

use bytes::{Buf, Bytes, BytesMut};
use jiff::Timestamp;

/// Bytes of a line after which it is cut into parts.
pub(super) const MAX_PART: usize = 64 * 1024;
/// Maximum number of bytes of a time stamp.
const MAX_STAMP: usize = 64;
/// The separator between time and text, and the one if the next line continues the text.
const SEPARATORS: [u8; 2] = [b' ', b'\t'];

/// A position in the log of one attempt: after this line. The default is before all lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// Nanoseconds since 1970.
    pub time: i64,
    /// Number among the lines of this time; 1 is the first.
    pub sequence: i32,
}

impl Position {
    /// Returns the position before all lines of a time.
    pub(super) fn before(time: Timestamp) -> Self {
        Self { time: nanoseconds(time), sequence: 0 }
    }

    pub(crate) fn timestamp(self) -> Timestamp {
        Timestamp::from_nanosecond(self.time.into()).unwrap_or_default()
    }
}

fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(if time < Timestamp::UNIX_EPOCH { 0 } else { i64::MAX })
}

/// The id of a line in a stream of server-sent events: the attempt and the position, `3-1767268800123456789-1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineId {
    pub(super) attempt: i64,
    pub(super) position: Position,
}

impl fmt::Display for LineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.attempt, self.position.time, self.position.sequence)
    }
}

/// Not the id of a line.
#[derive(Debug)]
pub(super) struct InvalidLineId;

impl FromStr for LineId {
    type Err = InvalidLineId;

    fn from_str(text: &str) -> Result<Self, InvalidLineId> {
        let mut parts = text.split('-').map(str::parse::<i64>);
        let (Some(Ok(attempt)), Some(Ok(time)), Some(Ok(sequence)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidLineId);
        };
        let sequence = i32::try_from(sequence).map_err(|_| InvalidLineId)?;
        Ok(Self { attempt, position: Position { time, sequence } })
    }
}

/// A line, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its position.
    pub(super) at: Position,
    /// Its text, without a line break.
    pub(super) text: Bytes,
    /// Whether the line ends here. Otherwise the next one continues it.
    pub(super) ends: bool,
}

/// A line with the time that the cluster gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) time: i64,
    pub(super) text: Bytes,
    pub(super) ends: bool,
}

/// Cuts the bytes of a log into lines: `<RFC 3339 time> <text>`. Lines without a time are dropped: the
/// cluster's own messages. Holds at most one part of a line, in addition to the bytes that were pushed last.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    bytes: BytesMut,
    /// The time of the line that has begun, once it is read; none if it has no time.
    begun: Option<Option<Begun>>,
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    time: i64,
    ends: bool,
}

impl Splitter {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next line, if it is complete.
    pub(super) fn next(&mut self) -> Option<Stamped> {
        loop {
            let begun = match self.begun {
                Some(begun) => begun,
                None => self.stamp()?,
            };
            let end = memchr::memchr(b'\n', &self.bytes);
            if end.unwrap_or(self.bytes.len()) > MAX_PART {
                let text = self.bytes.split_to(MAX_PART).freeze();
                let Some(Begun { time, .. }) = begun else { continue };
                return Some(Stamped { time, text, ends: false });
            }
            let text = self.bytes.split_to(end?).freeze();
            self.bytes.advance(1);
            self.begun = None;
            let Some(Begun { time, ends }) = begun else { continue };
            return Some(Stamped { time, text, ends });
        }
    }

    /// Returns what is left at the end of the log: a line without a line break.
    pub(super) fn rest(&mut self) -> Option<Stamped> {
        let Some(Some(Begun { time, ends })) = self.begun.take() else { return None };
        let text = self.bytes.split().freeze();
        (!text.is_empty()).then_some(Stamped { time, text, ends })
    }

    /// Reads the time of the next line, once enough bytes have arrived.
    fn stamp(&mut self) -> Option<Option<Begun>> {
        let window = self.bytes.get(..MAX_STAMP.min(self.bytes.len())).unwrap_or_default();
        let end = window.iter().position(|byte| SEPARATORS.contains(byte) || *byte == b'\n');
        if end.is_none() && window.len() < MAX_STAMP {
            return None;
        }
        let stamp = end.and_then(|end| {
            let time = std::str::from_utf8(window.get(..end)?).ok()?.parse().ok().map(nanoseconds)?;
            let separator = window.get(end).copied().filter(|byte| *byte != b'\n')?;
            Some((end, Begun { time, ends: separator == b' ' }))
        });
        if let Some((end, _)) = stamp {
            self.bytes.advance(end + 1);
        }
        let begun = stamp.map(|(_, begun)| begun);
        self.begun = Some(begun);
        Some(begun)
    }
}

/// Assigns positions to lines, in the order of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequencer {
    last: Position,
}

impl Sequencer {
    /// Continues after a position. All later lines are placed after it.
    pub(super) fn after(last: Position) -> Self {
        Self { last }
    }

    pub(super) fn place(&mut self, time: i64) -> Position {
        self.last = if time > self.last.time {
            Position { time, sequence: 1 }
        } else {
            Position { time: self.last.time, sequence: self.last.sequence.saturating_add(1) }
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn split(input: &[u8], step: usize) -> Vec<Stamped> {
        let (mut splitter, mut lines) = (Splitter::default(), Vec::new());
        for part in input.chunks(step.max(1)) {
            splitter.push(part);
            lines.extend(std::iter::from_fn(|| splitter.next()));
        }
        lines.extend(splitter.rest());
        lines
    }

    fn stamped(time: i64, text: &str, ends: bool) -> Stamped {
        Stamped { time, text: Bytes::copy_from_slice(text.as_bytes()), ends }
    }

    #[test]
    fn lines_are_read_with_their_times() {
        let input = b"1970-01-01T00:00:01.000000002Z one\nfailed to watch\n1970-01-01T00:00:02Z \n\
            1970-01-01T00:00:03+00:00 two words\n1970-01-01T00:00:04Z\tbegins\n1970-01-01T00:00:04Z cut";
        let expected = [
            stamped(SECOND + 2, "one", true),
            stamped(2 * SECOND, "", true),
            stamped(3 * SECOND, "two words", true),
            stamped(4 * SECOND, "begins", false),
            stamped(4 * SECOND, "cut", true),
        ];
        assert_eq!(split(input, 7), expected);
    }

    proptest! {
        /// However the bytes arrive, the lines and the parts of long ones are the same, and nothing is missing.
        #[test]
        fn the_same_bytes_are_the_same_lines(
            lengths in prop::collection::vec(prop_oneof![0_usize..50, 65_530_usize..65_545, 131_070_usize..131_075], 1..6),
            step in 1_usize..100_000,
        ) {
            let mut input = Vec::new();
            for (index, length) in lengths.iter().enumerate() {
                input.extend_from_slice(format!("1970-01-01T00:00:0{index}Z ").as_bytes());
                input.extend(std::iter::repeat_n(b'x', *length));
                input.push(b'\n');
            }
            let lines = split(&input, step);
            prop_assert_eq!(&lines, &split(&input, usize::MAX));
            prop_assert!(lines.iter().all(|line| line.text.len() <= MAX_PART));
            let mut sums = vec![0; lengths.len()];
            for line in &lines {
                sums[usize::try_from(line.time / SECOND).unwrap()] += line.text.len();
            }
            prop_assert_eq!(sums, lengths);
        }

        /// A reader that asks for a later window gives the lines in it the same positions.
        #[test]
        fn a_window_from_a_full_second_has_the_same_positions(
            times in prop::collection::vec(0_i64..4, 1..40),
            cut in 0_i64..4,
        ) {
            let mut times: Vec<i64> = times.into_iter().map(|half| half * SECOND / 2).collect();
            times.sort_unstable();
            let place = |since: i64| -> Vec<Position> {
                let mut sequencer = Sequencer::after(Position::default());
                times.iter().filter(|time| **time >= since).map(|time| sequencer.place(*time + 1)).collect()
            };
            let (all, window) = (place(0), place(cut * SECOND));
            prop_assert_eq!(&all[all.len() - window.len()..], &window[..]);
            prop_assert!(all.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn a_line_that_is_stamped_late_keeps_its_place() {
        let mut sequencer = Sequencer::after(Position { time: 5, sequence: 2 });
        let placed = [4, 5, 9, 8, 10].map(|time| sequencer.place(time));
        let expected = [(5, 3), (5, 4), (9, 1), (9, 2), (10, 1)];
        assert_eq!(placed, expected.map(|(time, sequence)| Position { time, sequence }));
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = LineId { attempt: 3, position: Position { time: 17, sequence: 2 } };
        assert_eq!(id.to_string().parse::<LineId>().unwrap(), id);
        for bad in ["", "1-2", "1-2-3-4", "a-1-2", "1-2-9999999999", "latest"] {
            assert!(bad.parse::<LineId>().is_err(), "{bad}");
        }
    }
}
