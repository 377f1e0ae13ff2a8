//! The throttle of sign-ins: failures make the next attempt wait.

mod attempt;
mod device;
mod lane;
mod store;

use jiff::Timestamp;
use sqlx::PgConnection;

pub use attempt::{Attempt, Throttle};
pub use device::Devices;

/// Deletes old failures, and networks that are no longer known. At most `limit` of each. Needs the worker role.
pub async fn delete_old(conn: &mut PgConnection, now: Timestamp, limit: i64) -> sqlx::Result<u64> {
    store::delete_old(conn, now - lane::KNOWN_FOR, limit).await
}
