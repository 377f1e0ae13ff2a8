//! The outbox table.

use std::time::Duration;

use api::{Change, Changes};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::cursor::{Cursor, InvalidCursor, Partial, Snapshot};

/// A table whose rows are a feed.
#[derive(Debug, Clone, Copy)]
pub struct Outbox {
    /// Name of the table.
    pub table: &'static str,
    /// Channel on which transactions that publish notify readers.
    pub channel: &'static str,
}

/// Changes after a cursor, each with its own position.
#[derive(Debug)]
pub struct Page<T> {
    /// The changes, each with the cursor after it.
    pub items: Vec<(Cursor, Change<T>)>,
    /// The cursor after all of them.
    pub next: Cursor,
    /// Whether these are all changes until now; false if more may follow at once, because the page is full,
    /// or is the rest of an earlier read.
    pub complete: bool,
}

impl<T> From<Page<T>> for Changes<T> {
    fn from(page: Page<T>) -> Self {
        let items = page.items.into_iter().map(|(_, change)| change).collect();
        Self { items, next_cursor: page.next.to_string(), complete: page.next.partial.is_none() }
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    snapshot: String,
    id: Option<i64>,
    at: Option<jiff_sqlx::Timestamp>,
    payload: Option<serde_json::Value>,
}

impl Outbox {
    /// Publishes a change when the transaction commits. Lock the rows that it changes before.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn publish<T: Serialize>(&self, conn: &mut PgConnection, change: &T) -> sqlx::Result<()> {
        let payload = serde_json::to_value(change).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let sql = format!("insert into {} (payload) values ($1)", self.table);
        sqlx::query(AssertSqlSafe(sql)).bind(payload).execute(&mut *conn).await?;
        sqlx::query("select pg_notify($1, '')").bind(self.channel).execute(conn).await.map(drop)
    }

    /// As [`Outbox::publish`], for several changes in one statement.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn publish_all<T: Serialize>(
        &self,
        conn: &mut PgConnection,
        changes: &[T],
    ) -> sqlx::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let payloads: Vec<serde_json::Value> = changes
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()
            .map_err(|error| sqlx::Error::Encode(error.into()))?;
        let sql = format!(
            "insert into {} (payload) select p from unnest($1::jsonb[]) with ordinality as c(p, n) order by n",
            self.table
        );
        sqlx::query(AssertSqlSafe(sql)).bind(payloads).execute(&mut *conn).await?;
        sqlx::query("select pg_notify($1, '')").bind(self.channel).execute(conn).await.map(drop)
    }

    /// Returns at most `limit` changes after the cursor, oldest first.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read as `T`.
    pub async fn read<T: DeserializeOwned>(
        &self,
        conn: &mut PgConnection,
        after: &Cursor,
        limit: u32,
    ) -> sqlx::Result<Changes<T>> {
        Ok(self.page(conn, after, limit).await?.into())
    }

    /// As [`Outbox::read`], with the position of each change: for a reader that may stop within a page.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read as `T`.
    pub async fn page<T: DeserializeOwned>(
        &self,
        conn: &mut PgConnection,
        after: &Cursor,
        limit: u32,
    ) -> sqlx::Result<Page<T>> {
        let upto = after.partial.as_ref().map(|partial| partial.upto.as_str());
        let (unseen, order) = match (&after.read, &after.partial) {
            (None, _) => ("", "id"),
            (Some(_), Some(_)) => ("and not pg_visible_in_snapshot(xact, $1::text::pg_snapshot)", "id"),
            // must use the index on `xact`, also in a generic plan: a scan of the primary key would read the whole table. A range is
            // estimated as selective, and `id + 0` cannot be sorted by the primary key
            (Some(_), None) => (
                "and xact >= pg_snapshot_xmin($1::text::pg_snapshot)
                 and xact < pg_snapshot_xmax(coalesce($2::text::pg_snapshot, pg_current_snapshot()))
                 and not pg_visible_in_snapshot(xact, $1::text::pg_snapshot)",
                "id + 0",
            ),
        };
        // one statement, so that the rows and the snapshot belong together
        let sql = format!(
            "with read as (select coalesce($2::text::pg_snapshot, pg_current_snapshot()) as snapshot)
             select read.snapshot::text as snapshot, found.id, found.at, found.payload
             from read left join lateral (
                 select id, at, payload from {}
                 where id > $3 and pg_visible_in_snapshot(xact, read.snapshot) {unseen}
                 order by {order} limit $4) found on true",
            self.table
        );
        let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(after.read.as_ref().map(Snapshot::as_str))
            .bind(upto)
            .bind(after.partial.as_ref().map_or(0, |partial| partial.last))
            .bind(i64::from(limit))
            .fetch_all(conn)
            .await?;
        let decode = |error: Box<dyn std::error::Error + Send + Sync>| sqlx::Error::Decode(error);
        let snapshot: Snapshot = rows
            .first()
            .and_then(|row| row.snapshot.parse().ok())
            .ok_or_else(|| decode("no snapshot".into()))?;
        let within = |last| Cursor {
            epoch: after.epoch,
            read: after.read.clone(),
            partial: Some(Partial { upto: snapshot.clone(), last }),
        };
        let mut items = Vec::new();
        for row in &rows {
            if let (Some(id), Some(at), Some(payload)) = (row.id, row.at, &row.payload) {
                let change = T::deserialize(payload).map_err(|error| decode(error.into()))?;
                items.push((within(id), Change { at: at.to_jiff(), change }));
            }
        }
        let is_full = items.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let next = match items.last() {
            Some((last, _)) if is_full => last.clone(),
            _ => Cursor { epoch: after.epoch, read: Some(snapshot.clone()), partial: None },
        };
        Ok(Page { items, next, complete: !is_full && upto.is_none() })
    }

    /// Returns the position after all changes that have been committed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn end(&self, conn: &mut PgConnection) -> sqlx::Result<Cursor> {
        let epoch = Self::epoch(&mut *conn).await?;
        let text: String = sqlx::query_scalar("select pg_current_snapshot()::text").fetch_one(conn).await?;
        let read = text.parse().map_err(|error: InvalidCursor| sqlx::Error::Decode(error.into()))?;
        Ok(Cursor { epoch, read: Some(read), partial: None })
    }

    /// Returns the cursor, or the beginning if it was handed out before the database was restored from a backup.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn resume(&self, conn: &mut PgConnection, after: Cursor) -> sqlx::Result<Cursor> {
        let epoch = Self::epoch(conn).await?;
        Ok(if after.epoch == epoch { after } else { Cursor::beginning(epoch) })
    }

    /// Returns the epoch of the schema: the newest restore of its database, 0 if there was none.
    ///
    /// # Errors
    /// If the database fails.
    pub(crate) async fn epoch(conn: &mut PgConnection) -> sqlx::Result<i64> {
        sqlx::query_scalar("select coalesce(max(epoch), 0) from restores").fetch_one(conn).await
    }

    /// Deletes at most `limit` changes that are older than `age`. Returns their number.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn delete_old(&self, conn: &mut PgConnection, age: Duration, limit: u32) -> sqlx::Result<u64> {
        let sql = format!(
            "delete from {table} where id in (
                 select id from {table} where at < now() - make_interval(secs => $1) order by id limit $2)",
            table = self.table
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(age.as_secs_f64())
            .bind(i64::from(limit))
            .execute(conn)
            .await
            .map(|done| done.rows_affected())
    }
}
