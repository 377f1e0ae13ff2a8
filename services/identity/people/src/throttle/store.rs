//! The tables of failed sign-ins and known networks.

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::lane::Lane;

/// Returns whether the account has had a sign-in from the network since `since`.
pub(super) async fn is_known(conn: &mut PgConnection, place: &Lane, since: Timestamp) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from known_networks
             where account = $1 and network = $2 and last_signed_in_at > $3) as \"exists!\"",
        place.account,
        place.network,
        jiff_sqlx::Timestamp::from(since),
    )
    .fetch_one(conn)
    .await
}

/// Records a sign-in from the network.
pub(super) async fn remember_network(
    conn: &mut PgConnection,
    place: &Lane,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into known_networks (account, network, last_signed_in_at) values ($1, $2, $3)
         on conflict (account, network) do update set last_signed_in_at = $3",
        place.account,
        place.network,
        jiff_sqlx::Timestamp::from(now),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns until when the lanes are locked.
pub(super) async fn locked_until(conn: &mut PgConnection, lanes: &[Lane]) -> sqlx::Result<Option<Timestamp>> {
    let accounts: Vec<_> = lanes.iter().map(|lane| lane.account.clone()).collect();
    let networks: Vec<_> = lanes.iter().map(|lane| lane.network.clone()).collect();
    let until = sqlx::query_scalar!(
        "select max(t.locked_until) from sign_in_throttles t
         join unnest($1::bytea[], $2::text[]) as lane (account, network)
           on t.account = lane.account and t.network = lane.network",
        &accounts,
        &networks,
    )
    .fetch_one(conn)
    .await?;
    Ok(until.map(jiff_sqlx::Timestamp::to_jiff))
}

/// Returns the number of failures; one is forgotten every `forget_one`.
pub(super) async fn failures(
    conn: &mut PgConnection,
    lane: &Lane,
    now: Timestamp,
    forget_one: SignedDuration,
) -> sqlx::Result<i32> {
    let failures = sqlx::query_scalar!(
        "select ceil(greatest(0, failures
             - greatest(0, extract(epoch from $3::timestamptz - last_failed_at)::float8) / $4::float8))::int as \"failures!\"
         from sign_in_throttles where account = $1 and network = $2",
        lane.account,
        lane.network,
        jiff_sqlx::Timestamp::from(now) as jiff_sqlx::Timestamp,
        forget_one.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(failures.unwrap_or_default())
}

/// Counts a failure and returns the number of failures; one is forgotten every `forget_one`.
pub(super) async fn count_failure(
    conn: &mut PgConnection,
    lane: &Lane,
    now: Timestamp,
    forget_one: SignedDuration,
) -> sqlx::Result<i32> {
    sqlx::query_scalar!(
        "insert into sign_in_throttles as t (account, network, failures, last_failed_at, locked_until)
         values ($1, $2, 1, $3, $3)
         on conflict (account, network) do update set last_failed_at = $3, failures = 1 + greatest(0, t.failures
             - greatest(0, extract(epoch from $3 - t.last_failed_at)::float8) / $4::float8)
         returning ceil(failures)::int as \"failures!\"",
        lane.account,
        lane.network,
        jiff_sqlx::Timestamp::from(now),
        forget_one.as_secs_f64(),
    )
    .fetch_one(conn)
    .await
}

/// Locks a lane.
pub(super) async fn lock_until(conn: &mut PgConnection, lane: &Lane, until: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update sign_in_throttles set locked_until = greatest(locked_until, $3)
         where account = $1 and network = $2",
        lane.account,
        lane.network,
        jiff_sqlx::Timestamp::from(until),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the failures of a lane.
pub(super) async fn clear_failures(conn: &mut PgConnection, lane: &Lane) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from sign_in_throttles where account = $1 and network = $2",
        lane.account,
        lane.network,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes failures of more than a day ago, and networks without a sign-in since `known_since`. At most `limit` of each. Needs
/// the worker role.
pub(super) async fn delete_old(
    conn: &mut PgConnection,
    known_since: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let failures = sqlx::query!(
        "delete from sign_in_throttles where (account, network) in (
             select account, network from sign_in_throttles
             where last_failed_at < now() - interval '1 day' limit $1)",
        limit,
    )
    .execute(&mut *conn)
    .await?;
    let networks = sqlx::query!(
        "delete from known_networks where (account, network) in (
             select account, network from known_networks where last_signed_in_at < $2 limit $1)",
        limit,
        jiff_sqlx::Timestamp::from(known_since),
    )
    .execute(conn)
    .await?;
    Ok(failures.rows_affected() + networks.rows_affected())
}
