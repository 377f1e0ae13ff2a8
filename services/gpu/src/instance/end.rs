//! Instances that others than their tenant end: administrators, and the end of their tenant. Each change is made in the
//! caller's transaction, on a locked row.

use ids::OperationId;
use sqlx::PgConnection;

use super::{
    model::{Accepted, Command, Event, Instance},
    parts::Failure,
    reason::{Reason, ReasonCode},
    state::InstanceState,
    store::{self, QUEUE},
};
use crate::{error::Error, event::By};

/// Stops an instance because its tenant is suspended.
pub(crate) async fn suspend(conn: &mut PgConnection, instance: &mut Instance, by: &By) -> Result<(), Error> {
    let message = "The tenant is suspended. Ask an administrator of the platform.";
    stop(conn, instance, Reason::new(ReasonCode::TenantSuspended, message), by).await
}

/// Stops an instance as an administrator.
pub(super) async fn stop_as_admin(
    conn: &mut PgConnection,
    instance: &mut Instance,
    why: &str,
    by: &By,
) -> Result<(), Error> {
    let message = format!("An administrator stopped the instance: {why}");
    stop(conn, instance, Reason::new(ReasonCode::StoppedByAdministrator, message), by).await
}

/// Stops an instance, which shows the reason. Does nothing if it is stopping or stopped.
async fn stop(
    conn: &mut PgConnection,
    instance: &mut Instance,
    reason: Reason,
    by: &By,
) -> Result<(), Error> {
    match InstanceState::from(&instance.state) {
        InstanceState::Stopping | InstanceState::Stopped => return Ok(()),
        InstanceState::Deleting => return Err(instance.not_allowed(Command::Stop).into()),
        InstanceState::Pending | InstanceState::Starting | InstanceState::Running => {}
    }
    let before = instance.clone();
    let effects = instance.on(Event::StoppedByPlatform(Failure::new(reason)))?;
    if !store::advance(conn, &before, instance, &effects, by).await? {
        return Err(Error::LockedRowChanged);
    }
    Ok(QUEUE.enqueue(conn, &[instance.id]).await?)
}

/// Deletes an instance, in any state.
pub(crate) async fn delete(conn: &mut PgConnection, instance: &mut Instance, by: &By) -> Result<(), Error> {
    match instance.command(Command::Delete, OperationId::new())? {
        Accepted::New(effects) if !store::command(conn, instance, &effects, by).await? => {
            Err(Error::LockedRowChanged)
        }
        Accepted::New(_) | Accepted::InProgress => Ok(()),
    }
}
