//! Instances that are not ended by their users: by administrators, the end of their tenant, its budget, or
//! idle time. Each change is made in the caller's transaction, on a locked row.

use gpu_core::{
    ends::HoldEnd,
    event::By,
    instance::{Accepted, Command, Effects, Event, Failure, Instance, InstanceState},
    reason::{Reason, ReasonCode},
};
use ids::OperationId;
use jiff::Timestamp;
use sqlx::PgConnection;

use super::{
    error::Error,
    store::{self, QUEUE},
};

/// Stops an instance because its tenant is suspended.
pub async fn suspend(
    conn: &mut PgConnection,
    instance: &mut Instance,
    by: &By,
    now: Timestamp,
) -> Result<(), Error> {
    let message = "The tenant is suspended. Ask an administrator of the platform.";
    let reason = Reason::new(ReasonCode::TenantSuspended, message);
    stop(conn, instance, reason, HoldEnd::TenantSuspended, by, now).await
}

/// Stops an instance because its tenant has spent its budget, or ends its hold.
pub async fn stop_by_budget(
    conn: &mut PgConnection,
    instance: &mut Instance,
    now: Timestamp,
) -> Result<(), Error> {
    let message = "The tenant has spent its budget of this month. Start the instance again when the next month has \
        begun, or when the budget is larger.";
    let reason = Reason::new(ReasonCode::BudgetExhausted, message);
    stop(conn, instance, reason, HoldEnd::BudgetExhausted, &By::system(), now).await
}

/// Stops a running instance because it is idle, as was announced.
pub async fn stop_idle(conn: &mut PgConnection, instance: &mut Instance) -> Result<(), Error> {
    let before = instance.clone();
    let Some(failure) = instance.end_idle_stop() else { return Ok(()) };
    let effects = instance.on(Event::StoppedByPlatform(failure))?;
    advance(conn, &before, instance, &effects, &By::system()).await
}

/// Records that another instance has claimed the unit of an interruptible instance, which leaves it until `leave_by`. Does
/// nothing if it is ending.
pub async fn recall(
    conn: &mut PgConnection,
    instance: &mut Instance,
    leave_by: Timestamp,
) -> Result<(), Error> {
    if !instance.can_be_recalled() {
        return Ok(());
    }
    let before = instance.clone();
    let effects = instance.on(Event::Recalled(leave_by))?;
    advance(conn, &before, instance, &effects, &By::system()).await
}

/// Stops an instance as an administrator.
pub async fn stop_as_admin(
    conn: &mut PgConnection,
    instance: &mut Instance,
    why: &str,
    by: &By,
    now: Timestamp,
) -> Result<(), Error> {
    let message = format!("An administrator stopped the instance: {why}");
    let reason = Reason::new(ReasonCode::StoppedByAdministrator, message);
    stop(conn, instance, reason, HoldEnd::Administrator, by, now).await
}

/// Stops an instance, which shows the reason, or ends its hold. Does nothing if it is stopping, or stopped
/// without a hold.
async fn stop(
    conn: &mut PgConnection,
    instance: &mut Instance,
    reason: Reason,
    cause: HoldEnd,
    by: &By,
    now: Timestamp,
) -> Result<(), Error> {
    let event = match InstanceState::from(&instance.state) {
        InstanceState::Stopping | InstanceState::Stopped if instance.held_until().is_some() => {
            Event::HoldEnded(cause, now)
        }
        InstanceState::Stopping | InstanceState::Stopped => return Ok(()),
        InstanceState::Deleting => return Err(instance.not_allowed(Command::Stop).into()),
        InstanceState::Pending | InstanceState::Starting | InstanceState::Running => {
            Event::StoppedByPlatform(Failure::new(reason))
        }
    };
    let before = instance.clone();
    let effects = instance.on(event)?;
    advance(conn, &before, instance, &effects, by).await
}

async fn advance(
    conn: &mut PgConnection,
    before: &Instance,
    instance: &mut Instance,
    effects: &Effects,
    by: &By,
) -> Result<(), Error> {
    if !store::advance(conn, before, instance, effects, by).await? {
        return Err(Error::LockedRowChanged);
    }
    Ok(QUEUE.enqueue(conn, &[instance.id]).await?)
}

/// Deletes an instance, in any state.
pub async fn delete(
    conn: &mut PgConnection,
    instance: &mut Instance,
    by: &By,
    now: Timestamp,
) -> Result<(), Error> {
    match instance.command(Command::Delete, OperationId::new(), now)? {
        Accepted::New(effects) if !store::command(conn, instance, &effects, by).await? => {
            Err(Error::LockedRowChanged)
        }
        Accepted::New(_) | Accepted::InProgress => Ok(()),
    }
}
