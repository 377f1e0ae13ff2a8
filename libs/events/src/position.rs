//! The position in a stream.

use std::{fmt, time::Duration};

use feed::{Cursor, Outbox};
use jiff::Timestamp;
use sqlx::PgConnection;

use crate::follow::Start;

/// The `id` of a server-sent event: `<time>@<cursor>`. Events after the cursor were written at about that
/// time or later, which shows whether they are still kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// Unix time in seconds.
    pub(crate) at: i64,
    pub(crate) cursor: Cursor,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.at, self.cursor)
    }
}

impl Position {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (at, cursor) = text.split_once('@')?;
        Some(Self { at: at.parse().ok()?, cursor: cursor.parse().ok()? })
    }
}

/// Returns the position at which a stream starts; none if events after it may have been deleted. All events
/// younger than `kept` exist.
pub(crate) async fn position(
    start: Start<Position>,
    conn: &mut PgConnection,
    outbox: Outbox,
    now: Timestamp,
    kept: Duration,
) -> sqlx::Result<Option<Position>> {
    let at = now.as_second();
    let cursor = match start {
        Start::Oldest => outbox.resume(conn, Cursor::default()).await?,
        Start::Latest => outbox.end(conn).await?,
        Start::After(position) => {
            // the cursor of a restored database has no meaning in this one
            let is_known = outbox.resume(conn, position.cursor.clone()).await? == position.cursor;
            let oldest = at.saturating_sub_unsigned(kept.as_secs());
            return Ok(Some(position).filter(|position| is_known && position.at > oldest));
        }
    };
    Ok(Some(Position { at, cursor }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_time_and_a_cursor() {
        let position = Position::parse("17@7:7:~9:9:~3").unwrap();
        assert_eq!(position.to_string(), "17@7:7:~9:9:~3");
        for text in ["latest", "7:7:", "x@7:7:", "17@x"] {
            assert!(Position::parse(text).is_none(), "{text}");
        }
    }
}
