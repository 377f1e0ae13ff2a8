//! Changes that other services follow: rows of an outbox table, written in the transaction of the change and served in
//! pages by cursor.
//!
//! An outbox table has these columns, and an index on `xact`:
//! ```sql
//! id      bigint generated always as identity primary key,
//! xact    xid8 not null default pg_current_xact_id(),
//! at      timestamptz not null default clock_timestamp(),
//! payload jsonb not null
//! ```
//! and its schema has a table `restores (epoch bigint primary key)`, written by a restore from a backup.
//! Serial ids commit out of order, so "rows after the last id" would lose rows. A cursor is instead the snapshot of the
//! last read: the next read returns the rows that it could not see. No row is lost or returned twice, and a long
//! transaction elsewhere delays only its own rows. Changes of one object arrive in order if its row is locked before the
//! change is published.
//!
//! The statements are built from the table's name, which is why they are not checked at compile time.

mod cursor;
mod feed;
mod outbox;
mod query;

pub use cursor::{Cursor, InvalidCursor};
pub use feed::{Feed, Listens, Start, Wait};
pub use outbox::{Outbox, Page};

pub use api::{Change, Changes};
pub use query::FeedQuery;
