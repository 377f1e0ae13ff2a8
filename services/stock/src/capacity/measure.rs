//! Records how many units there are, in one replica at a time.

use db::Db;
use service::Round;

use super::store;

pub(crate) async fn round(db: Db) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    if store::has_changed(&mut tx).await? {
        store::record(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(Round::Done)
}
