//! How many changes of stock may be in progress at a time.

use api::{Problem, ProblemType};
use sqlx::PgConnection;

use super::{model::ChangeKind, store};
use crate::config::StockConfig;

/// Refuses a change while the maximum number of its kind is in progress. Other changes of stock wait until
/// this transaction ends.
pub(crate) async fn check_open(
    conn: &mut PgConnection,
    config: &StockConfig,
    kind: ChangeKind,
) -> Result<(), Problem> {
    store::lock_open(&mut *conn).await?;
    let (open, limit) = (store::count_open(conn, kind).await?, i64::from(config.max_open_operations));
    if open < limit {
        return Ok(());
    }
    let detail = format!("{open} operations of this kind are in progress; at most {limit} are allowed.");
    Err(Problem::new(ProblemType::TooManyOperations, detail).with("limit", limit).with("open", open))
}
