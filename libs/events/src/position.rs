//! Where a stream is.

use std::{fmt, time::Duration};

use api::{LastEventId, Problem};
use feed::{Cursor, Outbox};
use jiff::Timestamp;
use sqlx::PgConnection;

/// The `id` of a server-sent event: `<time>@<cursor>`. What is not before the cursor was written about that time or later, which
/// tells whether it is still kept.
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
    fn parse(text: &str) -> Option<Self> {
        let (at, cursor) = text.split_once('@')?;
        Some(Self { at: at.parse().ok()?, cursor: cursor.parse().ok()? })
    }
}

/// Where a client wants a stream to begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Oldest,
    Latest,
    After(Position),
}

impl Start {
    pub(crate) fn of(last: LastEventId, after: Option<String>) -> Result<Self, Problem> {
        let (name, text) = match (last.0, after) {
            (Some(id), _) => ("Last-Event-ID", id),
            (None, Some(after)) if after == "latest" => return Ok(Self::Latest),
            (None, Some(after)) => ("after", after),
            (None, None) => return Ok(Self::Oldest),
        };
        let invalid =
            || Problem::invalid_field(name, "must be the `id` of a server-sent event of this stream");
        Position::parse(&text).map(Self::After).ok_or_else(invalid)
    }

    /// Returns the position; none if events after it may have been deleted. All that are younger than `kept` are there.
    pub(crate) async fn position(
        self,
        conn: &mut PgConnection,
        outbox: Outbox,
        now: Timestamp,
        kept: Duration,
    ) -> sqlx::Result<Option<Position>> {
        let at = now.as_second();
        let cursor = match self {
            Self::Oldest => outbox.resume(conn, Cursor::default()).await?,
            Self::Latest => outbox.end(conn).await?,
            Self::After(position) => {
                // the cursor of a database that was restored means nothing in this one
                let is_known = outbox.resume(conn, position.cursor.clone()).await? == position.cursor;
                let oldest = at.saturating_sub_unsigned(kept.as_secs());
                return Ok(Some(position).filter(|position| is_known && position.at > oldest));
            }
        };
        Ok(Some(Position { at, cursor }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_begins_where_the_client_was() {
        let start = |last: Option<&str>, after: Option<&str>| {
            Start::of(LastEventId(last.map(str::to_owned)), after.map(str::to_owned))
        };
        assert_eq!(start(None, None).ok(), Some(Start::Oldest));
        assert_eq!(start(None, Some("latest")).ok(), Some(Start::Latest));
        let Ok(Start::After(position)) = start(Some("17@7:7:~9:9:~3"), Some("latest")) else { panic!() };
        assert_eq!(position.to_string(), "17@7:7:~9:9:~3");
        for text in ["latest", "7:7:", "x@7:7:", "17@x"] {
            assert!(start(Some(text), None).is_err(), "{text}");
        }
    }
}
