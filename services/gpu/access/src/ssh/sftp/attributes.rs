//! Attributes of files: read from `stat`, written to clients, and those that clients set.

use bytes::{BufMut, Bytes, BytesMut};

use super::fields::{Fields, Refusal};

const SIZE: u32 = 1;
const OWNER: u32 = 2;
const MODE: u32 = 4;
const TIMES: u32 = 8;
const EXTENDED: u32 = 0x8000_0000;

/// The format of `stat` that [`Attributes::parse`] reads: mode in hex, size, owner, group, times.
pub(super) const FORMAT: &str = "%f %s %u %g %X %Y";

/// Attributes of a file. Absent ones are not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) size: Option<u64>,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) mode: Option<u32>,
    /// Times of the last access and the last change.
    pub(super) times: Option<(u32, u32)>,
}

impl Attributes {
    /// Parses what `stat` printed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace();
        let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
        let size = fields.next()?.parse().ok()?;
        let owner = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        // version 3 has 32 bits; times before 1970 and after 2106 do not fit
        let mut time = || Some(u32::try_from(fields.next()?.parse::<i64>().ok()?).unwrap_or_default());
        let times = (time()?, time()?);
        Some(Self { size: Some(size), owner: Some(owner), mode: Some(mode), times: Some(times) })
    }

    pub(super) fn read(fields: &mut Fields) -> Result<Self, Refusal> {
        let flags = fields.number()?;
        let mut read = Self::default();
        if flags & SIZE != 0 {
            read.size = Some(fields.long()?);
        }
        if flags & OWNER != 0 {
            read.owner = Some((fields.number()?, fields.number()?));
        }
        if flags & MODE != 0 {
            read.mode = Some(fields.number()?);
        }
        if flags & TIMES != 0 {
            read.times = Some((fields.number()?, fields.number()?));
        }
        if flags & EXTENDED != 0 {
            for _ in 0..fields.number()? {
                let (_name, _value) = (fields.bytes()?, fields.bytes()?);
            }
        }
        Ok(read)
    }

    pub(super) fn write(&self, packet: &mut BytesMut) {
        let flag = |set: bool, flag| if set { flag } else { 0 };
        packet.put_u32(
            flag(self.size.is_some(), SIZE)
                | flag(self.owner.is_some(), OWNER)
                | flag(self.mode.is_some(), MODE)
                | flag(self.times.is_some(), TIMES),
        );
        if let Some(size) = self.size {
            packet.put_u64(size);
        }
        if let Some((user, group)) = self.owner {
            packet.put_u32(user);
            packet.put_u32(group);
        }
        if let Some(mode) = self.mode {
            packet.put_u32(mode);
        }
        if let Some((accessed, changed)) = self.times {
            packet.put_u32(accessed);
            packet.put_u32(changed);
        }
    }

    /// The line that `ls -l` in a client shows.
    pub(super) fn long_name(&self, name: &Bytes) -> Vec<u8> {
        let mode = self.mode.unwrap_or_default();
        let kind = match mode & 0o170_000 {
            0o040_000 => 'd',
            0o120_000 => 'l',
            0o060_000 => 'b',
            0o020_000 => 'c',
            0o010_000 => 'p',
            0o140_000 => 's',
            _ => '-',
        };
        let mut line = String::from(kind);
        for (index, letter) in "rwxrwxrwx".chars().enumerate() {
            line.push(if mode & (0o400 >> index) == 0 { '-' } else { letter });
        }
        let (user, group) = self.owner.unwrap_or_default();
        let changed = i64::from(self.times.unwrap_or_default().1);
        let day = jiff::Timestamp::from_second(changed).map(|at| at.strftime("%b %e  %Y").to_string());
        let (size, day) = (self.size.unwrap_or_default(), day.unwrap_or_default());
        line.push_str(&format!("    1 {user:<8} {group:<8} {size:>12} {day} "));
        let mut line = line.into_bytes();
        line.extend_from_slice(name);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_parsed_and_written() {
        let file = Attributes::parse("81a4 12 0 7 1700000000 1700000001").unwrap();
        let expected = Attributes {
            size: Some(12),
            owner: Some((0, 7)),
            mode: Some(0o100_644),
            times: Some((1_700_000_000, 1_700_000_001)),
        };
        assert_eq!(file, expected);
        let mut packet = BytesMut::new();
        file.write(&mut packet);
        assert_eq!(Attributes::read(&mut Fields(packet.freeze())).unwrap(), file);
        let line = String::from_utf8(file.long_name(&Bytes::from_static(b"a"))).unwrap();
        assert_eq!(line, "-rw-r--r--    1 0        7                  12 Nov 14  2023 a");
        assert!(Attributes::parse("stat: cannot stat").is_none());
    }
}
