//! Positions in a feed.

use std::{fmt, str::FromStr};

/// The snapshot of a read, as `pg_current_snapshot()` writes it: `xmin:xmax:xip_list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot(String);

impl Snapshot {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not a cursor of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this feed")]
pub struct InvalidCursor;

impl FromStr for Snapshot {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let mut parts = text.split(':');
        let (Some(min), Some(max), Some(running), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidCursor);
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| InvalidCursor);
        let (min, max) = (number(min)?, number(max)?);
        let mut last = min;
        for (n, id) in running.split(',').filter(|_| !running.is_empty()).enumerate() {
            let id = number(id)?;
            if id >= max || id < last || (n > 0 && id == last) {
                return Err(InvalidCursor);
            }
            last = id;
        }
        if min == 0 || min > max || max > i64::MAX.unsigned_abs() {
            return Err(InvalidCursor);
        }
        Ok(Self(text.to_owned()))
    }
}

/// A position in a feed. The default is its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The newest restore of the database before the read; 0 if there was none. Transactions of other epochs cannot be
    /// compared with those of this one.
    pub(crate) epoch: i64,
    /// What has been read completely.
    pub(crate) read: Option<Snapshot>,
    /// The page after it that has been read in part.
    pub(crate) partial: Option<Partial>,
}

impl Cursor {
    /// The beginning of the feed in an epoch.
    pub(crate) fn beginning(epoch: i64) -> Self {
        Self { epoch, read: None, partial: None }
    }

    pub(crate) fn is_beginning(&self) -> bool {
        self.read.is_none() && self.partial.is_none()
    }
}

/// A read of more than one page: rows visible in `upto`, up to `last`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partial {
    pub(crate) upto: Snapshot,
    pub(crate) last: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.epoch != 0 && !self.is_beginning() {
            write!(f, "{}!", self.epoch)?;
        }
        f.write_str(self.read.as_ref().map_or("", Snapshot::as_str))?;
        match &self.partial {
            Some(Partial { upto, last }) => write!(f, "~{}~{last}", upto.as_str()),
            None => Ok(()),
        }
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (epoch, text) = match text.split_once('!') {
            Some((epoch, rest)) if !rest.is_empty() => {
                (epoch.parse().ok().filter(|epoch| *epoch > 0).ok_or(InvalidCursor)?, rest)
            }
            Some(_) => return Err(InvalidCursor),
            None => (0, text),
        };
        let mut parts = text.split('~');
        let read = match parts.next() {
            None | Some("") => None,
            Some(read) => Some(read.parse()?),
        };
        let partial = match (parts.next(), parts.next(), parts.next()) {
            (None, None, None) => None,
            (Some(upto), Some(last), None) => {
                Some(Partial { upto: upto.parse()?, last: last.parse().map_err(|_| InvalidCursor)? })
            }
            _ => return Err(InvalidCursor),
        };
        Ok(Self { epoch, read, partial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back() {
        for text in ["", "795:799:795,797", "7:7:", "7:9:7~9:12:11~42", "~9:12:~0", "17!7:9:7", "17!~9:12:~0"]
        {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        assert_eq!("".parse(), Ok(Cursor::default()));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "x",
            "7",
            "7:9",
            "9:7:",
            "0:1:",
            "7:9:10",
            "7:9:6",
            "7:9:8,8",
            "7:9:~",
            "7:9:~7:9:",
            "7:9:~7:9:~x",
            "7:9:~7:9:~1~2",
            "17!",
            "0!7:7:",
            "-1!7:7:",
            "x!7:7:",
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text}");
        }
    }
}
