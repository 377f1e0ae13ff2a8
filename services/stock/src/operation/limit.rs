//! How many changes of stock may be in progress at a time.

use sqlx::PgConnection;

use super::{model::ChangeKind, store};
use crate::{Error, config::StockConfig};

/// Refuses a change while as many of its kind as may be are in progress. Other changes of stock wait until this
/// transaction ends.
pub(crate) async fn check_open(
    conn: &mut PgConnection,
    config: &StockConfig,
    kind: ChangeKind,
) -> Result<(), Error> {
    store::lock_open(&mut *conn).await?;
    let (open, limit) = (store::count_open(conn, kind).await?, i64::from(config.max_open_operations));
    if open >= limit { Err(Error::TooManyOperations { limit, open }) } else { Ok(()) }
}
