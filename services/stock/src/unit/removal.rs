//! The removal of one unit, in the transaction of its request.

use api::{Operation, Problem, ProblemType};
use ids::{InstanceId, UnitId};
use sqlx::PgConnection;

use super::{model::StockUnit, store};
use crate::{
    config::StockConfig,
    operation::{self, ChangeKind, StockProgress},
};

/// Removes a unit that no instance has. Returns the operation that removes it: an open one, if there is any.
pub(super) async fn remove(
    conn: &mut PgConnection,
    config: &StockConfig,
    id: UnitId,
) -> Result<Operation, Problem> {
    operation::store::lock_open(&mut *conn).await?;
    if let Some(open) = operation::store::find_open_removal(&mut *conn, id).await? {
        return Ok(open);
    }
    operation::check_open(&mut *conn, config, ChangeKind::RemoveStock).await?;
    let is_taken = store::take_out_one(&mut *conn, id).await?;
    let unit: StockUnit = store::find(&mut *conn, id).await?.ok_or_else(Problem::not_found)?;
    if !is_taken {
        return Err(in_use(unit.holder.map(|holder| holder.instance_id)));
    }
    let progress = StockProgress::new(1, unit.gpu_spec, unit.datacenter);
    let operation =
        operation::store::insert(&mut *conn, ChangeKind::RemoveStock, &progress, &[id], None).await?;
    operation::store::abandon(conn, &[id], operation.id).await?;
    Ok(operation)
}

/// The problem that this instance holds the unit; none: an instance occupies it without a claim.
fn in_use(instance: Option<InstanceId>) -> Problem {
    let detail = match instance {
        Some(instance) => format!("The instance {instance} holds this unit."),
        None => "An instance occupies this unit.".to_owned(),
    };
    Problem::new(ProblemType::UnitInUse, detail).with("instance_id", instance)
}
