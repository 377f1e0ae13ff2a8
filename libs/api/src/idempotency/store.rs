//! The table of keys.

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::{Reply, StatusCode};
use crate::problem::{Problem, ProblemType};

/// A request that was carried out.
pub(super) struct Stored {
    request_hash: Vec<u8>,
    status: i32,
    headers: Value,
    body: Option<Value>,
}

impl Stored {
    /// The stored reply to a request with this hash.
    pub(super) fn reply_to(self, request_hash: &[u8]) -> Result<Reply, Problem> {
        if self.request_hash != request_hash {
            return Err(Problem::new(
                ProblemType::IdempotencyKeyReused,
                "The Idempotency-Key was used before, with another method, path or body.",
            ));
        }
        let status = u16::try_from(self.status).map_err(Problem::internal)?;
        Ok(Reply {
            status: StatusCode::from_u16(status).map_err(Problem::internal)?,
            etag: self.headers["etag"].as_i64(),
            location: self.headers["location"].as_str().map(str::to_owned),
            body: self.body,
            replayed: true,
            unstored: None,
        })
    }
}

/// The result of a statement for a key.
struct Row {
    locked: bool,
    request_hash: Option<Vec<u8>>,
    status: Option<i32>,
    headers: Option<Value>,
    body: Option<Value>,
}

impl Row {
    fn into_found(self) -> Found {
        let stored = self.request_hash.zip(self.status).zip(self.headers);
        let stored = stored.map(|((request_hash, status), headers)| Stored {
            request_hash,
            status,
            headers,
            body: self.body,
        });
        (self.locked, stored)
    }
}

/// Whether a key was free, and what is stored with it.
type Found = (bool, Option<Stored>);

/// Locks a key until the end of the transaction. Returns whether it was free, and what is stored with it. It may miss a
/// key that another request stores at the same time: [`insert`] then fails.
pub(super) async fn lock(tx: &mut PgConnection, scope: &str, key: &str) -> sqlx::Result<Found> {
    let row = sqlx::query_as!(
        Row,
        r#"select pg_try_advisory_xact_lock(
                          hashtextextended(current_schema() || ' ' || $1::text || ' ' || $2::text, 0)) as "locked!",
                      k.request_hash as "request_hash?", k.status as "status?", k.headers as "headers?", k.body
               from (values (1)) one left join idempotency_keys k on k.scope = $1 and k.key = $2"#,
        scope,
        key,
    );
    row.fetch_one(tx).await.map(Row::into_found)
}

/// Like [`lock`], for several keys, in their order.
pub(super) async fn lock_all(
    tx: &mut PgConnection,
    scope: &str,
    keys: &[String],
) -> sqlx::Result<Vec<Found>> {
    // `limit 1` makes each key one lookup in the index, regardless of Postgres' statistics of the table
    let rows = sqlx::query_as!(
        Row,
        r#"select pg_try_advisory_xact_lock(
                      hashtextextended(current_schema() || ' ' || $1::text || ' ' || asked.key, 0)) as "locked!",
                  k.request_hash as "request_hash?", k.status as "status?", k.headers as "headers?", k.body as "body?"
           from unnest($2::text[]) with ordinality as asked(key, number)
           left join lateral (
               select request_hash, status, headers, body from idempotency_keys where scope = $1 and key = asked.key limit 1
           ) k on true
           order by asked.number"#,
        scope,
        keys,
    );
    Ok(rows.fetch_all(tx).await?.into_iter().map(Row::into_found).collect())
}

pub(super) async fn insert(
    tx: &mut PgConnection,
    scope: &str,
    key: &str,
    hash: &[u8],
    reply: &Reply,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into idempotency_keys (scope, key, request_hash, status, headers, body)
         values ($1, $2, $3, $4, $5, $6)",
        scope,
        key,
        hash,
        i32::from(reply.status.as_u16()),
        headers(reply),
        reply.body,
    )
    .execute(tx)
    .await
    .map(drop)
}

/// Like [`insert`], for several keys.
pub(super) async fn insert_all(
    tx: &mut PgConnection,
    scope: &str,
    writes: &[(&str, &[u8], &Reply)],
) -> sqlx::Result<()> {
    let keys: Vec<&str> = writes.iter().map(|(key, ..)| *key).collect();
    let hashes: Vec<&[u8]> = writes.iter().map(|(_, hash, _)| *hash).collect();
    let statuses: Vec<i32> = writes.iter().map(|(.., reply)| reply.status.as_u16().into()).collect();
    let all_headers: Vec<Value> = writes.iter().map(|(.., reply)| headers(reply)).collect();
    let bodies: Vec<Option<&Value>> = writes.iter().map(|(.., reply)| reply.body.as_ref()).collect();
    sqlx::query!(
        "insert into idempotency_keys (scope, key, request_hash, status, headers, body)
         select $1, * from unnest($2::text[], $3::bytea[], $4::int[], $5::jsonb[], $6::jsonb[])",
        scope,
        &keys as _,
        &hashes as _,
        &statuses,
        &all_headers,
        &bodies as _,
    )
    .execute(tx)
    .await
    .map(drop)
}

fn headers(reply: &Reply) -> Value {
    json!({ "etag": reply.etag, "location": reply.location })
}

pub(super) async fn forget_old(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from idempotency_keys where (scope, key) in (
             select scope, key from idempotency_keys
             where created_at < now() - interval '1 day' limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
